"""The changes of views that their stores keep: whole batches, for readers that come back, and as the rows of before."""

import datetime
import random
import sqlite3

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as some
from kept_views import WrittenView

import cepsql
from cepsql.catalog import ColumnDefinition, MaterializedView, RegisteredQuery
from cepsql.catalog.view_store import ViewFile, view_changes, view_sink, view_source
from cepsql.errors import OperationalError
from cepsql.sinks.view_table import ViewTable
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.run.sink import Position
from cepsql.standing.sink_reading import written_columns
from cepsql.views.change_feed import Point, begin_reading, changes_between, end_reading, last_point, read_until
from cepsql.views.journal import Journal, changes_table
from cepsql.views.snapshot import Wanted, read_views, store_transaction
from cepsql.views.versions import rows_at

COLUMNS = (ColumnDefinition("city", "string"), ColumnDefinition("n", "bigint"), ColumnDefinition("at", "timestamp"))
MINUTE = 60_000_000


class Pieces(list):
    """Rows as a sink is given them."""

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self)


class Writer:
    """Writes a view as its query does, without Spark."""

    def __init__(self, store: str, key=("city",), retain=None, changes=True, checkpoint="c", name="spent"):
        options = (("store", store),) + ((("retain", retain),) if retain else ())
        query = RegisteredQuery(name, None, "SELECT 1 AS a", id=name)
        self.view = MaterializedView(name, query, COLUMNS, key, (), options, None, "id", not changes)
        self.file = ViewFile(None, False)
        self.table = ViewTable(view_sink(self.view, self.file), WriterIdentity(name, 1, checkpoint))
        self.table.changes = changes
        self.table.position = lambda batch: Position(batch * MINUTE, ("-",))
        self.columns = [(column.name, column.type) for column in COLUMNS]
        table_columns = [*self.columns, ("op", "string")] if changes else self.columns
        self.table.check(table_columns)
        self.table.claim()

    def write(self, batch: int, rows) -> None:
        """Write a batch: rows of a city and a number, or of an operation, a city and a number."""
        at = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC)
        said = [row if len(row) == 3 else ("+I", *row) for row in rows]
        columns = {
            "city": pa.array([row[1] for row in said], pa.string()),
            "n": pa.array([row[2] for row in said], pa.int64()),
            "at": pa.array([at] * len(said), pa.timestamp("us", "UTC")),
        }
        if self.table.changes:
            columns["op"] = pa.array([row[0] for row in said], pa.string())
        self.table._write(Pieces([pa.table(columns)]), self.columns, list(self.view.key), batch)

    @property
    def source(self):
        return view_source(self.view, self.file)

    def changes(self, events=False):
        return view_changes(self.view, self.file, events)

    def rows(self, batch=None):
        """Return the rows of now, or as of a batch."""
        wanted = Wanted(self.source, ("city", "n"))
        if batch is None:
            table = read_views([wanted])[0].rows
        else:
            with store_transaction(self.source) as connection:
                table = rows_at(connection, wanted, Journal(connection, self.view.name).batch(batch).last)
        return sorted(((row["city"], row["n"]) for row in table.to_pylist()), key=repr)


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path / 'views.db'}"


def journal(tmp_path, table="spent") -> int | None:
    with sqlite3.connect(tmp_path / "views.db") as connection:
        there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (changes_table(table),)).fetchone()
        return there and connection.execute(f"SELECT COUNT(*) FROM {changes_table(table)}").fetchone()[0]


def grow_old(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "views.db") as connection:
        connection.execute("UPDATE cepsql_batches SET written = written - 86400")


def changes_of(view, after, until):
    changed = changes_between(view, after, until).to_pylist()
    return [("-" if row["cepsql_gone"] else "+", row["city"], row["n"]) for row in changed]


