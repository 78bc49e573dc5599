# Statements that are no queries.
CREATE STREAM ticks (sym STRING, ts TIMESTAMP, price DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '10' SECONDS) USING json OPTIONS (path '/data/ticks')
----
create stream ticks
  sym: STRING
  ts: TIMESTAMP
  price: DOUBLE
  watermark ts: ts - INTERVAL '10' SECONDS
  using json
    path = '/data/ticks'
====
CREATE OR REPLACE STREAM s (a INT) USING kafka OPTIONS (kafka.bootstrap.servers 'localhost:9092', subscribe = "topic", startingOffsets earliest, maxOffsetsPerTrigger 1000, failOnDataLoss = false, rate -1.5)
----
create stream s or replace
  a: INT
  using kafka
    kafka.bootstrap.servers = 'localhost:9092'
    subscribe = 'topic'
    startingoffsets = 'earliest'
    maxoffsetspertrigger = '1000'
    failondataloss = 'false'
    rate = '-1.5'
====
CREATE STREAM IF NOT EXISTS s (a INT) USING csv
----
create stream s if absent
  a: INT
  using csv
====
CREATE STREAM s (
  a ARRAY<STRUCT<x: INT, y: MAP<STRING, ARRAY<DOUBLE>>>>, -- nested; with a comment
  b DECIMAL(10, 2),
  c STRUCT<`odd name`: STRING, n: INT>,
  ts TIMESTAMP AS to_timestamp(b, 'yyyy-MM-dd HH:mm:ss'),
  d DATE AS CAST(ts AS DATE),
  WATERMARK FOR ts AS ts
) USING parquet OPTIONS ('header' = 'a;b', delimiter ',')
----
create stream s
  a: ARRAY<STRUCT<x: INT, y: MAP<STRING, ARRAY<DOUBLE>>>>
  b: DECIMAL(10, 2)
  c: STRUCT<`odd name`: STRING, n: INT>
  ts: TIMESTAMP AS to_timestamp(b, 'yyyy-MM-dd HH:mm:ss')
  d: DATE AS CAST(ts AS DATE)
  watermark ts: ts
  using parquet
    header = 'a;b'
    delimiter = ','
====
CREATE STREAM s (ts TIMESTAMP, late INT, into STRING, WATERMARK FOR ts AS ts) USING csv OPTIONS (path 'in/')
LATE ROWS INTO rejected.rows USING parquet OPTIONS (path 'late/')
----
create stream s
  ts: TIMESTAMP
  late: INT
  into: STRING
  watermark ts: ts
  using csv
    path = 'in/'
  late rows into rejected.rows using parquet
    path = 'late/'
====
CREATE STREAM late (`rows` INT) USING rate LATE ROWS INTO `into` USING JSON OPTIONS ("path" = late);
CREATE STREAM rows (late INT) USING late OPTIONS (late late) late rows into late using late
----
create stream late
  rows: INT
  using rate
  late rows into into using json
    path = 'late'
create stream rows
  late: INT
  using late
    late = 'late'
  late rows into late using late
====
CREATE STREAM watermark (watermark INT, options STRING, `using` STRING) USING rate
----
create stream watermark
  watermark: INT
  options: STRING
  using: STRING
  using rate
====
CREATE TABLE t (a INT, b STRING) USING csv OPTIONS (path 'it''s', quote '"', escape '\\')
----
create table t
  a: INT
  b: STRING
  using csv
    path = "it's"
    quote = '"'
    escape = '\\'
====
CREATE TABLE t USING parquet OPTIONS (path '/x')
----
create table t
  using parquet
    path = '/x'
====
CREATE OR REPLACE TABLE a.b.c (x INT) USING orc
----
create table a.b.c or replace
  x: INT
  using orc
====
CREATE VIEW v AS SELECT a, b FROM t WHERE a > 3
----
create view v
  text: SELECT a, b FROM t WHERE a > 3
query: SELECT a, b FROM t WHERE a > 3
====
CREATE OR REPLACE VIEW v AS
SELECT *
FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A))
----
create view v or replace
  text: SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A))
__match_0: SELECT * FROM ticks
  partition by: sym
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
CREATE VIEW IF NOT EXISTS v AS WITH x AS (SELECT 1 AS n) SELECT n FROM x
----
create view v if absent
  text: WITH x AS (SELECT 1 AS n) SELECT n FROM x
