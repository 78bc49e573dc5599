"""Views whose queries run: their rows and position are those of whole batches, through stops and new definitions."""

import sqlite3
import time

import pytest

import cepsql
from cepsql.errors import NotSupportedError, OperationalError, ProgrammingError

ORDERS = """CREATE STREAM orders (city STRING, at TIMESTAMP, total DECIMAL(8, 2), WATERMARK FOR at AS at)
USING csv OPTIONS (path '{folder}')"""
SPENT = "SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES"


def put(folder, name: str, text: str) -> None:
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def expect(engine, query: str, expected: list[dict]) -> None:
    """Wait until a query over views gives these rows."""
    end, rows = time.monotonic() + 120, None
    while rows != expected:
        assert time.monotonic() < end, rows
        try:
            rows = engine.query(query).arrow().to_pylist()
        except OperationalError:
            time.sleep(0.05)


@pytest.fixture
def orders(spark, tmp_path):
    folder = tmp_path / "orders"
    folder.mkdir()
    put(
        folder, "1.csv", "Rome,2026-01-05 10:00:00,1.50\nOslo,2026-01-05 10:01:00,2.00\nRome,2026-01-05 10:02:00,3.25\n"
    )
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        engine.sql(ORDERS.format(folder=folder))
        yield engine, folder


def test_a_view_of_changes_lives(orders, tmp_path):
    engine, folder = orders
    said = engine.sql(f"CREATE MATERIALIZED VIEW spent INDEX (n) AS {SPENT}").message
    assert said == "materialized view spent created; it runs in this process"
    expect(engine, "SELECT city, n FROM spent ORDER BY city", [{"city": "Oslo", "n": 1}, {"city": "Rome", "n": 2}])
    put(folder, "2.csv", "Rome,2026-01-05 11:00:00,10.00\n")
    expect(engine, "SELECT n FROM spent WHERE city = 'Rome'", [{"n": 3}])
    # What Spark reads are the same rows.
    query = engine.query("SELECT DISTINCT n FROM spent WHERE city = 'Rome'")
    assert query.reading is None and query.arrow().to_pylist() == [{"n": 3}]
    ((view, batch, _, written, offsets, error),) = engine.sql("SHOW VIEW POSITIONS").rows
    assert (view, int(batch) >= 1, error) == ("spent", True, None)
    assert written is not None and "logOffset" in offsets

    # The next start goes on; the same text in other words keeps the rows, another one needs a new checkpoint.
    assert engine.sql("STOP MATERIALIZED VIEW spent WITH SAVEPOINT 'before'").message.startswith("query spent stopped")
    assert [row[:2] for row in engine.sql("SHOW MATERIALIZED VIEWS").rows] == [("spent", "stopped")]
    assert engine.query("SELECT n FROM spent WHERE city = 'Oslo'").arrow().to_pylist() == [{"n": 1}]
    same = engine.sql(f"CREATE OR REPLACE MATERIALIZED VIEW spent AS {SPENT.replace('COUNT', 'count')}").message
    assert "the plan is the same" in same
    fewer = "SELECT city, COUNT(*) AS n FROM orders GROUP BY city EMIT CHANGES"
    with pytest.raises(ProgrammingError, match="the rows of view spent would have to be rebuilt") as caught:
        engine.sql(f"CREATE OR REPLACE MATERIALIZED VIEW spent AS {fewer}")
    assert "WITH NEW CHECKPOINT" in caught.value.hint
    (effect, *_) = engine.sql(f"EXPLAIN REPLACE MATERIALIZED VIEW spent AS {fewer}").rows
    assert effect[1].startswith("incompatible: it needs a new checkpoint")
    engine.sql(f"CREATE OR REPLACE MATERIALIZED VIEW spent WITH NEW CHECKPOINT AS {fewer}")
    expect(engine, "SELECT * FROM spent ORDER BY city", [{"city": "Oslo", "n": 1}, {"city": "Rome", "n": 3}])

    # What reads it keeps it, and a drop takes its table along.
    engine.sql("CREATE VIEW often AS SELECT city FROM spent WHERE n > 1")
    with pytest.raises(ProgrammingError, match="materialized view spent is read by view often"):
        engine.sql("DROP MATERIALIZED VIEW spent")
    engine.sql("DROP MATERIALIZED VIEW spent CASCADE")
    with sqlite3.connect(tmp_path / "catalog.db.views") as connection:
        tables = {
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        }
        assert tables == {"cepsql_writers", "cepsql_views", "cepsql_batches", "cepsql_readers"}
        assert connection.execute("SELECT COUNT(*) FROM cepsql_views").fetchone() == (0,)
    assert list(engine.queries) == []