def test_a_reader_gets_each_change_once(store, tmp_path):
    writer = Writer(store)
    view = writer.changes()
    assert last_point(view) is None and begin_reading(view, "r", "q") is None
    writer.write(0, [("Rome", 1), ("Oslo", 1), (None, 4)])
    first = begin_reading(view, "r", "q")
    assert first == Point("c", 0)
    writer.write(1, [("-U", "Rome", 1), ("+U", "Rome", 2), ("-D", None, 4)])
    writer.write(2, [("+I", "Bern", 1), ("-D", "Oslo", 1)])
    # One that comes again writes nothing.
    writer.write(2, [("+I", "Bern", 1), ("-D", "Oslo", 1)])
    assert sorted(changes_of(view, None, first), key=repr) == [("+", "Oslo", 1), ("+", "Rome", 1), ("+", None, 4)]
    assert changes_of(view, first, Point("c", 1)) == [("-", "Rome", 1), ("-", None, 4), ("+", "Rome", 2)]
    assert changes_of(view, Point("c", 1), Point("c", 2)) == [("-", "Oslo", 1), ("+", "Bern", 1)]
    assert changes_of(view, Point("c", 2), Point("c", 2)) == []
    events = changes_between(writer.changes(events=True), first, Point("c", 2)).to_pylist()
    assert [(row["op"], row["city"]) for row in events] == [
        ("-U", "Rome"), ("-D", None), ("+U", "Rome"), ("-D", "Oslo"), ("+I", "Bern")
    ]  # fmt: skip

    # What is old stays until it has read it.
    grow_old(tmp_path)
    writer.write(3, [("+I", "Paris", 7)])
    assert journal(tmp_path) == 6
    read_until(view, "r", "q", 1)
    writer.write(4, [])
    assert journal(tmp_path) == 3
    with pytest.raises(OperationalError, match="the changes of view spent since batch 0 are not kept any more"):
        changes_between(view, first, Point("c", 3))
    end_reading(view, "q")
    grow_old(tmp_path)
    writer.write(5, [])
    assert journal(tmp_path) == 0

    # Another checkpoint counts its batches anew.
    begin_reading(view, "r2", "q")
    again = Writer(store, checkpoint="d")
    again.write(0, [("Rome", 5)])
    with pytest.raises(OperationalError, match="view spent was rebuilt since its changes were read"):
        changes_between(view, Point("c", 5), Point("d", 0))


def test_rows_that_are_only_added(store):
    writer = Writer(store, key=(), changes=False)
    writer.write(0, [("Rome", 1), ("Rome", 1)])
    view = writer.changes()
    first = begin_reading(view, "r", "q")
    writer.write(1, [("Rome", 1), ("Oslo", 2)])
    assert (view.key, view.events, view.streaming) == ((), True, True)
    assert changes_of(view, None, first) == [("+", "Rome", 1)] * 2
    assert changes_of(view, first, Point("c", 1)) == [("+", "Rome", 1), ("+", "Oslo", 2)]


def test_versions_are_kept_as_long_as_retain_says(store, tmp_path):
    writer = Writer(store, retain="3 minutes")
    for batch in range(10):
        grow_old(tmp_path)
        writer.write(batch, [("Rome", batch), (f"city {batch}", batch)])
    assert writer.rows(6) == [("Rome", 6), *((f"city {n}", n) for n in range(7))]
    # Those of the batches 7 to 9: the version of minute 6 is the first.
    assert journal(tmp_path) == 3 * 3


_BATCHES = some.lists(some.lists(some.tuples(some.sampled_from("abc"), some.integers(0, 3)), max_size=6), max_size=6)


