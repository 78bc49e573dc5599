"""Groups of views: one query, one transaction for each micro-batch, one source of each stream."""

import os
import sqlite3
import time

import pyarrow as pa
import pytest
from test_materialized_views import expect, put

import cepsql
from cepsql.catalog import ColumnDefinition, MaterializedView, RegisteredQuery
from cepsql.catalog.view_store import ViewFile, group_sink, view_source
from cepsql.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.sinks import WriterIdentity, open_sink
from cepsql.spark.building.side_by_side import side_by_side
from cepsql.spark.run.sink import Position
from cepsql.views.snapshot import Wanted, position_of, read_views

ORDERS = """CREATE STREAM orders (city STRING, at TIMESTAMP, total INT, WATERMARK FOR at AS at)
USING csv OPTIONS (path '{folder}', maxFilesPerTrigger '2')"""
SPENT = "SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES"
ALL = "SELECT 'all' AS what, COUNT(*) AS n FROM orders GROUP BY 'all' EMIT CHANGES"
HOURS = """SELECT city, window_end, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR)
GROUP BY city, window_start, window_end"""


@pytest.fixture
def orders(spark, tmp_path):
    folder = tmp_path / "orders"
    folder.mkdir()
    for hour in range(3):
        put(folder, f"{hour}.csv", f"Rome,2026-01-05 1{hour}:00:00,{hour}\nOslo,2026-01-05 1{hour}:30:00,5\n")
        # Spark takes them in the order of their times.
        os.utime(folder / f"{hour}.csv", times=(time.time() - 10 + hour,) * 2)
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        engine.sql(ORDERS.format(folder=folder))
        yield engine, folder


def positions(engine) -> dict[str, tuple]:
    return {row[0]: row[1:] for row in engine.sql("SHOW VIEW POSITIONS").rows}


def test_views_of_a_group_are_of_one_batch(orders):
    engine, folder = orders
    engine.sql("CREATE VIEW GROUP sales")
    for name, query in {"spent": SPENT, "whole": ALL, "hours": HOURS}.items():
        said = engine.sql(f"CREATE MATERIALIZED VIEW {name} IN sales AS {query}").message
        assert said == f"materialized view {name} created in view group sales; START VIEW GROUP sales runs it"
    assert engine.sql("START VIEW GROUP sales").message.startswith("query sales runs in this process")
    end, seen = time.monotonic() + 120, set()
    while seen != {6}:
        assert time.monotonic() < end, seen
        try:
            rows = engine.query("SELECT SUM(n) AS n FROM spent UNION ALL SELECT n FROM whole").arrow().to_pylist()
        except OperationalError:
            continue
        # No read sees a batch in one view that another one has not.
        assert len({row["n"] for row in rows} - {None}) <= 1, rows
        seen = {row["n"] for row in rows}
    by_view = positions(engine)
    assert len({position[0] for position in by_view.values()}) == 1 and len(by_view) == 3
    (watermark,) = {position[1] for position in by_view.values()}
    assert watermark.endswith(":30:00Z")
    # The stream is one source, whose offset stands once for each view.
    assert {position[3].count("logOffset") for position in by_view.values()} == {1}
    assert engine.query("SELECT COUNT(*) AS n FROM hours").arrow().to_pylist() == [{"n": 4}]

    assert engine.sql("STOP VIEW GROUP sales").message == "query sales stopped"
    put(folder, "3.csv", "Rome,2026-01-05 13:00:00,9\n")
    engine.sql("START VIEW GROUP sales")
    expect(engine, "SELECT n FROM whole", [{"n": 7}])
    assert engine.query("SELECT n FROM spent WHERE city = 'Rome'").arrow().to_pylist() == [{"n": 4}]
    ((name, state, views, read, *_),) = engine.sql("SHOW VIEW GROUPS").rows
    assert (name, state, views) == ("sales", "running", "spent, whole, hours") and int(read) % 3 == 0
    assert engine.sql("SHOW MATERIALIZED VIEWS").rows[0][:2] == ("hours", "running")

    token = engine.sql("INSERT INTO orders SELECT 'Bern', TIMESTAMP '2026-01-05 14:00:00', 1").token
    engine.sql(f"WAIT FOR spent UNTIL '{token}' TIMEOUT INTERVAL '120' SECONDS")
    assert engine.query("SELECT n FROM spent WHERE city = 'Bern'").arrow().to_pylist() == [{"n": 1}]

    another = f"CREATE MATERIALIZED VIEW more IN sales AS {SPENT}"
    with pytest.raises(ProgrammingError, match="view group sales runs, and its views are"):
        engine.sql(another)
    engine.sql("STOP VIEW GROUP sales")
    with pytest.raises(ProgrammingError, match="view group sales has run: with another view all") as caught:
        engine.sql(another)
    assert "WITH NEW CHECKPOINT" in caught.value.hint
    with pytest.raises(ProgrammingError, match="materialized view whole is kept by view group sales"):
        engine.sql("DROP MATERIALIZED VIEW whole")
    engine.sql(f"CREATE MATERIALIZED VIEW more IN sales WITH NEW CHECKPOINT AS {ALL}")
    engine.sql("START VIEW GROUP sales")
    expect(engine, "SELECT n FROM more", [{"n": 8}])
    assert engine.query("SELECT n FROM whole").arrow().to_pylist() == [{"n": 8}]
    assert engine.sql("DROP VIEW GROUP sales CASCADE").message.startswith("view group sales dropped, and with it")
    assert list(engine.queries) == [] and engine.catalog.find("spent") is None


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("CREATE VIEW GROUP sales", ProgrammingError, "query sales exists already"),
        ("CREATE VIEW GROUP g OPTIONS (retain '1 hour')", ProgrammingError, "retain is an option of each view"),
        ("CREATE VIEW GROUP g OPTIONS (stores 'sqlite')", ProgrammingError, "a view group has no option stores"),
        (f"CREATE MATERIALIZED VIEW v IN nobody AS {SPENT}", ProgrammingError, "there is no view group nobody"),
        (f"CREATE MATERIALIZED VIEW v IN sales OPTIONS (trigger '1 second') AS {SPENT}", ProgrammingError,
         "trigger is an option of the group"),
        (f"CREATE MATERIALIZED VIEW sales IN sales AS {SPENT}", ProgrammingError, "query sales exists already"),
        (f"CREATE MATERIALIZED VIEW v IN sales WITH NEW CHECKPOINT FROM EARLIEST AS {SPENT}", NotSupportedError,
         "FROM in a view of a group"),
        ("START VIEW GROUP sales", ProgrammingError, "view group sales has no views"),
        ("START VIEW GROUP nobody", ProgrammingError, "there is no view group nobody"),
        ("DROP QUERY sales", ProgrammingError, "query sales is that of a view group"),
        ("SELECT * FROM sales", ProgrammingError, "sales is a view group and cannot be read"),
        ("CREATE QUERY sales AS SELECT * FROM orders", ProgrammingError, "query sales exists already"),
    ],
)  # fmt: skip
def test_what_a_group_is_not(orders, text, error, said):
    engine, _ = orders
    engine.sql("CREATE VIEW GROUP sales")
    with pytest.raises(error) as caught:
        engine.sql(text)
    assert caught.value.message.startswith(said)
    assert [row[0] for row in engine.sql("SHOW VIEW GROUPS").rows] == ["sales"]


