-- In which minutes were far more or fewer pages viewed than in the five minutes with views before?
--
-- The z-score says how many standard deviations a window lies above the mean of those before it.
--
-- Output:
--   minute,views,z_score
--   2026-03-09 12:02:00,12,12.0
--   2026-03-09 12:06:00,20,4.8

CREATE OR REPLACE STREAM page_views (
  at TIMESTAMP, page STRING, WATERMARK FOR at AS at - INTERVAL '10' SECONDS
) USING csv OPTIONS (path 'queries/data/page_views', header 'true');

SELECT minute, views, ROUND((views - usual) / spread, 1) AS z_score
FROM (
  SELECT
    window_start AS minute,
    views,
    AVG(views) OVER last AS usual,
    STDDEV(views) OVER last AS spread,
    COUNT(*) OVER last AS compared
  FROM (
    SELECT window_start, window_end, COUNT(*) AS views
    FROM page_views WINDOW TUMBLING (SIZE 1 MINUTE)
    GROUP BY window_start, window_end)
  WINDOW last AS (ORDER BY window_end ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING))
WHERE compared = 5 AND ABS(views - usual) > 3 * spread;
