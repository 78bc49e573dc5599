"""Tables of databases: each batch is there once, whoever writes it, and values are what they were."""

import datetime
import decimal
import json
import sqlite3
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa
from postgresql import running_postgresql

import cepsql.sinks.postgresql
from cepsql.catalog import Sink
from cepsql.errors import DataError, OperationalError, ProgrammingError
from cepsql.sinks import WriterIdentity, open_sink
from cepsql.sinks.fitted import Unavailable

FIRST = WriterIdentity("q", 1, "checkpoint")
NUMBERED = (("id", "int"), ("text", "string"), ("n", "int"))


def opened(sink, writer=FIRST, columns=(("id", "int"), ("text", "string"))):
    opened_sink = open_sink(sink, writer)
    opened_sink.check(columns)
    opened_sink.claim()
    return opened_sink


def rows(spark, *values):
    return spark.createDataFrame(list(values), "id INT, text STRING")


def test_a_batch_is_written_once(spark, database):
    sink = opened(database.sink(create_table="true"))
    assert sink.accept(rows(spark, (1, "a"), (2, "b")), 0) == 2
    assert sink.accept(rows(spark, (3, "c")), 2) == 1
    # As after a failure behind the transaction.
    assert opened(database.sink()).accept(rows(spark, (3, "c")), 2) == 1
    # Numbers begin again with another checkpoint.
    assert opened(database.sink(), WriterIdentity("q", 1, "other")).accept(rows(spark, (4, "d")), 0) == 1
    assert database.run("SELECT id, text FROM alerts ORDER BY id") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    batches = database.run("SELECT checkpoint, epoch, batch FROM cepsql_writers ORDER BY checkpoint")
    assert batches == [("checkpoint", 1, 2), ("other", 1, 0)]


def test_a_file_that_is_gone_is_not_made_anew(spark, tmp_path):
    file = tmp_path / "rows.db"
    sink = opened(Sink("alerts", (), "sqlite", (("path", str(file)), ("create_table", "true"))))
    assert sink.accept(rows(spark, (1, "a")), 0) == 1
    file.rename(tmp_path / "moved.db")
    with pytest.raises(OperationalError, match=f"the database {file} of sink alerts is gone"):
        sink.accept(rows(spark, (2, "b")), 1)
    assert not file.exists()
    file.touch()
    with pytest.raises(OperationalError, match="has lost what it knew of the query: no such table: cepsql_writers"):
        sink.accept(rows(spark, (2, "b")), 1)
    (tmp_path / "moved.db").rename(file)
    assert sink.accept(rows(spark, (2, "b")), 1) == 1


def test_names_of_columns_may_need_quotes(spark, database):
    columns = (("a.b", "int"), ("c`d", "string"))
    sink = opened(database.sink(create_table="true"), columns=columns)
    assert sink.accept(rows(spark, (1, "a")).toDF("a.b", "c`d"), 0) == 1
    assert database.run('SELECT "a.b", "c`d" FROM alerts') == [(1, "a")]


@pytest.mark.parametrize("key", [(), ("50%",)], ids=["rows", "key"])
def test_names_may_have_what_drivers_take_for_parameters(database, key):
    names = ("50%", "%s %%(id)s :id ?")
    columns = [(names[0], "int"), (names[1], "string")]
    options = {"table": "100% %s :x ? {y}", "create_table": "true"}
    where = ""
    if "schema" in database.options:
        options["schema"] = f"{database.options['schema']} 10%s"
        database.run(f'CREATE SCHEMA "{options["schema"]}"')
        where = f'"{options["schema"]}".'
    sink = opened(replace(database.sink(**options), key=key), columns=columns)
    table = pa.table({names[0]: pa.array([1, None], pa.int32()), names[1]: ["a", "b"]})
    place = (sink._table, sink._schema)
    sink.transaction(lambda connection: sink._database.add_rows(connection, *place, columns, key, [table]))
    reading = f'SELECT "{names[1]}" FROM {where}"{options["table"]}" ORDER BY 1'
    assert database.run(reading) == [("a",), ("b",)]
    if key:
        gone = [table.select(list(key))]
        sink.transaction(lambda connection: sink._database.delete_rows(connection, *place, key, gone))
        assert database.run(reading) == []
    sink.forget()


