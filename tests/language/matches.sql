# MATCH_RECOGNIZE: every clause, and the places where it may stand.
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT m.sym, m.fall FROM ticks MATCH_RECOGNIZE (
  PARTITION BY sym, qty
  ORDER BY ts, price DESC NULLS LAST
  MEASURES FIRST(DOWN.price) - LAST(DOWN.price, 1) AS fall, MATCH_NUMBER() AS number, CLASSIFIER() AS label
  PATTERN (A)
) AS m
----
__match_0: SELECT * FROM ticks
  partition by: sym, qty
  order by: ts, price DESC
  measure fall: __FIRST(DOWN.price) - __LAST(DOWN.price, 1)
  measure number: MATCH_NUMBER()
  measure label: CLASSIFIER()
  rows: one
  skip: past last row
  pattern: A
query: SELECT m.sym, m.fall FROM __match_0 AS m
====
SELECT m.sym, m.fall FROM ticks MATCH_RECOGNIZE (
  PARTITION BY sym, qty
  ORDER BY ts, price DESC NULLS LAST
  MEASURES FIRST(DOWN.price) - LAST(DOWN.price, 1) AS fall, MATCH_NUMBER() AS number, CLASSIFIER(U) AS label
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A DOWN+ UP*?)
  WITHIN INTERVAL '10' MINUTES
  SUBSET U = (DOWN, UP), W = (A, UP)
  DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS price > PREV(price, 2)
) AS m
----
__match_0: SELECT * FROM ticks
  partition by: sym, qty
  order by: ts, price DESC
  measure fall: __FIRST(DOWN.price) - __LAST(DOWN.price, 1)
  measure number: MATCH_NUMBER()
  measure label: CLASSIFIER(U)
  rows: one
  skip: to next row
  pattern: A DOWN+ UP*?
  within: INTERVAL '10' MINUTES
  subset U: DOWN, UP
  subset W: A, UP
  define DOWN: DOWN.price < PREV(DOWN.price)
  define UP: price > PREV(price, 2)
query: SELECT m.sym, m.fall FROM __match_0 AS m
====
SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES RUNNING LAST(A.x) AS r, FINAL LAST(A.x) AS f, FINAL SUM(B.x) + RUNNING COUNT(*) AS s PATTERN (A B))
----
__match_0: SELECT * FROM ticks
  order by: ts
  measure r: __RUNNING(__LAST(A.x))
  measure f: __FINAL(__LAST(A.x))
  measure s: __FINAL(SUM(B.x)) + __RUNNING(COUNT(*))
  rows: one
  skip: past last row
  pattern: A B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES FINAL COUNT(A.*) AS n, COUNT(DISTINCT A.x) AS d, SUM(A.x) FILTER (WHERE A.x > 3) AS s PATTERN (A B))
----
__match_0: SELECT * FROM ticks
  order by: ts
  measure n: __FINAL(COUNT(A.*))
  measure d: COUNT(DISTINCT A.x)
  measure s: SUM(A.x) FILTER(WHERE A.x > 3)
  rows: one
  skip: past last row
  pattern: A B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A B) WITHIN INTERVAL '1' HOUR + INTERVAL '30' MINUTE)
----
__match_0: SELECT * FROM ticks
  rows: one with timeouts
  skip: past last row
  pattern: A B
  within: INTERVAL '1' HOUR + INTERVAL '30' MINUTE
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A))
----
__match_0: SELECT * FROM ticks
  rows: all
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (ALL ROWS PER MATCH SHOW EMPTY MATCHES SHOW TIMEOUT MATCHES PATTERN (A))
----
__match_0: SELECT * FROM ticks
  rows: all show with timeouts
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A))
----
__match_0: SELECT * FROM ticks
  rows: all omit
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A))
----
__match_0: SELECT * FROM ticks
  rows: all unmatched
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (AFTER MATCH SKIP PAST LAST ROW PATTERN (A))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (AFTER MATCH SKIP TO FIRST B PATTERN (A B))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: to first B
  pattern: A B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (AFTER MATCH SKIP TO LAST B PATTERN (A B))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: to last B
  pattern: A B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (AFTER MATCH SKIP TO B PATTERN (A B))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: to last B
  pattern: A B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (AFTER MATCH SKIP TO FIRST PATTERN (FIRST B))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: to last FIRST
  pattern: FIRST B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT PATTERN (NEXT B))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: to last NEXT
  pattern: NEXT B
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (^ A B?? (C | D E){2,3} F{4} G{5,}? H{,6} {- I J -} PERMUTE(K, L M, N+) () $))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: ^ A B?? (C | D E){2,3} F{4} G{5,}? H{0,6} {- I J -} PERMUTE(K, L M, N+) () $
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A | B | () | (C D)* | ((E))))
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A | B | () | (C D)* | E
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (a "b c" `d` A PERMUTE) DEFINE a AS a.x > 1, "b c" AS "b c".x > 2, `d` AS `d`.x > 3)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A "b c" d A PERMUTE
  define A: a.x > 1
  define b c: `b c`.x > 2
  define d: `d`.x > 3
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (
  PATTERN ( -- what comes first
    A /* then ) or (, it matters not */ B
  )
  -- a comment; with a semicolon
  DEFINE A AS x = ';' /* ; */
)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A B
  define A: x = ';' /* ; */
