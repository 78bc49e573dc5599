# Whole plans.
SELECT sym, price FROM trades WHERE price > 10
----
== rewritten ==
SELECT sym, price FROM trades WHERE price > 10
== logical ==
Query  bounded  sym string, price double
  Sql  SELECT sym, price FROM trades WHERE price > 10
    Table trades  parquet
== pattern ==
the query has no row pattern
====
SELECT sym, price FROM ticks WHERE price > 10 LIMIT 5
----
== rewritten ==
SELECT sym, price FROM ticks WHERE price > 10
== logical ==
Query  stream  sym string, price double
  Limit 5
  scan: Spark's: amount of type DECIMAL(10, 2)
  Sql  SELECT sym, price FROM ticks WHERE price > 10
    Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT m.sym, m.fall / 2 AS half FROM ticks MATCH_RECOGNIZE (
  PARTITION BY sym
  ORDER BY ts
  MEASURES FIRST(DOWN.price) - LAST(DOWN.price) AS fall, COUNT(*) AS n, LAST(UP.ts) AS until, MATCH_NUMBER() AS number
  PATTERN (A DOWN+ UP+)
  WITHIN INTERVAL '10' MINUTES
  DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)
) AS m WHERE m.fall > 3
----
== rewritten ==
__match_0 reads
  SELECT * FROM ticks
__match_0 gives
  k0 AS sym
  a0 - a1 AS fall
  a2 AS n
  TIMESTAMP_MICROS(a3) AS until
  a4 AS number
SELECT m.sym, m.fall / 2 AS half FROM __match_0 AS m WHERE m.fall > 3
== logical ==
Query  stream  sym string, half double
  Sql  SELECT m.sym, m.fall / 2 AS half FROM __match_0 AS m WHERE m.fall > 3
    Match __match_0  PATTERN (A DOWN+ UP+)  SKIP PAST LAST ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; rows from the start of the oldest undecided match, at most 10 minutes; the number of matches of every key
      columns that travel: sym, price
      route: regular: every condition reads the row or its neighbours only
      scan: Spark's: amount of type DECIMAL(10, 2)
      Stream ticks  json  watermark ts - 10 seconds
== pattern ==
__match_0: A DOWN+ UP+
  A AS TRUE
  DOWN AS price < PREV(price)
  UP AS price > PREV(price)
  a0 = FIRST(DOWN: price)
  a1 = LAST(DOWN: price)
  a2 = COUNT(*)
  a3 = LAST(UP: `ts`)
  a4 = MATCH_NUMBER()
  WITHIN 10 minutes

  ○──[A]──┬─[DOWN]─┬──┬─[UP]─┬──◉
          ╰─◄+─────╯  ╰─◄+───╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 row DOWN
    2 split 1 3
    3 row UP
    4 split 3 5
    5 accept
====
SELECT * FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer
  ORDER BY at, id DESC
  MEASURES A.id AS id, MATCH_TIMEOUT() AS late
  ONE ROW PER MATCH SHOW TIMEOUT MATCHES
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B*? C)
  WITHIN INTERVAL '1' DAY
  DEFINE A AS A.total > 100, C AS C.id = A.id AND C.total < 0
)
----
== rewritten ==
__match_0 reads
  SELECT * FROM orders
__match_0 gives
  k0 AS customer
  a0 AS id
  NOT a1 AS late
SELECT * FROM __match_0
== logical ==
Query  stream  customer string, id bigint, late boolean
  Match __match_0  PATTERN (A B*? C)  SKIP TO NEXT ROW
    partition by: customer
    order by: at ASC NULLS FIRST, id DESC NULLS LAST
    watermark: at - 0 seconds
    state: rows not yet released by the watermark; rows from the start of the oldest undecided match, at most 1 day
    computed before the shuffle: total > 100; total < 0
    columns that travel: customer, id
    route: search: a condition reads the match so far
    scan: Arrow (csv)
    Stream orders  csv  watermark at - 0 seconds
== pattern ==
__match_0: A B*? C
  A AS [total > 100]
  B AS TRUE
  C AS (id = LAST(A: id)) AND [total < 0]
  a0 = LAST(A: id)
  a1 = complete
  WITHIN 1 day

  ○──[A]──┬─1──────────┬──[C]──◉
          ╰─2─┬─[B]──┬─╯
              ╰─◄*?──╯
  numbers: the order in which ways are tried
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 split 4 2
    2 row B
    3 jump 1
    4 row C
    5 accept
====
SELECT * FROM trades MATCH_RECOGNIZE (
  ORDER BY price DESC, ts
  MEASURES SUM(U.qty) AS s, CLASSIFIER(U) AS c
  PATTERN (^ PERMUTE(A, B+) {- C -}?? $)
  SUBSET U = (A, B)
  DEFINE A AS A.qty > COUNT(U.*), B AS B.price < FIRST(price)
)
----
== rewritten ==
__match_0 reads
  SELECT * FROM trades
__match_0 gives
  a0 AS s
  a1 AS c
SELECT * FROM __match_0
== logical ==
Query  bounded  s bigint, c string
  Match __match_0  PATTERN (^ PERMUTE(A, B+) {- C -}?? $)  SKIP PAST LAST ROW
    partition by: nothing (one partition)
    order by: price DESC NULLS LAST, ts ASC NULLS FIRST
    columns that travel: qty, price
    route: search: a condition reads the match so far
    Table trades  parquet
== pattern ==
__match_0: ^ PERMUTE(A, B+) {- C -}?? $
  A AS qty > COUNT(A|B: *)
  B AS price < FIRST(price)
  C AS TRUE
  a0 = SUM(A|B: qty)
  a1 = LAST(A|B: CLASSIFIER())

  ○──(^)──╦═1═[A]═════╦──┬─1─────────┬──($)──◉
          ╠═2═┬─[B]─┬═╣  ╰─2─{-[C]-}─╯
          ║   ╰─◄+──╯ ║
          ╚═══════════╝
  numbers: the order in which ways are tried
  ◄: again, as often as possible, or with ? as seldom as possible
  ═: all of these, in any order
  {- -}: left out of ALL ROWS PER MATCH

  automaton
    0 anchor ^
    1 split 2 6
    2 row A
    3 row B
    4 split 3 5
    5 jump 9
    6 row B
    7 split 6 8
    8 row A
    9 split 11 10
    10 row C excluded
    11 anchor $
    12 accept
====
WITH cheap AS (SELECT sym, ts, price * 2 AS twice FROM ticks WHERE price < 5)
SELECT m.sym, c.name FROM cheap MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts MEASURES LAST(B.twice) AS last PATTERN (A+ B) DEFINE A AS twice > 3, B AS twice < A.twice
) m JOIN companies c ON m.sym = c.sym
----
== rewritten ==
__match_0 reads
  SELECT * FROM (SELECT sym, ts, price * 2 AS twice FROM ticks WHERE price < 5) AS cheap
__match_0 gives
  k0 AS sym
  a0 AS last
SELECT m.sym, c.name FROM __match_0 AS m JOIN companies AS c ON m.sym = c.sym
== logical ==
Query  stream  sym string, name string
  Sql  SELECT m.sym, c.name FROM __match_0 AS m JOIN companies AS c ON m.sym = c.sym
    Match __match_0  PATTERN (A+ B)  SKIP PAST LAST ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; rows from the start of the oldest undecided match
      computed before the shuffle: twice > 3
      columns that travel: sym, twice
      route: regular: what conditions read of the match is always as many rows before
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT * FROM (SELECT sym, ts, price * 2 AS twice FROM ticks WHERE price < 5) AS cheap
        Stream ticks  json  watermark ts - 10 seconds
    Table companies  csv
  notice: without WITHIN a partial match is kept until it is decided: A can repeat for ever
== pattern ==
__match_0: A+ B
  A AS [twice > 3]
  B AS twice < LAST(A: twice)
  a0 = LAST(B: twice)

  ○──┬─[A]─┬──[B]──◉
     ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 split 0 2
    2 row B
    3 accept
====
SELECT * FROM busy MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES MAX(volume) AS top PATTERN (A{2,3} B) DEFINE B AS volume < A.volume)
----
== rewritten ==
__match_0 reads
  SELECT * FROM (SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 100) AS busy
__match_0 gives
  k0 AS sym
  a0 AS top
SELECT * FROM __match_0
== logical ==
Query  stream  sym string, top double
  Match __match_0  PATTERN (A{2,3} B)  SKIP PAST LAST ROW
    partition by: sym
    order by: ts ASC NULLS FIRST
    watermark: ts - 10 seconds
    state: rows not yet released by the watermark; rows from the start of the oldest undecided match
    columns that travel: sym, volume
    route: regular: what conditions read of the match is always as many rows before
    scan: Spark's: amount of type DECIMAL(10, 2)
    Sql  SELECT * FROM (SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 100) AS busy
      Stream ticks  json  watermark ts - 10 seconds
  notice: without WITHIN a partial match is kept until it is decided: it waits for its next row for ever
== pattern ==
__match_0: A{2,3} B
  A AS TRUE
  B AS volume < LAST(A: volume)
  a0 = MAX(volume)

  ○──┬─[A]─────┬──[B]──◉
     ╰─◄{2,3}──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 row A
    2 split 3 4
    3 row A
    4 row B
    5 accept
====
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts MEASURES LAST(B.ts) AS at PATTERN (A B) DEFINE B AS B.qty > A.qty
) MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY at MEASURES COUNT(*) AS n PATTERN (X Y) WITHIN INTERVAL '1' HOUR
)
----
== rewritten ==
__match_0 reads
  SELECT * FROM trades
__match_0 gives
  k0 AS sym
  TIMESTAMP_MICROS(a0) AS at
__match_1 reads
  SELECT * FROM __match_0
__match_1 gives
  k0 AS sym
  a0 AS n
SELECT * FROM __match_1
== logical ==
Query  bounded  sym string, n bigint
  Match __match_1  PATTERN (X Y)  SKIP PAST LAST ROW
    partition by: sym
    order by: at ASC NULLS FIRST
    columns that travel: sym
    route: regular: every condition reads the row or its neighbours only
    Match __match_0  PATTERN (A B)  SKIP PAST LAST ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      columns that travel: sym, qty
      route: regular: what conditions read of the match is always as many rows before
      Table trades  parquet
== pattern ==
__match_0: A B
  A AS TRUE
  B AS qty > LAST(A: qty)
  a0 = LAST(B: `ts`)

  ○──[A]──[B]──◉

  automaton
    0 row A
    1 row B
    2 accept

__match_1: X Y
  X AS TRUE
  Y AS TRUE
  a0 = COUNT(*)
  WITHIN 1 hour

  ○──[X]──[Y]──◉

  automaton
    0 row X
    1 row Y
    2 accept
====
SELECT t.sym, n.n FROM companies t LEFT JOIN trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS qty > 3) n ON t.sym = n.sym ORDER BY t.sym
----
== rewritten ==
__match_0 reads
  SELECT * FROM trades
__match_0 gives
  k0 AS sym
  a0 AS n
SELECT t.sym, n.n FROM companies AS t LEFT JOIN __match_0 AS n ON t.sym = n.sym ORDER BY t.sym
== logical ==
Query  bounded  sym string, n bigint
  Sql  SELECT t.sym, n.n FROM companies AS t LEFT JOIN __match_0 AS n ON t.sym = n.sym ORDER BY t.sym
    Table companies  csv
    Match __match_0  PATTERN (A+)  SKIP PAST LAST ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      computed before the shuffle: qty > 3
      columns that travel: sym
      route: regular: every condition reads the row or its neighbours only
      Table trades  parquet
== pattern ==
__match_0: A+
  A AS [qty > 3]
  a0 = COUNT(*)

  ○──┬─[A]─┬──◉
     ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 split 0 2
    2 accept
