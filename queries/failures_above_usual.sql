-- In which quarters of an hour did more logins fail than in the quarters before?
--
-- The windows are compared with those before them: with the one just before, with the mean of up to four, and with the one
-- an hour earlier. A window comes out when the watermark has passed its end.
--
-- Output:

CREATE OR REPLACE STREAM attempts (
  account STRING, tried TIMESTAMP, address STRING, outcome STRING,
  WATERMARK FOR tried AS tried - INTERVAL '30' SECONDS
) USING csv OPTIONS (path 'queries/data/attempts', header 'true');

CREATE OR REPLACE VIEW quarters AS
SELECT window.start AS quarter, COUNT_IF(outcome = 'failed') AS failures, COUNT(DISTINCT address) AS addresses
FROM attempts
GROUP BY window(tried, '15 minutes');

SELECT
  quarter,
  failures,
  failures - LAG(failures) OVER (ORDER BY quarter) AS change,
  ROUND(AVG(failures) OVER (ORDER BY quarter ROWS BETWEEN 4 PRECEDING AND 1 PRECEDING), 2) AS usual,
  FIRST_VALUE(failures) OVER (
    ORDER BY quarter RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '1' HOUR PRECEDING) AS an_hour_before
FROM quarters
QUALIFY usual IS NULL OR failures > usual;
