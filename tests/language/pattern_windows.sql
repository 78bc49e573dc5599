# Row patterns in windows: where they may stand, and what is a measure before OVER.
SELECT ts, low OVER w, count(*) OVER w FROM ticks WINDOW w AS (
  PARTITION BY sym ORDER BY ts DESC NULLS LAST
  MEASURES LAST(A.price) AS low, CLASSIFIER() AS rows
  ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
  AFTER MATCH SKIP TO FIRST B
  INITIAL
  PATTERN (A B+ C?) WITHIN INTERVAL '10' MINUTES
  SUBSET u = (A, B)
  DEFINE B AS price < PREV(price)
)
----
__pattern_0: SELECT *
  partition by: sym
  order by: ts DESC
  measure low: __LAST(A.price)
  measure rows: CLASSIFIER()
  rows: all each
  skip: to first B
  pattern: A B+ C?
  frame: None
  within: INTERVAL '10' MINUTES
  subset U: A, B
  define B: price < PREV(price)
  on its own
query: SELECT ts, __MEASURE('low') OVER w AS `low`, COUNT(*) OVER w FROM ticks WINDOW w AS (__pattern_0)
====
SELECT coalesce(sum(price) OVER (v ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (A)), 0) + 1 AS s FROM ticks JOIN names USING (sym) WINDOW v AS (ORDER BY ts)
----
__pattern_0: SELECT *
  rows: all each
  skip: past last row
  pattern: A
  frame: 3
  on from: v
query: SELECT COALESCE(SUM(price) OVER __pattern_0, 0) + 1 AS s FROM ticks JOIN names USING (sym) WINDOW v AS (ORDER BY ts)
====
SELECT `low price` OVER `the w` AS x FROM (SELECT low OVER w, other AS low FROM t WINDOW w AS (MEASURES 1 AS low ROWS BETWEEN CURRENT ROW AND CURRENT ROW PATTERN (A))) WINDOW `the w` AS (ORDER BY a MEASURES 1 AS `low price` ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A B))
----
__pattern_0: SELECT *
  measure low: 1
  rows: all each
  skip: past last row
  pattern: A
  frame: 0
  on its own
__pattern_1: SELECT *
  order by: a
  measure low price: 1
  rows: all each
  skip: past last row
  pattern: A B
  frame: 2
  on its own
query: SELECT __MEASURE('low price') OVER `the w` AS x FROM (SELECT __MEASURE('low') OVER w AS `low`, other AS low FROM t WINDOW w AS (__pattern_0)) WINDOW `the w` AS (__pattern_1)
====
SELECT first_value(x) IGNORE NULLS OVER w, t.low over, sum(x) FILTER (WHERE x > 1) OVER w, low OVER v, low OVER (v) AS again FROM t WINDOW w AS (PARTITION BY k ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A)), v AS (w) QUALIFY low OVER w = 1
----
__pattern_0: SELECT *
  partition by: k
  rows: all each
  skip: past last row
  pattern: A
  frame: 2
  on its own
query: SELECT * EXCEPT (_qualify_0) FROM (SELECT FIRST_VALUE(x) IGNORE NULLS OVER w, t.low AS over, SUM(x) FILTER(WHERE x > 1) OVER w, __MEASURE('low') OVER v AS `low`, __MEASURE('low') OVER v AS again, __MEASURE('low') OVER w AS _qualify_0 FROM t WINDOW w AS (__pattern_0), v AS (w)) AS _t WHERE _qualify_0 = 1
====
SELECT sum(x) OVER (PARTITION BY pattern, define, measures ORDER BY pattern(x), initial, rows ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s, x AS measures FROM t WINDOW pattern AS (ORDER BY subset)
----
query: SELECT SUM(x) OVER (PARTITION BY pattern, define, measures ORDER BY PATTERN(x), initial, rows ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s, x AS measures FROM t WINDOW pattern AS (ORDER BY subset)
====
WITH a AS (SELECT m OVER w AS m FROM t WINDOW w AS (ORDER BY x MEASURES 1 AS m ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A))), b AS (SELECT pattern (x) FROM t) SELECT * FROM a MATCH_RECOGNIZE (MEASURES m AS m PATTERN (A B))
----
__match_0: SELECT * FROM a
  measure m: m
  rows: one
  skip: past last row
  pattern: A B
__pattern_0: SELECT *
  order by: x
  measure m: 1
  rows: all each
  skip: past last row
  pattern: A
  frame: 2
  on its own
query: WITH a AS (SELECT __MEASURE('m') OVER w AS m FROM t WINDOW w AS (__pattern_0)), b AS (SELECT PATTERN(x) FROM t) SELECT * FROM __match_0