====
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, c) MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(A.c) AS c PATTERN (A+) DEFINE A AS c < 'z')
----
== rewritten ==
__match_0 reads
  SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, c)
__match_0 gives
  a0 AS c
SELECT * FROM __match_0
== logical ==
Query  bounded  c string
  Match __match_0  PATTERN (A+)  SKIP PAST LAST ROW
    partition by: nothing (one partition)
    order by: n ASC NULLS FIRST
    computed before the shuffle: c < 'z'
    columns that travel: c
    route: regular: every condition reads the row or its neighbours only
    Sql  SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, c)
== pattern ==
__match_0: A+
  A AS [c < 'z']
  a0 = FIRST(A: c)

  ○──┬─[A]─┬──◉
     ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 split 0 2
    2 accept
====
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS a PATTERN (A) DEFINE A AS A.price > LAST(A.price))
----
== rewritten ==
__match_0 reads
  SELECT * FROM ticks
__match_0 gives
  k0 AS sym
  TIMESTAMP_MICROS(a0) AS a
SELECT * FROM __match_0
== logical ==
Query  stream  sym string, a timestamp
  Match __match_0  PATTERN (A)  SKIP PAST LAST ROW
    partition by: sym
    order by: ts ASC NULLS FIRST
    watermark: ts - 10 seconds
    state: rows not yet released by the watermark; rows from the start of the oldest undecided match
    computed before the shuffle: price > price
    columns that travel: sym
    rows that travel: those where price > price; of the others only the times do
    route: regular: every condition reads the row or its neighbours only
    scan: Spark's: amount of type DECIMAL(10, 2)
    Stream ticks  json  watermark ts - 10 seconds
  notice: A compares the row under test with itself, which never differs: in DEFINE, LAST(A.x) is the candidate row and LAST(A.x, 1) the A before it
  notice: without WITHIN a partial match is kept until it is decided: it waits for its next row for ever
== pattern ==
__match_0: A
  A AS [price > price]
  a0 = LAST(A: `ts`)

  ○──[A]──◉

  automaton
    0 row A
    1 accept
====
SELECT * FROM words MATCH_RECOGNIZE (PARTITION BY pattern ORDER BY ts, one MEASURES LAST(A.define) AS measures PATTERN (A+ B) DEFINE A AS within > 3 AND match = row, B AS first > A.last)
----
== rewritten ==
__match_0 reads
  SELECT * FROM words
__match_0 gives
  k0 AS pattern
  a0 AS measures
SELECT * FROM __match_0
== logical ==
Query  bounded  pattern string, measures int
  Match __match_0  PATTERN (A+ B)  SKIP PAST LAST ROW
    partition by: pattern
    order by: ts ASC NULLS FIRST, one ASC NULLS FIRST
    computed before the shuffle: within > 3 AND match = row
    columns that travel: pattern, first, last, define
    route: regular: what conditions read of the match is always as many rows before
    Table words  parquet
== pattern ==
__match_0: A+ B
  A AS [within > 3 AND match = row]
  B AS first > LAST(A: last)
  a0 = LAST(A: define)

  ○──┬─[A]─┬──[B]──◉
     ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 split 0 2
    2 row B
    3 accept
====
WITH alarms AS (
  SELECT m.*, c.sector FROM ticks MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY ts MEASURES LAST(UP.price) AS price, MATCH_ROWTIME() AS rowtime
    PATTERN (A UP+) WITHIN INTERVAL '10' MINUTES DEFINE UP AS price > PREV(price)
  ) AS m JOIN companies AS c ON c.sym = m.sym WHERE price > 5
)
SELECT sector, window(until, '1 hour').start AS hour, COUNT(*) AS n FROM alarms MATCH_RECOGNIZE (
  PARTITION BY sector ORDER BY rowtime MEASURES MATCH_ROWTIME() AS until PATTERN (X Y Z)
) GROUP BY sector, window(until, '1 hour')
----
== rewritten ==
__match_0 reads
  SELECT * FROM ticks
__match_0 gives
  k0 AS sym
  a0 AS price
  TIMESTAMP_MICROS(a1) AS rowtime
__match_1 reads
  SELECT * EXCEPT (__bound), __bound FROM (SELECT m.* EXCEPT (__bound), c.sector, __bound FROM __match_0 AS m LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS c) AS c ON price > 5 AND (c.sym = m.sym AND __bound IS NULL) WHERE __found_1 OR NOT __bound IS NULL) AS alarms
__match_1 gives
  k0 AS sector
  TIMESTAMP_MICROS(a0) AS until
__groups_1 reads
  SELECT __match_1.until AS until, __match_1.sector AS sector, __bound FROM __match_1 AS __match_1
SELECT __groups_1.sector AS sector, __groups_1.window_start AS hour, __groups_1.__a0 AS n FROM __groups_1
== logical ==
Query  stream  sector string, hour timestamp, n bigint
  Sql  SELECT __groups_1.sector AS sector, __groups_1.window_start AS hour, __groups_1.__a0 AS n FROM __groups_1
    WindowAggregate __groups_1
      windows: 1 hour, every 1 hour; group by: sector
      __a0: COUNT(*)
      watermark: until - 0 seconds
      before the shuffle: rows of a group are added up
      state: for every group what each aggregate needs to go on, of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      Sql  SELECT __match_1.until AS until, __match_1.sector AS sector, __bound FROM __match_1 AS __match_1
        Match __match_1  PATTERN (X Y Z)  SKIP PAST LAST ROW
          partition by: sector
          order by: rowtime ASC NULLS FIRST
          watermark: rowtime - 10 minutes
          state: rows not yet released by the watermark; rows from the start of the oldest undecided match
          event time of matches: until, given out as soon as the watermark reaches it
          columns that travel: sector
          route: regular: every condition reads the row or its neighbours only
          Sql  SELECT * EXCEPT (__bound), __bound FROM (SELECT m.* EXCEPT (__bound), c.sector, __bound FROM __match_0 AS m LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS c) AS c ON price > 5 AND (c.sym = m.sym AND __bound IS NULL) WHERE __found_1 OR NOT __bound IS NULL) AS alarms
            Match __match_0  PATTERN (A UP+)  SKIP PAST LAST ROW
              partition by: sym
              order by: ts ASC NULLS FIRST
              watermark: ts - 10 seconds
              state: rows not yet released by the watermark; rows from the start of the oldest undecided match, at most 10 minutes
              event time of matches: rowtime, given out at most 10 minutes after the watermark has reached it
              columns that travel: sym, price
              route: regular: every condition reads the row or its neighbours only
              scan: Spark's: amount of type DECIMAL(10, 2)
              Stream ticks  json  watermark ts - 10 seconds
            Table companies  csv
  notice: without WITHIN a partial match is kept until it is decided: it waits for its next row for ever
== pattern ==
__match_0: A UP+
  A AS TRUE
  UP AS price > PREV(price)
  a0 = LAST(UP: price)
  a1 = `ts`
  WITHIN 10 minutes

  ○──[A]──┬─[UP]─┬──◉
          ╰─◄+───╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 row UP
    2 split 1 3
    3 accept

__match_1: X Y Z
  X AS TRUE
  Y AS TRUE
  Z AS TRUE
  a0 = `rowtime`

  ○──[X]──[Y]──[Z]──◉

  automaton
    0 row X
    1 row Y
    2 row Z
    3 accept
====
SELECT sym, ts FROM (SELECT DISTINCT sym, ts, qty FROM ticks) DEDUPLICATE (PARTITION BY sym ORDER BY ts, qty DESC WITHIN INTERVAL '1' HOUR)
----
== rewritten ==
__distinct_1 reads
  SELECT sym, ts, qty FROM ticks
__first_0 reads
  SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __distinct_1)
SELECT sym, ts FROM __first_0
== logical ==
Query  stream  sym string, ts timestamp
  Sql  SELECT sym, ts FROM __first_0
    Deduplicate __first_0
      the first row of each: sym, within: 1 hour
      order by: ts ASC NULLS FIRST, qty DESC NULLS LAST
      watermark: ts - 0 seconds
      state: rows not yet released by the watermark; the time of the last row given out for the keys of the last 1 hour
      Sql  SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __distinct_1)
        Deduplicate __distinct_1
          the first row of each: sym, ts, qty, within: 1 microsecond
          order by: `ts`
          watermark: ts - 10 seconds
          state: rows not yet released by the watermark
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT sym, ts, qty FROM ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, ts, price / AVG(price) OVER lately AS ratio, LAG(qty) OVER (PARTITION BY sym ORDER BY ts, qty) AS before FROM ticks
WHERE price > 0 QUALIFY ratio > 2 WINDOW lately AS (PARTITION BY sym ORDER BY ts RANGE BETWEEN INTERVAL '5' MINUTES PRECEDING AND CURRENT ROW)
----
== rewritten ==
__over_1 reads
  SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty FROM ticks AS ticks WHERE ticks.price > 0
__over_2 reads
  SELECT * FROM __over_1
SELECT __over_2.sym AS sym, __over_2.ts AS ts, __over_2.price / __over_2.__w0 AS ratio, __over_2.__w1 AS before FROM __over_2 WHERE (__over_2.price / __over_2.__w0) > 2
== logical ==
Query  stream  sym string, ts timestamp, ratio double, before int
  Sql  SELECT __over_2.sym AS sym, __over_2.ts AS ts, __over_2.price / __over_2.__w0 AS ratio, __over_2.__w1 AS before FROM __over_2 WHERE (__over_2.price / __over_2.__w0) > 2
    Over __over_2
      __w1: LAG(qty) OVER (PARTITION BY sym ORDER BY ts, qty)
      watermark: ts - 0 seconds
      state: rows not yet released by the watermark; the last row of every key
      event time: ts, given out as soon as the watermark reaches it
      Over __over_1
        __w0: AVG(price) OVER (PARTITION BY sym ORDER BY ts RANGE BETWEEN INTERVAL '5' MINUTES PRECEDING AND CURRENT ROW)
        watermark: ts - 10 seconds
        state: rows not yet released by the watermark; rows of the last 5 minutes
        event time: ts, given out as soon as the watermark reaches it
        scan: Spark's: amount of type DECIMAL(10, 2)
        Sql  SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty FROM ticks AS ticks WHERE ticks.price > 0
          Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT * FROM (SELECT *, LEAD(price) OVER (ORDER BY ts) AS next, COUNT(*) OVER (PARTITION BY upper(sym) ORDER BY ts
  RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '1' MINUTE FOLLOWING) FROM ticks)
----
== rewritten ==
__over_1 reads
  SELECT ticks.ts AS ts, ticks.price AS price, UPPER(ticks.sym) AS __c2, ticks.sym AS sym, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags FROM ticks AS ticks
__over_2 reads
  SELECT * FROM __over_1
