# Joins of streams, with the plan that EXPLAIN LOGICAL shows.
SELECT a.sym, b.price FROM ticks a JOIN orders o ON o.customer = a.sym AND o.at BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR JOIN ticks b ON b.sym = a.sym AND b.ts BETWEEN o.at AND o.at + INTERVAL '1' MINUTE AND b.price > a.price
----
Query  stream  sym string, price double
  Sql  SELECT __join_3.`l_l_sym` AS sym, __join_3.`r_price` AS price FROM __join_3 WHERE __join_3.`r_price` > __join_3.`l_l_price`
    Join __join_3  left.(`l_sym`) = right.(sym)
      times: right.ts - left.r_at from 0 seconds to 1 minute
      watermark: r_at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left for 1 minute and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Join __join_2  left.(sym) = right.(customer)
        times: right.at - left.ts from 0 seconds to 1 hour
        watermark: ts - 10 seconds, at - 0 seconds
        state: rows not yet released by the watermark; rows of the left for 1 hour and of the right for 0 seconds after their time
        event time of pairs: r_at, given out as soon as the watermark reaches it
        scan: Spark's: amount of type DECIMAL(10, 2)
        Stream ticks  json  watermark ts - 10 seconds
        Stream orders  csv  watermark at - 0 seconds
      Stream ticks  json  watermark ts - 10 seconds
====
SELECT a.sym, b.price FROM ticks a LEFT JOIN ticks b ON b.sym = a.sym AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' MINUTE AND b.price > a.price * 2 AND a.qty > 3 AND b.qty > 4 WHERE a.active
----
Query  stream  sym string, price double
  Sql  SELECT __join_1.`l_sym` AS sym, __join_1.`r_price` AS price FROM __join_1
    LeftJoin __join_1  left.(sym) = right.(sym) AND left.(CASE WHEN qty > 3 THEN TRUE END) = right.(TRUE)
      times: right.ts - left.ts from 0 seconds to 1 minute
      further condition on pairs: right.price > left.price * 2
      watermark: ts - 10 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left for 1 minute and of the right for 0 seconds after their time
      event time of pairs: later, given out at most 1 minute after the watermark has reached it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT * FROM ticks AS a WHERE a.active
        Stream ticks  json  watermark ts - 10 seconds
      Sql  SELECT * FROM ticks AS b WHERE b.qty > 4
        Stream ticks  json  watermark ts - 10 seconds
====
SELECT sym, o.id, c.name FROM ticks FULL JOIN orders o ON customer = ticks.sym AND at = ts LEFT JOIN companies c USING (sym)
----
Query  stream  sym string, id bigint, name string
  Sql  SELECT COALESCE(__join_3.`l_sym`, c.sym) AS sym, __join_3.`r_id` AS id, c.name AS name FROM __join_3 LEFT JOIN companies AS c ON __join_3.`l_sym` = c.sym
    FullJoin __join_3  left.(sym) = right.(customer)
      times: right.at - left.ts from 0 seconds to 0 seconds
      watermark: ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
      Stream orders  csv  watermark at - 0 seconds
    Table companies  csv
====
SELECT a.sym FROM companies c, ticks a, orders o WHERE a.sym = o.customer AND c.sym = a.sym AND o.at = a.ts
----
Query  stream  sym string
  Sql  SELECT __join_3.`l_sym` AS sym FROM __join_3 CROSS JOIN companies AS c WHERE c.sym = __join_3.`l_sym`
    Join __join_3  left.(sym) = right.(customer)
      times: right.at - left.ts from 0 seconds to 0 seconds
      watermark: ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
      Stream orders  csv  watermark at - 0 seconds
    Table companies  csv
====
SELECT a.sym FROM ticks a JOIN companies c ON c.sym = a.sym JOIN orders o ON o.customer = c.name AND o.at = a.ts
----
Query  stream  sym string
  Sql  SELECT __join_3.`l_a__sym` AS sym FROM __join_3
    Join __join_3  left.(`c__name`) = right.(customer)
      times: right.at - left.a__ts from 0 seconds to 0 seconds
      watermark: a__ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: the input is more than columns of one stream and a WHERE
      Sql  SELECT * FROM (SELECT a.sym AS `a__sym`, c.name AS `c__name`, a.ts AS `a__ts` FROM ticks AS a JOIN companies AS c ON c.sym = a.sym) AS __a_c
        Stream ticks  json  watermark ts - 10 seconds
        Table companies  csv
      Stream orders  csv  watermark at - 0 seconds
====
SELECT a.sym FROM ticks a WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer = a.sym AND at BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR) AND a.qty IN (SELECT id FROM orders WHERE at = a.ts)
----
Query  stream  sym string
  Sql  SELECT __join_3.`l_l_sym` AS sym FROM __join_3
    SemiJoin __join_3  left.(`l_qty`) = right.(id)
      times: right.at - left.l_ts from 0 seconds to 0 seconds
      watermark: l_ts - 1 hour, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Arrow (csv)
      AntiJoin __join_2  left.(sym) = right.(customer)
        times: right.at - left.ts from 0 seconds to 1 hour
        watermark: ts - 10 seconds, at - 0 seconds
        state: rows not yet released by the watermark; rows of the left for 1 hour and of the right for 0 seconds after their time
        event time of pairs: l_ts, given out at most 1 hour after the watermark has reached it
        scan: Spark's: amount of type DECIMAL(10, 2)
        Stream ticks  json  watermark ts - 10 seconds
        Stream orders  csv  watermark at - 0 seconds
      Stream orders  csv  watermark at - 0 seconds
