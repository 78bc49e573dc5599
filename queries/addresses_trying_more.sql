-- Which address failed to log in more often from one quarter of an hour to the next?
--
-- The pattern goes over the counts of windows: one row for each address and quarter with an attempt.
--
-- Output:
--   address,before,failures,until
--   198.51.100.7,3,4,2026-03-02 08:30:00

CREATE OR REPLACE STREAM attempts (
  account STRING, tried TIMESTAMP, address STRING, outcome STRING,
  WATERMARK FOR tried AS tried - INTERVAL '30' SECONDS
) USING csv OPTIONS (path 'queries/data/attempts', header 'true');

SELECT *
FROM (
  SELECT address, window.end AS until, COUNT_IF(outcome = 'failed') AS failures
  FROM attempts
  GROUP BY address, window(tried, '15 minutes')
)
MATCH_RECOGNIZE (
  PARTITION BY address
  ORDER BY until
  MEASURES A.failures AS before, LAST(B.failures) AS failures, LAST(B.until) AS until
  PATTERN (A B+) WITHIN INTERVAL '1' HOUR
  DEFINE B AS failures > PREV(failures)
);
