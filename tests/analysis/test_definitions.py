"""Definitions, questions and settings, none of which starts Spark."""

import pytest
from catalog import engine

from cepsql.engine import connect
from cepsql.errors import ProgrammingError
from cepsql.plan.identity import describe_plan


def test_a_stream_is_described():
    rows = engine().sql("DESCRIBE ticks").rows
    assert rows[0] == ("sym", "string", "")
    assert rows[1] == ("ts", "timestamp", "event time, watermark 10 seconds behind")


def test_all_that_is_known_of_a_stream():
    fresh = engine()
    fresh.sql(
        "CREATE STREAM s (line STRING, ts TIMESTAMP AS to_timestamp(line), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) "
        "USING jdbc OPTIONS (path 'in', password 'hush') LATE ROWS INTO late USING json OPTIONS (path 'kept');"
        "CREATE VIEW v AS SELECT * FROM s; CREATE SINK out (ts TIMESTAMP, PRIMARY KEY (ts)) "
        "USING sqlite OPTIONS (path 'out.db');"
        "CREATE QUERY q INTO out AS SELECT ts FROM v"
    )
    assert fresh.sql("DESCRIBE EXTENDED s").rows == (
        ("name", "s"), ("kind", "stream"), ("format", "jdbc"), ("option path", "in"), ("option password", "*****"),
        ("column line", "string"), ("column ts", "timestamp AS to_timestamp(line)"),
        ("watermark", "WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE"),
        ("clocks that run ahead", "move the watermark; AHEAD AT MOST sets their rows aside"),
        ("late and malformed rows", "in table late, kept"), ("used by", "view v and query q"),
    )  # fmt: skip
    assert fresh.sql("DESCRIBE EXTENDED v").rows[2:4] == (("query", "SELECT * FROM s"), ("reads", "s"))
    assert fresh.sql("DESCRIBE EXTENDED out").rows[-2:] == (("primary key", "ts"), ("used by", "query q"))


def test_a_computed_column_is_described():
    fresh = engine()
    fresh.sql("CREATE STREAM s (line STRING, ts TIMESTAMP AS to_timestamp(line), WATERMARK FOR ts AS ts) USING text")
    assert fresh.sql("DESC s").rows == (
        ("line", "string", ""),
        ("ts", "timestamp", "AS to_timestamp(line); event time, watermark 0 seconds behind"),
    )


def test_a_view_keeps_types_and_event_time():
    assert engine().sql("DESCRIBE busy").rows == (
        ("sym", "string", ""),
        ("ts", "timestamp", "event time, watermark 10 seconds behind"),
        ("volume", "double", ""),
    )


def test_show():
    fresh = engine()
    assert [row[0] for row in fresh.sql("SHOW STREAMS").rows] == ["orders", "rates", "raw", "ticks"]
    assert [row[0] for row in fresh.sql("SHOW TABLES").rows] == ["companies", "trades", "words"]
    assert fresh.sql("SHOW VIEWS").rows == (
        ("busy", "view", "SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 100"),
    )


def test_explain_of_a_query_with_settings_of_its_own_starts_no_spark():
    with connect(catalog="") as fresh:
        fresh.sql("""
            CREATE STREAM s (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING json OPTIONS (path 'in');
            CREATE QUERY q OPTIONS (cepsql.strict 'true', checkpoint '/tmp/q') AS SELECT k FROM s
        """)
        assert "SELECT k FROM s" in str(fresh.sql("EXPLAIN QUERY q"))
        assert not fresh.has_started