====
SELECT window(at, '1 hour').start, COUNT(*) FROM ticks a JOIN orders o ON customer = sym AND at BETWEEN ts AND ts + INTERVAL '1' HOUR GROUP BY window(at, '1 hour')
----
Query  stream  start timestamp, count(1) bigint
  Sql  SELECT __groups_2.window_start AS start, __groups_2.__a0 AS `count(1)` FROM __groups_2
    WindowAggregate __groups_2
      windows: 1 hour, every 1 hour; group by: nothing else
      __a0: COUNT(*)
      watermark: at - 0 seconds
      before the shuffle: rows of a group are added up
      state: for every group what each aggregate needs to go on, of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      Sql  SELECT __join_2.`r_at` AS at, __bound FROM __join_2
        Join __join_2  left.(sym) = right.(customer)
          times: right.at - left.ts from 0 seconds to 1 hour
          watermark: ts - 10 seconds, at - 0 seconds
          state: rows not yet released by the watermark; rows of the left for 1 hour and of the right for 0 seconds after their time
          event time of pairs: r_at, given out as soon as the watermark reaches it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Stream ticks  json  watermark ts - 10 seconds
          Stream orders  csv  watermark at - 0 seconds
====
SELECT a.sym FROM ticks a RIGHT JOIN orders o ON customer = sym AND at BETWEEN ts AND ts + INTERVAL '1' DAY WHERE qty > 4
----
Query  stream  sym string
  Sql  SELECT __join_2.`r_sym` AS sym FROM __join_2 WHERE __join_2.`r_qty` > 4
    LeftJoin __join_2  left.(customer) = right.(sym)
      times: right.ts - left.at from -2 days to 0 seconds
      further condition on pairs: left.at BETWEEN right.ts AND right.ts + INTERVAL '1' DAY
      watermark: at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 2 days after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream orders  csv  watermark at - 0 seconds
      Stream ticks  json  watermark ts - 10 seconds
====
SELECT p.k, p.n, q.n AS m FROM (SELECT sym AS k, window(ts, '1 minute') AS w, COUNT(*) AS n FROM ticks GROUP BY 1, 2) AS p JOIN (SELECT sym AS k, window(ts, '1 minute') AS w, COUNT(*) AS n FROM ticks GROUP BY 1, 2) AS q ON p.k = q.k AND p.w.start = q.w.start + INTERVAL '3' MINUTES
----
Query  stream  k string, n bigint, m bigint
  Sql  SELECT __join_1.`l_k` AS k, __join_1.`l_n` AS n, __join_1.`r_n` AS m FROM __join_1
    Join __join_1  left.(k) = right.(k)
      times: right.__w_start - left.__w_start from -3 minutes to -3 minutes
      watermark: __w_start - 1 minute, __w_start - 1 minute
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 3 minutes after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      Sql  SELECT p.__w_start AS __w_start, p.k AS k, p.w AS w, p.n AS n, __bound FROM (SELECT __groups_1.window_start AS __w_start, __groups_1.sym AS k, NAMED_STRUCT('start', __groups_1.window_start, 'end', __groups_1.window_end) AS w, __groups_1.__a0 AS n, __bound FROM __groups_1) AS p
        WindowAggregate __groups_1
          windows: 1 minute, every 1 minute; group by: sym
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          before the shuffle: rows of a group are added up
          state: for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_start, given out at most 1 minute after the watermark has reached it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
      Sql  SELECT q.__w_start AS __w_start, q.k AS k, q.w AS w, q.n AS n, __bound FROM (SELECT __groups_1.window_start AS __w_start, __groups_1.sym AS k, NAMED_STRUCT('start', __groups_1.window_start, 'end', __groups_1.window_end) AS w, __groups_1.__a0 AS n, __bound FROM __groups_1) AS q
        WindowAggregate __groups_1
          windows: 1 minute, every 1 minute; group by: sym
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          before the shuffle: rows of a group are added up
          state: for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_start, given out at most 1 minute after the watermark has reached it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
====
SELECT t.sym, r.rate FROM ticks t LEFT JOIN rates AS r FOR SYSTEM_TIME AS OF t.ts ON t.sym = r.currency AND t.qty > 3 WHERE t.active
----
Query  stream  sym string, rate double
  Sql  SELECT __join_2.`l_sym` AS sym, __join_2.`r_rate` AS rate FROM __join_2
    LeftAsOfJoin __join_2  left.(sym) = right.(currency) AND left.(CASE WHEN qty > 3 THEN TRUE END) = right.(TRUE)
      nearest: left.ts >= right.since
      delete when: op = 'd'
      watermark: ts - 10 seconds, since - 1 minute
      state: rows not yet released by the watermark; one row of the right for each key
      event time: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT * FROM ticks AS t WHERE t.active
        Stream ticks  json  watermark ts - 10 seconds
      Stream rates  csv  watermark since - 1 minute
