-- Which aircraft left New York three times in a row within a day, each time at least half an hour more behind schedule?
--
-- Each row is one departure, and its event time is when the aircraft really left. A cancelled flight never left: its
-- event time is NULL, so it is counted and left out.
--
-- Output (first 6 of 32 rows):
--   tailnum,carrier,origin,departed,delays
--   N10575,EV,EWR,2013-02-26 13:17:00,"[61,91,236]"
--   N11119,EV,EWR,2013-02-27 09:39:00,"[94,215,246]"
--   N11547,EV,EWR,2013-01-06 10:19:00,"[19,70,109]"
--   N11548,EV,EWR,2013-01-16 12:02:00,"[2,44,108]"
--   N11565,EV,EWR,2013-01-16 15:15:00,"[45,90,259]"
--   N12175,EV,EWR,2013-01-24 12:28:00,"[12,70,176]"

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
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum ORDER BY departed
  MEASURES FIRST(carrier) AS carrier, FIRST(origin) AS origin,
           FIRST(departed) AS departed, array_agg(delay) AS delays
  PATTERN (LATE WORSE{2}) WITHIN INTERVAL '1' DAY
  DEFINE LATE AS delay >= 0, WORSE AS delay >= PREV(delay) + 30
) AS m;