def test_replace_keep_and_drop():
    fresh = engine()
    fresh.sql("CREATE STREAM IF NOT EXISTS TICKS (other INT) USING json")
    assert len(fresh.catalog.get("ticks").columns) == 9
    fresh.sql("CREATE OR REPLACE STREAM Ticks (other INT) USING json")
    assert [column.name for column in fresh.catalog.get("TICKS").columns] == ["other"]
    with pytest.raises(ProgrammingError, match="stream Ticks is read by view busy"):
        fresh.sql("DROP STREAM ticks")
    assert fresh.sql("DROP STREAM ticks CASCADE").message == "stream Ticks dropped, and with it view busy"
    assert fresh.catalog.find("ticks") is None
    fresh.sql("DROP STREAM IF EXISTS ticks")
    with pytest.raises(ProgrammingError, match="there is no stream, table or view ticks"):
        fresh.sql("DROP STREAM ticks")


def test_settings():
    fresh = engine()
    fresh.sql("SET cepsql.buckets = 12")
    assert fresh.sql("SET cepsql.buckets").rows == (("cepsql.buckets", "12"),)
    fresh.sql("RESET cepsql.buckets")
    assert fresh.sql("SET cepsql.buckets").rows[0][1] is None


def test_group_by_all_over_matches_in_a_cte():
    matched = "q MATCH_RECOGNIZE (ORDER BY ts MEASURES A.sym AS x PATTERN (A))"
    query = engine().query(f"WITH q AS (SELECT * FROM trades) SELECT x, COUNT(*) AS n FROM {matched} GROUP BY ALL")
    assert len(query.plan.matches) == 1


@pytest.mark.parametrize("key", ["spark.sql.shuffle.partitions", "fs.s3a.endpoint", "hive.exec.dynamic.partition"])
def test_settings_that_spark_may_have_pass_the_check(key):
    engine().check(f"SET {key} = 1; RESET {key}")


def test_settings_that_nobody_has_do_not_pass_the_check():
    for text in ("SET 'auto.offset.reset' = 'earliest'", "RESET nope", "SET nope"):
        with pytest.raises(ProgrammingError, match="there is no setting"):
            engine().check(text)


def test_statements_before_an_error_have_acted():
    fresh = engine()
    with pytest.raises(ProgrammingError) as raised:
        fresh.sql("DROP VIEW busy;\nSELECT nothing FROM ticks")
    assert (raised.value.line, raised.value.column) == (2, 8)
    assert fresh.catalog.find("busy") is None


def test_the_table_of_late_rows():
    fresh = engine()
    stream = (
        "CREATE OR REPLACE STREAM s (A INT, at TIMESTAMP) USING json LATE ROWS INTO {} USING json OPTIONS (path 'x')"
    )
    fresh.sql(stream.format("first"))
    assert ("first", "json", "reason, watermark, record, query, batch, A, at") in fresh.sql("SHOW TABLES").rows
    types = [row[1] for row in fresh.sql("DESCRIBE first").rows]
    assert types == ["string", "timestamp", "string", "string", "bigint", "int", "timestamp"]
    fresh.sql(stream.format("first"))
    fresh.sql(stream.format("second"))
    assert fresh.catalog.find("first") is None and fresh.catalog.find("second") is not None
    fresh.sql("CREATE TABLE first (a INT) USING csv")
    with pytest.raises(ProgrammingError, match="first exists already"):
        fresh.sql(stream.format("first"))
    fresh.sql("DROP STREAM s")
    assert fresh.catalog.find("second") is None and fresh.catalog.find("first") is not None


def test_limits_of_a_search_leave_checkpoints_valid():
    fresh = engine()
    query = fresh.sql("SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS t PATTERN (A B))")
    program, identity = query.plan.matches[0].program, describe_plan(query.plan, {}, str)
    assert fresh._context.search_limits(program) == program
    fresh.sql("SET cepsql.strict = TRUE; SET cepsql.step_budget = 7; SET cepsql.undecided_rows = 8")
    limited = fresh._context.search_limits(program)
    assert (limited.strict, limited.step_budget, limited.undecided_rows) == (True, 7, 8)
    assert limited.state_id == program.state_id
    assert describe_plan(fresh.sql(query.plan.query.sql).plan, {}, str) == identity