====
SELECT t.sym, r.rate FROM ticks t JOIN rates FOR SYSTEM_TIME AS OF t.ts AS r ON t.sym = r.currency AND r.rate > 1
----
Query  stream  sym string, rate double
  Sql  SELECT __join_2.`l_sym` AS sym, __join_2.`r_rate` AS rate FROM __join_2 WHERE __join_2.`r_rate` > 1
    AsOfJoin __join_2  left.(sym) = right.(currency)
      nearest: left.ts >= right.since
      delete when: op = 'd'
      watermark: ts - 10 seconds, since - 1 minute
      state: rows not yet released by the watermark; one row of the right for each key
      event time: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
      Stream rates  csv  watermark since - 1 minute
====
SELECT t.sym, o.id FROM ticks t ASOF JOIN orders o MATCH_CONDITION (o.at > t.ts) ON t.sym = o.customer
----
Query  stream  sym string, id bigint
  Sql  SELECT __join_2.`l_sym` AS sym, __join_2.`r_id` AS id FROM __join_2
    AsOfJoin __join_2  left.(sym) = right.(customer)
      nearest: left.ts < right.at
      watermark: ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left that wait for a later one
      event time: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
      Stream orders  csv  watermark at - 0 seconds
====
SELECT t.sym, p.price FROM ticks t LEFT ASOF JOIN trades p MATCH_CONDITION (t.ts >= p.ts) ON t.sym = p.sym AND p.qty > 3
----
Query  stream  sym string, price double
  scan: Spark's: amount of type DECIMAL(10, 2)
  Sql  SELECT t.sym AS sym, p.price AS price FROM ticks AS t LEFT JOIN (SELECT *, LEAD(p.ts) OVER (PARTITION BY p.sym ORDER BY p.ts, `p`.`sym`, `p`.`price`, `p`.`qty`, `p`.`amount`, `p`.`day`, `p`.`active`) AS __edge FROM trades AS p WHERE NOT p.ts IS NULL AND p.qty > 3) AS p ON t.sym = p.sym AND p.ts <= t.ts AND (t.ts < p.__edge OR p.__edge IS NULL)
    Stream ticks  json  watermark ts - 10 seconds
    Table trades  parquet
====
SELECT t.sym, p.price FROM trades t ASOF JOIN trades p MATCH_CONDITION (t.ts < p.ts) ON t.sym = p.sym
----
Query  bounded  sym string, price double
  Sql  SELECT t.sym AS sym, p.price AS price FROM trades AS t JOIN (SELECT *, LAG(p.ts) OVER (PARTITION BY p.sym ORDER BY p.ts, `p`.`sym`, `p`.`price`, `p`.`qty`, `p`.`amount`, `p`.`day`, `p`.`active`) AS __edge FROM trades AS p WHERE NOT p.ts IS NULL) AS p ON t.sym = p.sym AND t.ts < p.ts AND (p.__edge <= t.ts OR p.__edge IS NULL)
    Table trades  parquet
====
SELECT o.id, t.price FROM (SELECT id, customer, at, at + make_interval(0, 0, 0, 0, 0, CAST(total AS INT)) AS expires FROM orders) AS o JOIN ticks AS t ON t.sym = o.customer AND t.ts BETWEEN o.at AND o.expires
----
Query  stream  id bigint, price double
  Sql  SELECT __join_2.`l_id` AS id, __join_2.`r_price` AS price FROM __join_2
    Join __join_2  left.(customer) = right.(sym)
      times: right.ts - left.at from 0 seconds, right.ts <= left.(expires)
      watermark: at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left until expires and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: MAKE_INTERVAL(0, 0, 0, 0, 0, CAST(orders.total AS INT))
      Sql  SELECT * FROM (SELECT orders.id AS id, orders.customer AS customer, orders.at AS at, orders.at + MAKE_INTERVAL(0, 0, 0, 0, 0, CAST(orders.total AS INT)) AS expires FROM orders AS orders) AS o
        Stream orders  csv  watermark at - 0 seconds
      Stream ticks  json  watermark ts - 10 seconds
====
SELECT o.id, t.ts, t.price FROM ticks AS t LEFT JOIN (SELECT *, CAST(id AS TIMESTAMP) AS until FROM orders) AS o ON t.sym = o.customer AND t.ts < o.until AND t.ts >= o.at WHERE t.qty > 1
----
Query  stream  id bigint, ts timestamp, price double
  Sql  SELECT __join_2.`r_id` AS id, __join_2.`l_ts` AS ts, __join_2.`l_price` AS price FROM __join_2
    LeftJoin __join_2  left.(sym) = right.(customer)
      times: right.at - left.ts to 0 seconds, left.ts < right.(until)
      watermark: ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right until until
      event time of pairs: l_ts, given out as soon as the watermark reaches it
      scan: Spark's: CAST(id AS timestamp)
      Sql  SELECT * FROM ticks AS t WHERE t.qty > 1
        Stream ticks  json  watermark ts - 10 seconds
      Sql  SELECT * FROM (SELECT orders.id AS id, orders.customer AS customer, orders.at AS at, orders.total AS total, CAST(orders.id AS TIMESTAMP) AS until FROM orders AS orders) AS o
        Stream orders  csv  watermark at - 0 seconds
