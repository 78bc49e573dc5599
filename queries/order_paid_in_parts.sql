-- Which orders were paid in full within an hour, in one payment or in several, and which were not?
--
-- Orders come in one stream and payments in another, each with its own delay; UNION ALL merges them in the order of event
-- time. Order 2 is paid in two parts, order 3 an hour later on the second (WITHIN means less than), and 20.00 of order 4
-- are missing.
--
-- Output:
--   order_id,placed,total,paid,parts,unpaid
--   1,2026-03-02 12:00:00,20.00,20.00,1,false
--   2,2026-03-02 12:01:00,35.50,35.50,2,false
--   3,2026-03-02 12:05:00,12.00,,0,true
--   4,2026-03-02 12:25:00,99.00,79.00,2,true

CREATE OR REPLACE STREAM shop_orders (
  order_id INT, at TIMESTAMP, total DECIMAL(10, 2),
  WATERMARK FOR at AS at - INTERVAL '5' SECONDS
) USING csv OPTIONS (path 'queries/data/shop_orders', header 'true');

CREATE OR REPLACE STREAM bank_payments (
  order_id INT, paid_at TIMESTAMP, amount DECIMAL(10, 2),
  WATERMARK FOR paid_at AS paid_at - INTERVAL '2' MINUTES
) USING csv OPTIONS (path 'queries/data/bank_payments', header 'true');

SELECT order_id, placed, total, paid, parts, unpaid
FROM (
  SELECT order_id, at, total AS amount, 'order' AS kind FROM shop_orders
  UNION ALL
  SELECT order_id, paid_at, amount, 'payment' FROM bank_payments
)
MATCH_RECOGNIZE (
  PARTITION BY order_id
  ORDER BY at
  MEASURES
    PLACED.at AS placed,
    PLACED.amount AS total,
    SUM(PAYMENT.amount) AS paid,
    COUNT(PAYMENT.amount) AS parts,
    MATCH_TIMEOUT() AS unpaid
  ONE ROW PER MATCH SHOW TIMEOUT MATCHES
  PATTERN (PLACED PART*? LAST_PART) WITHIN INTERVAL '1' HOUR
  SUBSET PAYMENT = (PART, LAST_PART)
  DEFINE
    PLACED AS kind = 'order',
    PART AS kind = 'payment',
    LAST_PART AS kind = 'payment' AND SUM(PAYMENT.amount) >= PLACED.amount
) AS m;
