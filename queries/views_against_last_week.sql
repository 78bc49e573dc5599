-- How many pages are viewed in each minute, compared with the same minute a week before and with the minute before?
--
-- A frame that begins and ends a week before a window holds the window of that time, if there was one. The windows of a week are
-- kept, not their rows.
--
-- Output (first 6 of 8 rows):
--   minute,views,a_week_before,percent_more_than_before
--   2026-03-09 12:00:00,5,5,
--   2026-03-09 12:01:00,6,6,20.0
--   2026-03-09 12:02:00,12,5,100.0
--   2026-03-09 12:03:00,6,7,-50.0
--   2026-03-09 12:04:00,7,6,16.7
--   2026-03-09 12:05:00,6,5,-14.3

CREATE OR REPLACE STREAM page_views (
  at TIMESTAMP, page STRING, WATERMARK FOR at AS at - INTERVAL '10' SECONDS
) USING csv OPTIONS (path 'queries/data/page_views', header 'true');

SELECT
  window_start AS minute,
  views,
  FIRST_VALUE(views) OVER (
    ORDER BY window_end RANGE BETWEEN INTERVAL '7' DAYS PRECEDING AND INTERVAL '7' DAYS PRECEDING) AS a_week_before,
  ROUND(100 * (views / FIRST_VALUE(views) OVER (
    ORDER BY window_end RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND INTERVAL '1' MINUTE PRECEDING) - 1), 1
  ) AS percent_more_than_before
FROM (
  SELECT window_start, window_end, COUNT(*) AS views
  FROM page_views WINDOW TUMBLING (SIZE 1 MINUTE)
  GROUP BY window_start, window_end)
QUALIFY a_week_before IS NOT NULL;
