# The event time of a stream through subqueries, CTEs, views and joins.
SELECT * FROM ticks
----
ts, 10000000 microseconds behind
====
SELECT sym, ts FROM ticks
----
ts, 10000000 microseconds behind
====
SELECT sym, ts AS time FROM ticks
----
time, 10000000 microseconds behind
====
SELECT sym FROM ticks
----
none
====
SELECT ts + INTERVAL '1' HOUR AS ts FROM ticks
----
none
====
SELECT CAST(ts AS DATE) AS ts FROM ticks
----
none
====
SELECT t.* FROM (SELECT ts AS a, sym FROM ticks) t
----
a, 10000000 microseconds behind
====
SELECT b FROM (SELECT a AS b FROM (SELECT ts AS a FROM ticks WHERE price > 3))
----
b, 10000000 microseconds behind
====
WITH x AS (SELECT ts AS a FROM ticks), y AS (SELECT a AS b FROM x) SELECT b AS c FROM y
----
c, 10000000 microseconds behind
====
WITH x (a, b) AS (SELECT sym, ts FROM ticks) SELECT b FROM x
----
b, 10000000 microseconds behind
====
SELECT ts FROM busy
----
ts, 10000000 microseconds behind
====
SELECT at FROM orders
----
at, 0 microseconds behind
====
SELECT ts FROM trades
----
none
====
SELECT ts FROM raw
----
none
====
SELECT t.ts, c.name FROM ticks t JOIN companies c ON t.sym = c.sym
----
ts, 10000000 microseconds behind
====
SELECT c.founded AS ts FROM ticks t JOIN companies c ON t.sym = c.sym
----
none
====
SELECT day AS ts FROM ticks
----
none
====
SELECT TS FROM Ticks
----
ts, 10000000 microseconds behind
