-- Which sensor rose by more than a degree three times in a row, ending above 80 and well above its own mean?
--
-- The condition of HOT reads the rows matched before it: the mean of the two RISE rows. Sensor s2 rises too slowly; s3 has
-- a reading that is no number (malformed: counted and left out), and rises all the same.

CREATE OR REPLACE STREAM readings (
  sensor STRING, measured TIMESTAMP, degrees DOUBLE,
  WATERMARK FOR measured AS measured - INTERVAL '10' SECONDS
) USING csv OPTIONS (path 'queries/data/readings', header 'true');

SELECT *
FROM readings
MATCH_RECOGNIZE (
  PARTITION BY sensor
  ORDER BY measured
  MEASURES
    FIRST(RISE.measured) AS rising_since,
    ROUND(AVG(RISE.degrees), 2) AS mean_of_rise,
    HOT.measured AS hot_at,
    HOT.degrees AS degrees
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (RISE{2} HOT) WITHIN INTERVAL '1' MINUTE
  DEFINE
    RISE AS RISE.degrees > PREV(RISE.degrees) + 1,
    HOT AS HOT.degrees > PREV(HOT.degrees) + 1 AND HOT.degrees > 80 AND HOT.degrees > AVG(RISE.degrees) + 2
) AS m;