====
SELECT o.id, t.price FROM orders AS o LEFT JOIN ticks AS t ON t.sym = o.customer AND t.ts >= o.at AND CAST(o.total AS TIMESTAMP) > t.ts
----
Query  stream  id bigint, price double
  Sql  SELECT __join_2.`l_id` AS id, __join_2.`r_price` AS price FROM __join_2
    LeftJoin __join_2  left.(customer) = right.(sym)
      times: right.ts - left.at from 0 seconds, right.ts < left.(CAST(total AS TIMESTAMP))
      watermark: at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left until CAST(total AS TIMESTAMP) and of the right for 0 seconds after their time
      event time of pairs: none
      scan: Spark's: CAST of DECIMAL(12,2) to TIMESTAMP
      Stream orders  csv  watermark at - 0 seconds
      Stream ticks  json  watermark ts - 10 seconds
====
SELECT o.id, t.price FROM orders AS o JOIN ticks AS t ON t.sym = o.customer AND t.ts BETWEEN o.at AND o.at + INTERVAL '1' DAY AND t.ts <= CAST(o.total AS TIMESTAMP)
----
Query  stream  id bigint, price double
  Sql  SELECT __join_2.`l_id` AS id, __join_2.`r_price` AS price FROM __join_2 WHERE __join_2.`r_ts` BETWEEN __join_2.`l_at` AND __join_2.`l_at` + INTERVAL '1' DAY AND __join_2.`r_ts` <= CAST(__join_2.`l_total` AS TIMESTAMP)
    Join __join_2  left.(customer) = right.(sym)
      times: right.ts - left.at from 0 seconds to 2 days
      watermark: at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left for 2 days and of the right for 0 seconds after their time
      event time of pairs: l_at, given out at most 2 days after the watermark has reached it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream orders  csv  watermark at - 0 seconds
      Stream ticks  json  watermark ts - 10 seconds
====
SELECT COUNT(*) AS n, sym FROM (SELECT t.sym, t.ts FROM orders AS o JOIN ticks AS t ON t.sym = o.customer AND t.ts BETWEEN o.at AND CAST(o.total AS TIMESTAMP)) GROUP BY sym, window(ts, '1 minute')
----
Query  stream  n bigint, sym string
  Sql  SELECT __groups_2.__a0 AS n, __groups_2.sym AS sym FROM __groups_2
    WindowAggregate __groups_2
      windows: 1 minute, every 1 minute; group by: sym
      __a0: COUNT(*)
      watermark: ts - 0 seconds
      before the shuffle: rows of a group are added up
      state: for every group what each aggregate needs to go on, of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      Sql  SELECT _0.ts AS ts, _0.sym AS sym, __bound FROM (SELECT __join_2.`r_sym` AS sym, __join_2.`r_ts` AS ts, __bound FROM __join_2) AS _0
        Join __join_2  left.(customer) = right.(sym)
          times: right.ts - left.at from 0 seconds, right.ts <= left.(CAST(total AS TIMESTAMP))
          watermark: at - 0 seconds, ts - 10 seconds
          state: rows not yet released by the watermark; rows of the left until CAST(total AS TIMESTAMP) and of the right for 0 seconds after their time
          event time of pairs: r_ts, given out as soon as the watermark reaches it
          scan: Spark's: CAST of DECIMAL(12,2) to TIMESTAMP
          Stream orders  csv  watermark at - 0 seconds
          Stream ticks  json  watermark ts - 10 seconds
