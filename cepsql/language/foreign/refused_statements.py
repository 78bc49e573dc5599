"""Statements of other engines that have no counterpart here, by their first words, and what to write instead."""

from cepsql.errors import NotSupportedError
from cepsql.language.foreign.foreign_statements import ONE_CATALOG, WRITES
from cepsql.language.tokens import Text

_FUNCTIONS = "a program gives Spark functions of its own: engine.spark.udf.register('name', function)"
_CONNECT = "Kafka Connect runs connectors; CREATE STREAM ... USING kafka reads their topics"
_QUERY = "CREATE QUERY name INTO sink AS SELECT ...; START QUERY name writes rows until it is stopped"
_FILES = (
    "CREATE TABLE {name} (...) USING format OPTIONS (path '...') reads files; CREATE VIEW {name} AS SELECT "
    "... names a query"
)
_VIEW = "CREATE MATERIALIZED VIEW {name} AS SELECT ... is kept up to date from then on"
_STORED = "CREATE TABLE name (...) USING csv OPTIONS (path '/folder') reads files where they are"
_KEYS = "keys stand in each query: PARTITION BY key in MATCH_RECOGNIZE and OVER, GROUP BY key, window_start, window_end"
_VARIABLE = "cepsql -v NAME=VALUE binds :NAME in statements"
_SUBSCRIBED = (
    "SELECT * FROM {name} gives the rows of a stream as they come; EMIT CHANGES, at its end, the changes of a table"
)
_NO_RIGHTS = "the rights of the process, of its files and of its databases hold"
_NO_UPKEEP = "files and databases are kept up by their own tools; leave it out"
_MASTER = "cepsql --master URL says where Spark runs"
_SCRIPT = "cepsql -f FILE executes a script of statements, a program in Python anything else"
_EPL_TRIGGER = (
    "CREATE QUERY name INTO sink AS SELECT ... writes rows; a stream with a PRIMARY KEY is a table that its rows change"
)
_SCHEMA_OF_EVENTS = (
    "CREATE STREAM {name} (column TYPE, ..., WATERMARK FOR ts AS ts - INTERVAL '10' SECONDS) USING format OPTIONS (...)"
)

_DEFINED = "SHOW STREAMS, TABLES, VIEWS, SINKS and QUERIES list what is defined"
_SETTING = "SET name = 'value'; SET alone shows the settings"
_RUNNING = "SHOW QUERIES lists the queries, DESCRIBE name says all of one"
_JARS = "cepsql --conf spark.jars=FILE gives Spark jars"
_SECRETS = "options refer to a secret: '${{NAME}}' is an environment variable, '${{file:/path}}' a file"
_NO_INDEXES = "leave it out: a query keeps what it looks up by its keys"

