-- Which aircraft left New York three times in a row within a day, each time at least half an hour later behind schedule?
--
-- Each row is one departure, and its event time is when the aircraft really left. A cancelled flight never left: its
-- event time is NULL, so it is counted and left out.
--
-- Output (first 6 of 32 rows):
--   tailnum,carrier,origin1,departed1,delay1,origin2,departed2,delay2,origin3,departed3,delay3
--   N10575,EV,EWR,2013-02-26 13:17:00,61,EWR,2013-02-26 17:30:00,91,EWR,2013-02-26 23:56:00,236
--   N11119,EV,EWR,2013-02-27 09:39:00,94,EWR,2013-02-27 15:09:00,215,EWR,2013-02-27 22:48:00,246
--   N11547,EV,EWR,2013-01-06 10:19:00,19,EWR,2013-01-06 16:46:00,70,EWR,2013-01-06 22:29:00,109
--   N11548,EV,EWR,2013-01-16 12:02:00,2,EWR,2013-01-16 16:20:00,44,EWR,2013-01-16 22:23:00,108
--   N11565,EV,EWR,2013-01-16 15:15:00,45,EWR,2013-01-16 21:15:00,90,LGA,2013-01-17 10:19:00,259
--   N12175,EV,EWR,2013-01-24 12:28:00,12,EWR,2013-01-24 20:45:00,70,EWR,2013-01-25 11:51:00,176

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

SELECT *
FROM flights
MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departed
  MEASURES
    FIRST(carrier) AS carrier,
    FIRST_LEG.origin AS origin1, FIRST_LEG.departed AS departed1, FIRST_LEG.delay AS delay1,
    WORSE.origin AS origin2, WORSE.departed AS departed2, WORSE.delay AS delay2,
    WORST.origin AS origin3, WORST.departed AS departed3, WORST.delay AS delay3
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (FIRST_LEG WORSE WORST) WITHIN INTERVAL '1' DAY
  DEFINE
    FIRST_LEG AS FIRST_LEG.delay >= 0,
    WORSE AS WORSE.delay >= PREV(WORSE.delay) + 30,
    WORST AS WORST.delay >= PREV(WORST.delay) + 30
) AS m;