====
SELECT customer, AVG(best) AS mean FROM (SELECT o.customer, o.id, MAX(t.price) AS best FROM orders AS o JOIN ticks AS t ON t.sym = o.customer AND t.ts BETWEEN o.at AND o.at + INTERVAL '1' HOUR WHERE t.qty > o.id GROUP BY o.customer, o.id) GROUP BY customer EMIT CHANGES
----
Query  stream  customer string, mean double, op string
  Sql  SELECT __result.__0 AS `customer`, __result.__1 AS `mean`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __groups_5.customer AS __0, __groups_5.__a0 AS __1, __groups_5.__identity, __groups_5.__change FROM __groups_5 AS __groups_5
        Groups of a table
          group by: customer
          __a0: AVG(_0.best)
          state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
          Sql  SELECT _0.customer AS customer, _0.best AS best, _0.__identity, _0.__change FROM __rows_4 AS _0
            Sql  SELECT __groups_3.customer AS customer, __groups_3.id AS id, __groups_3.__a0 AS best, __groups_3.__identity, __groups_3.__change FROM __groups_3 AS __groups_3
              Groups of a table
                group by: customer, id
                __a0: MAX(__events_1.`price`)
                state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
                Sql  SELECT __events_1.`customer` AS `customer`, __events_1.`id` AS `id`, __events_1.`price` AS `price`, __events_1.__identity, __events_1.__change FROM __rows_2 AS __events_1
                  Sql  SELECT `__events_1`.`customer`, `__events_1`.`id`, `__events_1`.`price`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM __events_1
                    Sql  SELECT __join_2.`l_customer` AS `customer`, __join_2.`l_id` AS `id`, __join_2.`r_price` AS `price` FROM __join_2 WHERE __join_2.`r_qty` > __join_2.`l_id`
                      Join __join_2  left.(customer) = right.(sym)
                        times: right.ts - left.at from 0 seconds to 1 hour
                        watermark: at - 0 seconds, ts - 10 seconds
                        state: rows not yet released by the watermark; rows of the left for 1 hour and of the right for 0 seconds after their time
                        event time of pairs: later, given out as soon as the watermark reaches it
                        scan: Spark's: amount of type DECIMAL(10, 2)
                        Stream orders  csv  watermark at - 0 seconds
                        Stream ticks  json  watermark ts - 10 seconds
====
SELECT o.id, t.price, c.name FROM orders AS o JOIN ticks AS t ON t.sym = o.customer AND t.ts BETWEEN o.at AND CAST(o.total AS TIMESTAMP) JOIN companies AS c ON c.sym = t.sym QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id ORDER BY t.price DESC) = 1 EMIT CHANGES
----
Query  stream  id bigint, price double, name string, op string
  Sql  SELECT __result.__0 AS `id`, __result.__1 AS `price`, __result.__2 AS `name`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __ranked_2.`id` AS __0, __ranked_2.`price` AS __1, __ranked_2.`name` AS __2, __ranked_2.__identity, __ranked_2.__change FROM __ranked_2 AS __ranked_2
        Ranks  ROW_NUMBER <= 1
          partition by: id
          order by: `price` DESC
          state: of every key the rows with the ranks up to 1
          Sql  SELECT __events_1.`id` AS `id`, __events_1.`price` AS `price`, __events_1.`name` AS `name`, __events_1.__identity, __events_1.__change FROM __rows_3 AS __events_1
            Sql  SELECT `__events_1`.`id`, `__events_1`.`price`, `__events_1`.`name`, TO_JSON(STRUCT(`__events_1`.`id`, `__events_1`.`price`, `__events_1`.`name`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM __events_1
              Sql  SELECT __join_3.`l_id` AS `id`, __join_3.`r_price` AS `price`, `c`.`name` AS `name` FROM __join_3 JOIN companies AS c ON c.sym = __join_3.`r_sym`
                Join __join_3  left.(customer) = right.(sym)
                  times: right.ts - left.at from 0 seconds, right.ts <= left.(CAST(total AS TIMESTAMP))
                  watermark: at - 0 seconds, ts - 10 seconds
                  state: rows not yet released by the watermark; rows of the left until CAST(total AS TIMESTAMP) and of the right for 0 seconds after their time
                  event time of pairs: later, given out as soon as the watermark reaches it
                  scan: Spark's: CAST of DECIMAL(12,2) to TIMESTAMP
                  Stream orders  csv  watermark at - 0 seconds
                  Stream ticks  json  watermark ts - 10 seconds
                Table companies  csv
====
SELECT o.id, t.price FROM orders AS o JOIN ticks AS t ON t.sym = o.customer QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id ORDER BY t.price DESC) = 1 EMIT CHANGES
----
Query  stream  id bigint, price double, op string
  Sql  SELECT __result.__0 AS `id`, __result.__1 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __ranked_4.`l_id` AS __0, __ranked_4.`r_price` AS __1, __ranked_4.__identity, __ranked_4.__change FROM __ranked_4 AS __ranked_4
        Ranks  ROW_NUMBER <= 1
          partition by: l_id
          order by: `r_price` DESC
          state: all rows
          Sql  SELECT __join_1.`l_id` AS `l_id`, __join_1.`r_price` AS `r_price`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
            Join of tables  INNER
              on: customer = sym
              state: the rows of both tables
              scan: Spark's: amount of type DECIMAL(10, 2)
              Sql  SELECT `o`.`id`, `o`.`customer`, o.__identity, o.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
                Stream orders  csv  watermark at - 0 seconds
              Sql  SELECT `t`.`price`, `t`.`sym`, t.__identity, t.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS t
                Stream ticks  json  watermark ts - 10 seconds
====
SELECT o.id, t.price FROM orders AS o JOIN ticks AS t ON t.sym = o.customer AND t.ts >= o.at AND t.ts < o.at + make_dt_interval(0, 0, 0, o.id)
----
Query  stream  id bigint, price double
  Sql  SELECT __join_2.`l_id` AS id, __join_2.`r_price` AS price FROM __join_2
    Join __join_2  left.(customer) = right.(sym)
      times: right.ts - left.at from 0 seconds, right.ts < left.(at + MAKE_DT_INTERVAL(0, 0, 0, id))
      watermark: at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left until at + MAKE_DT_INTERVAL(0, 0, 0, id) and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: MAKE_DT_INTERVAL(0, 0, 0, id)
      Stream orders  csv  watermark at - 0 seconds
      Stream ticks  json  watermark ts - 10 seconds
====
SELECT a.sym, b.n FROM (SELECT sym, window(ts, '5 minutes') AS w, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '5 minutes')) AS a
JOIN (SELECT customer, window(at, '5 minutes') AS w, COUNT(*) AS n FROM orders GROUP BY ALL) AS b ON b.customer = a.sym AND a.w = b.w
----
Query  stream  sym string, n bigint
  Sql  SELECT __join_2.`l_sym` AS sym, __join_2.`r_n` AS n FROM __join_2
    Join __join_2  left.(sym) = right.(customer) AND left.(__w_start) = right.(__w_start)
      times: right.__w_end - left.__w_end from 0 seconds to 0 seconds
      watermark: __w_end - 0 seconds, __w_end - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 0 seconds and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      Sql  SELECT a.__w_end AS __w_end, a.__w_start AS __w_start, a.sym AS sym, a.w AS w, a.n AS n, __bound FROM (SELECT __groups_1.window_end AS __w_end, __groups_1.window_start AS __w_start, __groups_1.sym AS sym, NAMED_STRUCT('start', __groups_1.window_start, 'end', __groups_1.window_end) AS w, __groups_1.__a0 AS n, __bound FROM __groups_1) AS a
        WindowAggregate __groups_1
          windows: 5 minutes, every 5 minutes; group by: sym
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          before the shuffle: rows of a group are added up
          state: for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_end, given out as soon as the watermark reaches it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
      Sql  SELECT b.__w_end AS __w_end, b.__w_start AS __w_start, b.customer AS customer, b.w AS w, b.n AS n, __bound FROM (SELECT __groups_1.window_end AS __w_end, __groups_1.window_start AS __w_start, __groups_1.customer AS customer, NAMED_STRUCT('start', __groups_1.window_start, 'end', __groups_1.window_end) AS w, __groups_1.__a0 AS n, __bound FROM __groups_1) AS b
        WindowAggregate __groups_1
          windows: 5 minutes, every 5 minutes; group by: customer
          __a0: COUNT(*)
          watermark: at - 0 seconds
          before the shuffle: rows of a group are added up
          state: for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_end, given out as soon as the watermark reaches it
          scan: Arrow (csv)
          Sql  SELECT orders.at AS at, orders.customer AS customer FROM orders AS orders
            Stream orders  csv  watermark at - 0 seconds