def test_rows_of_one_key_are_updated(spark, database):
    sink = opened(database.sink(key="id", create_table="true"))
    sink.accept(rows(spark, (1, "a"), (2, "b")), 0)
    sink.accept(rows(spark, (2, "c"), (3, None), (2, "d")).coalesce(1), 1)
    assert database.run("SELECT id, text FROM alerts ORDER BY id") == [(1, "a"), (2, "d"), (3, None)]


def test_changes_are_applied_by_the_key(spark, database):
    columns = [("id", "int"), ("text", "string"), ("op", "string")]

    def changed(*values):
        return spark.createDataFrame(list(values), "id INT, text STRING, op STRING").coalesce(1)

    with pytest.raises(ProgrammingError, match="sink alerts takes no changes"):
        open_sink(database.sink("id INT, text STRING"), FIRST, changes=True).check(columns)
    sink = open_sink(database.sink(key="id", create_table="true"), FIRST, changes=True)
    sink.check(columns)
    sink.claim()
    sink.accept(changed((1, "a", "+I"), (2, "b", "+I"), (3, "c", "+I")), 0)
    sink.accept(
        changed((1, "a", "-U"), (1, "z", "+U"), (2, "b", "-D"), (4, "d", "+I"), (3, "e", "+I"), (3, "c", "-D")), 1
    )
    assert database.run("SELECT id, text FROM alerts ORDER BY id") == [(1, "z"), (3, "e"), (4, "d")]


@pytest.mark.parametrize("table", [None, "id INT, text TEXT, n INT, UNIQUE (id, text)"], ids=["made", "unique"])
def test_null_is_a_key_like_others(spark, database, table):
    if table is not None:
        database.run(f"CREATE TABLE alerts ({table})")
    columns = "id INT, text STRING, n INT"
    sink = opened(database.sink(key="id text", create_table="true"), columns=NUMBERED)
    first = [(1, None, 1), (1, "a", 2), (None, "a", 3), (None, None, 4), (1, None, 5)]
    sink.accept(spark.createDataFrame(first, columns).coalesce(1), 0)
    sink.accept(spark.createDataFrame([(None, "a", 6), (2, "b", 7)], columns), 1)
    sorting = "SELECT id, text, n FROM alerts ORDER BY n"
    assert database.run(sorting) == [(1, "a", 2), (None, None, 4), (1, None, 5), (None, "a", 6), (2, "b", 7)]
    sink = open_sink(database.sink(key="id text"), FIRST, changes=True)
    sink.claim()
    changes = [(None, None, 4, "-D"), (1, None, 5, "-U"), (1, None, 8, "+U"), (2, "b", 7, "-D")]
    sink.accept(spark.createDataFrame(changes, f"{columns}, op STRING").coalesce(1), 2)
    assert database.run(sorting) == [(1, "a", 2), (None, "a", 6), (1, None, 8)]


def test_a_key_of_one_number_may_be_null(spark, database):
    sink = opened(database.sink(key="id", create_table="true"))
    sink.accept(rows(spark, (None, "a"), (1, "b")), 0)
    sink.accept(rows(spark, (None, "c"), (2, "d")), 1)
    assert database.run("SELECT id, text FROM alerts ORDER BY text") == [(1, "b"), (None, "c"), (2, "d")]


def test_a_key_that_cannot_be_null_refuses_it(spark, database):
    # In SQLite this is the number of the row, and NULL would get one that another row may have later.
    database.run("CREATE TABLE alerts (id INTEGER PRIMARY KEY, text TEXT)")
    sink = opened(database.sink(key="id"))
    sink.accept(rows(spark, (1, "a")), 0)
    with pytest.raises(DataError, match=r"NULL, and the number of a row|refuses a row: null value"):
        sink.accept(rows(spark, (2, "b"), (None, "c")), 1)
    assert database.run("SELECT id, text FROM alerts") == [(1, "a")]