def test_the_origins_of_a_query_are_those_below_its_views():
    fresh = engine()
    fresh.sql("CREATE VIEW twice AS SELECT a.ts FROM ticks AS a JOIN ticks AS b ON a.ts = b.ts")
    origins = fresh.sql("SELECT t.ts FROM twice AS t JOIN ticks ON t.ts = ticks.ts").origins
    assert [origin.name for origin in origins] == ["ticks"]


def test_the_matches_of_a_view_are_among_those_of_its_reader():
    fresh = engine()
    matched = "MATCH_RECOGNIZE (ORDER BY ts MEASURES {0}.ts AS ts PATTERN ({0}))"
    fresh.sql(f"CREATE VIEW found AS SELECT * FROM trades {matched.format('A')}")
    assert fresh.sql(f"SELECT * FROM found {matched.format('B')}").patterns == "A; B"


def test_a_name_that_a_table_function_may_have_is_no_error():
    fresh = engine()
    for text in ("CAST(id AS INT) AS id", "id + 1 AS id", "id AS n, n + 1 AS m"):
        assert not fresh.query(f"SELECT {text} FROM range(3) WHERE id > 0").streaming


@pytest.mark.parametrize(
    ("relation", "columns"),
    [
        ("range(5)", ["id"]),
        ("range(1, 5) AS r", ["id"]),
        ("range(5) AS r (n)", ["n"]),
        ("(SELECT * FROM range(5) AS r, explode(array(1, 2)))", ["id", "col"]),
        ("posexplode_outer(array(1, 2))", ["pos", "col"]),
        ("stack(2, 1, 2, 3)", ["col0", "col1"]),
        ("json_tuple('{}', 'a', 'b')", ["c0", "c1"]),
        ("VALUES (1, 2), (3, 4)", ["col1", "col2"]),
        ("(VALUES (1), (2)) AS v", ["col1"]),
        ("(VALUES (1), (2)) AS v (n)", ["n"]),
        ("inline(array(struct(1 AS a)))", ["*"]),
    ],
)
def test_what_spark_calls_columns_that_nothing_names(relation, columns):
    fresh = engine()
    fresh.sql(f"CREATE VIEW v AS SELECT * FROM {relation}")
    assert [column.name for column in fresh.catalog.get("v").columns] == columns
    if columns != ["*"]:
        first = columns[0]
        fresh.query(f"SELECT * FROM {relation} MATCH_RECOGNIZE (ORDER BY {first} MEASURES {first} AS x PATTERN (A))")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("csv OPTIONS (path 'x', heeder 'true')", "; csv passes over the option heeder: did you mean header?"),
        ("json OPTIONS (pth 'x')", "; json passes over the option pth: did you mean path?"),
        ("parquet OPTIONS (path 'x', maxFilePerTrigger '1')", "did you mean maxFilesPerTrigger?"),
        ("csv OPTIONS (PATH 'x', SEP ';', cleanSource 'delete', somethingElse '1')", "stream s created"),
        ("rate OPTIONS (rowPerSecond '1')", "stream s created"),
        ("cvs OPTIONS (path 'x')", "; cvs is not among the known formats: did you mean csv?"),
        ("BINARYFILE OPTIONS (path 'x')", "stream s created"),
        ("my_source", "stream s created"),
    ],
)
def test_what_spark_passes_over_or_will_not_find_is_told(source, said):
    answer = connect().sql(f"CREATE STREAM s (a INT, at TIMESTAMP) USING {source}")
    assert answer.message.endswith(said)


def test_a_format_that_a_sink_will_not_find_is_told():
    answer = connect().sql("CREATE SINK k (a INT) USING sqllite OPTIONS (path 'x')")
    assert answer.message == "sink k created; sqllite is not among the known formats: did you mean sqlite?"
    assert connect().sql("CREATE SINK k (a INT) USING mine").message == "sink k created"