def test_rows_that_are_only_added_grow_old(orders):
    engine, folder = orders
    options = "OPTIONS (retain '30 minutes')"
    engine.sql(f"CREATE MATERIALIZED VIEW latest {options} AS SELECT city, at, total FROM orders WHERE total > 1")
    expect(engine, "SELECT COUNT(*) AS n FROM latest", [{"n": 3}])
    put(folder, "2.csv", "Bern,2026-01-05 10:31:30,7.00\n")
    expect(engine, "SELECT city FROM latest ORDER BY at", [{"city": "Rome"}, {"city": "Bern"}])


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("v AS SELECT SUM(total) AS s FROM orders EMIT CHANGES", ProgrammingError,
         "what tells the rows of view v apart"),
        (f"cepsql_writers AS {SPENT}", ProgrammingError, "cepsql_writers cannot be the name of a view"),
        ("v AS SELECT city, collect_list(total) AS l FROM orders GROUP BY city EMIT CHANGES", NotSupportedError,
         "l of type ARRAY<DECIMAL(8,2)> in a materialized view is not supported"),
        (f"v OPTIONS (store 'duckdb:///x') AS {SPENT}", ProgrammingError, "view v has no store of the kind 'duckdb'"),
        ("v OPTIONS (retain '1 hour') AS SELECT city FROM orders", ProgrammingError, "retain needs a column"),
        (f"v OPTIONS (keep '1 hour') AS {SPENT}", ProgrammingError, "a materialized view has no option keep"),
        (f"v PRIMARY KEY (town) AS {SPENT}", ProgrammingError, "the query of the view gives no column town"),
        (f"v INDEX (town) AS {SPENT}", ProgrammingError, "the query of the view gives no column town"),
        ("v AS SELECT 1 AS a", cepsql.Error, "a standing query must read a stream"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_view_is_refused(orders, text, error, said):
    engine, _ = orders
    with pytest.raises(error) as caught:
        engine.sql(f"CREATE MATERIALIZED VIEW {text}")
    assert caught.value.message.startswith(said)
    assert list(engine.queries) == [] and engine.catalog.find("v") is None


def test_the_query_of_a_view_is_the_views(orders):
    engine, _ = orders
    parts = "PRIMARY KEY (city) INDEX (n) OPTIONS (trigger '1 hour')"
    engine.check(f"CREATE MATERIALIZED VIEW spent {parts} AS {SPENT}")
    hints = {
        "DROP QUERY spent": "DROP MATERIALIZED VIEW spent",
        "DROP VIEW spent": "DROP MATERIALIZED VIEW spent",
        "CREATE OR REPLACE VIEW spent AS SELECT 1 AS a": "DROP MATERIALIZED VIEW spent removes it",
        f"CREATE OR REPLACE QUERY spent AS {SPENT}": "CREATE OR REPLACE MATERIALIZED VIEW spent AS ... replaces it",
        "INSERT INTO spent SELECT 1 AS a": "CREATE SINK makes a sink",
    }
    for sql, hint in hints.items():
        with pytest.raises(ProgrammingError) as caught:
            engine.sql(sql)
        assert caught.value.hint == hint, sql
    engine.sql("ALTER MATERIALIZED VIEW spent SET (trigger '2 hours')")
    made = "\n".join(line for (line,) in engine.sql("SHOW CREATE MATERIALIZED VIEW spent").rows)
    assert made == (
        f"CREATE MATERIALIZED VIEW spent PRIMARY KEY (city) INDEX (n) OPTIONS (\n  trigger '2 hours'\n) AS\n{SPENT}"
    )
    described = [("city", "string", "primary key"), ("n", "bigint", "indexed")]
    assert list(engine.sql("DESCRIBE spent").rows[:2]) == described
    with pytest.raises(OperationalError, match="view spent has no rows yet: its query has never run"):
        engine.query("SELECT * FROM spent").arrow()
    # Another process has the same definition.
    with cepsql.connect(catalog=engine.catalog.store.database.location) as other:
        assert str(other.catalog.find("spent")) == made


@pytest.mark.nightly("a chain of views runs every day in test_change_readers.py")
def test_views_read_views_by_their_changes(orders):
    engine, folder = orders
    engine.sql("CREATE MATERIALIZED VIEW spent AS SELECT city, COUNT(*) AS n FROM orders GROUP BY city")
    engine.sql("CREATE MATERIALIZED VIEW sizes AS SELECT n, COUNT(*) AS cities FROM spent GROUP BY n")
    expect(engine, "SELECT * FROM sizes ORDER BY n", [{"n": 1, "cities": 1}, {"n": 2, "cities": 1}])
    inserted = engine.sql("INSERT INTO orders SELECT 'Oslo', TIMESTAMP '2026-01-05 11:00:00', 4.00")
    assert inserted.token is not None and f"token '{inserted.token}'" in inserted.message
    asked = f"SELECT * FROM sizes AFTER '{inserted.token}'"
    assert engine.query(asked).arrow().to_pylist() == [{"n": 2, "cities": 2}]
    # A stop in between loses nothing.
    engine.sql("STOP MATERIALIZED VIEW sizes")
    put(folder, "3.csv", "Oslo,2026-01-05 12:00:00,1.00\nBern,2026-01-05 12:00:00,1.00\n")
    expect(engine, "SELECT n FROM spent WHERE city = 'Bern'", [{"n": 1}])
    engine.sql("START MATERIALIZED VIEW sizes")
    expect(engine, "SELECT * FROM sizes ORDER BY n", [{"n": n, "cities": 1} for n in (1, 2, 3)])


def test_a_stream_meets_the_rows_of_a_view(orders):
    engine, _ = orders
    engine.sql(f"CREATE MATERIALIZED VIEW spent AS {SPENT}")
    expect(engine, "SELECT COUNT(*) AS n FROM spent", [{"n": 2}])
    joined = "SELECT o.city, o.total, s.n FROM orders AS o JOIN spent AS s ON s.city = o.city WHERE o.total > 3"
    with engine.query(joined).start(drain=True) as standing:
        rows = [row for table in standing.rows() for row in table.to_pylist()]
    assert [(row["city"], row["n"]) for row in rows] == [("Rome", 2)]


def test_a_view_in_postgresql_is_a_table_that_others_read(orders, postgresql):
    import psycopg

    engine, folder = orders
    store = f"OPTIONS (store '{postgresql.url}')"
    latest = (
        "SELECT city, at, total, CAST(total AS DOUBLE) AS share, CAST(at AS DATE) AS day FROM orders WHERE total > 1"
    )
    engine.sql(f"CREATE MATERIALIZED VIEW latest {store} AS {latest}")
    asked = "SELECT city, total, share, CAST(at AS STRING) AS at, CAST(day AS STRING) AS day FROM latest ORDER BY total"
    expect(engine, "SELECT COUNT(*) AS n FROM latest", [{"n": 3}])
    query = engine.query(asked)
    rows = query.arrow().to_pylist()
    assert [(row["city"], str(row["total"]), row["share"]) for row in rows[:1]] == [("Rome", "1.50", 1.5)]
    assert {row["day"] for row in rows} == {"2026-01-05"}
    with psycopg.connect(postgresql.url) as connection:
        assert connection.execute("SELECT COUNT(*) FROM latest").fetchone() == (3,)
    # Another catalog does not take it away.
    with cepsql.connect(engine.spark) as other:
        other.sql(ORDERS.format(folder=folder))
        with pytest.raises(ProgrammingError, match="has a view of this name, which another catalog made"):
            other.sql(f"CREATE MATERIALIZED VIEW latest {store} AS {latest}")
    assert engine.query("SELECT COUNT(*) AS n FROM latest").arrow().to_pylist() == [{"n": 3}]
    engine.sql("DROP MATERIALIZED VIEW latest")
    with psycopg.connect(postgresql.url) as connection:
        assert connection.execute("SELECT to_regclass('latest')").fetchone() == (None,)
