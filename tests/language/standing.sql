# Sinks and standing queries.
CREATE SINK alerts USING console
----
create sink alerts
  using console
====
CREATE OR REPLACE SINK alerts (card STRING, at TIMESTAMP, PRIMARY KEY (card, at)) USING postgresql OPTIONS (url 'postgresql://h/db', table 'alerts')
----
create sink alerts or replace
  card: STRING
  at: TIMESTAMP
  key: card, at
  using postgresql
    url = 'postgresql://h/db'
    table = 'alerts'
====
CREATE SINK IF NOT EXISTS a.b (PRIMARY KEY (match_id)) USING sqlite OPTIONS (path '${HOME}/x.db')
----
create sink a.b if absent
  key: match_id
  using sqlite
    path = '${HOME}/x.db'
====
CREATE SINK s (primary INT, key STRING, sink STRING) USING json OPTIONS (path 'out/')
----
create sink s
  primary: INT
  key: STRING
  sink: STRING
  using json
    path = 'out/'
====
CREATE QUERY fraud INTO alerts AS SELECT card FROM payments; START QUERY fraud
----
create query fraud
  into: alerts
  text: SELECT card FROM payments
query: SELECT card FROM payments
ControlQuery 'start' fraud None 'query'
====
CREATE OR REPLACE QUERY fraud AS
SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS t PATTERN (A B)) -- the end
----
create query fraud or replace
  text: SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS t PATTERN (A B))
__match_0: SELECT * FROM ticks
  order by: ts
  measure t: A.ts
  rows: one
  skip: past last row
  pattern: A B
query: SELECT * FROM __match_0
====
CREATE QUERY IF NOT EXISTS `a query` INTO db.alerts OPTIONS (trigger '5 seconds', checkpoint '/ck', cepsql.buckets 8) FROM SAVEPOINT 'before upgrade' AS WITH t AS (SELECT 1 AS a) SELECT a FROM t
----
create query a query if absent
  into: db.alerts
  trigger = '5 seconds'
  checkpoint = '/ck'
  cepsql.buckets = '8'
  from savepoint: before upgrade
  text: WITH t AS (SELECT 1 AS a) SELECT a FROM t
query: WITH t AS (SELECT 1 AS a) SELECT a FROM t
====
START QUERY fraud; PAUSE QUERY fraud; RESUME QUERY a.fraud; RESTART QUERY `fraud`; STOP QUERY fraud; STOP QUERY fraud WITH SAVEPOINT 'x'; STOP QUERY fraud WITH SAVEPOINT x
----
ControlQuery 'start' fraud None 'query'
ControlQuery 'pause' fraud None 'query'
ControlQuery 'resume' a.fraud None 'query'
ControlQuery 'restart' fraud None 'query'
ControlQuery 'stop' fraud None 'query'
ControlQuery 'stop' fraud x 'query'
ControlQuery 'stop' fraud x 'query'
====
ALTER QUERY fraud SET (trigger '1 minute', cepsql.buckets = 4); ALTER QUERY fraud RESET (trigger, checkpoint)
----
AlterQuery fraud ((Name(text='trigger', span=Span(start=23, end=30)), '1 minute'), (Name(text='cepsql.buckets', span=Span(start=43, end=57)), '4')) 'query'
AlterQuery fraud ((Name(text='trigger', span=Span(start=89, end=96)), None), (Name(text='checkpoint', span=Span(start=98, end=108)), None)) 'query'
====
DROP QUERY fraud; DROP QUERY IF EXISTS fraud; DROP SINK alerts CASCADE; DROP STREAM IF EXISTS ticks CASCADE; DROP VIEW cascade; DROP TABLE start
----
Drop 'query' fraud False False
Drop 'query' fraud True False
Drop 'sink' alerts False True
Drop 'stream' ticks True True
Drop 'view' cascade False False
Drop 'table' start False False
====
SHOW QUERIES; SHOW EXTENDED QUERIES; SHOW SINKS; SHOW SAVEPOINTS; DROP SAVEPOINT 'before upgrade'; DROP SAVEPOINT IF EXISTS x; SHOW QUERY fraud HISTORY; SHOW CREATE QUERY fraud; SHOW CREATE STREAM ticks; SHOW CREATE SINK a.b
----
Show 'queries' None False
Show 'queries' None True
Show 'sinks' None False
Show 'savepoints' None False
DropSavepoint before upgrade False
DropSavepoint x True
ShowHistory fraud
ShowCreate 'query' fraud
ShowCreate 'stream' ticks
ShowCreate 'sink' a.b
====
DESCRIBE QUERY fraud; DESCRIBE EXTENDED QUERY fraud; DESC QUERY query; DESCRIBE query; DESCRIBE extended; DESCRIBE sink; DESCRIBE QUERY `a b`; DESC EXTENDED QUERY "a b"
----
DescribeQuery fraud False
DescribeQuery fraud True
DescribeQuery query False
Describe query False
Describe extended False
Describe sink False
DescribeQuery a b False
DescribeQuery a b True
====
INSERT INTO alerts SELECT card FROM payments WHERE amount > 10
----
insert into alerts
query: SELECT card FROM payments WHERE amount > 10
====
INSERT INTO a.alerts WITH t AS (SELECT 1 AS a) SELECT a FROM t
----
insert into a.alerts
query: WITH t AS (SELECT 1 AS a) SELECT a FROM t
====
INSERT INTO alerts VALUES (1, 'a'), (2, 'b')
----
insert into alerts
query: SELECT * FROM VALUES (1, 'a'), (2, 'b')
====
INSERT INTO alerts FROM payments SELECT card
----
insert into alerts
query: SELECT card FROM payments
====
EXPLAIN REPLACE QUERY fraud INTO alerts AS SELECT card FROM payments
----
explain
create query fraud or replace
  into: alerts
  text: SELECT card FROM payments
