# Two texts of a query each: what a checkpoint says of the difference.
SELECT * FROM (SELECT sym, ts, qty AS x FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.x AS x PATTERN (A B))
~~~~
SELECT * FROM (SELECT sym, ts, qty * 3 AS x FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.x AS x PATTERN (A B))
----
query.inputs.__match_0.inputs[0].sql was SELECT * FROM (SELECT sym, ts, qty AS x FROM ticks) and is SELECT * FROM (SELECT sym, ts, qty * 3 AS x FROM ticks)
the same match ids
====
SELECT * FROM (SELECT sym, ts FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT * FROM (SELECT tags[0] AS sym, ts FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
----
query.inputs.__match_0.inputs[0].sql was SELECT * FROM (SELECT sym, ts FROM ticks) and is SELECT * FROM (SELECT tags[0] AS sym, ts FROM ticks)
the same match ids
====
SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '1 hour')
~~~~
select  SYM , count( * ) as n -- every hour
from Ticks
group by sym, window(ts, '1 hour')
----
the same query
the same match ids
====
SELECT t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B+) DEFINE B AS price > A.price)
~~~~
SELECT t FROM ticks MATCH_RECOGNIZE (partition by SYM order by ts asc measures a.ts as t pattern (a b+) define b as PRICE > a.price) AS m
----
query.sql was SELECT t FROM __match_0 and is SELECT t FROM __match_0 AS m
the same match ids
====
SELECT t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B) DEFINE A AS qty = 1)
~~~~
SELECT t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B) DEFINE A AS qty = 1.0)
----
query.inputs.__match_0.match.define.A was qty = 1 and is qty = 1.0
other match ids
====
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t, B.price AS p PATTERN (A B))
----
query.inputs.__match_0.match.measures was [['t', 'a.ts']] and is [['t', 'a.ts'], ['p', 'b.price']]
the same match ids
====
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B) WITHIN INTERVAL '60' SECONDS SUBSET U = (A, B))
~~~~
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B) WITHIN INTERVAL '1' MINUTE)
----
the same query
the same match ids
====
SELECT * FROM busy MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
CREATE OR REPLACE VIEW busy AS SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 101;
SELECT * FROM busy MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
----
query.inputs.__match_0.inputs[0].sql was ...ticks WHERE qty > 100) AS busy and is ...ticks WHERE qty > 101) AS busy
the same match ids
====
SELECT id, total FROM orders
~~~~
CREATE OR REPLACE STREAM orders (id BIGINT, customer STRING, at TIMESTAMP, total DECIMAL(12,2), WATERMARK FOR at AS at)
USING csv OPTIONS (path '/data/orders', header true, maxFilesPerTrigger '1');
SELECT id, total FROM orders
----
the same query
the same match ids
====
SELECT id, total FROM orders
~~~~
CREATE OR REPLACE STREAM orders (id BIGINT, customer STRING, at TIMESTAMP, total DECIMAL(12, 2), WATERMARK FOR at AS at)
USING csv OPTIONS (path '/data/others', header true);
SELECT id, total FROM orders
----
query.inputs.orders.options.path was /data/orders and is /data/others
the same match ids
====
SELECT id, total FROM orders
~~~~
CREATE OR REPLACE STREAM orders (id INT, customer STRING, at TIMESTAMP, total DECIMAL(12, 3), WATERMARK FOR at AS at - INTERVAL '1' SECOND)
USING csv OPTIONS (path '/data/orders');
SELECT id, total FROM orders
----
query.inputs.orders.columns[0][1] was bigint and is int; query.inputs.orders.columns[3][1] was decimal(12,2) and is decimal(12,3); query.inputs.orders.options.header was true and is nothing; and 1 more
the same match ids
====
SELECT * FROM ticks DEDUPLICATE (PARTITION BY sym ORDER BY ts WITHIN INTERVAL '60' SECONDS)
~~~~
select * from Ticks deduplicate (partition by SYM order by TS within interval '1' minute)
----
the same query
the same match ids
====
SELECT * FROM ticks DEDUPLICATE (PARTITION BY sym ORDER BY ts WITHIN INTERVAL '1' MINUTE)
~~~~
SELECT * FROM ticks DEDUPLICATE (PARTITION BY sym, price ORDER BY ts)
----
query.inputs.__first_0.deduplicate.keys was ['sym'] and is ['sym', 'price']; query.inputs.__first_0.deduplicate.within was 60000000 and is nothing
the same match ids
====
SELECT * FROM (SELECT t.sym, t.ts, o.id FROM ticks AS t JOIN orders AS o ON t.sym = o.customer AND o.at BETWEEN t.ts AND t.ts + INTERVAL '1' MINUTE WHERE o.total > t.price) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.id AS a PATTERN (A B))
~~~~
SELECT * FROM (SELECT t.sym, t.ts, o.id FROM ticks AS t, orders AS o WHERE o.total > t.price AND o.at <= t.ts + INTERVAL '60' SECONDS AND o.at >= t.ts AND t.SYM = o.customer) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.id AS a PATTERN (A B))
----
the same query
the same match ids
====
SELECT * FROM (SELECT t.sym, t.ts, o.id FROM ticks AS t JOIN orders AS o ON t.sym = o.customer AND o.at BETWEEN t.ts AND t.ts + INTERVAL '1' MINUTE) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.id AS a PATTERN (A B))
~~~~
SELECT * FROM (SELECT t.sym, t.ts, o.id FROM ticks AS t LEFT JOIN orders AS o ON t.sym = o.customer AND o.at BETWEEN t.ts AND t.ts + INTERVAL '2' MINUTES WHERE t.qty > 1) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.id AS a PATTERN (A B))
----
query.inputs.__match_0.inputs[0].inputs.__join_2.between[1] was 60000000 and is 120000000; query.inputs.__match_0.inputs[0].inputs.__join_2.inputs[0].sql was SELECT * FROM ticks AS t and is SELECT * FROM ticks AS t WHERE t.qty > 1; query.inputs.__match_0.inputs[0].inputs.__join_2.join was [['sym', 'customer']] and is nothing; and 1 more
the same match ids
====
SELECT LAG(qty) OVER (PARTITION BY sym ORDER BY ts) AS before FROM ticks
~~~~
SELECT LAG(qty, 1) OVER (PARTITION BY sym ORDER BY ts) AS before FROM ticks
----
query.inputs.__over_1.over[0][1] was LAG(qty) OVER (PARTITION BY sym ORDER BY ts) and is LAG(qty, 1) OVER (PARTITION BY sym ORDER BY ts)
the same match ids
====
SELECT LAG(qty) OVER (PARTITION BY sym ORDER BY ts) AS before FROM ticks
~~~~
SELECT lag( QTY ) over w as Before -- named
FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts)
----
the same query
the same match ids
====
SELECT SUM(n) OVER (ORDER BY at) FROM (SELECT window.end AS at, COUNT(*) AS n FROM ticks GROUP BY window(ts, '1 minute'))
~~~~
SELECT SUM(n) OVER (ORDER BY at) FROM (SELECT window.end AS at, COUNT(*) AS n FROM ticks GROUP BY window(ts, '2 minutes'))
----
query.inputs.__over_1.inputs[0].inputs.__groups_1.windows.size was 60000000 and is 120000000; query.inputs.__over_1.inputs[0].inputs.__groups_1.windows.slide was 60000000 and is 120000000
the same match ids
====
SELECT SUM(n) OVER (ORDER BY at) FROM (SELECT window.end AS at, COUNT(*) AS n FROM ticks GROUP BY window(ts, '1 minute'))
~~~~
SELECT SUM(n) OVER (ORDER BY at) FROM (SELECT window.end AS at, COUNT(*) AS n FROM ticks GROUP BY window(ts, '60 seconds'))
----
the same query
the same match ids
====
SELECT sym, COUNT(*) AS n FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY sym, window_start
~~~~
SELECT sym, COUNT(*) AS n FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE, OFFSET 1 SECOND) GROUP BY sym, window_start
----
query.inputs.__groups_2.windows.offset was 0 and is 1000000
the same match ids
====
SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '1 minute') EMIT CHANGES
~~~~
SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '1 minute') EMIT CHANGES ALLOWED LATENESS INTERVAL '1' SECOND
----
query.inputs.__groups_1.emit.lateness was 0 and is 1000000
the same match ids
====
SELECT currency, COUNT(*) AS n FROM rates WHERE rate > 1 GROUP BY currency EMIT CHANGES
~~~~
SELECT currency, COUNT(rate) AS n FROM rates WHERE rate > 1 GROUP BY currency EMIT CHANGES
----
query.inputs.__result.inputs.__groups_2.aggregates[0] was COUNT(*) and is COUNT(rates.rate); query.inputs.__result.inputs.__groups_2.groups of[0][2] was __c1 and is rate; query.inputs.__result.inputs.__groups_2.inputs[0].sql was ...rrency AS currency, 1 AS __c1, rates.__identity, rates.__cha... and is ...rrency AS currency, rates.rate AS rate, rates.__identity, ra...
the same match ids
====
SELECT o.id, r.rate FROM orders AS o JOIN rates AS r ON r.currency = o.customer EMIT CHANGES
~~~~
SELECT o.id, r.rate FROM orders AS o LEFT JOIN rates AS r ON r.currency = o.customer EMIT CHANGES
----
query.inputs.__result.inputs.__join_1.join of tables was INNER and is LEFT
the same match ids
====
SELECT currency, rate FROM rates EMIT CHANGES
~~~~
select Currency, Rate from rates emit changes
----
the same query
the same match ids
====
SELECT sym, price FROM ticks QUALIFY ROW_NUMBER() OVER (PARTITION BY sym ORDER BY price DESC) <= 3 EMIT CHANGES
~~~~
select Sym, Price from ticks qualify 3 >= row_number() over (partition by Sym order by price desc nulls last) emit changes
----
the same query
the same match ids
====
SELECT sym, price FROM ticks QUALIFY ROW_NUMBER() OVER (PARTITION BY sym ORDER BY price DESC) <= 3 EMIT CHANGES
~~~~
SELECT sym, price FROM ticks QUALIFY RANK() OVER (PARTITION BY sym ORDER BY price) <= 4 EMIT CHANGES
----
query.inputs.__result.inputs.__ranked_1.limit was 3 and is 4; query.inputs.__result.inputs.__ranked_1.order by[0] was price DESC and is price; query.inputs.__result.inputs.__ranked_1.ranks was ROW_NUMBER and is RANK
the same match ids
====
SELECT ts, low OVER w FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price))
~~~~
select TS, Low over W from Ticks window W as (partition by Sym order by ts asc measures last(b.price) as Low rows between current row and 3 following after match skip past last row initial pattern (a b+) define b as Price < prev(price))
----
query.inputs.__pattern_0.match.measures[0][0] was low and is Low
the same match ids
====
SELECT ts, low OVER w FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price))
~~~~
SELECT ts, low OVER w FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price))
----
query.inputs.__pattern_0.match.frame was 3 and is 4
other match ids
====
SELECT ts, low OVER w FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price))
~~~~
SELECT ts, low OVER w, count(*) OVER w AS n FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price))
----
query.inputs.__pattern_0.match.calls was 0 and is 1; query.inputs.__pattern_0.match.measures was [['low', '__LAST(b.price)']] and is [['low', '__LAST(b.price)'], ['__over_1', 'COUNT(*)']]; query.sql was ...ttern_0.low AS `low` FROM __pattern_0 and is ...ttern_0.low AS `low`, __pattern_0.__over_1 AS n FROM __patte...
the same match ids
====
SELECT sym FROM ticks ORDER BY ts, price
~~~~
select ticks.Sym from Ticks order by TS asc, ticks.price
----
the same query
the same match ids
====
SELECT sym FROM ticks ORDER BY ts, price
~~~~
SELECT sym FROM ticks ORDER BY ts, price DESC
----
query.inputs.__sorted.sort[1] was `price` and is `price` DESC
the same match ids
====
SELECT sym FROM ticks ORDER BY ts
~~~~
SELECT sym FROM ticks
----
query.inputs.__sorted was {'inputs': [{'inputs': {'ticks': {'columns': [['sym', 'strin... and is nothing; query.inputs.ticks was nothing and is {'columns': [['sym', 'string', None], ['ts', 'timestamp', No...; query.sql was SELECT `sym` FROM __sorted and is SELECT sym FROM ticks
the same match ids
====
SELECT sym, COUNT(*) AS n FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) FILL (0) GROUP BY sym, window_start, window_end
~~~~
SELECT sym, COUNT(*) AS n FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) FILL (NULL FOR AT MOST 1 HOUR) GROUP BY sym, window_start, window_end
----
query.inputs.__filled_1.fill[1][2] was 0 and is nothing; query.inputs.__filled_1.windows[2] was nothing and is 60
the same match ids