====
SELECT o.id FROM orders AS o LEFT ANTI JOIN ticks AS customer
ON customer.sym = o.customer AND customer.ts BETWEEN o.at AND o.at + INTERVAL '1' HOUR AND customer.qty > 2
----
Query  stream  id bigint
  Sql  SELECT __join_2.`l_id` AS id FROM __join_2
    AntiJoin __join_2  left.(customer) = right.(sym)
      times: right.ts - left.at from 0 seconds to 1 hour
      watermark: at - 0 seconds, ts - 10 seconds
      state: rows not yet released by the watermark; rows of the left for 1 hour and of the right for 0 seconds after their time
      event time of pairs: later, given out at most 1 hour after the watermark has reached it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream orders  csv  watermark at - 0 seconds
      Sql  SELECT * FROM ticks AS customer WHERE customer.qty > 2
        Stream ticks  json  watermark ts - 10 seconds
====
SELECT a.sym, o.id FROM ticks a LEFT JOIN orders o ON o.customer = a.sym AND o.at BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR WHERE a.ts <= COALESCE(o.at + INTERVAL '1' MINUTE, TIMESTAMP '2100-01-01')
----
Query  stream  sym string, id bigint
  Sql  SELECT __join_2.`l_sym` AS sym, __join_2.`r_id` AS id FROM __join_2 WHERE __join_2.`l_ts` <= COALESCE(__join_2.`r_at` + INTERVAL '1' MINUTE, CAST('2100-01-01' AS TIMESTAMP))
    LeftJoin __join_2  left.(sym) = right.(customer)
      times: right.at - left.ts from 0 seconds to 1 hour
      watermark: ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left for 1 hour and of the right for 0 seconds after their time
      event time of pairs: l_ts, given out at most 1 hour after the watermark has reached it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
      Stream orders  csv  watermark at - 0 seconds