_TOLD = {
    "CREATE FUNCTION": _FUNCTIONS,
    "CREATE TEMPORARY FUNCTION": _FUNCTIONS,
    "CREATE TEMPORARY SYSTEM FUNCTION": _FUNCTIONS,
    "CREATE TEMP FUNCTION": _FUNCTIONS,
    "CREATE AGGREGATE": _FUNCTIONS,
    "CREATE MACRO": _FUNCTIONS,
    "CREATE MODEL": _FUNCTIONS,
    "CREATE MATERIALIZED TABLE": _VIEW,
    "CREATE EXPRESSION": _FUNCTIONS,
    "EXPRESSION": _FUNCTIONS,
    "CREATE CATALOG": ONE_CATALOG,
    "CREATE DATABASE": ONE_CATALOG,
    "CREATE SCHEMA": ONE_CATALOG,
    "CREATE MAP SCHEMA": _SCHEMA_OF_EVENTS,
    "CREATE JSON SCHEMA": _SCHEMA_OF_EVENTS,
    "CREATE AVRO SCHEMA": _SCHEMA_OF_EVENTS,
    "CREATE XML SCHEMA": _SCHEMA_OF_EVENTS,
    "CREATE OBJECTARRAY SCHEMA": _SCHEMA_OF_EVENTS,
    "CREATE TYPE": "write the type where it is used: CREATE STREAM ... (address STRUCT<street: STRING, city: STRING>)",
    "CREATE CONNECTOR": _CONNECT,
    "CREATE SOURCE CONNECTOR": _CONNECT,
    "CREATE SINK CONNECTOR": _CONNECT,
    "CREATE CONNECTION":
        "options say where rows are: CREATE STREAM ... USING kafka OPTIONS (kafka.bootstrap.servers "
        "'host:9092', subscribe 'topic')",
    "CREATE SECRET": _SECRETS,
    "CREATE CLUSTER": _MASTER,
    "CREATE WAREHOUSE": _MASTER,
    "CREATE VIEW GROUP":
        "views of one store are read in one transaction, and SELECT ... AT WATERMARK reads views at one point in event "
        "time; a query writes one view",
    "CREATE TASK": _QUERY,
    "CREATE PIPE": _QUERY,
    "CREATE DYNAMIC TABLE": _QUERY,
    "CREATE DATAFLOW": _QUERY,
    "CREATE SUBSCRIPTION": _QUERY,
    "CREATE STAGE": _STORED,
    "CREATE EXTERNAL TABLE": "CREATE TABLE {name} (...) USING csv OPTIONS (path '/folder') reads files where they are",
    "CREATE TRANSIENT TABLE": _FILES,
    "CREATE TEMP TABLE": _FILES,
    "CREATE TEMPORARY TABLE": _FILES,
    "CREATE GLOBAL TEMPORARY TABLE": _FILES,
    "CREATE UNLOGGED TABLE": _FILES,
    "CREATE INDEX": _NO_INDEXES,
    "CREATE UNIQUE INDEX": _NO_INDEXES,
    "CREATE DEFAULT INDEX": _NO_INDEXES,
    "CREATE SEARCH INDEX": _NO_INDEXES,
    "CREATE VECTOR INDEX": _NO_INDEXES,
    "CREATE SEQUENCE": "ROW_NUMBER() OVER (ORDER BY x) numbers rows",
    "CREATE PROCEDURE": _SCRIPT,
    "CREATE TRIGGER": _QUERY,
    "CREATE ROLE": _NO_RIGHTS,
    "CREATE USER": _NO_RIGHTS,
    "CREATE VARIABLE": _VARIABLE,
    "CREATE CONTINUOUS QUERY": _QUERY,
    "CREATE CONTINUOUS VIEW": _VIEW,
    "CREATE CONTEXT": _KEYS,
    "CONTEXT": _KEYS,
    "CREATE WINDOW":
        "CREATE VIEW {name} AS SELECT ... names rows; OVER (ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTES "
        "PRECEDING AND CURRENT ROW) bounds them in a query",
    "DROP FUNCTION": _FUNCTIONS,
    "DROP TEMPORARY FUNCTION": _FUNCTIONS,
    "DROP TEMPORARY SYSTEM FUNCTION": _FUNCTIONS,
    "DROP MODEL": _FUNCTIONS,
    "DROP TYPE": "types have no names; DROP STREAM, TABLE or VIEW drops what has columns of it",
    "DROP CONNECTOR": _CONNECT,
    "DROP SOURCE": "DROP STREAM {name}",
    "DROP TEMPORARY VIEW": "DROP VIEW {name}",
    "DROP TEMPORARY TABLE": "DROP TABLE {name}",
    "DROP DATABASE": ONE_CATALOG,
    "DROP SCHEMA": ONE_CATALOG,
    "DROP CATALOG": ONE_CATALOG,
    "DROP INDEX": "there are no indexes: a query keeps what it looks up by its keys",
    "SHOW FULL TABLES": "SHOW TABLES, SHOW STREAMS and SHOW VIEWS list what is defined",
    "SHOW ALL TABLES": "SHOW TABLES, SHOW STREAMS and SHOW VIEWS list what is defined",
    "SHOW FULL": _JARS,
    "SHOW USER FUNCTIONS": "SHOW FUNCTIONS lists them",
    "SHOW PROCEDURES": _SCRIPT,
    "SHOW MODELS": _FUNCTIONS,
    "SHOW INTERNAL": "SHOW EXTENDED QUERIES shows how much state each query keeps",
    "SHOW PROCESSLIST": _RUNNING,
    "SHOW CURSORS": _RUNNING,
    "SHOW CONNECTIONS": _DEFINED,
    "SHOW SECRETS": _SECRETS,
    "SHOW OBJECTS": _DEFINED,
    "SHOW CREATE SOURCE": "SHOW CREATE STREAM {name}",
    "SHOW ALL TOPICS": "CREATE STREAM ... USING kafka OPTIONS (subscribe 'topic', ...) reads a topic",
    "SHOW PARTITIONS": "SELECT DISTINCT day FROM {name} gives what is in a column of partitions",
    "SHOW STATS": "DESCRIBE EXTENDED name says what is known of it",
    "SHOW SESSION": "SET shows the settings",
    "SHOW PARAMETERS": "SET shows the settings",
    "SHOW CONNECTORS": _CONNECT,
    "LIST TYPES": "DESCRIBE name shows the types of its columns",
    "LIST PROPERTIES": "SET shows the settings",
    "LIST TOPICS": "CREATE STREAM ... USING kafka OPTIONS (subscribe 'topic', ...) reads a topic",
    "LIST CONNECTORS": _CONNECT,
    "LIST VARIABLES": _VARIABLE,
    "LIST": "SHOW STREAMS, TABLES, VIEWS, SINKS, QUERIES or FUNCTIONS",
    "CREATE SOURCE TABLE":
        "CREATE STREAM {name} (..., PRIMARY KEY (id)) USING kafka OPTIONS (...) FORMAT json FROM EARLIEST",
    "CREATE SOURCE STREAM": "CREATE STREAM {name} (...) USING kafka OPTIONS (...) FORMAT json",
    "SHOW TYPES": "DESCRIBE name shows the types of its columns",
    "SHOW SOURCES": "SHOW STREAMS and SHOW TABLES list what is read",
    "SHOW INDEXES": "there are no indexes: a query keeps what it looks up by its keys",
    "SHOW CLUSTERS": _MASTER,
    "SHOW WAREHOUSES": _MASTER,
    "SHOW GRANTS": _NO_RIGHTS,
    "SHOW ROLES": _NO_RIGHTS,
    "ALTER SOURCE": "CREATE OR REPLACE STREAM {name} (...) USING format OPTIONS (...) defines it again",
    "ALTER CLUSTER": _MASTER,
    "ALTER FUNCTION": _FUNCTIONS,
    "ALTER SESSION": "SET spark.sql.session.timeZone = 'Europe/Paris', and SET for other settings",
    "ALTER SYSTEM": "SET shows and changes settings",
    "DESCRIBE FUNCTION": "SHOW FUNCTIONS LIKE '{name}'",
    "DESCRIBE CONNECTOR": _CONNECT,
    "DESCRIBE JOB": _RUNNING,
    "DESCRIBE CATALOG": ONE_CATALOG,
    "DESCRIBE DATABASE": ONE_CATALOG,
    "DESCRIBE SCHEMA": ONE_CATALOG,
    "DESCRIBE INPUT": "a statement says what its parameters are: ? and :name stand where they are bound",
    "DESCRIBE OUTPUT": "CREATE VIEW v AS SELECT ...; DESCRIBE v shows the columns of a query",
    "DESCRIBE FRAGMENTS": "EXPLAIN PHYSICAL SELECT ... shows what Spark executes",
    "DESCRIBE STREAMS": "SHOW STREAMS lists streams, DESCRIBE EXTENDED name says all of one",
    "DESCRIBE TABLES": "SHOW TABLES lists tables, DESCRIBE EXTENDED name says all of one",
    "DESCRIBE SELECT": "CREATE VIEW v AS SELECT ...; DESCRIBE v shows the columns of a query",
    "SET SESSION": "SET name = 'value'; SET alone shows the settings",
    "RESET SESSION": "RESET name",
    "SET ROLE": _NO_RIGHTS,
    "SET VARIABLE": _VARIABLE,
    "SET TIME ZONE": "SET spark.sql.session.timeZone = 'Europe/Paris'",
    "PAUSE ALL": "PAUSE QUERY name pauses one; SHOW QUERIES lists their names",
    "RESUME ALL": "RESUME QUERY name resumes one; SHOW QUERIES lists their names",
    "TERMINATE ALL": "STOP QUERY name stops one; SHOW QUERIES lists their names",
    "START TRANSACTION": "each statement that changes something is a transaction of its own",
    "EXECUTE STATEMENT SET": "CREATE QUERY name INTO sink AS SELECT ... for each of its INSERTs, and START QUERY name",
    "BEGIN STATEMENT SET": "CREATE QUERY name INTO sink AS SELECT ... for each of its INSERTs, and START QUERY name",
    "EXPLAIN STATEMENT SET": "EXPLAIN SELECT ... explains one query",
    "EXPLAIN OPTIMIZED": "EXPLAIN REWRITTEN SELECT ... shows the plan as it is run, EXPLAIN SPARK what Spark executes",
    "EXPLAIN DECORRELATED": "EXPLAIN LOGICAL SELECT ... shows the plan before it is rewritten",
    "COMPILE PLAN": "a checkpoint keeps what a query means; EXPLAIN REPLACE QUERY tells what another text would change",
    "EXECUTE PLAN": "START QUERY name resumes from its checkpoint",
    "CALL": _SCRIPT,
    "LOAD MODULE": _JARS,
    "UNLOAD MODULE": _JARS,
    "REMOVE JAR": _JARS,
    "LOAD DATA": _STORED,
    "IF": _SCRIPT,
    "LOOP": _SCRIPT,
    "WHILE": _SCRIPT,
    "CANCEL": "STOP QUERY name stops a query; SHOW QUERIES lists their names",
    "TERMINATE CLUSTER": "STOP QUERY name stops a query; SHOW QUERIES lists their names",
    "VALIDATE CONNECTION": _DEFINED,
    "INTO TABLE": _EPL_TRIGGER,
    "DENY": _NO_RIGHTS,
    "ANALYZE": _NO_UPKEEP,
    "VACUUM": _NO_UPKEEP,
    "CHECKPOINT": "CREATE QUERY ... OPTIONS (trigger '10 seconds') says how often a query keeps its state",
    "FLUSH": "a query writes what is decided as its watermark passes; SHOW QUERIES tells how far it is",
    "RECOVER": "RESTART QUERY name resumes a query from its checkpoint",
    "REFRESH": "CREATE TABLE ... REFRESH EVERY 1 MINUTE says how often a standing query reads a table again",
    "GRANT": _NO_RIGHTS,
    "REVOKE": _NO_RIGHTS,
    "COMMENT ON": "-- a comment stands in the text, which SHOW CREATE shows",
    "SUBSCRIBE TO": "SELECT ... FROM stream gives rows as they come; EMIT CHANGES, at its end, the changes of a table",
    "SUBSCRIBE": _SUBSCRIBED,
    "WAIT": "SHOW VIEW POSITIONS tells how far a materialized view is",
    "TAIL": _SUBSCRIBED,
    "FETCH": "a program takes rows as they come: for row in engine.query('SELECT ...')",
    "EXPORT DATA": WRITES,
    "INSERT OVERWRITE": "INSERT INTO {name} SELECT ... adds rows; a sink with a PRIMARY KEY in a database updates them",
    "INSERT ALL": "INSERT INTO sink SELECT ... for each of its sinks",
    "PIVOT": "SELECT * FROM {name} PIVOT (SUM(x) FOR y IN ('a', 'b'))",
    "UNPIVOT": "SELECT * FROM {name} UNPIVOT (v FOR n IN (a, b))",
    "PRAGMA": "DESCRIBE name shows columns, SET settings",
    "INSTALL": "cepsql --conf spark.jars.packages=GROUP:NAME:VERSION gives Spark packages",
    "ATTACH": "CREATE TABLE name USING jdbc OPTIONS (url 'jdbc:...', dbtable 'name') reads a table of a database",
    "DETACH": "DROP TABLE name",
    "PUT": _STORED,
    "GET": "INSERT INTO sink SELECT ... writes files",
    "ASSERT": "cepsql test FILE tests what a query gives",
    "UNDEFINE": _VARIABLE,
    "MODULE": "cepsql -f FILE executes a file of statements",
    "SHOW COLUMNS": "DESCRIBE {name}",
    "EVERY":
        "a pattern stands behind FROM: SELECT ... FROM stream MATCH_RECOGNIZE (PARTITION BY key ORDER BY ts "
        "MEASURES ... PATTERN (A OTHER*? B) WITHIN INTERVAL '10' MINUTES DEFINE ...)",
    "ON": _EPL_TRIGGER,
    "DEALLOCATE ALL": "DEALLOCATE name forgets one statement; all are forgotten when the process ends",
}  # fmt: skip
"""By the first words of a statement: what to write instead. {name} is what follows them."""

