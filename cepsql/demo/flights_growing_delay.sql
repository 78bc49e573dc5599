-- Which aircraft left New York three times in a row within a day, each time at least half an hour later behind schedule?
--
-- Each row is one departure, and its event time is when the aircraft really left. A cancelled flight never left: its
-- event time is NULL, so it is counted and left out.

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
