# Two texts of a query each: whether the second can go on from the checkpoint of the first.
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
select * from TICKS match_recognize (partition by sym order by ts measures a.ts as t pattern (a b))
----
the same
====
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT upper(sym) AS sym, t, hour(t) AS h FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B)) AS m WHERE sym <> 'X'
----
compatible
query.sql was SELECT sym, t FROM __match_0 and is SELECT UPPER(sym) AS sym, t, HOUR(t) AS h FROM __match_0 AS ...
====
SELECT sym FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT s FROM (SELECT sym AS s FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B)))
----
compatible
query.sql was SELECT sym FROM __match_0 and is SELECT s FROM (SELECT sym AS s FROM __match_0)
====
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t, B.ts AS u PATTERN (A B))
----
replayable
query.inputs.__match_0.match.measures was [['t', 'a.ts']] and is [['t', 'a.ts'], ['u', 'b.ts']]
====
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B) DEFINE B AS price > 1)
----
replayable
query.inputs.__match_0.match.define.B was nothing and is price > 1
====
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT m.sym, c.name FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B)) AS m JOIN companies AS c ON m.sym = c.sym
----
incompatible
query.inputs.companies was nothing and is {'columns': [['sym', 'string', None], ['name', 'string', Non...; query.sql was SELECT sym, t FROM __match_0 and is SELECT m.sym, c.name FROM __match_0 AS m JOIN companies AS c...
====
SELECT sym FROM ticks
~~~~
SELECT sym, price * qty AS volume FROM ticks WHERE qty > 0
----
compatible
query.sql was SELECT sym FROM ticks and is SELECT sym, price * qty AS volume FROM ticks WHERE qty > 0
====
SELECT sym FROM ticks
~~~~
SELECT DISTINCT sym FROM ticks
----
incompatible
query.sql was SELECT sym FROM ticks and is SELECT DISTINCT sym FROM ticks
====
SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '1 hour')
~~~~
SELECT sym, COUNT(*) AS n, SUM(qty) AS m FROM ticks GROUP BY sym, window(ts, '1 hour')
----
replayable
query.inputs.__groups_1.aggregates was [['__a0', 'COUNT(*)']] and is [['__a0', 'COUNT(*)'], ['__a1', 'SUM(qty)']]; query.inputs.__groups_1.columns was ['ts', 'sym'] and is ['ts', 'sym', 'qty']; query.inputs.__groups_1.inputs[0].sql was ...ts, ticks.sym AS sym FROM ticks AS ticks and is ...ts, ticks.sym AS sym, ticks.qty AS qty FROM ticks AS ticks; and 1 more
====
SELECT sym FROM ticks
~~~~
SELECT id FROM orders
----
incompatible
query.inputs.ticks was {'columns': [['sym', 'string', None], ['ts', 'timestamp', No... and is nothing; query.inputs.orders was nothing and is {'columns': [['id', 'bigint', None], ['customer', 'string', ...; query.sql was SELECT sym FROM ticks and is SELECT id FROM orders
====
SELECT sym, volume FROM busy
~~~~
SELECT sym, volume FROM busy WHERE volume > 100
----
compatible
query.sql was ...E qty > 100) AS busy and is ...E qty > 100) AS busy WHERE volume > 100
====
SELECT k, a FROM (SELECT sym AS k, ts FROM ticks UNION ALL SELECT customer, at FROM orders) MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a PATTERN (A B))
~~~~
SELECT k, a FROM (SELECT sym AS k, ts FROM ticks WHERE price > 0 UNION ALL SELECT lower(customer), at FROM orders) MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a PATTERN (A B C))
----
replayable
query.inputs.__match_0.inputs[0].sql was ...AS k, ts FROM ticks UNION ALL SELECT customer, at FROM order... and is ...AS k, ts FROM ticks WHERE price > 0 UNION ALL SELECT LOWER(c...; query.inputs.__match_0.match.pattern was A B and is A B C
====
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT sym, t FROM (SELECT DISTINCT sym, ts FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
----
incompatible
query.inputs.__match_0.inputs[0].inputs.ticks was {'columns': [['sym', 'string', None], ['ts', 'timestamp', No... and is nothing; query.inputs.__match_0.inputs[0].inputs.__distinct_1 was nothing and is {'deduplicate': {'keys': ['sym', 'ts'], 'order by': ['`ts`']...; query.inputs.__match_0.inputs[0].sql was SELECT * FROM ticks and is SELECT * FROM (SELECT * FROM __distinct_1)
====
SELECT sym, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
~~~~
SELECT customer, t FROM orders MATCH_RECOGNIZE (PARTITION BY customer ORDER BY at MEASURES A.at AS t PATTERN (A B))
----
incompatible
query.inputs.__match_0.inputs[0].inputs.ticks was {'columns': [['sym', 'string', None], ['ts', 'timestamp', No... and is nothing; query.inputs.__match_0.inputs[0].inputs.orders was nothing and is {'columns': [['id', 'bigint', None], ['customer', 'string', ...; query.inputs.__match_0.inputs[0].sql was SELECT * FROM ticks and is SELECT * FROM orders; and 4 more
====
SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, session_window(ts, '1 hour')
~~~~
SELECT sym, COUNT(*) AS n FROM ticks WHERE price > 1 GROUP BY sym, session_window(ts, '1 hour')
----
replayable
query.inputs.__groups_1.inputs[0].sql was ... FROM ticks AS ticks and is ... FROM ticks AS ticks WHERE ticks.price > 1
