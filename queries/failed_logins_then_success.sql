-- Which accounts had three or more failed logins in a row and then a successful one, all within five minutes?
--
-- Anna fails three times and gets in. Bert fails twice only. Carla fails four times and never gets in. Dora's fourth
-- attempt succeeds, but six minutes after her first one, and the two failures that are near enough are too few.
--
-- Output:
--   account,failures,first_failure,entered,address
--   anna,3,2026-03-02 08:00:00,2026-03-02 08:01:10,198.51.100.7

CREATE OR REPLACE STREAM logins (
  account STRING, tried TIMESTAMP, address STRING, outcome STRING,
  WATERMARK FOR tried AS tried - INTERVAL '30' SECONDS
) USING csv OPTIONS (path 'queries/data/logins', header 'true');

SELECT *
FROM logins
MATCH_RECOGNIZE (
  PARTITION BY account
  ORDER BY tried
  MEASURES
    COUNT(FAILED.tried) AS failures,
    FIRST(FAILED.tried) AS first_failure,
    ENTERED.tried AS entered,
    ENTERED.address AS address
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (FAILED{3,} ENTERED) WITHIN INTERVAL '5' MINUTES
  DEFINE
    FAILED AS FAILED.outcome = 'failed',
    ENTERED AS ENTERED.outcome = 'ok'
) AS m;