def test_a_key_alone_is_kept(spark, database):
    sink = opened(database.sink("id INT", key="id", create_table="true"), columns=[("ID", "int")])
    sink.accept(rows(spark, (1, "a")).select("id"), 0)
    sink.accept(rows(spark, (1, "a")).select("id"), 1)
    assert database.run("SELECT id FROM alerts") == [(1,)]


def test_an_earlier_owner_writes_nothing(spark, database):
    old = opened(database.sink(create_table="true"))
    old.accept(rows(spark, (1, "a")), 0)
    new = opened(database.sink(), WriterIdentity("q", 2, "checkpoint"))
    with pytest.raises(OperationalError, match="query q is written to sink alerts by another process now"):
        old.accept(rows(spark, (2, "zombie")), 1)
    with pytest.raises(OperationalError, match="another process now"):
        opened(database.sink())
    new.accept(rows(spark, (2, "b")), 1)
    # A new checkpoint of the query ends the old one's right, and another query is none of its business.
    newer = opened(database.sink(), WriterIdentity("q", 1, "other"))
    other = opened(database.sink(), WriterIdentity("p", 1, "checkpoint"))
    with pytest.raises(OperationalError, match="another process now"):
        new.accept(rows(spark, (3, "zombie")), 2)
    newer.accept(rows(spark, (3, "c")), 0)
    other.accept(rows(spark, (4, "d")), 0)
    assert database.run("SELECT text FROM alerts ORDER BY id") == [("a",), ("b",), ("c",), ("d",)]


def test_a_row_that_does_not_fit_takes_its_batch_along(spark, database):
    database.run("CREATE TABLE alerts (id INT NOT NULL, text VARCHAR(3) CHECK (length(text) < 4))")
    sink = opened(database.sink())
    sink.accept(rows(spark, (1, "a")), 0)
    with pytest.raises(DataError, match="sink alerts refuses a row: "):
        sink.accept(rows(spark, (2, "b"), (3, "much")).coalesce(1), 1)
    assert database.run("SELECT id FROM alerts") == [(1,)]
    assert sink.accept(rows(spark, (2, "b")), 1) == 1


VALUES = """
SELECT CAST(7 AS TINYINT) AS tiny, CAST(-300 AS SMALLINT) AS small, 70000 AS whole, 9223372036854775807 AS big,
  CAST(0.1 AS FLOAT) AS single, 0.1D AS double_, CAST(12.50 AS DECIMAL(8, 2)) AS exact,
  CAST('12345678901234567890.123456789' AS DECIMAL(38, 9)) AS long_, true AS yes, 'é"\\n,' AS text, '' AS empty,
  X'00FF' AS bytes, DATE'2026-03-01' AS day, TIMESTAMP'2026-03-01 12:00:00.5 America/New_York' AS at,
  TIMESTAMP_NTZ'2026-03-01 12:00:00' AS wall, array(1, 2) AS list, named_struct('a', 'x', 'b', 1.5) AS pair,
  map('k', 1) AS pairs, CAST(NULL AS STRING) AS nothing, double('NaN') AS nan, INTERVAL '90' SECONDS AS time_
"""


