-- How many accounts were broken into in each hour, and after how many failed logins?
--
-- The windows are over the event time of the matches, MATCH_ROWTIME(). An hour comes out when no match that belongs to it
-- can follow any more: when the watermark is five minutes, the WITHIN of the pattern, past its end.
--
-- Output:
--   hour,break_ins,after_more_than_three,addresses
--   2026-03-02 08:00:00,4,1,2
--   2026-03-02 09:00:00,1,0,1
--   2026-03-02 10:00:00,1,0,1

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

SELECT
  window(entered, '1 hour').start AS hour,
  COUNT(*) AS break_ins,
  COUNT_IF(failures > 3) AS after_more_than_three,
  approx_count_distinct(address) AS addresses
FROM break_ins
GROUP BY window(entered, '1 hour');
