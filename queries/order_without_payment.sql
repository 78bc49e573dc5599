-- Which orders were not paid within fifteen minutes?
--
-- Nothing arrives when a payment does not: the partial match that has PLACED and still waits for PAID is reported when
-- event time has passed its deadline. Order 2 is never paid, order 3 fifteen minutes later on the second (WITHIN means
-- less than), order 5 is paid in time with a reminder between.
--
-- Output:
--   order_id,placed,amount
--   2,2026-03-02 12:01:00,35.50
--   3,2026-03-02 12:05:00,12.00

CREATE OR REPLACE STREAM order_events (
  order_id INT, at TIMESTAMP, kind STRING, amount DECIMAL(10, 2),
  WATERMARK FOR at AS at - INTERVAL '1' MINUTE
) USING csv OPTIONS (path 'queries/data/orders', header 'true');

SELECT order_id, placed, amount
FROM order_events
MATCH_RECOGNIZE (
  PARTITION BY order_id
  ORDER BY at
  MEASURES
    PLACED.at AS placed,
    PLACED.amount AS amount,
    MATCH_TIMEOUT() AS unpaid
  ONE ROW PER MATCH SHOW TIMEOUT MATCHES
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (PLACED OTHER* PAID) WITHIN INTERVAL '15' MINUTES
  DEFINE
    PLACED AS PLACED.kind = 'placed',
    OTHER AS OTHER.kind NOT IN ('placed', 'paid'),
    PAID AS PAID.kind = 'paid'
) AS m
WHERE unpaid;