query: WITH x AS (SELECT 1 AS n) SELECT n FROM x
====
CREATE VIEW v AS VALUES (1, 2)
----
create view v
  text: VALUES (1, 2)
query: SELECT * FROM VALUES (1, 2)
====
DROP STREAM ticks
----
Drop 'stream' ticks False False
====
DROP TABLE IF EXISTS a.t
----
Drop 'table' a.t True False
====
DROP VIEW `a view`
----
Drop 'view' a view False False
====
DROP STREAM stream
----
Drop 'stream' stream False False
====
SHOW STREAMS
----
Show 'streams' None False
====
SHOW TABLES
----
Show 'tables' None False
====
show views
----
Show 'views' None False
====
DESCRIBE ticks
----
Describe ticks False
====
DESC a.ticks
----
Describe a.ticks False
====
DESCRIBE describe
----
Describe describe False
====
DESCRIBE EXTENDED a.ticks
----
Describe a.ticks True
====
DESC extended
----
Describe extended False
====
PRINT ticks
----
Print ticks 10 False
====
PRINT print LIMIT 3
----
Print print 3 False
====
SHOW FUNCTIONS; SHOW FUNCTIONS LIKE 'date*'
----
ShowFunctions None
ShowFunctions 'date*'
====
EXPLAIN SELECT 1
----
explain the plan
query: SELECT 1
====
EXPLAIN PLANNING SELECT 1
----
explain planning
query: SELECT 1
====
EXPLAIN REWRITTEN SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A))
----
explain rewritten
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
EXPLAIN LOGICAL WITH x AS (SELECT 1) SELECT * FROM x
----
explain logical
query: WITH x AS (SELECT 1) SELECT * FROM x
====
EXPLAIN PATTERN SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A))
----
explain pattern
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
EXPLAIN PATTERN AS dot SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A))
----
explain dot
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0
====
EXPLAIN MATCH SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym, day PATTERN (A)) WHERE x > 3 FOR KEY ('ACME', NULL)
----
explain match for 'ACME', NULL
__match_0: SELECT * FROM ticks
  partition by: sym, day
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_0 WHERE x > 3
====
EXPLAIN MATCH SELECT key FROM ticks MATCH_RECOGNIZE (PARTITION BY key PATTERN (A)) AS m FOR KEY (key = -1)
----
explain match for key = -1
__match_0: SELECT * FROM ticks
  partition by: key
  rows: one
  skip: past last row
  pattern: A
query: SELECT key FROM __match_0 AS m
====
EXPLAIN MATCH SELECT x FROM ticks MATCH_RECOGNIZE (PATTERN (A))
----
explain match for all
__match_0: SELECT * FROM ticks
  rows: one
  skip: past last row
  pattern: A
query: SELECT x FROM __match_0
====
EXPLAIN PHYSICAL (SELECT 1); EXPLAIN SPARK SELECT 1; EXPLAIN FORMATTED SELECT 1; EXPLAIN EXTENDED SELECT 1
----
explain physical
query: (SELECT 1)
explain physical
query: SELECT 1
explain physical
query: SELECT 1
explain all
query: SELECT 1
====
EXPLAIN QUERY fraud; EXPLAIN LOGICAL VIEW query; EXPLAIN PATTERN QUERY a.view; EXPLAIN PATTERN AS mermaid VIEW v
----
explain the plan
query fraud
explain logical
view query
explain pattern
query a.view
explain mermaid
view v
====
EXPLAIN MATCH QUERY fraud FOR KEY ('ACME', 3); EXPLAIN MATCH VIEW v; EXPLAIN ANALYZE QUERY fraud
----
explain match for 'ACME', 3
query fraud
explain match for all
view v
ExplainAnalyze fraud
====
SELECT spark, formatted, analyze, view FROM query JOIN view ON query.analyze = view.spark
----
query: SELECT spark, formatted, analyze, view FROM query JOIN view ON query.analyze = view.spark
====
SET
----
SetOption None None
====
SET spark.sql.shuffle.partitions = 4
----
SetOption spark.sql.shuffle.partitions '4'
====
SET spark.sql.shuffle.partitions
----
SetOption spark.sql.shuffle.partitions None
====
SET cepsql.buckets = 12
----
SetOption cepsql.buckets '12'
====
SET spark.sql.session.timeZone = 'Europe/Paris'
----
SetOption spark.sql.session.timeZone 'Europe/Paris'
====
SET spark.app.name = two words
----
SetOption spark.app.name 'two words'
====
SET `spark.some-key` = -1
----
SetOption spark.some-key '-1'
====
RESET
----
ResetOption None
====
RESET spark.sql.shuffle.partitions
----
ResetOption spark.sql.shuffle.partitions
====
SELECT 1 AS a; SHOW TABLES; ; SET x.y = ';'
----
query: SELECT 1 AS a
Show 'tables' None False
SetOption x.y ';'
====
-- only a comment
SELECT 'a;b' AS s /* ; */ -- ;
----
query: /* only a comment */ SELECT 'a;b' AS s /* ; */ /* ; */
====
VALUES (1, 'a'), (2, 'b')
----
query: SELECT * FROM VALUES (1, 'a'), (2, 'b')
====
FROM ticks SELECT sym
----
query: SELECT sym FROM ticks
====
(SELECT 1) UNION ALL (SELECT 2)
----
query: (SELECT 1) UNION ALL (SELECT 2)
====
SELECT k FROM s AS t DEDUPLICATE (PARTITION BY k, x ORDER BY ts, n DESC WITHIN INTERVAL '1' HOUR) AS d WHERE k > 1
----
__first_0: SELECT * FROM s AS t
  partition by: k, x
  order by: ts, n DESC
  within: INTERVAL '1' HOUR