query: SELECT * FROM __match_0
====
select * from ticks match_recognize (partition by sym order by ts measures last(a.price) as p one row per match after match skip past last row pattern (a b+) within interval '5' minutes define b as b.price > prev(b.price))
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  measure p: __LAST(a.price)
  rows: one
  skip: past last row
  pattern: A B+
  within: INTERVAL '5' MINUTES
  define B: b.price > PREV(b.price)
query: SELECT * FROM __match_0
====
SELECT * FROM words MATCH_RECOGNIZE (
  PARTITION BY measures, pattern, define
  ORDER BY ts, one, after
  MEASURES measures AS define, define AS measures, pattern AS pattern, A.within AS within, one + after AS one,
    FIRST(A.first) AS first, LAST(A.last, 2) AS last, PREV(prev) AS prev, NEXT(next) AS next, A.match AS match,
    A.row AS row, running AS running, final AS final, FINAL LAST(A.final) AS final2, subset AS subset, permute AS permute
  PATTERN (A B)
  DEFINE A AS define > measures AND within = 3 AND one < after, B AS pattern = 'x' OR final = running
)
----
__match_0: SELECT * FROM words
  partition by: measures, pattern, define
  order by: ts, one, after
  measure define: measures
  measure measures: define
  measure pattern: pattern
  measure within: A.within
  measure one: one + after
  measure first: __FIRST(A.first)
  measure last: __LAST(A.last, 2)
  measure prev: PREV(prev)
  measure next: NEXT(next)
  measure match: A.match
  measure row: A.row
  measure running: running
  measure final: final
  measure final2: __FINAL(__LAST(A.final))
  measure subset: subset
  measure permute: permute
  rows: one
  skip: past last row
  pattern: A B
  define A: define > measures AND within = 3 AND one < after
  define B: pattern = 'x' OR final = running
query: SELECT * FROM __match_0
====
SELECT measures, define, one, after, within, first, last, next, prev, match, row, subset, final, running, skip, past, per, matches, omit, unmatched, timeout, empty, show FROM words
----
query: SELECT measures, define, one, after, within, first, last, next, prev, match, row, subset, final, running, skip, past, per, matches, omit, unmatched, timeout, empty, show FROM words
====
SELECT pattern FROM words pattern WHERE pattern.pattern = 'a' ORDER BY pattern.pattern
----
query: SELECT pattern FROM words AS pattern WHERE pattern.pattern = 'a' ORDER BY pattern.pattern
====
SELECT define.one FROM words define JOIN words measures ON define.one = measures.one
----
query: SELECT define.one FROM words AS define JOIN words AS measures ON define.one = measures.one
====
SELECT 1 AS within, 2 AS pattern, 3 AS define, 4 AS match
----
query: SELECT 1 AS within, 2 AS pattern, 3 AS define, 4 AS match
====
SELECT * FROM ticks MATCH_RECOGNIZE (MEASURES CASE WHEN A.x > 1 THEN 'one' ELSE 'all' END AS after, (SELECT 1) AS s, A.x BETWEEN 1 AND 2 AS b PATTERN (A))
----
__match_0: SELECT * FROM ticks
  measure after: CASE WHEN A.x > 1 THEN 'one' ELSE 'all' END
  measure s: (SELECT 1)
  measure b: A.x BETWEEN 1 AND 2
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x IN (1, 2) AND y LIKE '%all%', B AS CASE WHEN A.x > 1 THEN TRUE ELSE FALSE END)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A B
  define A: x IN (1, 2) AND y LIKE '%all%'
  define B: CASE WHEN A.x > 1 THEN TRUE ELSE FALSE END
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS CAST(x AS INT) > 3, B AS x::INT > 3 AND place.lat > 1.5 AND A.place.lat < B.place.lat AND tags[0] = 'x')
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A B
  define A: CAST(x AS INT) > 3
  define B: CAST(x AS INT) > 3 AND place.lat > 1.5 AND A.place.lat < B.place.lat AND tags[0] = 'x'