query: SELECT card FROM payments
====
SELECT start, stop, pause, sink, query, history, queries FROM query AS resume JOIN sink ON query.restart = sink.savepoint
----
query: SELECT start, stop, pause, sink, query, history, queries FROM query AS resume JOIN sink ON query.restart = sink.savepoint
====
CREATE STREAM query (start TIMESTAMP, stop INT, sink STRING, query STRING, cascade INT, extended INT, WATERMARK FOR start AS start) USING json
----
create stream query
  start: TIMESTAMP
  stop: INT
  sink: STRING
  query: STRING
  cascade: INT
  extended: INT
  watermark start: start
  using json
====
SELECT * FROM stop MATCH_RECOGNIZE (PARTITION BY query ORDER BY start MEASURES PAUSE.sink AS restart PATTERN (PAUSE QUERY) DEFINE QUERY AS QUERY.insert = 1) AS cascade
----
__match_0: SELECT * FROM stop
  partition by: query
  order by: start
  measure restart: PAUSE.sink
  rows: one
  skip: past last row
  pattern: PAUSE QUERY
  define QUERY: QUERY.insert = 1
query: SELECT * FROM __match_0 AS cascade
====
CREATE OR REPLACE QUERY fraud INTO alerts WITH NEW CHECKPOINT AS WITH t AS (SELECT 1 AS a) SELECT a FROM t
----
create query fraud or replace
  into: alerts
  with a new checkpoint
  text: WITH t AS (SELECT 1 AS a) SELECT a FROM t
query: WITH t AS (SELECT 1 AS a) SELECT a FROM t
====
CREATE OR REPLACE QUERY new WITH NEW CHECKPOINT FROM TIMESTAMP '2026-03-02' AS SELECT latest FROM start
----
create query new or replace
  with a new checkpoint
  from: 2026-03-02
  text: SELECT latest FROM start
query: SELECT latest FROM start
====
EXPLAIN REPLACE QUERY new WITH NEW CHECKPOINT FROM LATEST AS SELECT new FROM latest
----
explain
create query new or replace
  with a new checkpoint
  from: latest
  text: SELECT new FROM latest
query: SELECT new FROM latest
====
EXPLAIN REPLACE QUERY new WITH NEW CHECKPOINT AS SELECT new, checkpoint FROM replace
----
explain
create query new or replace
  with a new checkpoint
  text: SELECT new, checkpoint FROM replace
query: SELECT new, checkpoint FROM replace
====
CREATE OR REPLACE MATERIALIZED VIEW spent PRIMARY KEY (city) INDEX (total)
OPTIONS (store 'sqlite', retain '10 minutes') WITH NEW CHECKPOINT AS
SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES
----
create materialized view spent or replace
  key: city
  index: total
  option store = sqlite
  option retain = 10 minutes
  with a new checkpoint
  text: SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES
query: SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city
====
START VIEW spent; STOP MATERIALIZED VIEW spent WITH SAVEPOINT 'x'; ALTER MATERIALIZED VIEW spent RESET (trigger)
----
ControlQuery 'start' spent None 'materialized view'
ControlQuery 'stop' spent x 'materialized view'
AlterQuery spent ((Name(text='trigger', span=Span(start=104, end=111)), None),) 'materialized view'
====
SHOW MATERIALIZED VIEWS; SHOW CREATE MATERIALIZED VIEW spent; DROP MATERIALIZED VIEW IF EXISTS spent CASCADE
----
Show 'materialized views' None False
ShowCreate 'materialized view' spent
Drop 'materialized view' spent True True
====
EXPLAIN REPLACE MATERIALIZED VIEW materialized INDEX (index) AS SELECT positions AS index FROM materialized
----
explain
create materialized view materialized or replace
  index: index
  text: SELECT positions AS index FROM materialized
query: SELECT positions AS index FROM materialized
====
SELECT materialized, index, positions FROM view
----
query: SELECT materialized, index, positions FROM view
====
SELECT s.city FROM spent AS s JOIN late AS l ON l.city = s.city AT WATERMARK
----
query: SELECT s.city FROM spent AS s JOIN late AS l ON l.city = s.city
  as of: at watermark
====
SELECT at, after, fresh FROM spent at WHERE at.n > 1 ORDER BY at LIMIT 3 AFTER 'orders@a.json' FRESH WITHIN INTERVAL '5' SECONDS
----
query: SELECT at, after, fresh FROM spent AS at WHERE at.n > 1 ORDER BY at LIMIT 3
  as of: after orders@a.json, fresh within INTERVAL '5' SECONDS
====
WAIT FOR spent UNTIL 'orders@a.json' TIMEOUT INTERVAL '2' SECONDS; WAIT FOR wait UNTIL 'x'
----
WaitFor spent 'orders@a.json' Interval(
  this=Literal(this='2', is_string=True),
  unit=Var(this=SECONDS))
WaitFor wait 'x' None
====
SELECT a at FROM t AS fresh
----
query: SELECT a AS at FROM t AS fresh
====
CREATE VIEW GROUP sales OPTIONS (store 'sqlite', trigger '1 second'); CREATE VIEW GROUP IF NOT EXISTS `a group`; CREATE MATERIALIZED VIEW IF NOT EXISTS spent IN sales PRIMARY KEY (city) AS SELECT city FROM orders
----
CreateViewGroup sales (('store', 'sqlite'), ('trigger', '1 second')) False
CreateViewGroup a group () True
create materialized view spent if absent
  in group: sales
  key: city
  text: SELECT city FROM orders
query: SELECT city FROM orders
====
START VIEW GROUP sales; STOP VIEW GROUP sales WITH SAVEPOINT x; ALTER VIEW GROUP sales SET (trigger '1 second'); DROP VIEW GROUP IF EXISTS sales CASCADE; SHOW VIEW GROUPS; SHOW CREATE VIEW GROUP sales
----
ControlQuery 'start' sales None 'view group'
ControlQuery 'stop' sales x 'view group'
AlterQuery sales ((Name(text='trigger', span=Span(start=92, end=99)), '1 second'),) 'view group'
Drop 'view group' sales True True
Show 'view groups' None False
ShowCreate 'view group' sales
====
CREATE VIEW group AS SELECT group FROM groups; DROP VIEW group; DROP VIEW group CASCADE; START VIEW group; STOP VIEW group WITH SAVEPOINT x; ALTER VIEW group SET (trigger '1 s'); SHOW CREATE VIEW group; DROP VIEW GROUP group
----
create view group
  text: SELECT group FROM groups
query: SELECT group FROM groups
Drop 'view' group False False
Drop 'view' group False True
ControlQuery 'start' group None 'materialized view'
ControlQuery 'stop' group x 'materialized view'
AlterQuery group ((Name(text='trigger', span=Span(start=163, end=170)), '1 s'),) 'materialized view'
ShowCreate 'view' group
Drop 'view group' group False False