SELECT _0.sym AS sym, _0.ts AS ts, _0.price AS price, _0.qty AS qty, _0.amount AS amount, _0.day AS day, _0.active AS active, _0.place AS place, _0.tags AS tags, _0.next AS next, _0._col_10 AS _col_10 FROM (SELECT __over_2.sym AS sym, __over_2.ts AS ts, __over_2.price AS price, __over_2.qty AS qty, __over_2.amount AS amount, __over_2.day AS day, __over_2.active AS active, __over_2.place AS place, __over_2.tags AS tags, __over_2.__w0 AS next, __over_2.__w1 AS _col_10 FROM __over_2) AS _0
== logical ==
Query  stream  sym string, ts timestamp, price double, qty int, amount decimal(10, 2), day date, active boolean, place struct<lat: double, lon: double>, tags array<string>, next double, _col_10 bigint
  Sql  SELECT _0.sym AS sym, _0.ts AS ts, _0.price AS price, _0.qty AS qty, _0.amount AS amount, _0.day AS day, _0.active AS active, _0.place AS place, _0.tags AS tags, _0.next AS next, _0._col_10 AS _col_10 FROM (SELECT __over_2.sym AS sym, __over_2.ts AS ts, __over_2.price AS price, __over_2.qty AS qty, __over_2.amount AS amount, __over_2.day AS day, __over_2.active AS active, __over_2.place AS place, __over_2.tags AS tags, __over_2.__w0 AS next, __over_2.__w1 AS _col_10 FROM __over_2) AS _0
    Over __over_2
      __w0: LEAD(price) OVER (ORDER BY ts)
      watermark: ts - 1 minute
      state: rows not yet released by the watermark
      event time: none, as rows wait for rows
      Over __over_1
        __w1: COUNT(*) OVER (PARTITION BY __c2 ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '1' MINUTE FOLLOWING)
        watermark: ts - 10 seconds
        state: rows not yet released by the watermark; rows of the last 1 hour
        event time: ts, given out at most 1 minute after the watermark has reached it
        scan: Spark's: amount of type DECIMAL(10, 2)
        Sql  SELECT ticks.ts AS ts, ticks.price AS price, UPPER(ticks.sym) AS __c2, ticks.sym AS sym, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags FROM ticks AS ticks
          Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT * FROM (SELECT sym, ts, price - LAG(price, 2) OVER (PARTITION BY sym ORDER BY ts) AS change FROM ticks)
MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.change AS change PATTERN (A B) DEFINE B AS B.change > A.change)
----
== rewritten ==
__over_1 reads
  SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price FROM ticks AS ticks
__match_0 reads
  SELECT _0.sym AS sym, _0.ts AS ts, _0.change AS change, __bound FROM (SELECT __over_1.sym AS sym, __over_1.ts AS ts, __over_1.price - __over_1.__w0 AS change, __bound FROM __over_1) AS _0
__match_0 gives
  k0 AS sym
  a0 AS change
SELECT * FROM __match_0
== logical ==
Query  stream  sym string, change double
  Match __match_0  PATTERN (A B)  SKIP PAST LAST ROW
    partition by: sym
    order by: ts ASC NULLS FIRST
    watermark: ts - 0 seconds
    state: rows not yet released by the watermark; rows from the start of the oldest undecided match
    columns that travel: sym, change
    route: regular: what conditions read of the match is always as many rows before
    Sql  SELECT _0.sym AS sym, _0.ts AS ts, _0.change AS change, __bound FROM (SELECT __over_1.sym AS sym, __over_1.ts AS ts, __over_1.price - __over_1.__w0 AS change, __bound FROM __over_1) AS _0
      Over __over_1
        __w0: LAG(price, 2) OVER (PARTITION BY sym ORDER BY ts)
        watermark: ts - 10 seconds
        state: rows not yet released by the watermark; the last 2 rows of every key
        event time: ts, given out as soon as the watermark reaches it
        scan: Spark's: amount of type DECIMAL(10, 2)
        Sql  SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price FROM ticks AS ticks
          Stream ticks  json  watermark ts - 10 seconds
  notice: without WITHIN a partial match is kept until it is decided: it waits for its next row for ever
== pattern ==
__match_0: A B
  A AS TRUE
  B AS change > LAST(A: change)
  a0 = LAST(A: change)

  ○──[A]──[B]──◉

  automaton
    0 row A
    1 row B
    2 accept
====
SELECT sym, SUM(price * qty) FILTER (WHERE active) OVER (PARTITION BY sym ORDER BY ts) AS total, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts) FROM ticks
----
== rewritten ==
__over_1 reads
  SELECT ticks.sym AS sym, ticks.ts AS ts, CASE WHEN ticks.active THEN ticks.price * ticks.qty END AS __c2 FROM ticks AS ticks
SELECT __over_1.sym AS sym, __over_1.__w0 AS total, __over_1.__w1 AS `ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts)` FROM __over_1
== logical ==
Query  stream  sym string, total double, row_number() over (partition by sym order by ts) int
  Sql  SELECT __over_1.sym AS sym, __over_1.__w0 AS total, __over_1.__w1 AS `ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts)` FROM __over_1
    Over __over_1
      __w0: SUM(__c2) OVER (PARTITION BY sym ORDER BY ts)
      __w1: ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts)
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; for every key how many rows it had, and what each function needs to go on
      event time: ts, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.sym AS sym, ticks.ts AS ts, CASE WHEN ticks.active THEN ticks.price * ticks.qty END AS __c2 FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT * FROM (SELECT sym, window.end AS until, COUNT(DISTINCT qty) AS n FROM ticks GROUP BY sym, window(ts, '5 minutes') HAVING MAX(price) > 3)
MATCH_RECOGNIZE (PARTITION BY sym ORDER BY until MEASURES B.n AS n PATTERN (A B) WITHIN INTERVAL '1' HOUR DEFINE B AS B.n > A.n)
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.qty AS qty, ticks.price AS price FROM ticks AS ticks
__match_0 reads
  SELECT _0.sym AS sym, _0.until AS until, _0.n AS n, __bound FROM (SELECT __groups_1.sym AS sym, __groups_1.window_end AS until, __groups_1.__a0 AS n, __bound FROM __groups_1 WHERE __groups_1.__a1 > 3 OR NOT __bound IS NULL) AS _0
__match_0 gives
  k0 AS sym
  a0 AS n
SELECT * FROM __match_0
== logical ==
Query  stream  sym string, n bigint
  Match __match_0  PATTERN (A B)  SKIP PAST LAST ROW
    partition by: sym
    order by: until ASC NULLS FIRST
    watermark: until - 0 seconds
    state: rows not yet released by the watermark; rows from the start of the oldest undecided match, at most 1 hour
    columns that travel: sym, n
    route: regular: what conditions read of the match is always as many rows before
    Sql  SELECT _0.sym AS sym, _0.until AS until, _0.n AS n, __bound FROM (SELECT __groups_1.sym AS sym, __groups_1.window_end AS until, __groups_1.__a0 AS n, __bound FROM __groups_1 WHERE __groups_1.__a1 > 3 OR NOT __bound IS NULL) AS _0
      WindowAggregate __groups_1
        windows: 5 minutes, every 5 minutes; group by: sym
        __a0: COUNT(DISTINCT qty)
        __a1: MAX(price)
        watermark: ts - 10 seconds
        before the shuffle: rows of a group are added up
        state: for every group what each aggregate needs to go on, of windows that are not over
        emit: once, when a window is over
        event time: window_end, given out as soon as the watermark reaches it
        scan: Spark's: amount of type DECIMAL(10, 2)
        Sql  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.qty AS qty, ticks.price AS price FROM ticks AS ticks
          Stream ticks  json  watermark ts - 10 seconds
== pattern ==
__match_0: A B
  A AS TRUE
  B AS n > LAST(A: n)
  a0 = LAST(B: n)
  WITHIN 1 hour

  ○──[A]──[B]──◉

  automaton
    0 row A
    1 row B
    2 accept
====
SELECT LAG(n) OVER (ORDER BY begun) AS before FROM (
  SELECT session_window.start AS since, session_window.end AS begun, COUNT(*) AS n FROM ticks GROUP BY session_window(ts, INTERVAL '5' MINUTES))
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts FROM ticks AS ticks
__over_1 reads
  SELECT _0.begun AS begun, _0.n AS n, __bound FROM (SELECT __groups_1.window_start AS since, __groups_1.window_end AS begun, __groups_1.__a0 AS n, __bound FROM __groups_1) AS _0
SELECT __over_1.__w0 AS before FROM __over_1
== logical ==
Query  stream  before bigint
  Sql  SELECT __over_1.__w0 AS before FROM __over_1
    Over __over_1
      __w0: LAG(n) OVER (ORDER BY begun)
      watermark: begun - 0 seconds
      state: rows not yet released by the watermark; the last row of every key
      event time: begun, given out as soon as the watermark reaches it
      Sql  SELECT _0.begun AS begun, _0.n AS n, __bound FROM (SELECT __groups_1.window_start AS since, __groups_1.window_end AS begun, __groups_1.__a0 AS n, __bound FROM __groups_1) AS _0
        WindowAggregate __groups_1
          windows: sessions of rows at most 5 minutes apart; group by: nothing else
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          state: rows not yet released by the watermark; for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_end, given out as soon as the watermark reaches it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT LAG(n) OVER (PARTITION BY sym ORDER BY since) AS before FROM (
  SELECT window.start AS since, upper(sym) AS sym, COUNT(*) AS n FROM ticks GROUP BY upper(sym), window(ts, '10 minutes', '5 minutes', '1 minute'))
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts, UPPER(ticks.sym) AS __c1 FROM ticks AS ticks
__over_1 reads
  SELECT _0.sym AS sym, _0.since AS since, _0.n AS n, __bound FROM (SELECT __groups_1.window_start AS since, __groups_1.__c1 AS sym, __groups_1.__a0 AS n, __bound FROM __groups_1) AS _0
SELECT __over_1.__w0 AS before FROM __over_1
== logical ==
Query  stream  before bigint
  Sql  SELECT __over_1.__w0 AS before FROM __over_1
    Over __over_1
      __w0: LAG(n) OVER (PARTITION BY sym ORDER BY since)
      watermark: since - 10 minutes
      state: rows not yet released by the watermark; the last row of every key
      event time: since, given out as soon as the watermark reaches it
      Sql  SELECT _0.sym AS sym, _0.since AS since, _0.n AS n, __bound FROM (SELECT __groups_1.window_start AS since, __groups_1.__c1 AS sym, __groups_1.__a0 AS n, __bound FROM __groups_1) AS _0
        WindowAggregate __groups_1
          windows: 10 minutes, every 5 minutes; group by: __c1
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          before the shuffle: rows of a group are added up
          state: for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_start, given out at most 10 minutes after the watermark has reached it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts, UPPER(ticks.sym) AS __c1 FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, window_start, COUNT(*) AS n FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) WHERE price > 1 GROUP BY sym, window_start, window_end