query: SELECT k FROM __first_0 AS d WHERE k > 1
====
CREATE STREAM s (id BIGINT, k STRING METADATA FROM 'key', offset BIGINT METADATA, metadata INT, format STRING, at TIMESTAMP METADATA FROM timestamp, twice INT AS id * 2, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
USING kafka OPTIONS (kafka.bootstrap.servers 'h:1', subscribe 'events') FORMAT json OPTIONS (timestampFormat 'x') FROM TIMESTAMP '2026-01-01 00:00:00' LATE ROWS INTO l USING json OPTIONS (path 'x')
----
create stream s
  id: BIGINT
  k: STRING METADATA FROM 'key'
  offset: BIGINT METADATA FROM 'offset'
  metadata: INT
  format: STRING
  at: TIMESTAMP METADATA FROM 'timestamp'
  twice: INT AS id * 2
  watermark at: at - INTERVAL '1' SECOND
  using kafka
    kafka.bootstrap.servers = 'h:1'
    subscribe = 'events'
  format json
    timestampformat = 'x'
  from timestamp '2026-01-01 00:00:00'
  late rows into l using json
    path = 'x'
====
CREATE TABLE t (metadata STRING METADATA, earliest INT) USING kafka FORMAT CSV FROM EARLIEST
----
create table t
  metadata: STRING METADATA FROM 'metadata'
  earliest: INT
  using kafka
  format csv
  from earliest
====
CREATE STREAM latest (a INT) USING kafka FROM LATEST; CREATE TABLE format USING kafka FORMAT format; SELECT format, earliest, metadata FROM latest AS earliest
----
create stream latest
  a: INT
  using kafka
  from latest
create table format
  using kafka
  format format
query: SELECT format, earliest, metadata FROM latest AS earliest
====
SELECT k, COUNT(*) FROM s AS a WINDOW TUMBLING (SIZE 1 MINUTE) WHERE a.x > 1 GROUP BY k, window_start, window_end
----
windows __window_0 over SELECT * FROM s AS a
  tumbling of INTERVAL '1' MINUTE
query: SELECT k, COUNT(*) FROM __window_0 AS a WHERE a.x > 1 GROUP BY k, window_start, window_end
====
SELECT * FROM s WINDOW HOPPING (ON ts, SIZE '5 minutes', ADVANCE BY 1 MINUTE, OFFSET INTERVAL '10' SECONDS) w JOIN b USING (k)
----
windows __window_0 over SELECT * FROM s
  hopping of INTERVAL '5' MINUTES
  on ts
  step INTERVAL '1' MINUTE
  offset INTERVAL '10' SECONDS
query: SELECT * FROM __window_0 AS w JOIN b USING (k)
====
SELECT * FROM (SELECT * FROM s) WINDOW SESSION (30 MINUTES PARTITION BY k, j) MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))
----
windows __window_0 over SELECT * FROM (SELECT * FROM s)
  session of INTERVAL '30' MINUTES
  partition by k, j
__match_1: SELECT * FROM __window_0
  order by: ts
  rows: one
  skip: past last row
  pattern: A