def test_a_group_in_postgresql(orders, postgresql):
    """One transaction of PostgreSQL has all views of a batch; versions of them are kept, and all go with the group."""
    import psycopg

    engine, folder = orders
    engine.sql(f"CREATE VIEW GROUP sales OPTIONS (store '{postgresql.url}', schema 'public')")
    for name, query in {"spent": SPENT, "whole": ALL, "hours": HOURS}.items():
        options = "" if name == "hours" else " OPTIONS (retain '1 day')"
        engine.sql(f"CREATE MATERIALIZED VIEW {name} IN sales{options} AS {query}")
    inside = "SELECT n, COUNT(*) AS cities FROM spent GROUP BY n EMIT CHANGES"
    with pytest.raises(NotSupportedError, match="a view in view group sales that reads spent, another one of it") as no:
        engine.sql(f"CREATE MATERIALIZED VIEW sizes IN sales AS {inside}")
    assert "a view outside of the group reads it" in no.value.hint
    engine.sql("START VIEW GROUP sales")
    expect(engine, "SELECT n FROM whole", [{"n": 6}])
    put(folder, "3.csv", "Rome,2026-01-05 13:00:00,9\n")
    both = "SELECT SUM(n) AS n FROM spent UNION ALL SELECT n FROM whole"
    expect(engine, both, [{"n": 7}, {"n": 7}])
    assert engine.query("SELECT COUNT(*) AS n FROM hours").arrow().to_pylist() == [{"n": 6}]
    before = "SELECT n FROM whole FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-05 12:59:00'"
    assert engine.query(before).arrow().to_pylist() == [{"n": 6}]
    with psycopg.connect(postgresql.url) as connection:
        assert connection.execute("SELECT n FROM spent WHERE city = 'Rome'").fetchone() == (4,)
        batches = connection.execute("SELECT COUNT(DISTINCT batch), COUNT(*) FROM cepsql_views").fetchone()
        assert batches == (1, 3)
    engine.sql("DROP VIEW GROUP sales CASCADE")
    with psycopg.connect(postgresql.url) as connection:
        tables = "SELECT COUNT(*) FROM pg_tables WHERE tablename IN ('spent', 'whole', 'hours') OR tablename LIKE "
        assert connection.execute(f"{tables} 'cepsql_changes%'").fetchone() == (0,)