@settings(max_examples=examples(6))
@given(_BATCHES, some.booleans())
def test_versions_are_the_rows_of_before(tmp_path_factory, batches, keyed):
    """Whatever is written, a version is what was there, and the changes lead from one to the next."""
    store = f"sqlite:///{tmp_path_factory.mktemp('store') / 'views.db'}"
    writer = Writer(store, key=("city",) if keyed else (), retain="1 hour", changes=keyed)
    expected, seen = {-1: []}, {}
    for number, batch in enumerate([[], *batches]):
        # A batch says of each key once what it is: None deletes.
        rows = [("+I", city, n) if n else ("-D", city, n) for city, n in (dict(batch).items() if keyed else batch)]
        rows = rows if keyed else [row[1:] for row in rows]
        writer.write(number, rows)
        if keyed:
            seen = {**seen, **{row[1]: row[2] for row in rows if row[0] == "+I"}}
            seen = {city: n for city, n in seen.items() if ("-D", city, 0) not in rows}
        expected[number] = sorted(seen.items()) if keyed else sorted([*expected[number - 1], *rows])
    last = len(batches)
    assert writer.rows() == expected[last]
    for number in range(last + 1):
        assert writer.rows(number) == expected[number]
    if keyed:
        begin = random.Random(last).randrange(last + 1)
        rows = dict(expected[begin])
        for kind, city, n in changes_of(writer.changes(), Point("c", begin), Point("c", last)):
            rows = {city: n} | {**rows, city: n} if kind == "+" else {k: v for k, v in rows.items() if k != city}
        assert sorted(rows.items()) == expected[last]


def test_views_at_the_least_of_their_watermarks(store, tmp_path):
    """Each is read as of its last batch that is not beyond the point which all have reached."""
    spent, late = Writer(store, retain="1 hour"), Writer(store, name="late")
    for batch in range(4):
        spent.write(batch, [("Rome", batch)])
    late.write(0, [("Oslo", 0)])
    late.write(2, [("Oslo", 2)])
    with cepsql.connect() as engine:
        for view in (spent.view, late.view):
            engine.catalog.add(view)
        both = "SELECT s.n AS s, l.n AS l FROM spent AS s CROSS JOIN late AS l"
        joined = "SELECT s.n, l.city FROM spent AS s LEFT JOIN late AS l ON s.city = l.city"
        assert engine.query(joined).arrow().to_pylist() == [{"n": 3, "city": None}]
        asked = engine.query(f"{joined} AT WATERMARK FRESH WITHIN INTERVAL 1 DAY")
        assert asked.arrow().to_pylist() == [{"n": 2, "city": None}]
        assert asked.reading.explained()[-1] == "all as of the least of their watermarks"
        assert not engine.has_started
        assert engine.query(f"{both} AT WATERMARK").reading is None
        late.write(3, [("Oslo", 3)])
        late.write(4, [("Oslo", 4)])
        # Batch 3 is the first that is kept.
        with sqlite3.connect(tmp_path / "views.db") as connection:
            connection.execute("DELETE FROM cepsql_batches WHERE view = 'late' AND batch <= 3")
        with pytest.raises(OperationalError, match="view late keeps no version as of 1970-01-01 00:03:00Z: it is at"):
            engine.query(f"{joined} AT WATERMARK").arrow()
        with sqlite3.connect(tmp_path / "views.db") as connection:
            connection.execute("UPDATE cepsql_views SET written = written - 7200 WHERE view = 'late'")
        with pytest.raises(OperationalError, match=r"view late was written 7,\d+\.\d seconds ago, and may be 3,600.0"):
            engine.query(f"{joined} FRESH WITHIN INTERVAL 1 HOUR").arrow()


