-- From which address were three accounts broken into within an hour?
--
-- A break-in is a match itself: at least three failed logins and then a successful one. The outer pattern finds three such
-- matches of one address, in the order in which they ended. The two break-ins from 203.0.113.9 after the first are too
-- late.
--
-- Output:
--   address,first_account,last_account,failures,alarm
--   198.51.100.7,anna,dora,10,2026-03-02 08:40:50

CREATE OR REPLACE STREAM attempts (
  account STRING, tried TIMESTAMP, address STRING, outcome STRING,
  WATERMARK FOR tried AS tried - INTERVAL '30' SECONDS
) USING csv OPTIONS (path 'queries/data/attempts', header 'true');

CREATE OR REPLACE VIEW break_ins AS
SELECT address, account, failures, entered
FROM attempts
MATCH_RECOGNIZE (
  PARTITION BY address, account
  ORDER BY tried
  MEASURES
    COUNT(FAILED.tried) AS failures,
    MATCH_ROWTIME() AS entered
  PATTERN (FAILED{3,} ENTERED) WITHIN INTERVAL '5' MINUTES
  DEFINE
    FAILED AS FAILED.outcome = 'failed',
    ENTERED AS ENTERED.outcome = 'ok'
);

SELECT *
FROM break_ins
MATCH_RECOGNIZE (
  PARTITION BY address
  ORDER BY entered
  MEASURES
    FIRST(BROKEN.account) AS first_account,
    LAST(BROKEN.account) AS last_account,
    SUM(BROKEN.failures) AS failures,
    MATCH_ROWTIME() AS alarm
  PATTERN (BROKEN{3}) WITHIN INTERVAL '1' HOUR
) AS m;
