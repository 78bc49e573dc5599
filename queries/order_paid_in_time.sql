-- Which orders were paid within fifteen minutes (unpaid = false), and which were not?
--
-- A payment that does not come has no row of its own. SHOW TIMEOUT MATCHES reports the order once its fifteen minutes are
-- over in event time. Order 2 is never paid; order 3 is paid on the second, and WITHIN means less than.
--
-- Output:
--   order_id,placed,paid,unpaid
--   1,2026-03-02 12:00:00,2026-03-02 12:04:00,false
--   2,2026-03-02 12:01:00,,true
--   3,2026-03-02 12:05:00,,true
--   4,2026-03-02 12:25:00,2026-03-02 12:25:30,false
--   5,2026-03-02 12:06:00,2026-03-02 12:19:00,false

CREATE OR REPLACE STREAM order_events (
  order_id INT, at TIMESTAMP, kind STRING, amount DECIMAL(10, 2),
  WATERMARK FOR at AS at - INTERVAL '1' MINUTE
) USING csv OPTIONS (path 'queries/data/orders', header 'true');

SELECT *
FROM order_events MATCH_RECOGNIZE (
  PARTITION BY order_id ORDER BY at
  MEASURES PLACED.at AS placed, PAID.at AS paid, MATCH_TIMEOUT() AS unpaid
  ONE ROW PER MATCH SHOW TIMEOUT MATCHES
  PATTERN (PLACED OTHER* PAID) WITHIN INTERVAL '15' MINUTES
  DEFINE PLACED AS kind = 'placed', OTHER AS kind NOT IN ('placed', 'paid'), PAID AS kind = 'paid'
) AS m;