query: SELECT * FROM __match_1
====
SELECT * FROM (s WINDOW CUMULATING (SIZE 1 HOUR, STEP 5 MINUTES)) AS t, TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '1' DAY)) AS u
----
windows __window_0 over SELECT * FROM s
  cumulating of INTERVAL '1' HOUR
  step INTERVAL '5' MINUTES
windows __window_1 over SELECT * FROM b
  tumbling of INTERVAL '1' DAY
  on ts
  with window_time
query: SELECT * FROM __window_0 AS t CROSS JOIN __window_1 AS u
====
SELECT * FROM TABLE(HOP(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '5' MINUTES, SLIDE => INTERVAL '1' MINUTE))
----
windows __window_0 over SELECT * FROM s
  hopping of INTERVAL '5' MINUTES
  on ts
  step INTERVAL '1' MINUTE
  with window_time
query: SELECT * FROM __window_0
====
SELECT * FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES, INTERVAL '10' SECONDS))
----
windows __window_0 over SELECT * FROM s
  hopping of INTERVAL '5' MINUTES
  on ts
  step INTERVAL '1' MINUTE
  offset INTERVAL '10' SECONDS
  with window_time
query: SELECT * FROM __window_0
====
SELECT * FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
----
windows __window_0 over SELECT * FROM s
  cumulating of INTERVAL '5' MINUTES
  on ts
  step INTERVAL '1' MINUTE
  with window_time