def test_values_keep_what_they_are(spark, database):
    frame = spark.sql(VALUES)
    columns = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    sink = opened(database.sink(create_table="true"), columns=columns)
    assert sink.accept(frame.unionAll(frame), 0) == 2
    row, same = (dict(zip(frame.columns, row, strict=True)) for row in database.run("SELECT * FROM alerts"))
    assert str(row) == str(same)
    plain = ("tiny", "small", "whole", "big", "double_", "text", "empty", "bytes", "nothing")
    expected = (7, -300, 70000, 9223372036854775807, 0.1, 'é"\n,', "", b"\x00\xff", None)
    assert tuple(row[name] for name in plain) == expected
    assert row["single"] == pytest.approx(0.1)
    lists = [json.loads(row[n]) if database.format == "sqlite" else row[n] for n in ("list", "pair", "pairs")]
    assert lists == [[1, 2], {"a": "x", "b": 1.5}, {"k": 1}]
    if database.format == "sqlite":
        assert (row["exact"], row["long_"], row["yes"], row["nan"]) == (
            12.5,
            "12345678901234567890.123456789",
            1,
            "NaN",
        )
        assert (row["day"], row["wall"]) == ("2026-03-01", "2026-03-01 12:00:00.000000")
        assert row["at"] == "2026-03-01 17:00:00.500000+00:00"
    else:
        assert (row["exact"], row["long_"]) == (
            decimal.Decimal("12.50"),
            decimal.Decimal("12345678901234567890.123456789"),
        )
        assert (row["yes"], str(row["nan"]), row["time_"]) == (True, "nan", datetime.timedelta(seconds=90))
        assert (row["day"], row["wall"]) == (datetime.date(2026, 3, 1), datetime.datetime(2026, 3, 1, 12))
        assert row["at"] == datetime.datetime(2026, 3, 1, 17, 0, 0, 500000, datetime.UTC)


def test_text_that_is_none_is_marked(spark, database):
    frame = spark.sql("SELECT CAST(X'41FF' AS STRING) AS text, array(CAST(X'FF' AS STRING), 'a') AS list")
    sink = opened(database.sink(create_table="true"), columns=[("text", "string"), ("list", "array<string>")])
    sink.accept(frame, 0)
    ((text, stored_list),) = database.run("SELECT text, list FROM alerts")
    assert (text, json.loads(stored_list) if database.format == "sqlite" else stored_list) == (
        "A\ufffd",
        ["\ufffd", "a"],
    )


def test_a_zero_byte_has_no_place_in_postgresql(spark, database):
    frame = spark.sql("SELECT 'a\\u0000b' AS text, array('a\\u0000', '\\\\u0000') AS list")
    sink = opened(database.sink(create_table="true"), columns=[("text", "string"), ("list", "array<string>")])
    sink.accept(frame, 0)
    ((text, stored_list),) = database.run("SELECT text, list FROM alerts")
    if database.format == "sqlite":
        assert (text, json.loads(stored_list)) == ("a\0b", ["a\0", "\\u0000"])
    else:
        assert (text, stored_list) == ("a\ufffdb", ["a\ufffd", "\\u0000"])


@pytest.mark.parametrize(
    ("table", "columns", "key", "said"),
    [
        (None, [("id", "int")], "", "the database of sink alerts has no table alerts"),
        ("id INT", [("id", "int"), ("much", "int")], "", "table alerts of sink alerts has no column much"),
        ("id INT, due INT NOT NULL", [("id", "int")], "", "the column due of table alerts needs a value"),
        ("id INT", [("id", "int")], "id", "table alerts has no PRIMARY KEY or UNIQUE of the key of sink alerts"),
        (
            "id INT, much INT GENERATED ALWAYS AS (id) STORED",
            [("id", "int"), ("much", "int")],
            "",
            "table alerts of sink alerts makes much its",
        ),
        ("id INT PRIMARY KEY", [("di", "int")], "id", "the key of sink alerts has id, which the query does not give"),
    ],
)
def test_what_does_not_fit_is_refused_before(database, table, columns, key, said):
    if table is not None:
        database.run(f"CREATE TABLE alerts ({table})")
    with pytest.raises(ProgrammingError, match=said):
        open_sink(database.sink(key=key), FIRST).check(columns)


def test_a_unique_index_of_some_rows_is_no_key(database):
    database.run("CREATE TABLE alerts (id INT, open BOOLEAN)")
    database.run("CREATE UNIQUE INDEX part ON alerts (id) WHERE open")
    with pytest.raises(ProgrammingError, match="table alerts has no PRIMARY KEY or UNIQUE of the key"):
        open_sink(database.sink(key="id"), FIRST).check([("id", "int")])