_LEFT_OUT = ("OR", "REPLACE")
_BEFORE_NAMES = ("IF", "NOT", "EXISTS", "INTO", "TABLE", "ON", "FROM", "FOR")
_COLUMNS = ("(", "AS")


def refused_statement(text: Text, begin: int, at: int) -> NotSupportedError | None:
    """Make the error for a statement of another engine that begins at token `begin`, None if it is not known.

    at: the token that the grammar refuses; a statement that is refused further on is one of ours.
    """
    ahead = (i for i in range(begin, min(begin + 6, len(text))) if text.word(i) not in _LEFT_OUT)
    places = list(ahead)
    words: list[str] = []
    longest = None
    for i in places:
        if not text.word(i):
            break
        words.append(text.word(i))
        if " ".join(words) in _TOLD:
            longest = " ".join(words), i + 1
    if longest is None or at > longest[1]:
        return None
    statement, end = longest
    name, after = _name(text, end)
    hint = _TOLD[statement]
    if statement == "CREATE SCHEMA" and (text.raw(after) == "(" or text.word(after) in _COLUMNS):
        hint = _SCHEMA_OF_EVENTS
    return NotSupportedError(f"{statement} is not supported", text.span(begin, end), hint.format(name=name), text.sql)


def refused_ending(text: Text, begin: int, at: int) -> NotSupportedError | None:
    """Make the error for what other engines write behind a statement that is also ours, None if it is not known."""
    words = [text.word(i) for i in range(begin, at + 1)]
    if words[:1] == ["DROP"] and words[-1] == "DELETE" and text.word(at + 1) == "TOPIC":
        hint = f"{text.slice(begin, at)}; the tools of Kafka delete topics"
        return NotSupportedError("DELETE TOPIC is not supported", text.span(at, at + 2), hint, text.sql)
    if words[:1] == ["SHOW"] and words[-1] in ("FROM", "IN"):
        hint = f"{text.slice(begin, at)}: {ONE_CATALOG}"
        return NotSupportedError(f"{words[-1]} is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["SHOW"] and words[-1] == "EXTENDED":
        hint = f"{text.slice(begin, at)} lists them, DESCRIBE EXTENDED name says all of one"
        return NotSupportedError("EXTENDED is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["CREATE"] and words[-1] == "LIKE":
        hint = f"write its columns, which DESCRIBE {text.raw(at + 1)} shows"
        return NotSupportedError("LIKE is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["CREATE"] and "VIEW" in words[1:4] and text.raw(at) == "(" and at == len(words) - 1 + begin:
        hint = f"its query names the columns: {text.slice(begin, at)} AS SELECT x AS a, y AS b ..."
        return NotSupportedError("a list of columns of a view is not supported", text.span(at, at + 1), hint, text.sql)
    if words[:2] == ["CREATE", "SINK"] and words[-1] == "INTO":
        read = f"SELECT * FROM {text.raw(at + 3)}" if text.word(at + 2) == "FROM" else "SELECT ..."
        hint = f"CREATE QUERY {text.raw(at - 1)} INTO {text.raw(at + 1)} AS {read}"
        return NotSupportedError("CREATE SINK ... INTO is not supported", text.span(at, at + 1), hint, text.sql)
    if words[:2] == ["CREATE", "SINK"] and words[-1] in ("FROM", "AS") and len(words) < 6:
        name, read = text.raw(at - 1), f"SELECT * FROM {text.raw(at + 1)}" if words[-1] == "FROM" else "SELECT ..."
        hint = f"CREATE SINK {name} USING kafka OPTIONS (...); CREATE QUERY {name}_query INTO {name} AS {read}"
        return NotSupportedError(f"CREATE SINK ... {words[-1]} is not supported", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["CREATE"] and "STREAM" in words[:4] and words[-1] == "ON":
        hint = f"{text.slice(begin, at)} (...) USING format OPTIONS (path '...') follows the files of a table"
        return NotSupportedError("ON is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["SET"] and words[-1] == "TO":
        return NotSupportedError("TO is not supported here", text.span(at, at + 1), _SETTING, text.sql)
    if words[:1] == ["SUBSCRIBE"] and words[-1] in ("ENVELOPE", "WITH", "AS"):
        hint = f"{text.slice(begin, at)} gives its rows, and their changes with op"
        return NotSupportedError(f"{words[-1]} is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:2] == ["ALTER", "VIEW"] and words[-1] in ("RENAME", "AS", "OWNER"):
        hint = f"CREATE OR REPLACE VIEW {text.raw(begin + 2)} AS SELECT ... defines it again"
        return NotSupportedError(f"{words[-1]} is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["CREATE"] and "TABLE" in words[:4] and words[-1] == "PARTITIONED BY":
        hint = "folders called key=value hold columns of their own: name these among the columns, and leave it out"
        return NotSupportedError("PARTITIONED BY is not supported", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["CREATE"] and words[-1] == "DISTRIBUTED":
        hint = "leave it out: whatever writes the rows says into how many files or partitions they go"
        return NotSupportedError("DISTRIBUTED is not supported here", text.span(at, at + 1), hint, text.sql)
    if words == ["CREATE", "OR", "ALTER"]:
        hint = f"CREATE OR REPLACE {text.word(at + 1)} ... defines it again"
        return NotSupportedError("CREATE OR ALTER is not supported", text.span(begin, at + 1), hint, text.sql)
    if words[:1] == ["PRINT"] and words[-1] in ("INTERVAL", "SAMPLE"):
        hint = f"{text.slice(begin, at)} LIMIT 5 shows the first rows"
        return NotSupportedError(f"{words[-1]} is not supported here", text.span(at, at + 1), hint, text.sql)
    if words[:1] == ["INSERT"] and words[-1] == "PARTITION":
        hint = "the columns of partitions are among those of the rows: INSERT INTO sink SELECT ..., day FROM ..."
        return NotSupportedError("PARTITION is not supported here", text.span(at, at + 1), hint, text.sql)
    return None


def _name(text: Text, at: int) -> tuple[str, int]:
    """Return the name that follows in a statement, and the token after it."""
    while text.word(at) in _BEFORE_NAMES:
        at += 1
    if not (text.word(at) or text.raw(at)[:1] == "`"):
        return "name", at
    end = at + 1
    while text.raw(end) == "." and text.word(end + 1):
        end += 2
    return text.slice(at, end), end