====
SELECT a.sym, o.id FROM ticks a LEFT JOIN orders o ON o.customer = a.sym AND o.at > a.ts WHERE o.at <= COALESCE(a.ts + INTERVAL '1' HOUR, TIMESTAMP '2100-01-01') AND a.ts <= o.at + INTERVAL '1' MONTH
----
Query  stream  sym string, id bigint
  Sql  SELECT __join_2.`l_sym` AS sym, __join_2.`r_id` AS id FROM __join_2 WHERE __join_2.`l_ts` <= __join_2.`r_at` + INTERVAL '1' MONTH
    Join __join_2  left.(sym) = right.(customer)
      times: right.at - left.ts from 0.000001 seconds, right.at <= left.(COALESCE(ts + INTERVAL '1' HOUR, CAST('2100-01-01' AS TIMESTAMP)))
      watermark: ts - 10 seconds, at - 0 seconds
      state: rows not yet released by the watermark; rows of the left until COALESCE(ts + INTERVAL '1' HOUR, CAST('2100-01-01' AS TIMESTAMP)) and of the right for 0 seconds after their time
      event time of pairs: later, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
      Stream orders  csv  watermark at - 0 seconds
====
SELECT o.id, t.price FROM orders AS o JOIN ticks AS t ON (t.sym = o.customer AND t.price > o.id) OR (t.qty = 1 AND t.sym = o.customer) QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id ORDER BY t.price DESC) = 1 EMIT CHANGES
----
Query  stream  id bigint, price double, op string
  Sql  SELECT __result.__0 AS `id`, __result.__1 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __ranked_4.`l_id` AS __0, __ranked_4.`r_price` AS __1, __ranked_4.__identity, __ranked_4.__change FROM __ranked_4 AS __ranked_4
        Ranks  ROW_NUMBER <= 1
          partition by: l_id
          order by: `r_price` DESC
          state: all rows
          Sql  SELECT __join_1.`l_id` AS `l_id`, __join_1.`r_price` AS `r_price`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1 WHERE __join_1.`r_price` > __join_1.`l_id` OR __join_1.`r_qty` = 1
            Join of tables  INNER
              on: customer = sym
              state: the rows of both tables
              scan: Spark's: amount of type DECIMAL(10, 2)
              Sql  SELECT `o`.`id`, `o`.`customer`, o.__identity, o.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
                Stream orders  csv  watermark at - 0 seconds
              Sql  SELECT `t`.`price`, `t`.`qty`, `t`.`sym`, t.__identity, t.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS t
                Stream ticks  json  watermark ts - 10 seconds
