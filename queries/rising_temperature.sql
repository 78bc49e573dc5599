-- Which sensor rose by more than a degree three times in a row, ending above 80 and well above its own mean?
--
-- The condition of HOT reads the rows matched before it: the mean of the two RISE rows. Sensor s2 rises too slowly; s3 has
-- a reading that is no number (malformed: counted and left out), and rises all the same.
--
-- Output:
--   sensor,rising_since,mean_of_rise,hot_at,degrees
--   s1,2026-03-02 06:00:10,76.5,2026-03-02 06:00:30,81.5
--   s3,2026-03-02 06:00:10,78.25,2026-03-02 06:00:30,81.0

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