def test_a_view_as_of_a_time(store):
    spent, late = Writer(store, retain="1 hour"), Writer(store, name="late")
    for batch in range(4):
        spent.write(batch, [("Rome", batch)])
    late.write(3, [("Rome", 30)])
    version = "FOR SYSTEM_TIME AS OF TIMESTAMP '1970-01-01 00:0{}:00Z'"
    with cepsql.connect() as engine:
        for view in (spent.view, late.view):
            engine.catalog.add(view)
        query = engine.query(f"SELECT n FROM spent {version.format(2)} WHERE city = 'Rome'")
        assert query.arrow().to_pylist() == [{"n": 2}]
        assert query.reading.explained()[-1] == "spent as of 1970-01-01 00:02:00Z"
        joined = f"SELECT s.n AS s, l.n AS l FROM late AS l JOIN spent {version.format(1)} AS s ON s.city = l.city"
        assert engine.query(joined).arrow().to_pylist() == [{"s": 1, "l": 30}]
        assert not engine.has_started
        for time, said in {
            4: "view spent is at 1970-01-01 00:03:00Z, and not yet at 1970-01-01 00:04:00Z",
            "0:-": "'1970-01-01 00:00:-:00Z' is no time",
        }.items():
            with pytest.raises(cepsql.Error, match=said):
                engine.query(f"SELECT n FROM spent {version.format(time)}").arrow()
        with pytest.raises(OperationalError, match="view late keeps no version as of 1970-01-01 00:02:00Z"):
            engine.query(f"SELECT n FROM late {version.format(2)}").arrow()
        assert engine.query("SELECT n FROM spent FOR SYSTEM_TIME AS OF DATE '1970-01-01'").spark_reason is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM spent FOR SYSTEM_TIME AS OF DATE '1970-01-01' JOIN spent AS b", "as of two times in one query"),
        ("WITH x AS (SELECT 1 AS a) SELECT * FROM x FOR SYSTEM_TIME AS OF DATE '1970-01-01'", "which x is not"),
        ("SELECT * FROM spent FOR SYSTEM_TIME AS OF DATE '1970-01-01' AT WATERMARK", "AT WATERMARK beside FOR SYSTEM"),
        ("SELECT 1 AS a AT WATERMARK", "say as of when materialized views are read, and the query reads none"),
        ("SELECT * FROM spent FRESH WITHIN INTERVAL 0 SECONDS", "FRESH WITHIN needs a time longer than zero"),
        ("CREATE VIEW v AS SELECT * FROM spent AT WATERMARK", "AT WATERMARK, AFTER and FRESH WITHIN in a view are not"),
        ("CREATE QUERY q AS SELECT * FROM spent AT WATERMARK", "in a standing query are not supported"),
    ],
)
def test_what_says_no_point_is_refused(store, text, said):
    with cepsql.connect() as engine:
        engine.catalog.add(Writer(store).view)
        with pytest.raises(cepsql.Error, match=said):
            engine.sql(text)


def test_a_store_in_postgresql_keeps_changes_and_versions(postgresql):
    writer = Writer(postgresql.url, retain="1 hour", name="kept")
    writer.write(0, [("Rome", 1), (None, 4)])
    view = writer.changes()
    first = begin_reading(view, "r", "q")
    writer.write(1, [("-U", "Rome", 1), ("+U", "Rome", 2), ("-D", None, 4), ("+I", "Oslo", 1)])
    writer.write(2, [("-D", "Oslo", 1)])
    assert sorted(changes_of(view, None, first), key=repr) == [("+", "Rome", 1), ("+", None, 4)]
    assert sorted(changes_of(view, first, Point("c", 1)), key=repr) == [
        ("+", "Oslo", 1), ("+", "Rome", 2), ("-", "Rome", 1), ("-", None, 4)
    ]  # fmt: skip
    assert changes_of(view, Point("c", 1), Point("c", 2)) == [("-", "Oslo", 1)]
    versions = [[("Rome", 1), (None, 4)], [("Oslo", 1), ("Rome", 2)], [("Rome", 2)]]
    assert [writer.rows(batch) for batch in range(3)] == versions
    read_until(view, "r", "q", 2)
    end_reading(view, "q")
    writer.table.forget()


def test_the_columns_that_a_query_over_changes_writes_are_known(spark, tmp_path):
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        columns = (("city", "string"), ("n", "bigint"))
        WrittenView(engine, f"sqlite:///{tmp_path / 'v.db'}", "spent", columns, ["city"]).write(0, [("+I", "Rome", 1)])
        place = f"OPTIONS (path '{tmp_path / 'kept.db'}', create_table 'true')"
        engine.sql(f"CREATE SINK kept (PRIMARY KEY (city)) USING sqlite {place}")
        engine.sql("CREATE QUERY often INTO kept AS SELECT city, n FROM spent WHERE n > 1 EMIT CHANGES")
        columns_written = written_columns(engine._context, engine.catalog.sink("kept"))
        assert [(column.name, column.type) for column in columns_written] == list(columns)
