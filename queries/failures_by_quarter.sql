-- How many logins failed in each quarter of an hour, compared with the quarters before?
--
-- Windows are compared with the one just before them, with the mean of up to four, and with the one an hour earlier. A window
-- comes out when the watermark has passed its end.
--
-- Output:
--   quarter,failures,change,usual,an_hour_before
--   2026-03-02 08:00:00,6,,,
--   2026-03-02 08:15:00,4,-2,6.0,
--   2026-03-02 08:30:00,3,-1,5.0,
--   2026-03-02 09:00:00,3,0,4.33,6
--   2026-03-02 10:30:00,3,0,4.0,
--   2026-03-02 10:45:00,0,-3,3.25,

CREATE OR REPLACE STREAM attempts (
  account STRING, tried TIMESTAMP, address STRING, outcome STRING,
  WATERMARK FOR tried AS tried - INTERVAL '30' SECONDS
) USING csv OPTIONS (path 'queries/data/attempts', header 'true');

CREATE OR REPLACE VIEW quarters AS
SELECT window.start AS quarter, COUNT_IF(outcome = 'failed') AS failures
FROM attempts
GROUP BY window(tried, '15 minutes');

SELECT
  quarter,
  failures,
  failures - LAG(failures) OVER (ORDER BY quarter) AS change,
  ROUND(AVG(failures) OVER (ORDER BY quarter ROWS BETWEEN 4 PRECEDING AND 1 PRECEDING), 2) AS usual,
  FIRST_VALUE(failures) OVER (
    ORDER BY quarter RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '1' HOUR PRECEDING) AS an_hour_before
FROM quarters;