def test_what_the_table_itself_gives_is_no_matter(spark, database):
    number = "INTEGER PRIMARY KEY" if database.format == "sqlite" else "BIGSERIAL PRIMARY KEY"
    database.run(
        f"CREATE TABLE alerts (n {number}, id INT UNIQUE NOT NULL, text TEXT, state TEXT NOT NULL DEFAULT 'new')"
    )
    opened(database.sink(key="id")).accept(rows(spark, (5, "a")), 0)
    assert database.run("SELECT * FROM alerts") == [(1, 5, "a", "new")]


def test_types_of_the_table_are_checked(database):
    database.run("CREATE TABLE alerts (id INT)")
    sink = open_sink(database.sink(), FIRST)
    if database.format == "sqlite":
        assert sink.check([("id", "string")]) is None
    else:
        with pytest.raises(ProgrammingError, match="id is string, and table alerts of sink alerts takes INTEGER"):
            sink.check([("id", "string")])


def test_large_batches_come_in_pieces(spark, database):
    sink = opened(database.sink(create_table="true"), columns=[("id", "bigint"), ("text", "string")])
    assert sink.accept(spark.range(300_000).selectExpr("id", "repeat('x', 100) AS text"), 0) == 300_000
    assert database.run("SELECT COUNT(*), SUM(id), MIN(length(text)) FROM alerts") == [(300_000, 44_999_850_000, 100)]


def test_a_server_that_comes_back_is_waited_for(spark, postgresql):
    import psycopg

    with running_postgresql() as server:
        sink = opened(Sink("alerts", (), "postgresql", (("url", server.url), ("create_table", "true"))))
        sink.accept(rows(spark, (1, "a")), 0)
        server.stop()
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(sink.accept, rows(spark, (2, "b")), 1)
            deadline = time.monotonic() + 30
            while sink.waiting is None and time.monotonic() < deadline:
                time.sleep(0.01)
            assert sink.waiting.startswith("sink alerts does not answer: ")
            server.start()
            assert waiting.result(60) == 1
        assert (sink.waiting, sink.retries > 0) == (None, True)
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT id FROM alerts ORDER BY id").fetchall() == [(1,), (2,)]


def test_what_is_no_fault_of_a_row_is_not_told_as_one(spark, database):
    sink = opened(database.sink(create_table="true"))
    database.run("ALTER TABLE alerts RENAME TO elsewhere")
    # Without the place in a statement that nobody but the sink knows.
    with pytest.raises(OperationalError, match=r"sink alerts cannot be written to: .*alerts[^ ]*( does not exist)?\n"):
        sink.accept(rows(spark, (1, "a")), 0)
    database.run("ALTER TABLE elsewhere RENAME TO alerts")
    assert sink.accept(rows(spark, (1, "a")), 0) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("table", ["alerts", "cepsql_writers"])