====
SELECT a.sym, o.id, b.price FROM ticks a, orders o, ticks b WHERE a.sym = b.sym AND o.customer = b.sym EMIT CHANGES
----
Query  stream  sym string, id bigint, price double, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `id`, __result.__2 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_4.`l_l_sym` AS __0, __join_4.`r_id` AS __1, __join_4.`l_r_price` AS __2, __join_4.__identity, __join_4.__change FROM __join_4 AS __join_4
        Join of tables  INNER
          on: `r_sym` = customer
          state: the rows of both tables
          scan: Arrow (csv)
          Sql  SELECT `__join_1`.`l_sym`, `__join_1`.`r_price`, `__join_1`.`r_sym`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
            Join of tables  INNER
              on: sym = sym
              state: the rows of both tables
              scan: Spark's: amount of type DECIMAL(10, 2)
              Sql  SELECT `a`.`sym`, a.__identity, a.__change FROM (SELECT `ticks`.`sym`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS a
                Stream ticks  json  watermark ts - 10 seconds
              Sql  SELECT `b`.`price`, `b`.`sym`, b.__identity, b.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS b
                Stream ticks  json  watermark ts - 10 seconds
          Sql  SELECT `o`.`id`, `o`.`customer`, o.__identity, o.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
            Stream orders  csv  watermark at - 0 seconds
====
SELECT a.sym, o.id, b.price FROM ticks a CROSS JOIN orders o JOIN ticks b ON a.sym = b.sym AND b.qty > o.id LEFT JOIN orders p ON p.customer = o.customer EMIT CHANGES
----
Query  stream  sym string, id bigint, price double, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `id`, __result.__2 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_6.`l_l_l_sym` AS __0, __join_6.`l_r_id` AS __1, __join_6.`l_l_r_price` AS __2, __join_6.__identity, __join_6.__change FROM __join_6 AS __join_6 WHERE __join_6.`l_l_r_qty` > __join_6.`l_r_id`
        Join of tables  LEFT
          on: `r_customer` = customer
          state: the rows of both tables
          scan: Arrow (csv)
          Sql  SELECT `__join_4`.`l_l_sym`, `__join_4`.`r_id`, `__join_4`.`l_r_price`, `__join_4`.`l_r_qty`, `__join_4`.`r_customer`, __join_4.__identity, __join_4.__change FROM __join_4 AS __join_4
            Join of tables  INNER
              on: TRUE = TRUE
              state: the rows of both tables
              scan: Spark's: only Spark knows the types by which a join compares
              Sql  SELECT `__join_1`.`l_sym`, `__join_1`.`r_price`, `__join_1`.`r_qty`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
                Join of tables  INNER
                  on: sym = sym
                  state: the rows of both tables
                  scan: Spark's: amount of type DECIMAL(10, 2)
                  Sql  SELECT `a`.`sym`, a.__identity, a.__change FROM (SELECT `ticks`.`sym`, TO_JSON(STRUCT(`ticks`.`sym`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS a
                    Stream ticks  json  watermark ts - 10 seconds
                  Sql  SELECT `b`.`price`, `b`.`qty`, `b`.`sym`, b.__identity, b.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS b
                    Stream ticks  json  watermark ts - 10 seconds
              Sql  SELECT `o`.`id`, `o`.`customer`, o.__identity, o.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
                Stream orders  csv  watermark at - 0 seconds
          Sql  SELECT `p`.`customer`, p.__identity, p.__change FROM (SELECT `orders`.`customer`, TO_JSON(STRUCT(`orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS p
            Stream orders  csv  watermark at - 0 seconds
====
SELECT a.sym, o.id, p.id AS other FROM ticks a CROSS JOIN orders o JOIN ticks b ON a.sym = b.sym FULL JOIN orders p ON p.customer = b.sym EMIT CHANGES
----
Query  stream  sym string, id bigint, other bigint, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `id`, __result.__2 AS `other`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_6.`l_l_l_sym` AS __0, __join_6.`l_l_r_id` AS __1, __join_6.`r_id` AS __2, __join_6.__identity, __join_6.__change FROM __join_6 AS __join_6
        Join of tables  FULL
          on: `r_sym` = customer
          state: the rows of both tables
          scan: Arrow (csv)
          Sql  SELECT `__join_4`.`l_l_sym`, `__join_4`.`l_r_id`, `__join_4`.`r_sym`, __join_4.__identity, __join_4.__change FROM __join_4 AS __join_4
            Join of tables  INNER
              on: `l_sym` = sym
              state: the rows of both tables
              scan: Spark's: amount of type DECIMAL(10, 2)
              Sql  SELECT `__join_1`.`l_sym`, `__join_1`.`r_id`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
                Join of tables  INNER
                  on: TRUE = TRUE
                  state: the rows of both tables
                  scan: Spark's: amount of type DECIMAL(10, 2)
                  Sql  SELECT `a`.`sym`, a.__identity, a.__change FROM (SELECT `ticks`.`sym`, TO_JSON(STRUCT(`ticks`.`sym`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS a
                    Stream ticks  json  watermark ts - 10 seconds
                  Sql  SELECT `o`.`id`, o.__identity, o.__change FROM (SELECT `orders`.`id`, TO_JSON(STRUCT(`orders`.`id`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
                    Stream orders  csv  watermark at - 0 seconds
              Sql  SELECT `b`.`sym`, b.__identity, b.__change FROM (SELECT `ticks`.`sym`, TO_JSON(STRUCT(`ticks`.`sym`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS b
                Stream ticks  json  watermark ts - 10 seconds
          Sql  SELECT `p`.`id`, `p`.`customer`, p.__identity, p.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS p
            Stream orders  csv  watermark at - 0 seconds
====
SELECT o.id, t.price FROM ticks t, orders o, companies c WHERE t.sym = o.customer AND ((t.price > 5 AND o.id = 1 AND t.qty = 2 AND t.sym > 3) OR (o.id = 2 AND t.qty = 2 AND t.price < 1)) EMIT CHANGES
----
Query  stream  id bigint, price double, op string
  Sql  SELECT __result.__0 AS `id`, __result.__1 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_1.`r_id` AS __0, __join_1.`l_price` AS __1, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1 CROSS JOIN companies AS c WHERE (__join_1.`l_price` > 5 AND __join_1.`r_id` = 1 AND __join_1.`l_qty` = 2 AND __join_1.`l_sym` > 3) OR (__join_1.`r_id` = 2 AND __join_1.`l_qty` = 2 AND __join_1.`l_price` < 1)
        Join of tables  INNER
          on: sym = customer
          state: the rows of both tables
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT `t`.`price`, `t`.`sym`, `t`.`qty`, t.__identity, t.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS t WHERE t.qty = 2 AND (t.price > 5 OR t.price < 1)
            Stream ticks  json  watermark ts - 10 seconds
          Sql  SELECT `o`.`id`, `o`.`customer`, o.__identity, o.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o WHERE o.id = 1 OR o.id = 2
            Stream orders  csv  watermark at - 0 seconds
        Table companies  csv
====
SELECT o.id, t.price FROM ticks t LEFT JOIN orders o ON t.sym = o.customer AND ((t.price > 5 AND o.id = 1) OR (o.id = 2 AND t.qty = 2)) EMIT CHANGES
----
Query  stream  id bigint, price double, op string
  Sql  SELECT __result.__0 AS `id`, __result.__1 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_1.`r_id` AS __0, __join_1.`l_price` AS __1, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
        Join of tables  LEFT
          on: sym = customer
          further condition on pairs: (left.price > 5 AND right.id = 1) OR (right.id = 2 AND left.qty = 2)
          state: the rows of both tables, with how many rows each meets
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT `t`.`price`, `t`.`sym`, `t`.`qty`, t.__identity, t.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS t
            Stream ticks  json  watermark ts - 10 seconds
          Sql  SELECT `o`.`id`, `o`.`customer`, o.__identity, o.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o WHERE o.id = 1 OR o.id = 2
            Stream orders  csv  watermark at - 0 seconds