query: SELECT * FROM __match_0
====
SELECT * FROM ticks AS t MATCH_RECOGNIZE (PARTITION BY t.sym ORDER BY t.ts PATTERN (A)) AS m (sym)
----
__match_0: SELECT * FROM ticks AS t
  partition by: t.sym
  order by: t.ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 AS m(sym)
====
SELECT * FROM ticks t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A)) m JOIN companies c ON m.sym = c.sym WHERE c.sector = 'oil'
----
__match_0: SELECT * FROM ticks AS t
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 AS m JOIN companies AS c ON m.sym = c.sym WHERE c.sector = 'oil'
====
SELECT * FROM companies c LEFT JOIN ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A)) m ON m.sym = c.sym
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM companies AS c LEFT JOIN __match_0 AS m ON m.sym = c.sym
====
SELECT * FROM companies c, ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A)) m, words WHERE m.sym = c.sym
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM companies AS c CROSS JOIN __match_0 AS m CROSS JOIN words WHERE m.sym = c.sym
====
SELECT * FROM companies CROSS JOIN ticks MATCH_RECOGNIZE (PATTERN (A)) NATURAL JOIN words
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM companies CROSS JOIN __match_0 NATURAL JOIN words
====
SELECT * FROM companies WHERE sym IN (SELECT sym FROM ticks MATCH_RECOGNIZE (PARTITION BY sym PATTERN (A))) AND name = 'x'
----
__match_0: SELECT * FROM ticks
  partition by: sym
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM companies WHERE sym IN (SELECT sym FROM __match_0) AND name = 'x'
====
SELECT * FROM (SELECT sym, ts FROM ticks WHERE price > 3) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A))
----
__match_0: SELECT * FROM (SELECT sym, ts FROM ticks WHERE price > 3)
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM (SELECT sym, ts FROM ticks WHERE price > 3) AS s MATCH_RECOGNIZE (PARTITION BY s.sym ORDER BY ts PATTERN (A)) AS m
----
__match_0: SELECT * FROM (SELECT sym, ts FROM ticks WHERE price > 3) AS s
  partition by: s.sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 AS m
====
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (n, c) MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(A.c) AS c PATTERN (A+) DEFINE A AS c < 'z')
----
__match_0: SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, c)
  order by: n
  measure c: __FIRST(A.c)
  rows: one
  skip: past last row
  pattern: A+
  define A: c < 'z'
query: SELECT * FROM __match_0
====
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v (n, c) MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(A.c) AS c PATTERN (A+))
----
__match_0: SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, c)
  order by: n
  measure c: __FIRST(A.c)
  rows: one
  skip: past last row
  pattern: A+
query: SELECT * FROM __match_0
====
WITH s AS (SELECT * FROM ticks), m AS (SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A))) SELECT sym FROM m
----
__match_0: SELECT * FROM s
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: WITH s AS (SELECT * FROM ticks), m AS (SELECT * FROM __match_0) SELECT sym FROM m
====
SELECT sym FROM (SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A))) WHERE sym IN (SELECT sym FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (B)))
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
__match_1: SELECT * FROM trades
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: B
query: SELECT sym FROM (SELECT * FROM __match_0) WHERE sym IN (SELECT sym FROM __match_1)
====
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(A.ts) AS ts PATTERN (A)) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (X Y))
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  measure ts: __LAST(A.ts)
  rows: one
  skip: past last row
  pattern: A
__match_1: SELECT * FROM __match_0
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: X Y
query: SELECT * FROM __match_1
====
SELECT * FROM (SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(A.ts) AS ts PATTERN (A)) AS inside) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (X Y)) AS outside
----
__match_0: SELECT * FROM trades
  partition by: sym
  order by: ts
  measure ts: __LAST(A.ts)
  rows: one
  skip: past last row
  pattern: A
