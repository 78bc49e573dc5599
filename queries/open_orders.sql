-- Which orders are open, if all that is known of an order are its events?
--
-- The state of an order is a fold over its log: the last event, the sum of what was added and removed, the list of what was added.
-- Order 1 was delivered and order 3 cancelled, so that they are gone. Read again from the first event on, the log gives
-- the same rows: docs/event-sourcing.md keeps them in a view, and rebuilds it.
--
-- Output:
--   order_id,last_event,amount,added,placed,op
--   2,added,75.00,"[""chair"",""lamp""]",2026-03-02 09:02:00,+I
--   4,placed,2.00,"[""pen""]",2026-03-02 11:30:00,+I

CREATE OR REPLACE STREAM order_events (
  order_id INT, event STRING, item STRING, amount DECIMAL(10, 2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '1' MINUTE
) USING csv OPTIONS (path 'queries/data/order_events', header 'true');

SELECT
  order_id,
  MAX_BY(event, at) AS last_event,
  SUM(amount) AS amount,
  SORT_ARRAY(COLLECT_LIST(item) FILTER (WHERE event <> 'removed')) AS added,
  MIN(at) AS placed
FROM order_events
GROUP BY order_id
HAVING MAX_BY(event, at) NOT IN ('delivered', 'cancelled')
EMIT CHANGES;