def test_a_right_that_is_missing_is_named(spark, database, table):
    sink = opened(database.sink(create_table="true"))
    schema, role = database.options["schema"], f"r{uuid.uuid4().hex}"
    database.run(f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA {schema} TO {role}")
    database.run(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}; REVOKE ALL ON {table} FROM {role}")
    sa.event.listen(sink._database.engine, "begin", lambda connection: connection.exec_driver_sql(f"SET ROLE {role}"))
    with pytest.raises(
        OperationalError, match=f"sink alerts cannot be written to: permission denied for table {table}"
    ):
        sink.accept(rows(spark, (1, "a")), 0)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_an_owner_that_hangs_within_a_batch_does_not_keep_the_next_one_waiting(spark, database):
    old = opened(database.sink(create_table="true"))

    def hanging(connection):
        connection.execute(sa.select(old._writers).with_for_update())
        new = opened(database.sink(), WriterIdentity("q", 2, "checkpoint"))
        assert new.accept(rows(spark, (1, "a")), 0) == 1

    with pytest.raises(Unavailable, match=r"terminating connection|the connection is lost"):
        old.transaction(hanging)
    with pytest.raises(OperationalError, match="query q is written to sink alerts by another process now"):
        old.accept(rows(spark, (2, "zombie")), 1)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_lock_that_somebody_holds_is_told_and_keeps_no_stop_waiting(spark, database, monkeypatch):
    import psycopg

    monkeypatch.setattr(cepsql.sinks.postgresql, "_LOCK_TIMEOUT", "100ms")
    sink = opened(database.sink(create_table="true"))
    with psycopg.connect(database.options["url"]) as locking, ThreadPoolExecutor() as threads:
        locking.execute(f"LOCK TABLE {database.options['schema']}.alerts")
        writing = threads.submit(sink.accept, rows(spark, (1, "a")), 0)
        deadline = time.monotonic() + 30
        while sink.waiting is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sink.waiting == "sink alerts does not answer: canceling statement due to lock timeout"
        sink.close()
        with pytest.raises(OperationalError, match="lock timeout\n  hint: nothing is lost"):
            writing.result(30)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_standby_is_waited_for(spark, database):
    sink = opened(database.sink(create_table="true", retry_for="1 second"))
    sa.event.listen(sink._database.engine, "begin", _as_on_a_standby)
    with pytest.raises(OperationalError, match="does not answer: cannot execute SELECT FOR UPDATE in a read-only"):
        sink.accept(rows(spark, (1, "a")), 0)
    sa.event.remove(sink._database.engine, "begin", _as_on_a_standby)
    assert sink.accept(rows(spark, (1, "a")), 0) == 1


def _as_on_a_standby(connection):
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")


def test_a_server_that_is_not_there_is_said_at_once(tmp_path):
    url = "postgresql://me:s3cret@127.0.0.1:9/none"
    with pytest.raises(OperationalError, match="sink alerts does not answer: ") as raised:
        open_sink(Sink("alerts", (), "postgresql", (("url", url),)), FIRST).check([("id", "int")])
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('FATAL:  password authentication failed for user "me"', "refuses the user: FATAL:  password"),
        ('FATAL:  role "me" does not exist', "refuses the user: FATAL:  role"),
        ("FATAL:  the database system is starting up", "does not answer: FATAL:  the database"),
    ],
)
def test_a_server_that_lets_nobody_in_is_no_silent_one(said, shown, monkeypatch):
    sink = open_sink(Sink("alerts", (), "postgresql", (("url", "postgresql://me:s3cret@127.0.0.1:9/none"),)), FIRST)

    def connect(*_, **__):
        raise sa.exc.OperationalError("", (), psycopg.OperationalError(f"connection failed: {said}"))

    monkeypatch.setattr(sink._database.engine.pool, "connect", connect)
    with pytest.raises(OperationalError, match=f"sink alerts {shown.replace('FATAL', 'connection failed: FATAL')}"):
        sink.check([("id", "int")])


def test_a_key_that_postgresql_cannot_hold_is_a_refused_row(monkeypatch):
    sink = open_sink(Sink("alerts", (), "postgresql", (("url", "postgresql://me@127.0.0.1:9/none"),)), FIRST)

    def connect(*_, **__):
        raise psycopg.errors.ProgramLimitExceeded("index row size 3016 exceeds btree version 4 maximum 2704")

    monkeypatch.setattr(sink._database.engine.pool, "connect", connect)
    with pytest.raises(DataError, match="sink alerts refuses a row: index row size 3016 exceeds"):
        sink.check([("id", "int")])


def test_a_locked_file_is_waited_for(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("cepsql.sinks.sqlite._BUSY_SECONDS", 0.01)
    path = tmp_path / "a.db"
    sink = opened(Sink("alerts", (), "sqlite", (("path", str(path)), ("create_table", "true"))))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(sink.accept, rows(spark, (2, "b")), 1)
        while sink.retries < 2:
            time.sleep(0.01)
        assert sink.waiting == "sink alerts does not answer: database is locked"
        other.execute("ROLLBACK")
        assert waiting.result(60) == 1
