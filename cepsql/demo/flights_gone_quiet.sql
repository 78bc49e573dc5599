-- Which aircraft left New York four hours late or more, and then did not leave New York again for two days?
--
-- Absence has no row of its own: the partial match DEPARTED, still waiting for AGAIN, is reported when event time has
-- passed its deadline. At the end of a drained stream time runs out for all, so the last two days of the data report
-- aircraft that may well have left again after the data ends.
--
-- Output (first 6 of 64 rows):
--   tailnum,carrier,flight,origin,dest,departed,delay
--   N11119,EV,4554,EWR,MCI,2013-02-27 22:48:00,246
--   N11565,EV,6055,LGA,IAD,2013-01-17 10:19:00,259
--   N12175,EV,4157,EWR,IND,2013-02-27 12:24:00,349
--   N13995,EV,4271,EWR,ALB,2013-01-31 20:58:00,279
--   N14920,EV,3835,EWR,BNA,2013-01-25 20:20:00,293
--   N14923,EV,4191,EWR,BNA,2013-02-25 23:13:00,253

CREATE OR REPLACE STREAM flights (
  scheduled TIMESTAMP,
  departed TIMESTAMP,
  delay INT,
  arrival_delay INT,
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  WATERMARK FOR departed AS departed - INTERVAL '1' HOUR
) USING csv OPTIONS (path 'cepsql/demo/flights', header 'true', maxFilesPerTrigger '1');

SELECT tailnum, carrier, flight, origin, dest, departed, delay
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum ORDER BY departed
  MEASURES FIRST(carrier) AS carrier, FIRST(flight) AS flight,
           FIRST(origin) AS origin, FIRST(dest) AS dest, FIRST(departed) AS departed,
           FIRST(delay) AS delay, MATCH_TIMEOUT() AS gone_quiet
  ONE ROW PER MATCH SHOW TIMEOUT MATCHES
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (DEPARTED AGAIN) WITHIN INTERVAL '2' DAYS
  DEFINE DEPARTED AS delay >= 240
) AS m
WHERE gone_quiet;