def test_a_group_that_has_not_run_takes_and_loses_views(orders):
    engine, _ = orders
    engine.sql("CREATE VIEW GROUP sales OPTIONS (store 'sqlite', trigger '1 second')")
    engine.sql(f"CREATE MATERIALIZED VIEW spent IN sales OPTIONS (retain '1 hour') AS {SPENT}")
    engine.sql(f"CREATE MATERIALIZED VIEW whole IN sales AS {ALL}")
    shown = "\n".join(line for (line,) in engine.sql("SHOW CREATE MATERIALIZED VIEW spent").rows)
    assert shown.startswith(
        "CREATE MATERIALIZED VIEW spent IN sales PRIMARY KEY (city) OPTIONS (\n  retain '1 hour'\n)"
    )
    shown = "\n".join(line for (line,) in engine.sql("SHOW CREATE VIEW GROUP sales").rows)
    assert shown == "CREATE VIEW GROUP sales OPTIONS (\n  store 'sqlite',\n  trigger '1 second'\n)"
    engine.sql("ALTER VIEW GROUP sales SET (trigger '2 seconds')")
    assert "2 seconds" in str(engine.catalog.names.group("sales"))
    for text in ("START MATERIALIZED VIEW spent", "ALTER MATERIALIZED VIEW spent SET (trigger '1 second')"):
        with pytest.raises(ProgrammingError, match="materialized view spent is kept by view group sales"):
            engine.sql(text)
    with pytest.raises(ProgrammingError, match="view group sales is the group of materialized view spent and"):
        engine.sql("DROP VIEW GROUP sales")
    engine.sql("DROP MATERIALIZED VIEW spent")
    with pytest.raises(ProgrammingError, match="sales is a view group: each of its views can be followed"):
        engine.subscribe("sales")
    assert [query.sql for query in engine.catalog.names.queries] == [ALL]
    engine.sql("DROP STREAM orders CASCADE")
    assert [row[2] for row in engine.sql("SHOW VIEW GROUPS").rows] == [""]


def test_a_batch_is_in_all_tables_or_in_none(spark, tmp_path):
    columns = (ColumnDefinition("a", "string"), ColumnDefinition("n", "bigint"))
    options = (("store", f"sqlite:///{tmp_path / 'v.db'}"),)
    file = ViewFile(None, False)
    views = [
        MaterializedView(name, RegisteredQuery(name, None, "", id=name), columns, ("a",), (), options, None, name)
        for name in ("one", "two")
    ]
    sink = open_sink(group_sink("g", views, file), WriterIdentity("g", 1, "c"), parts=(False, False))
    sink.position = lambda batch: Position(None, ("-",), (batch * 10, None))

    def batch(*rows: tuple[str, int]):
        frame = spark.createDataFrame(pa.table({"a": [a for a, _ in rows], "n": [n for _, n in rows]}))
        return side_by_side([frame, frame.selectExpr("a", "n + 1 AS n")])

    def stored(name: int) -> list[tuple]:
        rows = read_views([Wanted(view_source(views[name], file), ("a", "n"))])[0].rows.to_pylist()
        return sorted((row["a"], row["n"]) for row in rows)

    sink.check_frame(batch(("x", 1)))
    sink.claim()
    assert sink.accept(batch(("x", 1), ("y", 2)), 0) == 4
    assert (stored(0), stored(1)) == ([("x", 1), ("y", 2)], [("x", 2), ("y", 3)])
    # What comes again is written once.
    sink.accept(batch(("x", 7)), 0)
    assert (stored(0), stored(1)) == ([("x", 1), ("y", 2)], [("x", 2), ("y", 3)])
    with sqlite3.connect(tmp_path / "v.db") as connection:
        connection.execute("CREATE TRIGGER no BEFORE UPDATE ON two BEGIN SELECT RAISE(ABORT, 'full'); END")
    with pytest.raises(DataError, match="sink two refuses a row: full"):
        sink.accept(batch(("x", 7)), 1)
    assert (stored(0), stored(1)) == ([("x", 1), ("y", 2)], [("x", 2), ("y", 3)])
    with sqlite3.connect(tmp_path / "v.db") as connection:
        connection.execute("DROP TRIGGER no")
    sink.accept(batch(("x", 7)), 1)
    assert (stored(0), stored(1)) == ([("x", 7), ("y", 2)], [("x", 8), ("y", 3)])
    positions = [position_of(view_source(view, file)) for view in views]
    assert [(position.batch, position.watermark) for position in positions] == [(1, 10), (1, None)]
    sink.close()