query: SELECT * FROM __window_0
====
SELECT * FROM (SELECT * FROM TABLE(SESSION(TABLE s PARTITION BY a, b, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS z)
----
windows __window_0 over SELECT * FROM s
  session of INTERVAL '1' MINUTE
  on ts
  partition by a, b
  with window_time
query: SELECT * FROM (SELECT * FROM __window_0 AS z)
====
SELECT size, step, gap, hopping FROM session AS advance WINDOW tumbling AS (ORDER BY size), window AS (ORDER BY step)
----
query: SELECT size, step, gap, hopping FROM session AS advance WINDOW tumbling AS (ORDER BY size), window AS (ORDER BY step)
====
SELECT k, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k, window_end EMIT EVERY INTERVAL '5' SECONDS ALLOWED LATENESS INTERVAL '1' MINUTE
----
windows __window_0 over SELECT * FROM s
  tumbling of INTERVAL '1' MINUTE
query: SELECT k, COUNT(*) FROM __window_0 AS s GROUP BY k, window_end
  emit: every every INTERVAL '5' SECONDS lateness INTERVAL '1' MINUTE
====
WITH w AS (SELECT k FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k, window_end EMIT EVERY INTERVAL '5' SECONDS) SELECT k FROM w WHERE k IN (SELECT emit FROM emit changes EMIT ON WINDOW CLOSE) EMIT CHANGES
----
windows __window_0 over SELECT * FROM s
  tumbling of INTERVAL '1' MINUTE
__emitted_1: SELECT k FROM __window_0 AS s GROUP BY k, window_end
  emit: every every INTERVAL '5' SECONDS
__emitted_2: SELECT emit FROM emit AS changes
  emit: close
query: WITH w AS (SELECT * FROM __emitted_1) SELECT k FROM w WHERE k IN (SELECT * FROM __emitted_2)
  emit: changes
====
INSERT INTO a SELECT * FROM s x EMIT CHANGES; SELECT emit, changes FROM emit changes; SELECT * FROM s WHERE x = 1 EMIT ON WINDOW CLOSE
----
insert into a
query: SELECT * FROM s AS x
  emit: changes
query: SELECT emit, changes FROM emit AS changes
query: SELECT * FROM s WHERE x = 1
  emit: close
====
CREATE STREAM s (ahead INT, by STRING, at TIMESTAMP, percent INT, WATERMARK FOR at AS at - INTERVAL '1' SECOND AHEAD AT MOST INTERVAL '1' HOUR OF at BY by WITH IDLE TIMEOUT INTERVAL '1' MINUTE WITH PUNCTUATION WHEN ahead = 1 AND percent > 3 WITH HEARTBEAT INTERVAL '1' MINUTE WITH LATE ALERT ABOVE 5 PERCENT) USING csv
----
create stream s
  ahead: INT
  by: STRING
  at: TIMESTAMP
  percent: INT
  watermark at: at - INTERVAL '1' SECOND ahead INTERVAL '1' HOUR reference at idle INTERVAL '1' MINUTE punctuation ahead = 1 AND percent > 3 heartbeat INTERVAL '1' MINUTE late_alert 5 producer by
  using csv
====
CREATE TABLE refresh (every INT) USING csv OPTIONS (path 'x') FORMAT csv REFRESH EVERY INTERVAL '1' MINUTE
----
create table refresh
  every: INT
  using csv
    path = 'x'
  format csv
  refresh INTERVAL '1' MINUTE
====
CREATE STREAM backfill (until TIMESTAMP, WATERMARK FOR until AS until) USING kafka FORMAT json FROM EARLIEST BACKFILL FROM old.until UNTIL TIMESTAMP '2026-03-02' LATE ROWS INTO late USING json OPTIONS (path 'x')
----
create stream backfill
  until: TIMESTAMP
  watermark until: until
  using kafka
  format json
  from earliest
  backfill from old.until until CAST('2026-03-02' AS TIMESTAMP)
  late rows into late using json
    path = 'x'
====
SELECT * FROM TABLE(TUMBLE(DATA => TABLE (SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS ts PATTERN (A))), TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' DAY)) AS w
----
__match_0: SELECT * FROM s
  partition by: k
  order by: ts
  measure ts: MATCH_ROWTIME()
  rows: one
  skip: past last row
  pattern: A
windows __window_1 over SELECT * FROM (SELECT * FROM __match_0)
  tumbling of INTERVAL '1' DAY
  on ts
  with window_time
query: SELECT * FROM __window_1 AS w
====
SELECT * FROM TABLE(SESSION(TABLE (SELECT a, b, window_time AS ts FROM TABLE(TUMBLE(s, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS x JOIN (t WINDOW TUMBLING (SIZE 1 DAY)) AS y ON a = b) AS z PARTITION BY (a, b), DESCRIPTOR(ts), INTERVAL '1' HOUR))
----
windows __window_0 over SELECT * FROM s
  tumbling of INTERVAL '1' MINUTE
  on ts
  with window_time
windows __window_1 over SELECT * FROM t
  tumbling of INTERVAL '1' DAY
windows __window_2 over SELECT * FROM (SELECT a, b, window_time AS ts FROM __window_0 AS x JOIN __window_1 AS y ON a = b) AS z
  session of INTERVAL '1' HOUR
  on ts
  partition by a, b
  with window_time
query: SELECT * FROM __window_2
====
SELECT * FROM TABLE(TUMBLE((s DEDUPLICATE (PARTITION BY k ORDER BY ts)), DESCRIPTOR(ts), INTERVAL '1' DAY)), TABLE(TUMBLE(TABLE (SELECT *, SUM(x) OVER (PARTITION BY k, ts) FROM s), DESCRIPTOR(ts), INTERVAL '1' DAY))
----
__first_0: SELECT * FROM s
  partition by: k
  order by: ts
windows __window_1 over SELECT * FROM __first_0
  tumbling of INTERVAL '1' DAY
  on ts
  with window_time
windows __window_2 over SELECT * FROM (SELECT *, SUM(x) OVER (PARTITION BY k, ts) FROM s)
  tumbling of INTERVAL '1' DAY
  on ts
  with window_time
query: SELECT * FROM __window_1 CROSS JOIN __window_2
====
CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts AHEAD AT MOST 1 HOUR BY k WITH IDLE TIMEOUT '5 minutes' WITH HEARTBEAT 10 SECONDS WITH LATE ALERT ABOVE 5 PERCENT) USING csv
----
create stream s
  k: STRING
  ts: TIMESTAMP
  watermark ts: ts ahead INTERVAL '1' HOUR idle INTERVAL '5' MINUTES heartbeat INTERVAL '10' SECONDS late_alert 5 producer k
  using csv
====
CREATE TABLE t (k STRING) USING csv REFRESH EVERY 10 MINUTES
----
create table t
  k: STRING
  using csv
  refresh INTERVAL '10' MINUTES
====
SELECT k, n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) FILL (-1 AS n, 'x', LINEAR AS y FOR AT MOST 1 HOUR) AS w JOIN t FILL (a) ON true
----
windows __window_0 over SELECT * FROM s
  tumbling of INTERVAL '1' MINUTE
  filled with -1 for n, 'x', LINEAR for y, at most INTERVAL '1' HOUR
query: SELECT k, n FROM __window_0 AS w JOIN t AS FILL(a) ON TRUE
====
CREATE STREAM s USING json OPTIONS (path 'logs/')
----
create stream s
  using json
    path = 'logs/'
====
CREATE STREAM s (up STRING AS upper(name), WATERMARK FOR at AS at - INTERVAL '5' SECONDS) USING csv OPTIONS (path 'logs', header 'true')
----
create stream s
  up: STRING AS upper(name)
  watermark at: at - INTERVAL '5' SECONDS
  using csv
    path = 'logs'
    header = 'true'
====
CREATE STREAM s (a INT, at TIMESTAMP, WATERMARK FOR at AS at) LATE ROWS INTO late USING json OPTIONS (path 'late')
----
create stream s
  a: INT
  at: TIMESTAMP
  watermark at: at
  using
  late rows into late using json
    path = 'late'
====
INSERT INTO s (a, at) VALUES (1, '2026-01-01 00:00:00'), (2, NULL)
----
insert into s (a, at)
query: SELECT * FROM VALUES (1, '2026-01-01 00:00:00'), (2, NULL)
====
INSERT INTO shop.s (at, `odd name`) (SELECT 1, 2)
----
insert into shop.s (at, odd name)
query: (SELECT 1, 2)
====
INSERT INTO s (SELECT * FROM t MATCH_RECOGNIZE (ORDER BY a PATTERN (A) DEFINE A AS a > 1))
----
insert into s
__match_0: SELECT * FROM t
  order by: a
  rows: one
  skip: past last row
  pattern: A
  define A: a > 1
query: (SELECT * FROM __match_0)
====
SUMMARIZE ticks; SUMMARIZE shop.ticks; SUMMARIZE 'x.csv'; SUMMARIZE read_csv('x', header => true)
----
summarize
query: SELECT * FROM ticks
summarize
query: SELECT * FROM shop.ticks
summarize
query: SELECT * FROM __file_2e10d981792d AS x
summarize
query: SELECT * FROM __file_98d45878defc AS x
====
SUMMARIZE WITH a AS (SELECT 1) SELECT * FROM a; SUMMARIZE (SELECT 1 AS a); SUMMARIZE VALUES (1)
----
summarize
query: WITH a AS (SELECT 1) SELECT * FROM a
summarize
query: (SELECT 1 AS a)
summarize
query: SELECT * FROM VALUES (1)
====
SUMMARIZE SELECT * FROM t MATCH_RECOGNIZE (ORDER BY a PATTERN (A) DEFINE A AS a > 1)
----
summarize
__match_0: SELECT * FROM t
  order by: a
  rows: one
  skip: past last row
  pattern: A
  define A: a > 1
query: SELECT * FROM __match_0
====
SELECT summarize FROM summarize AS summarize
----
query: SELECT summarize FROM summarize AS summarize
====
SELECT * FROM 'a.csv', 'Logs/b-1.json.gz' AS l JOIN read_parquet('/data/c/*.parquet', mergeSchema = true) ON true WHERE a IN (SELECT x FROM 'd.csv')
----
query: SELECT * FROM __file_acced7d63b64 AS a CROSS JOIN __file_e398c4f19ac0 AS l JOIN __file_b528a214d0d9 AS c ON TRUE WHERE a IN (SELECT x FROM __file_de3dfd1ace28 AS d)
====
CREATE STREAM s (ms BIGINT, at TIMESTAMP AS TO_TIMESTAMP_LTZ(ms, 3), x INT AS n BETWEEN SYMMETRIC 1 AND 2, y INT AS  ms  + 1) USING json
----
create stream s
  ms: BIGINT
  at: TIMESTAMP AS TIMESTAMP_MILLIS(ms)
  x: INT AS (n BETWEEN 1 AND 2 OR n BETWEEN 2 AND 1)
  y: INT AS ms  + 1
  using json
====
CREATE STREAM s (ms BIGINT, at AS TO_TIMESTAMP_LTZ(ms, 3), y AS SAFE_CAST(ms AS INT)) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'json')
----
create stream s
  ms: BIGINT
  at: TIMESTAMP AS TIMESTAMP_MILLIS(ms)
  y: INT AS TRY_CAST(ms AS INT)
  using json
    path = 'in'
====
SELECT TUMBLE_END(TUMBLE_ROWTIME(ts, INTERVAL '5' MINUTES), INTERVAL '1' HOUR) AS e FROM s
----
query: SELECT WINDOW((WINDOW(ts, '5 minutes').end - INTERVAL '1' MILLISECOND), '1 hour').end AS e FROM s