__match_1: SELECT * FROM (SELECT * FROM __match_0 AS inside)
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: X Y
query: SELECT * FROM __match_1 AS outside
====
SELECT sym FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A)) UNION ALL SELECT sym FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (B)) ORDER BY sym
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
__match_1: SELECT * FROM trades
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: B
query: SELECT sym FROM __match_0 UNION ALL SELECT sym FROM __match_1 ORDER BY sym
====
SELECT EXISTS (SELECT 1 FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A))) AS found
----
__match_0: SELECT * FROM trades
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT EXISTS(SELECT 1 FROM __match_0) AS found
====
SELECT sym, COUNT(*) FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A)) GROUP BY sym HAVING COUNT(*) > 3 ORDER BY 2 LIMIT 5
----
__match_0: SELECT * FROM trades
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT sym, COUNT(*) FROM __match_0 GROUP BY sym HAVING COUNT(*) > 3 ORDER BY 2 LIMIT 5
====
SELECT * FROM db.schema.ticks MATCH_RECOGNIZE (PATTERN (A)) m
----
__match_0: SELECT * FROM db.schema.ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 AS m
====
SELECT * FROM `my table` MATCH_RECOGNIZE (PARTITION BY `my column` ORDER BY ts MEASURES A.`my column` AS `a b` PATTERN (A))
----
__match_0: SELECT * FROM `my table`
  partition by: `my column`
  order by: ts
  measure a b: A.`my column`
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS price > :limit AND sym = :sym)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
  define A: price > :limit AND sym = :sym
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts IS NOT DISTINCT FROM B.ts AS same PATTERN (A B) DEFINE B AS B.x IS DISTINCT FROM A.x)
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  measure same: A.ts IS NOT DISTINCT FROM B.ts
  rows: one
  skip: past last row
  pattern: A B
  define B: B.x IS DISTINCT FROM A.x
query: SELECT * FROM __match_0
====
SELECT EXTRACT(HOUR FROM ts), TRIM(BOTH 'x' FROM sym), SUBSTRING(sym FROM 2) FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES EXTRACT(MINUTE FROM A.ts) AS minute PATTERN (A))
----
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  measure minute: EXTRACT(MINUTE FROM A.ts)
  rows: one
  skip: past last row
  pattern: A
query: SELECT EXTRACT(HOUR FROM ts), TRIM(BOTH 'x' FROM sym), SUBSTRING(sym, 2) FROM __match_0
====
SELECT * FROM (ticks MATCH_RECOGNIZE (PATTERN (A))) AS m WHERE m.a > 1
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 AS m WHERE m.a > 1
====
SELECT * FROM ((SELECT * FROM ticks) MATCH_RECOGNIZE (PATTERN (A)) AS inner_alias) JOIN u ON u.a = inner_alias.a
----
__match_0: SELECT * FROM (SELECT * FROM ticks)
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 AS inner_alias JOIN u ON u.a = inner_alias.a
====
SELECT * FROM (ticks MATCH_RECOGNIZE (PATTERN (A)) AS m JOIN u ON u.a = m.a)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM (__match_0 AS m JOIN u ON u.a = m.a)
====
SELECT * FROM ((ticks MATCH_RECOGNIZE (PATTERN (A)) AS a) MATCH_RECOGNIZE (PATTERN (B)) AS b)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
__match_1: SELECT * FROM __match_0 AS a
  rows: one
  skip: past last row
  pattern: B
query: SELECT * FROM __match_1 AS b
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A B) WITHIN 1 HOUR 30 MINUTES)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A B
  within: INTERVAL '1' HOUR + INTERVAL '30' MINUTES
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A B) WITHIN '15' MINUTES)
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A B
  within: INTERVAL '15' MINUTES
query: SELECT * FROM __match_0
====
SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A B) WITHIN '15 minutes')
----
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A B
  within: INTERVAL '15' MINUTES
query: SELECT * FROM __match_0
====
SELECT k FROM ticks DEDUPLICATE (PARTITION BY k ORDER BY ts WITHIN 1 DAY)
----
__first_0: SELECT * FROM ticks
  partition by: k
  order by: ts
  within: INTERVAL '1' DAY
query: SELECT k FROM __first_0