----
== rewritten ==
__groups_2 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks WHERE ticks.price > 1
SELECT __groups_2.sym AS sym, __groups_2.window_start AS window_start, __groups_2.__a0 AS n FROM __groups_2
== logical ==
Query  stream  sym string, window_start timestamp, n bigint
  Sql  SELECT __groups_2.sym AS sym, __groups_2.window_start AS window_start, __groups_2.__a0 AS n FROM __groups_2
    WindowAggregate __groups_2
      windows: 1 minute, every 1 minute; group by: sym
      __a0: COUNT(*)
      watermark: ts - 10 seconds
      before the shuffle: rows of a group are added up
      state: for every group what each aggregate needs to go on, of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks WHERE ticks.price > 1
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT window_end, MAX(price) AS top FROM ticks WINDOW TUMBLING (SIZE 1 DAY) GROUP BY window_start, window_end
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts, ticks.window_start AS __c1, ticks.window_end AS __c2, ticks.price AS price FROM (SELECT __rows.*, CAST(CAST(DATE_FROM_UNIX_DATE(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), CAST(__rows.`ts` AS DATE))) AS TIMESTAMP) AS TIMESTAMP) AS window_start, CAST(CAST(DATE_FROM_UNIX_DATE(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), CAST(__rows.`ts` AS DATE)) + (1)) AS TIMESTAMP) AS TIMESTAMP) AS window_end FROM (SELECT * FROM ticks) AS __rows) AS ticks
SELECT __groups_1.window_end AS window_end, __groups_1.__a0 AS top FROM __groups_1
== logical ==
Query  stream  window_end timestamp, top double
  Sql  SELECT __groups_1.window_end AS window_end, __groups_1.__a0 AS top FROM __groups_1
    WindowAggregate __groups_1
      windows: from __c1 to __c2 of each row; group by: nothing else
      __a0: MAX(price)
      watermark: ts - 10 seconds
      before the shuffle: rows of a group are added up
      state: for every group what each aggregate needs to go on, of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.ts AS ts, ticks.window_start AS __c1, ticks.window_end AS __c2, ticks.price AS price FROM (SELECT __rows.*, CAST(CAST(DATE_FROM_UNIX_DATE(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), CAST(__rows.`ts` AS DATE))) AS TIMESTAMP) AS TIMESTAMP) AS window_start, CAST(CAST(DATE_FROM_UNIX_DATE(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), CAST(__rows.`ts` AS DATE)) + (1)) AS TIMESTAMP) AS TIMESTAMP) AS window_end FROM (SELECT * FROM ticks) AS __rows) AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT * FROM TABLE(SESSION(TABLE ticks PARTITION BY sym, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
----
== rewritten ==
__held reads
  SELECT *, sym AS __key0 FROM (SELECT * FROM ticks)
SELECT `sym`, `ts`, `price`, `qty`, `amount`, `day`, `active`, `place`, `tags`, `window_start`, `window_end`, `window_time` FROM __held
== logical ==
Query  stream  sym string, ts timestamp, price double, qty int, amount decimal(10, 2), day date, active boolean, place struct<lat: double, lon: double>, tags array<string>, window_start timestamp, window_end timestamp, window_time timestamp
  Sql  SELECT `sym`, `ts`, `price`, `qty`, `amount`, `day`, `active`, `place`, `tags`, `window_start`, `window_end`, `window_time` FROM __held
    WindowRows __held
      windows: sessions of rows at most 1 minute apart; for each __key0
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; rows of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT *, sym AS __key0 FROM (SELECT * FROM ticks)
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, COUNT(*) AS n FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY sym, window_start HAVING COUNT(*) > 1 EMIT CHANGES ALLOWED LATENESS INTERVAL '1' HOUR
----
== rewritten ==
__groups_2 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
SELECT __result.__0 AS `sym`, __result.__1 AS `n`, __result.op FROM __result
== logical ==
Query  stream  sym string, n bigint, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `n`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __groups_2.sym AS __0, __groups_2.__a0 AS __1, TO_JSON(STRUCT(`__groups_2`.`sym`, `__groups_2`.`window_start`, `__groups_2`.`window_end`)) AS __identity, CAST(CASE __groups_2.op WHEN '+I' THEN 0 WHEN '-D' THEN 1 WHEN '-U' THEN 2 WHEN '+U' THEN 3 END AS TINYINT) AS __change FROM __groups_2 WHERE __groups_2.__a0 > 1
        WindowAggregate __groups_2
          windows: 1 minute, every 1 minute; group by: sym
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          state: rows of windows until 1 hour after they are over
          emit: groups whenever they change, with what each row does in op
          event time: none, groups come out at times of their own
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '1 minute') EMIT ON WINDOW CLOSE ALLOWED LATENESS INTERVAL '1' HOUR
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
SELECT __groups_1.sym AS sym, __groups_1.__a0 AS n FROM __groups_1
== logical ==
Query  stream  sym string, n bigint
  Sql  SELECT __groups_1.sym AS sym, __groups_1.__a0 AS n FROM __groups_1
    WindowAggregate __groups_1
      windows: 1 minute, every 1 minute; group by: sym
      __a0: COUNT(*)
      watermark: ts - 10 seconds
      state: rows of windows until 1 hour after they are over
      emit: once, 1 hour after a window is over
      event time: none, groups come out at times of their own
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, price FROM ticks EMIT CHANGES
----
== rewritten ==
SELECT sym, price, '+I' AS op FROM ticks
== logical ==
Query  stream  sym string, price double, op string
  scan: Spark's: amount of type DECIMAL(10, 2)
  Sql  SELECT sym, price, '+I' AS op FROM ticks
    Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, COUNT(*), AVG(price) AS p FROM ticks WHERE qty > 1 GROUP BY sym HAVING MAX(qty) > 3 EMIT CHANGES
----
== rewritten ==
__groups_1 reads
  SELECT ticks.sym AS sym, 1 AS __c1, ticks.price AS price, ticks.qty AS qty FROM ticks AS ticks WHERE ticks.qty > 1
SELECT __result.__0 AS `sym`, __result.__1 AS `count(1)`, __result.__2 AS `p`, __result.op FROM __result
== logical ==
Query  stream  sym string, count(1) bigint, p double, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `count(1)`, __result.__2 AS `p`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __groups_1.sym AS __0, __groups_1.__a0 AS __1, __groups_1.__a1 AS __2, CAST(NULL AS STRING) AS __identity, CAST(CASE __groups_1.op WHEN '+I' THEN 0 WHEN '-D' THEN 1 WHEN '-U' THEN 2 WHEN '+U' THEN 3 END AS TINYINT) AS __change FROM __groups_1 WHERE __groups_1.__a2 > 3
        ChangingGroups __groups_1
          group by: sym
          __a0: COUNT(*)
          __a1: AVG(ticks.price)
          __a2: MAX(ticks.qty)
          state: for every key what each aggregate needs to go on, for ever
          emit: groups whenever they change, with what each row does in op
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.sym AS sym, 1 AS __c1, ticks.price AS price, ticks.qty AS qty FROM ticks AS ticks WHERE ticks.qty > 1
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT currency, ROUND(rate, 2) AS rate FROM rates WHERE rate > 1 EMIT CHANGES
----
== rewritten ==
__rows_1 reads
  SELECT * FROM rates
SELECT __result.__0 AS `currency`, __result.__1 AS `rate`, __result.op FROM __result
== logical ==
Query  stream  currency string, rate double, op string
  Sql  SELECT __result.__0 AS `currency`, __result.__1 AS `rate`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT rates.currency AS __0, ROUND(rates.rate, 2) AS __1, rates.__identity, rates.__change FROM __rows_1 AS rates WHERE rates.rate > 1
        Table rates
          primary key: currency
          delete when: op = 'd'
          the last change of a key counts: by since, then the order in which they come
          state: the row of every key; deletions until the watermark has passed them
          scan: Spark's: tables that change are read by it
          Stream rates  csv  watermark since - 1 minute
== pattern ==
the query has no row pattern
====
SELECT o.customer, r.rate, COUNT(*) AS n, MAX(o.total) FROM orders AS o LEFT JOIN rates AS r ON r.currency = o.customer AND r.rate > 1 WHERE o.total > 3 GROUP BY o.customer, r.rate EMIT CHANGES
----
== rewritten ==
__rows_3 reads
  SELECT * FROM rates
__join_1 reads
  SELECT `o`.`customer`, `o`.`total`, o.__identity, o.__change FROM (SELECT `orders`.`customer`, `orders`.`total`, TO_JSON(STRUCT(`orders`.`customer`, `orders`.`total`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
__join_1 reads
  SELECT `r`.`rate`, `r`.`currency`, r.__identity, r.__change FROM __rows_3 AS r WHERE r.rate > 1
__groups_4 reads
  SELECT __join_1.`l_customer` AS `l_customer`, __join_1.`r_rate` AS `r_rate`, 1 AS __c2, __join_1.`l_total` AS `l_total`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1 WHERE __join_1.`l_total` > 3
SELECT __result.__0 AS `customer`, __result.__1 AS `rate`, __result.__2 AS `n`, __result.__3 AS `max(total)`, __result.op FROM __result
== logical ==
Query  stream  customer string, rate double, n bigint, max(total) decimal(12, 2), op string
  Sql  SELECT __result.__0 AS `customer`, __result.__1 AS `rate`, __result.__2 AS `n`, __result.__3 AS `max(total)`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __groups_4.l_customer AS __0, __groups_4.r_rate AS __1, __groups_4.__a0 AS __2, __groups_4.__a1 AS __3, __groups_4.__identity, __groups_4.__change FROM __groups_4 AS __groups_4
        Groups of a table
          group by: l_customer, r_rate
          __a0: COUNT(*)
          __a1: MAX(__join_1.`l_total`)
          state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
          Sql  SELECT __join_1.`l_customer` AS `l_customer`, __join_1.`r_rate` AS `r_rate`, 1 AS __c2, __join_1.`l_total` AS `l_total`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1 WHERE __join_1.`l_total` > 3
            Join of tables  LEFT
              on: customer = currency
              state: the rows of both tables
              scan: Arrow (csv)
              Sql  SELECT `o`.`customer`, `o`.`total`, o.__identity, o.__change FROM (SELECT `orders`.`customer`, `orders`.`total`, TO_JSON(STRUCT(`orders`.`customer`, `orders`.`total`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS o
                Stream orders  csv  watermark at - 0 seconds
              Sql  SELECT `r`.`rate`, `r`.`currency`, r.__identity, r.__change FROM __rows_3 AS r WHERE r.rate > 1
                Table rates
                  primary key: currency
                  delete when: op = 'd'
                  the last change of a key counts: by since, then the order in which they come
                  state: the row of every key; deletions until the watermark has passed them
                  scan: Spark's: tables that change are read by it
                  Stream rates  csv  watermark since - 1 minute
== pattern ==
the query has no row pattern
====
SELECT sym, n FROM (SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym) JOIN rates ON currency = sym WHERE n > rate EMIT CHANGES
----
== rewritten ==
__groups_3 reads
  SELECT ticks.sym AS sym, 1 AS __c1, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks
__rows_5 reads
  SELECT * FROM rates
__join_1 reads
  SELECT `_0`.`sym`, `_0`.`n`, _0.__identity, _0.__change FROM __rows_4 AS _0
__join_1 reads
  SELECT `rates`.`rate`, `rates`.`currency`, rates.__identity, rates.__change FROM __rows_5 AS rates
SELECT __result.__0 AS `sym`, __result.__1 AS `n`, __result.op FROM __result
== logical ==
Query  stream  sym string, n bigint, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `n`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_1.`l_sym` AS __0, __join_1.`l_n` AS __1, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1 WHERE __join_1.`l_n` > __join_1.`r_rate`
        Join of tables  INNER
          on: sym = currency
          state: the rows of both tables
          Sql  SELECT `_0`.`sym`, `_0`.`n`, _0.__identity, _0.__change FROM __rows_4 AS _0
            Sql  SELECT __groups_3.sym AS sym, __groups_3.__a0 AS n, __groups_3.__identity, __groups_3.__change FROM __groups_3 AS __groups_3
              Groups of a table
                group by: sym
                __a0: COUNT(*)
                state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
                scan: Spark's: amount of type DECIMAL(10, 2)
                Sql  SELECT ticks.sym AS sym, 1 AS __c1, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks
                  Stream ticks  json  watermark ts - 10 seconds
          Sql  SELECT `rates`.`rate`, `rates`.`currency`, rates.__identity, rates.__change FROM __rows_5 AS rates
            Table rates
              primary key: currency
              delete when: op = 'd'
              the last change of a key counts: by since, then the order in which they come
              state: the row of every key; deletions until the watermark has passed them
              scan: Spark's: tables that change are read by it
              Stream rates  csv  watermark since - 1 minute
== pattern ==
the query has no row pattern
====
SELECT DISTINCT op AS kind FROM rates WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer = currency) EMIT CHANGES
----
== rewritten ==
__rows_2 reads
  SELECT * FROM rates
__join_1 reads
  SELECT `rates`.`op`, `rates`.`currency`, rates.__identity, rates.__change FROM __rows_2 AS rates
__join_1 reads
  SELECT `orders`.`customer`, orders.__identity, orders.__change FROM (SELECT `orders`.`customer`, TO_JSON(STRUCT(`orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
__groups_4 reads
  SELECT __join_1.`l_op` AS `l_op`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
SELECT __result.__0 AS `kind`, __result.op FROM __result
== logical ==
Query  stream  kind string, op string
  Sql  SELECT __result.__0 AS `kind`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __groups_4.l_op AS __0, __groups_4.__identity, __groups_4.__change FROM __groups_4 AS __groups_4
        Groups of a table
          group by: l_op
          state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
          Sql  SELECT __join_1.`l_op` AS `l_op`, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
            Join of tables  ANTI
              on: currency = customer
              state: the rows of both tables
              scan: Arrow (csv)
              Sql  SELECT `rates`.`op`, `rates`.`currency`, rates.__identity, rates.__change FROM __rows_2 AS rates
                Table rates
                  primary key: currency
                  delete when: op = 'd'
                  the last change of a key counts: by since, then the order in which they come
                  state: the row of every key; deletions until the watermark has passed them
                  scan: Spark's: tables that change are read by it
                  Stream rates  csv  watermark since - 1 minute
              Sql  SELECT `orders`.`customer`, orders.__identity, orders.__change FROM (SELECT `orders`.`customer`, TO_JSON(STRUCT(`orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
                Stream orders  csv  watermark at - 0 seconds
== pattern ==
the query has no row pattern
====
SELECT currency, rate FROM rates UNION ALL SELECT sym, price FROM ticks EMIT CHANGES
----
== rewritten ==
__rows_1 reads
  SELECT * FROM rates
SELECT __result.__0 AS `currency`, __result.__1 AS `rate`, __result.op FROM __result
== logical ==
Query  stream  currency string, rate double, op string
  Sql  SELECT __result.__0 AS `currency`, __result.__1 AS `rate`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT `__branch_3`.`__0` AS `__0`, `__branch_3`.`__1` AS `__1`, CONCAT('0 ', __branch_3.__identity) AS __identity, __branch_3.__change FROM __branch_3 UNION ALL SELECT `__branch_4`.`sym` AS `__0`, `__branch_4`.`price` AS `__1`, CONCAT('1 ', __branch_4.__identity) AS __identity, __branch_4.__change FROM (SELECT ticks.sym AS sym, ticks.price AS price, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks) AS __branch_4
        Sql  SELECT rates.currency AS __0, rates.rate AS __1, rates.__identity, rates.__change FROM __rows_1 AS rates
          Table rates
            primary key: currency
            delete when: op = 'd'
            the last change of a key counts: by since, then the order in which they come
            state: the row of every key; deletions until the watermark has passed them
            scan: Spark's: tables that change are read by it
            Stream rates  csv  watermark since - 1 minute
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT c.name, (SELECT MAX(price) FROM trades WHERE sym = currency) AS most FROM companies AS c RIGHT JOIN rates ON currency = c.sym WHERE rate > 1 EMIT CHANGES
----
== rewritten ==
__rows_1 reads
  SELECT * FROM rates
SELECT __result.__0 AS `name`, __result.__1 AS `most`, __result.op FROM __result
== logical ==
Query  stream  name string, most double, op string
  Sql  SELECT __result.__0 AS `name`, __result.__1 AS `most`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT c.name AS __0, (SELECT MAX(trades.price) AS _col_0 FROM trades AS trades WHERE trades.sym = rates.currency) AS __1, rates.__identity, rates.__change FROM companies AS c RIGHT JOIN __rows_1 AS rates ON rates.currency = c.sym WHERE rates.rate > 1
        Table companies  csv
        Table rates
          primary key: currency
          delete when: op = 'd'
          the last change of a key counts: by since, then the order in which they come
          state: the row of every key; deletions until the watermark has passed them
          scan: Spark's: tables that change are read by it
          Stream rates  csv  watermark since - 1 minute
        Table trades  parquet
== pattern ==
the query has no row pattern
====
SELECT id FROM (SELECT *, LAG(`odd name`) OVER (PARTITION BY id ORDER BY at) AS before FROM (SELECT id, at, total AS `odd name`, customer AS `größe` FROM orders)) WHERE before > 1
----
== rewritten ==
__over_1 reads
  SELECT _0.id AS id, _0.at AS at, _0.`odd name` AS `odd name`, `_0`.`odd name` AS __c3, `_0`.`größe` AS `größe` FROM (SELECT orders.id AS id, orders.at AS at, orders.total AS `odd name`, orders.customer AS `größe` FROM orders AS orders) AS _0
SELECT _1.id AS id FROM (SELECT __over_1.id AS id, __over_1.at AS at, __over_1.__c3 AS `odd name`, __over_1.`größe` AS `größe`, __over_1.__w0 AS before FROM __over_1) AS _1 WHERE _1.before > 1
== logical ==
Query  stream  id bigint
  Sql  SELECT _1.id AS id FROM (SELECT __over_1.id AS id, __over_1.at AS at, __over_1.__c3 AS `odd name`, __over_1.`größe` AS `größe`, __over_1.__w0 AS before FROM __over_1) AS _1 WHERE _1.before > 1
    Over __over_1
      __w0: LAG(`odd name`) OVER (PARTITION BY id ORDER BY at)
      watermark: at - 0 seconds
      state: rows not yet released by the watermark; the last row of every key
      event time: at, given out as soon as the watermark reaches it
      scan: Arrow (csv)
      Sql  SELECT _0.id AS id, _0.at AS at, _0.`odd name` AS `odd name`, `_0`.`odd name` AS __c3, `_0`.`größe` AS `größe` FROM (SELECT orders.id AS id, orders.at AS at, orders.total AS `odd name`, orders.customer AS `größe` FROM orders AS orders) AS _0
        Stream orders  csv  watermark at - 0 seconds
== pattern ==
the query has no row pattern
====
SELECT * FROM (SELECT sym, price, qty + 1 AS more, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY price DESC, ts) AS rn FROM ticks WHERE qty > 2) WHERE rn <= 10 EMIT CHANGES
----
== rewritten ==
__ranked_1 reads
  SELECT ticks.sym AS sym, ticks.price AS price, ticks.ts AS ts, ticks.qty AS qty, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`ts`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`ts`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks WHERE ticks.qty > 2
SELECT __result.__0 AS `sym`, __result.__1 AS `price`, __result.__2 AS `more`, __result.__3 AS `rn`, __result.op FROM __result
== logical ==
Query  stream  sym string, price double, more int, rn int, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `price`, __result.__2 AS `more`, __result.__3 AS `rn`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT _0.sym AS __0, _0.price AS __1, _0.more AS __2, _0.rn AS __3, _0.__identity, _0.__change FROM __rows_3 AS _0
        Sql  SELECT __ranked_1.sym AS sym, __ranked_1.price AS price, __ranked_1.qty + 1 AS more, __ranked_1.__rank AS rn, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1
          Ranks  ROW_NUMBER <= 10
            partition by: sym
            order by: price DESC, ts
            state: of every key the rows with the ranks up to 10
            scan: Spark's: amount of type DECIMAL(10, 2)
            Sql  SELECT ticks.sym AS sym, ticks.price AS price, ticks.ts AS ts, ticks.qty AS qty, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`ts`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`ts`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks WHERE ticks.qty > 2
              Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, price FROM (SELECT * FROM (SELECT *, RANK() OVER w AS r FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY price)) WHERE qty > 1) AS t WHERE 3 > t.r AND t.r <> 2 EMIT CHANGES
----
== rewritten ==
__ranked_1 reads
  SELECT ticks.sym AS sym, ticks.price AS price, ticks.qty AS qty, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks
SELECT __result.__0 AS `sym`, __result.__1 AS `price`, __result.op FROM __result
== logical ==
Query  stream  sym string, price double, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `price`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT t.sym AS __0, t.price AS __1, t.__identity, t.__change FROM __rows_4 AS t
        Sql  SELECT _0.sym AS sym, _0.price AS price, _0.__identity, _0.__change FROM __rows_3 AS _0 WHERE _0.qty > 1
          Sql  SELECT __ranked_1.sym AS sym, __ranked_1.price AS price, __ranked_1.qty AS qty, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1 WHERE __ranked_1.__rank <> 2
            Ranks  RANK <= 2
              partition by: sym
              order by: price
              state: of every key the rows with the ranks up to 2
              scan: Spark's: amount of type DECIMAL(10, 2)
              Sql  SELECT ticks.sym AS sym, ticks.price AS price, ticks.qty AS qty, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks
                Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT customer, id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY at DESC) = 1 EMIT CHANGES
----
== rewritten ==
__ranked_1 reads
  SELECT orders.customer AS customer, orders.at AS at, orders.id AS id, orders.__identity, orders.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, `orders`.`at`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`, `orders`.`at`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
SELECT __result.__0 AS `customer`, __result.__1 AS `id`, __result.op FROM __result
== logical ==
Query  stream  customer string, id bigint, op string
  Sql  SELECT __result.__0 AS `customer`, __result.__1 AS `id`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __ranked_1.customer AS __0, __ranked_1.id AS __1, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1
        Ranks  ROW_NUMBER <= 1
          partition by: customer
          order by: at DESC
          state: of every key the rows with the ranks up to 1
          scan: Arrow (csv)
          Sql  SELECT orders.customer AS customer, orders.at AS at, orders.id AS id, orders.__identity, orders.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, `orders`.`at`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`, `orders`.`at`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
            Stream orders  csv  watermark at - 0 seconds
== pattern ==
the query has no row pattern
====
SELECT customer, id, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY at) AS n FROM orders EMIT CHANGES
----
== rewritten ==
__over_1 reads
  SELECT orders.customer AS customer, orders.at AS at, orders.id AS id FROM orders AS orders
SELECT __over_1.customer AS customer, __over_1.id AS id, __over_1.__w0 AS n, '+I' AS op FROM __over_1
== logical ==
Query  stream  customer string, id bigint, n int, op string
  Sql  SELECT __over_1.customer AS customer, __over_1.id AS id, __over_1.__w0 AS n, '+I' AS op FROM __over_1
    Over __over_1
      __w0: ROW_NUMBER() OVER (PARTITION BY customer ORDER BY at)
      watermark: at - 0 seconds
      state: rows not yet released by the watermark; for every key how many rows it had, and what each function needs to go on
      event time: at, given out as soon as the watermark reaches it
      scan: Arrow (csv)
      Sql  SELECT orders.customer AS customer, orders.at AS at, orders.id AS id FROM orders AS orders
        Stream orders  csv  watermark at - 0 seconds
== pattern ==
the query has no row pattern
====
SELECT currency, rate, DENSE_RANK() OVER (ORDER BY rate DESC NULLS FIRST) AS r FROM rates QUALIFY r BETWEEN 1 AND 3 EMIT CHANGES
----
== rewritten ==
__rows_2 reads
  SELECT * FROM rates
__ranked_1 reads
  SELECT rates.rate AS rate, rates.currency AS currency, rates.__identity, rates.__change FROM __rows_2 AS rates
SELECT __result.__0 AS `currency`, __result.__1 AS `rate`, __result.__2 AS `r`, __result.op FROM __result
== logical ==
Query  stream  currency string, rate double, r int, op string
  Sql  SELECT __result.__0 AS `currency`, __result.__1 AS `rate`, __result.__2 AS `r`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __ranked_1.currency AS __0, __ranked_1.rate AS __1, __ranked_1.__rank AS __2, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1
        Ranks  DENSE_RANK <= 3
          partition by: nothing (one partition)
          order by: rate DESC NULLS FIRST
          state: all rows
          Sql  SELECT rates.rate AS rate, rates.currency AS currency, rates.__identity, rates.__change FROM __rows_2 AS rates
            Table rates
              primary key: currency
              delete when: op = 'd'
              the last change of a key counts: by since, then the order in which they come
              state: the row of every key; deletions until the watermark has passed them
              scan: Spark's: tables that change are read by it
              Stream rates  csv  watermark since - 1 minute
== pattern ==
the query has no row pattern
====
SELECT DISTINCT customer FROM (SELECT customer, SUM(total) AS spent FROM orders GROUP BY customer) QUALIFY ROW_NUMBER() OVER (ORDER BY spent) IN (1, 3) EMIT CHANGES
----
== rewritten ==
__groups_3 reads
  SELECT orders.customer AS customer, orders.total AS total, orders.__identity, orders.__change FROM (SELECT `orders`.`customer`, `orders`.`total`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
__ranked_1 reads
  SELECT _0.spent AS spent, _0.customer AS customer, _0.__identity, _0.__change FROM __rows_4 AS _0
__groups_5 reads
  SELECT __ranked_1.customer AS customer, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1 WHERE __ranked_1.__rank IN (1, 3)
SELECT __result.__0 AS `customer`, __result.op FROM __result
== logical ==
Query  stream  customer string, op string
  Sql  SELECT __result.__0 AS `customer`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __groups_5.customer AS __0, __groups_5.__identity, __groups_5.__change FROM __groups_5 AS __groups_5
        Groups of a table
          group by: customer
          state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
          Sql  SELECT __ranked_1.customer AS customer, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1 WHERE __ranked_1.__rank IN (1, 3)
            Ranks  ROW_NUMBER <= 3
              partition by: nothing (one partition)
              order by: spent
              state: all rows
              Sql  SELECT _0.spent AS spent, _0.customer AS customer, _0.__identity, _0.__change FROM __rows_4 AS _0
                Sql  SELECT __groups_3.customer AS customer, __groups_3.__a0 AS spent, __groups_3.__identity, __groups_3.__change FROM __groups_3 AS __groups_3
                  Groups of a table
                    group by: customer
                    __a0: SUM(orders.total)
                    state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
                    scan: Arrow (csv)
                    Sql  SELECT orders.customer AS customer, orders.total AS total, orders.__identity, orders.__change FROM (SELECT `orders`.`customer`, `orders`.`total`, CAST(NULL AS STRING) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
                      Stream orders  csv  watermark at - 0 seconds
== pattern ==
the query has no row pattern
====
SELECT a.id, b.sym FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY total) AS n FROM orders) AS a LEFT JOIN (SELECT *, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY price) AS n FROM ticks) AS b ON b.sym = a.customer WHERE a.n = 1 EMIT CHANGES
----
== rewritten ==
__ranked_2 reads
  SELECT orders.customer AS customer, orders.total AS total, orders.id AS id, orders.__identity, orders.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, `orders`.`total`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`, `orders`.`total`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
__join_1 reads
  SELECT `a`.`id`, `a`.`customer`, a.__identity, a.__change FROM __rows_4 AS a
__join_1 reads
  SELECT `b`.`sym`, b.__identity, b.__change FROM (SELECT ticks.sym AS sym, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, TO_JSON(STRUCT(`ticks`.`sym`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks) AS b
SELECT __result.__0 AS `id`, __result.__1 AS `sym`, __result.op FROM __result
== logical ==
Query  stream  id bigint, sym string, op string
  Sql  SELECT __result.__0 AS `id`, __result.__1 AS `sym`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __join_1.`l_id` AS __0, __join_1.`r_sym` AS __1, __join_1.__identity, __join_1.__change FROM __join_1 AS __join_1
        Join of tables  LEFT
          on: customer = sym
          state: the rows of both tables
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT `a`.`id`, `a`.`customer`, a.__identity, a.__change FROM __rows_4 AS a
            Sql  SELECT __ranked_2.id AS id, __ranked_2.customer AS customer, __ranked_2.__identity, __ranked_2.__change FROM __ranked_2 AS __ranked_2
              Ranks  ROW_NUMBER <= 1
                partition by: customer
                order by: total
                state: of every key the rows with the ranks up to 1
                scan: Arrow (csv)
                Sql  SELECT orders.customer AS customer, orders.total AS total, orders.id AS id, orders.__identity, orders.__change FROM (SELECT `orders`.`id`, `orders`.`customer`, `orders`.`total`, TO_JSON(STRUCT(`orders`.`id`, `orders`.`customer`, `orders`.`total`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders) AS orders
                  Stream orders  csv  watermark at - 0 seconds
          Sql  SELECT `b`.`sym`, b.__identity, b.__change FROM (SELECT ticks.sym AS sym, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, TO_JSON(STRUCT(`ticks`.`sym`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks) AS b
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, at, n FROM (
  SELECT sym, window(ts, '6 seconds').end AS at, COUNT(*) AS n FROM trades GROUP BY sym, window(ts, '6 seconds')
) DEDUPLICATE (PARTITION BY sym ORDER BY at) AS d
----
== rewritten ==
__first_0 reads
  SELECT * FROM (SELECT sym, WINDOW(ts, '6 seconds').end AS at, COUNT(*) AS n FROM trades GROUP BY sym, WINDOW(ts, '6 seconds'))
SELECT sym, at, n FROM __first_0 AS d
== logical ==
Query  bounded  sym string, at timestamp, n bigint
  Sql  SELECT sym, at, n FROM __first_0 AS d
    Deduplicate __first_0
      the first row of each: sym, within: for ever
      order by: at ASC NULLS FIRST
      Sql  SELECT * FROM (SELECT sym, WINDOW(ts, '6 seconds').end AS at, COUNT(*) AS n FROM trades GROUP BY sym, WINDOW(ts, '6 seconds'))
        Table trades  parquet
== pattern ==
the query has no row pattern
====
SELECT sym, window.end AS until, ANY(qty > 5) AS large, NOT any(active) FILTER (WHERE sym LIKE ANY ('A%', 'B%')) AS closed
FROM ticks GROUP BY sym, window(ts, '1 minute')
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.qty AS qty, ticks.active AS active FROM ticks AS ticks
SELECT __groups_1.sym AS sym, __groups_1.window_end AS until, __groups_1.__a0 AS large, NOT __groups_1.__a1 AS closed FROM __groups_1
== logical ==
Query  stream  sym string, until timestamp, large unknown, closed boolean
  Sql  SELECT __groups_1.sym AS sym, __groups_1.window_end AS until, __groups_1.__a0 AS large, NOT __groups_1.__a1 AS closed FROM __groups_1
    WindowAggregate __groups_1
      windows: 1 minute, every 1 minute; group by: sym
      __a0: ANY(qty > 5)
      __a1: ANY(active) FILTER(WHERE sym LIKE ANY ('A%', 'B%'))
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; rows of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.qty AS qty, ticks.active AS active FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, hour FROM (SELECT sym, date_trunc('HOUR', ts) AS hour FROM trades) DEDUPLICATE (PARTITION BY sym ORDER BY hour) AS d
----
== rewritten ==
__first_0 reads
  SELECT * FROM (SELECT sym, DATE_TRUNC('HOUR', ts) AS hour FROM trades)
SELECT sym, hour FROM __first_0 AS d
== logical ==
Query  bounded  sym string, hour timestamp
  Sql  SELECT sym, hour FROM __first_0 AS d
    Deduplicate __first_0
      the first row of each: sym, within: for ever
      order by: hour ASC NULLS FIRST
      Sql  SELECT * FROM (SELECT sym, DATE_TRUNC('HOUR', ts) AS hour FROM trades)
        Table trades  parquet
== pattern ==
the query has no row pattern
====
SELECT now() AS a, timestamp_seconds(1) AS b, timestamp_millis(1) AS c, timestamp_micros(1) AS d, try_to_timestamp(sym) AS e,
  to_timestamp_ltz(sym) AS f, make_timestamp(2026, 3, 2, 9, 0, 0) AS g, to_utc_timestamp(ts, 'CET') AS h, date_trunc('DAY', ts) AS i,
  to_timestamp_ntz(sym) AS j, make_timestamp_ntz(2026, 3, 2, 9, 0, 0) AS k, convert_timezone('CET', 'UTC', localtimestamp()) AS l,
  make_date(2026, 3, 2) AS m, trunc(ts, 'MONTH') AS n, try_to_date(sym) AS o, upon(sym) AS p
FROM trades
----
== rewritten ==
SELECT NOW() AS a, TIMESTAMP_SECONDS(1) AS b, TIMESTAMP_MILLIS(1) AS c, TIMESTAMP_MICROS(1) AS d, TRY_TO_TIMESTAMP(sym) AS e, TO_TIMESTAMP_LTZ(sym) AS f, MAKE_TIMESTAMP(2026, 3, 2, 9, 0, 0) AS g, TO_UTC_TIMESTAMP(CAST(ts AS TIMESTAMP), 'CET') AS h, DATE_TRUNC('DAY', ts) AS i, TO_TIMESTAMP_NTZ(sym) AS j, MAKE_TIMESTAMP_NTZ(2026, 3, 2, 9, 0, 0) AS k, CONVERT_TIMEZONE('CET', 'UTC', LOCALTIMESTAMP()) AS l, MAKE_DATE(2026, 3, 2) AS m, TRUNC(ts, 'MONTH') AS n, TRY_TO_DATE(sym) AS o, UPON(sym) AS p FROM trades
== logical ==
Query  bounded  a timestamp, b timestamp, c timestamp, d timestamp, e timestamp, f timestamp, g timestamp, h timestamp, i timestamp, j timestamp_ntz, k timestamp_ntz, l timestamp_ntz, m date, n date, o date, p unknown
  Sql  SELECT NOW() AS a, TIMESTAMP_SECONDS(1) AS b, TIMESTAMP_MILLIS(1) AS c, TIMESTAMP_MICROS(1) AS d, TRY_TO_TIMESTAMP(sym) AS e, TO_TIMESTAMP_LTZ(sym) AS f, MAKE_TIMESTAMP(2026, 3, 2, 9, 0, 0) AS g, TO_UTC_TIMESTAMP(CAST(ts AS TIMESTAMP), 'CET') AS h, DATE_TRUNC('DAY', ts) AS i, TO_TIMESTAMP_NTZ(sym) AS j, MAKE_TIMESTAMP_NTZ(2026, 3, 2, 9, 0, 0) AS k, CONVERT_TIMEZONE('CET', 'UTC', LOCALTIMESTAMP()) AS l, MAKE_DATE(2026, 3, 2) AS m, TRUNC(ts, 'MONTH') AS n, TRY_TO_DATE(sym) AS o, UPON(sym) AS p FROM trades
    Table trades  parquet
== pattern ==
the query has no row pattern
====
SELECT sym, qty + 1 AS more FROM ticks ORDER BY ALL DESC LIMIT 3 EMIT CHANGES
----
== rewritten ==
__ranked_1 reads
  SELECT ticks.sym AS sym, ticks.qty + 1 AS __c1, ticks.qty AS qty, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks
SELECT __result.__0 AS `sym`, __result.__1 AS `more`, __result.op FROM __result
== logical ==
Query  stream  sym string, more int, op string
  Sql  SELECT __result.__0 AS `sym`, __result.__1 AS `more`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __ranked_1.sym AS __0, __ranked_1.qty + 1 AS __1, __ranked_1.__identity, __ranked_1.__change FROM __ranked_1 AS __ranked_1
        Ranks  ROW_NUMBER <= 3
          partition by: nothing (one partition)
          order by: sym DESC, __c1 DESC
          state: of every key the rows with the ranks up to 3
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.sym AS sym, ticks.qty + 1 AS __c1, ticks.qty AS qty, ticks.__identity, ticks.__change FROM (SELECT `ticks`.`sym`, `ticks`.`qty`, TO_JSON(STRUCT(`ticks`.`sym`, `ticks`.`qty`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM ticks) AS ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT ts, low OVER w, sum(qty) OVER w AS total, count(*) OVER w, lag(price) OVER w AS before, median(price) OVER w AS middle FROM trades
WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low
  ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price) AND NEXT(price) > A.price)
----
== rewritten ==
__pattern_0 reads
  SELECT trades.sym AS sym, trades.ts AS ts, trades.qty AS qty, LAG(trades.price) OVER (PARTITION BY trades.sym ORDER BY trades.ts) AS __c3, trades.price AS price FROM trades AS trades
__pattern_0 gives
  k0 AS sym
  CASE WHEN NOT a1 IS NULL THEN a0 END AS low
  a2 AS __over_1
  a3 AS __over_2
  g0 AS __over_4
  a5 AS ts
  a6 AS __c3
SELECT __pattern_0.ts AS ts, __pattern_0.low AS `low`, __pattern_0.__over_1 AS total, __pattern_0.__over_2 AS `count(1) OVER w`, __pattern_0.__c3 AS before, __pattern_0.__over_4 AS middle FROM __pattern_0
== logical ==
Query  bounded  ts timestamp, low double, total bigint, count(1) over w bigint, before double, middle unknown
  Sql  SELECT __pattern_0.ts AS ts, __pattern_0.low AS `low`, __pattern_0.__over_1 AS total, __pattern_0.__over_2 AS `count(1) OVER w`, __pattern_0.__c3 AS before, __pattern_0.__over_4 AS middle FROM __pattern_0
    Match __pattern_0  PATTERN (A B+)  SKIP PAST LAST ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      rows: each, with the match that begins at it
      columns that travel: sym, price, qty, `ts`, `__c3`
      route: search: a condition reads the match so far
      Sql  SELECT trades.sym AS sym, trades.ts AS ts, trades.qty AS qty, LAG(trades.price) OVER (PARTITION BY trades.sym ORDER BY trades.ts) AS __c3, trades.price AS price FROM trades AS trades
        Table trades  parquet
== pattern ==
__pattern_0: A B+
  A AS TRUE
  B AS (price < LAST(price, 1)) AND (NEXT(price) > LAST(A: price))
  a0 = LAST(B: price)
  a1 = complete
  a2 = SUM(qty)
  a3 = COUNT(*)
  a4 = LIST(price)
  a5 = row: `ts`
  a6 = row: `__c3`
  g0 = MEDIAN(a4), by Spark

  ○──[A]──┬─[B]─┬──◉
          ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 row B
    2 split 1 3
    3 accept
====
SELECT sym, ts, after OVER w FROM ticks
WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES NEXT(LAST(B.price), 2) AS after
  ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B+) WITHIN INTERVAL '1' MINUTE DEFINE B AS price < PREV(price, 2) AND NEXT(price) > A.price AND PREV(LAST(A.price), 1) IS NULL)
QUALIFY after OVER w > price
----
== rewritten ==
__pattern_0 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.price AS price FROM ticks AS ticks
__pattern_0 gives
  k0 AS sym
  CASE WHEN NOT a1 IS NULL THEN a0 END AS after
  a2 AS ts
  a3 AS price
SELECT __pattern_0.sym AS sym, __pattern_0.ts AS ts, __pattern_0.after AS `after` FROM __pattern_0 WHERE __pattern_0.after > __pattern_0.price
== logical ==
Query  stream  sym string, ts timestamp, after double
  Sql  SELECT __pattern_0.sym AS sym, __pattern_0.ts AS ts, __pattern_0.after AS `after` FROM __pattern_0 WHERE __pattern_0.after > __pattern_0.price
    Match __pattern_0  PATTERN (A B+)  SKIP TO NEXT ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      rows: each, with the match that begins at it and has at most 3 rows after it
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; rows from the start of the oldest undecided match, at most 1 minute
      columns that travel: sym, price, `ts`
      route: search: a condition reads the match so far
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.price AS price FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
__pattern_0: A B+
  A AS TRUE
  B AS ((price < LAST(price, 2)) AND (NEXT(price) > LAST(A: price))) AND isnull(PREV(LAST(A: price)))
  a0 = NEXT(LAST(B: price), 2)
  a1 = complete
  a2 = row: `ts`
  a3 = row: price
  WITHIN 1 minute
  ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING

  ○──[A]──┬─[B]─┬──◉
          ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 row B
    2 split 1 3
    3 accept
====
SELECT sym, ts, low OVER w, count(*) OVER v AS n, median(price) OVER v AS middle FROM ticks
WINDOW w AS (PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) AS low
  ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS price < PREV(price)),
v AS (PARTITION BY sym ORDER BY ts ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING AFTER MATCH SKIP TO NEXT ROW PATTERN (A C*) DEFINE C AS price < AVG(price))
----
== rewritten ==
__pattern_0 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.price AS price FROM ticks AS ticks
__pattern_0 gives
  k0 AS sym
  CASE WHEN NOT a1 IS NULL THEN a0 END AS low
  a2 AS ts
  a0_1 AS __over_1
  g0_1 AS __over_2
SELECT __pattern_0.sym AS sym, __pattern_0.ts AS ts, __pattern_0.low AS `low`, __pattern_0.__over_1 AS n, __pattern_0.__over_2 AS middle FROM __pattern_0
== logical ==
Query  stream  sym string, ts timestamp, low double, n bigint, middle unknown
  Sql  SELECT __pattern_0.sym AS sym, __pattern_0.ts AS ts, __pattern_0.low AS `low`, __pattern_0.__over_1 AS n, __pattern_0.__over_2 AS middle FROM __pattern_0
    Match __pattern_0  PATTERN (A B+)  SKIP PAST LAST ROW
      partition by: sym
      order by: ts ASC NULLS FIRST
      rows: each, with the match that begins at it
      beside: the match of PATTERN (A C*)  SKIP TO NEXT ROW, that begins at it and has at most 3 rows after it
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark; rows from the start of the oldest undecided match
      columns that travel: sym, price, `ts`
      route: regular: what conditions read of the match is always as many rows before
      route: search: a condition reads the match so far
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.price AS price FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
  notice: without WITHIN a partial match is kept until it is decided: B can repeat for ever
  notice: without WITHIN a partial match is kept until it is decided: it waits for its next row for ever
== pattern ==
__pattern_0: A B+
  A AS TRUE
  B AS price < LAST(price, 1)
  a0 = LAST(B: price)
  a1 = complete
  a2 = row: `ts`

  ○──[A]──┬─[B]─┬──◉
          ╰─◄+──╯
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 row B
    2 split 1 3
    3 accept

__pattern_0: A C*
  A AS TRUE
  C AS price < AVG(price)
  a0_1 = COUNT(*)
  a1_1 = LIST(price)
  g0_1 = MEDIAN(a1_1), by Spark
  ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING

  ○──[A]──┬─1─┬─[C]─┬─┬──◉
          │   ╰─◄*──╯ │
          ╰─2─────────╯
  numbers: the order in which ways are tried
  ◄: again, as often as possible, or with ? as seldom as possible

  automaton
    0 row A
    1 split 2 4
    2 row C
    3 jump 1
    4 accept
====
SELECT sym FROM ticks ORDER BY ts, price DESC NULLS FIRST, upper(sym) LIMIT 3
----
== rewritten ==
__sorted reads
  SELECT ticks.sym AS sym, ticks.ts AS `ts`, ticks.price AS `price`, UPPER(ticks.sym) AS `__o3` FROM ticks AS ticks
SELECT `sym` FROM __sorted
== logical ==
Query  stream  sym string
  Limit 3
  Sql  SELECT `sym` FROM __sorted
    Sort  ts, `price` DESC NULLS FIRST, `__o3`
      watermark: ts - 10 seconds
      state: rows not yet released by the watermark
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT ticks.sym AS sym, ticks.ts AS `ts`, ticks.price AS `price`, UPPER(ticks.sym) AS `__o3` FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, count(*) AS n FROM ticks GROUP BY sym, window(ts, '1 minute') ORDER BY window.end, n EMIT ON WINDOW CLOSE
----
== rewritten ==
__groups_1 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
__sorted reads
  SELECT __groups_1.sym AS sym, __groups_1.__a0 AS n, __groups_1.window_end AS `end`, __bound FROM __groups_1
SELECT `sym`, `n` FROM __sorted
== logical ==
Query  stream  sym string, n bigint
  Sql  SELECT `sym`, `n` FROM __sorted
    Sort  end, `n`
      watermark: end - 0 seconds
      state: rows not yet released by the watermark
      Sql  SELECT __groups_1.sym AS sym, __groups_1.__a0 AS n, __groups_1.window_end AS `end`, __bound FROM __groups_1
        WindowAggregate __groups_1
          windows: 1 minute, every 1 minute; group by: sym
          __a0: COUNT(*)
          watermark: ts - 10 seconds
          before the shuffle: rows of a group are added up
          state: for every group what each aggregate needs to go on, of windows that are not over
          emit: once, when a window is over
          event time: window_end, given out as soon as the watermark reaches it
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT ticks.ts AS ts, ticks.sym AS sym FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, window_start, COUNT(*) AS n, AVG(price) AS p FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) FILL (0 AS n, PREVIOUS FOR AT MOST INTERVAL '5' MINUTES) AS w GROUP BY sym, window_start, window_end ORDER BY window_start
----
== rewritten ==
__groups_2 reads
  SELECT w.ts AS ts, w.sym AS sym, w.price AS price FROM ticks AS w
__filled_1 reads
  SELECT __groups_2.sym AS sym, __groups_2.window_start AS window_start, __groups_2.__a0 AS n, __groups_2.__a1 AS p, __groups_2.window_end AS `__end`, __bound FROM __groups_2
__sorted reads
  SELECT __filled_1.`sym` AS `sym`, __filled_1.`window_start` AS `window_start`, __filled_1.`n` AS `n`, __filled_1.`p` AS `p`, __bound FROM __filled_1 AS __filled_1
SELECT `sym`, `window_start`, `n`, `p` FROM __sorted
== logical ==
Query  stream  sym string, window_start timestamp, n bigint, p double
  Sql  SELECT `sym`, `window_start`, `n`, `p` FROM __sorted
    Sort  window_start
      watermark: window_start - 1 minute
      state: rows not yet released by the watermark
      Sql  SELECT __filled_1.`sym` AS `sym`, __filled_1.`window_start` AS `window_start`, __filled_1.`n` AS `n`, __filled_1.`p` AS `p`, __bound FROM __filled_1 AS __filled_1
        Fill __filled_1  every 1 minute, at most 5 minutes after a group
          for each: sym
          with: n 0, p PREVIOUS
          state: the last group of every key
          emit: groups at once, rows between them as the watermark passes the end of their windows
          Sql  SELECT __groups_2.sym AS sym, __groups_2.window_start AS window_start, __groups_2.__a0 AS n, __groups_2.__a1 AS p, __groups_2.window_end AS `__end`, __bound FROM __groups_2
            WindowAggregate __groups_2
              windows: 1 minute, every 1 minute; group by: sym
              __a0: COUNT(*)
              __a1: AVG(price)
              watermark: ts - 10 seconds
              state: rows not yet released by the watermark; for every group what each aggregate needs to go on, of windows that are not over
              emit: once, when a window is over
              event time: window_end, given out as soon as the watermark reaches it
              scan: Spark's: amount of type DECIMAL(10, 2)
              Sql  SELECT w.ts AS ts, w.sym AS sym, w.price AS price FROM ticks AS w
                Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT o.customer, COUNT(*) AS n FROM orders AS o JOIN rates AS r ON r.currency = o.customer WHERE r.since > NOW() - INTERVAL '1' HOUR GROUP BY o.customer HAVING MAX(r.since) <= CURRENT_DATE EMIT CHANGES
----
== rewritten ==
__clock_2 reads
  SELECT `orders`.`customer`, `orders`.`at`, TO_JSON(STRUCT(`orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders
__rows_4 reads
  SELECT * FROM rates
__timed_5 reads
  SELECT `r`.`since` AS `since`, `r`.`currency` AS `currency`, CAST(CAST(r.since AS TIMESTAMP) + (INTERVAL '1' HOUR) AS TIMESTAMP) AS __leave, r.__identity, r.__change, __bound FROM __rows_4 AS r WHERE NOT CAST(CAST(r.since AS TIMESTAMP) + (INTERVAL '1' HOUR) AS TIMESTAMP) IS NULL OR NOT __bound IS NULL
__join_1 reads
  SELECT `o`.`customer`, o.__identity, o.__change, __bound FROM __rows_3 AS o
__join_1 reads
  SELECT __timed_5.`since` AS `since`, __timed_5.`currency` AS `currency`, __timed_5.__identity, __timed_5.__change, __bound FROM __timed_5 AS __timed_5
__groups_6 reads
  SELECT __join_1.`l_customer` AS `l_customer`, 1 AS __c1, __join_1.`r_since` AS `r_since`, __join_1.__identity, __join_1.__change, __bound FROM __join_1 AS __join_1
__timed_7 reads
  SELECT __groups_6.l_customer AS l_customer, __groups_6.__a0 AS __a0, CAST(DATE_ADD(CAST(CAST(__groups_6.__a1 AS TIMESTAMP) - INTERVAL '0.000001' SECOND AS DATE), 1) AS TIMESTAMP) AS __enter, __groups_6.__identity, __groups_6.__change, __bound FROM __groups_6 AS __groups_6 WHERE NOT CAST(DATE_ADD(CAST(CAST(__groups_6.__a1 AS TIMESTAMP) - INTERVAL '0.000001' SECOND AS DATE), 1) AS TIMESTAMP) IS NULL OR NOT __bound IS NULL
SELECT __result.__0 AS `customer`, __result.__1 AS `n`, __result.op FROM __result
== logical ==
Query  stream  customer string, n bigint, op string
  Sql  SELECT __result.__0 AS `customer`, __result.__1 AS `n`, __result.op FROM __result
    Changes  with what each does in op
      Sql  SELECT __timed_7.l_customer AS `__0`, __timed_7.__a0 AS `__1`, __timed_7.__identity, __timed_7.__change FROM __timed_7 AS __timed_7
        Rows while their time lasts
          while: __a1 <= CURRENT_DATE
          now: the watermark of the rows
          state: rows that are still to come or to go
          Sql  SELECT __groups_6.l_customer AS l_customer, __groups_6.__a0 AS __a0, CAST(DATE_ADD(CAST(CAST(__groups_6.__a1 AS TIMESTAMP) - INTERVAL '0.000001' SECOND AS DATE), 1) AS TIMESTAMP) AS __enter, __groups_6.__identity, __groups_6.__change, __bound FROM __groups_6 AS __groups_6 WHERE NOT CAST(DATE_ADD(CAST(CAST(__groups_6.__a1 AS TIMESTAMP) - INTERVAL '0.000001' SECOND AS DATE), 1) AS TIMESTAMP) IS NULL OR NOT __bound IS NULL
            Groups of a table
              group by: l_customer
              __a0: COUNT(*)
              __a1: MAX(__join_1.`r_since`)
              state: of every group what each aggregate needs to go on; the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG
              Sql  SELECT __join_1.`l_customer` AS `l_customer`, 1 AS __c1, __join_1.`r_since` AS `r_since`, __join_1.__identity, __join_1.__change, __bound FROM __join_1 AS __join_1
                Join of tables  INNER
                  on: customer = currency
                  state: the rows of both tables
                  Sql  SELECT `o`.`customer`, o.__identity, o.__change, __bound FROM __rows_3 AS o
                    Sql  SELECT `__clock_2`.`customer`, __clock_2.__identity, __clock_2.__change, __bound FROM __clock_2
                      Clock of rows
                        now: the watermark of the rows
                        scan: Spark's: tables that change are read by it
                        Sql  SELECT `orders`.`customer`, `orders`.`at`, TO_JSON(STRUCT(`orders`.`customer`)) AS __identity, CAST(0 AS TINYINT) AS __change FROM orders
                          Stream orders  csv  watermark at - 0 seconds
                  Sql  SELECT __timed_5.`since` AS `since`, __timed_5.`currency` AS `currency`, __timed_5.__identity, __timed_5.__change, __bound FROM __timed_5 AS __timed_5
                    Rows while their time lasts
                      while: since > NOW() - INTERVAL '1' HOUR
                      now: the watermark of the rows
                      state: rows that are still to come or to go
                      Sql  SELECT `r`.`since` AS `since`, `r`.`currency` AS `currency`, CAST(CAST(r.since AS TIMESTAMP) + (INTERVAL '1' HOUR) AS TIMESTAMP) AS __leave, r.__identity, r.__change, __bound FROM __rows_4 AS r WHERE NOT CAST(CAST(r.since AS TIMESTAMP) + (INTERVAL '1' HOUR) AS TIMESTAMP) IS NULL OR NOT __bound IS NULL
                        Table rates
                          primary key: currency
                          delete when: op = 'd'
                          the last change of a key counts: by since, then the order in which they come
                          state: the row of every key; deletions until the watermark has passed them
                          scan: Spark's: tables that change are read by it
                          Stream rates  csv  watermark since - 1 minute
== pattern ==
the query has no row pattern
====
SELECT sym, price, CURRENT_WATERMARK(ts) FROM (SELECT * FROM ticks WHERE price > 1) AS r WHERE ts > CURRENT_WATERMARK(ts) OR CURRENT_WATERMARK(ts) IS NULL
----
== rewritten ==
__watermarked_1 reads
  SELECT `ticks`.`ts`, `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, `ticks`.`amount`, `ticks`.`day`, `ticks`.`active`, `ticks`.`place`, `ticks`.`tags` FROM ticks AS ticks
SELECT r.sym AS sym, r.price AS price, r.__watermark_1 AS `current_watermark(ts)` FROM (SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags, ticks.__watermark_1 FROM __watermarked_1 AS ticks WHERE ticks.price > 1) AS r WHERE r.ts > r.__watermark_1 OR r.__watermark_1 IS NULL
== logical ==
Query  stream  sym string, price double, current_watermark(ts) timestamp
  Sql  SELECT r.sym AS sym, r.price AS price, r.__watermark_1 AS `current_watermark(ts)` FROM (SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags, ticks.__watermark_1 FROM __watermarked_1 AS ticks WHERE ticks.price > 1) AS r WHERE r.ts > r.__watermark_1 OR r.__watermark_1 IS NULL
    Current watermark  of ts
      watermark: ts - 10 seconds
      state: the watermark; rows are given out as they come, late ones, too
      scan: Spark's: amount of type DECIMAL(10, 2)
      Sql  SELECT `ticks`.`ts`, `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, `ticks`.`amount`, `ticks`.`day`, `ticks`.`active`, `ticks`.`place`, `ticks`.`tags` FROM ticks AS ticks
        Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
====
SELECT sym, CURRENT_WATERMARK(day) AS w FROM trades
----
== rewritten ==
SELECT trades.sym AS sym, CAST(NULL AS DATE) AS w FROM trades AS trades
== logical ==
Query  bounded  sym string, w date
  Sql  SELECT trades.sym AS sym, CAST(NULL AS DATE) AS w FROM trades AS trades
    Table trades  parquet
== pattern ==
the query has no row pattern
====
SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES CURRENT_WATERMARK(A.ts) AS w PATTERN (A B) DEFINE B AS B.ts > CURRENT_WATERMARK(A.ts))
----
== rewritten ==
__watermarked_1 reads
  SELECT `ticks`.`ts`, `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, `ticks`.`amount`, `ticks`.`day`, `ticks`.`active`, `ticks`.`place`, `ticks`.`tags` FROM ticks AS ticks
__match_0 reads
  SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags, ticks.__watermark_1 AS __subquery_0, __bound FROM __watermarked_1 AS ticks
__match_0 gives
  k0 AS sym
  a0 AS w
SELECT * FROM __match_0
== logical ==
Query  stream  sym string, w timestamp
  Match __match_0  PATTERN (A B)  SKIP PAST LAST ROW
    partition by: sym
    order by: ts ASC NULLS FIRST
    watermark: ts - 0 seconds
    state: rows not yet released by the watermark; rows from the start of the oldest undecided match
    columns that travel: sym, __subquery_0
    route: regular: what conditions read of the match is always as many rows before
    Sql  SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags, ticks.__watermark_1 AS __subquery_0, __bound FROM __watermarked_1 AS ticks
      Current watermark  of ts
        watermark: ts - 10 seconds
        state: the watermark; rows are given out as they come, late ones, too
        scan: Spark's: amount of type DECIMAL(10, 2)
        Sql  SELECT `ticks`.`ts`, `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, `ticks`.`amount`, `ticks`.`day`, `ticks`.`active`, `ticks`.`place`, `ticks`.`tags` FROM ticks AS ticks
          Stream ticks  json  watermark ts - 10 seconds
  notice: without WITHIN a partial match is kept until it is decided: it waits for its next row for ever
== pattern ==
__match_0: A B
  A AS TRUE
  B AS `ts` > LAST(A: __subquery_0)
  a0 = LAST(A: __subquery_0)

  ○──[A]──[B]──◉

  automaton
    0 row A
    1 row B
    2 accept
====
SELECT sym, window_end, MAX(CURRENT_WATERMARK(ts)) AS w FROM ticks WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY sym, window_start, window_end
----
== rewritten ==
__watermarked_1 reads
  SELECT `ticks`.`ts`, `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, `ticks`.`amount`, `ticks`.`day`, `ticks`.`active`, `ticks`.`place`, `ticks`.`tags` FROM ticks AS ticks
__groups_1 reads
  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.__watermark_1 AS __watermark_1, __bound FROM (SELECT __rows.sym AS sym, __rows.ts AS ts, __rows.price AS price, __rows.qty AS qty, __rows.amount AS amount, __rows.day AS day, __rows.active AS active, __rows.place AS place, __rows.tags AS tags, __rows.__watermark_1 AS __watermark_1, __bound FROM (SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags, ticks.__watermark_1, __bound FROM __watermarked_1 AS ticks) AS __rows) AS ticks
SELECT __groups_1.sym AS sym, __groups_1.window_end AS window_end, __groups_1.__a0 AS w FROM __groups_1
== logical ==
Query  stream  sym string, window_end timestamp, w timestamp
  Sql  SELECT __groups_1.sym AS sym, __groups_1.window_end AS window_end, __groups_1.__a0 AS w FROM __groups_1
    WindowAggregate __groups_1
      windows: 1 minute, every 1 minute; group by: sym
      __a0: MAX(__watermark_1)
      watermark: ts - 0 seconds
      before the shuffle: rows of a group are added up
      state: for every group what each aggregate needs to go on, of windows that are not over
      emit: once, when a window is over
      event time: window_end, given out as soon as the watermark reaches it
      Sql  SELECT ticks.ts AS ts, ticks.sym AS sym, ticks.__watermark_1 AS __watermark_1, __bound FROM (SELECT __rows.sym AS sym, __rows.ts AS ts, __rows.price AS price, __rows.qty AS qty, __rows.amount AS amount, __rows.day AS day, __rows.active AS active, __rows.place AS place, __rows.tags AS tags, __rows.__watermark_1 AS __watermark_1, __bound FROM (SELECT ticks.sym AS sym, ticks.ts AS ts, ticks.price AS price, ticks.qty AS qty, ticks.amount AS amount, ticks.day AS day, ticks.active AS active, ticks.place AS place, ticks.tags AS tags, ticks.__watermark_1, __bound FROM __watermarked_1 AS ticks) AS __rows) AS ticks
        Current watermark  of ts
          watermark: ts - 10 seconds
          state: the watermark; rows are given out as they come, late ones, too
          scan: Spark's: amount of type DECIMAL(10, 2)
          Sql  SELECT `ticks`.`ts`, `ticks`.`sym`, `ticks`.`price`, `ticks`.`qty`, `ticks`.`amount`, `ticks`.`day`, `ticks`.`active`, `ticks`.`place`, `ticks`.`tags` FROM ticks AS ticks
            Stream ticks  json  watermark ts - 10 seconds
== pattern ==
the query has no row pattern
