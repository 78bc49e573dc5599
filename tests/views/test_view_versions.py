"""A stream joined with the versions of a view: each row meets those of its time, whatever was killed between."""

import random

import pytest
from chance import draws, examples
from test_view_changes import MINUTE, Writer, grow_old

import cepsql
from cepsql.catalog.view_store import VERSION, view_versions
from cepsql.errors import OperationalError
from cepsql.spark.run.sink import Position
from cepsql.spark.sources.view_changes_source import ChangesReading, _ChangesStreamReader
from cepsql.views.change_feed import Point, begin_reading, read_until
from cepsql.views.version_changes import REACHED, versions_between

FILES = "USING csv OPTIONS (path '{}')"
ORDERS = f"CREATE STREAM orders (id INT, city STRING, at TIMESTAMP, WATERMARK FOR at AS at) {FILES}"
PAID = f"CREATE STREAM paid (city STRING, total INT, at TIMESTAMP, WATERMARK FOR at AS at) {FILES}"
JOINED = "SELECT o.id, s.n FROM orders AS o LEFT JOIN spent FOR SYSTEM_TIME AS OF o.at AS s ON s.city = o.city"
SPENT = "CREATE MATERIALIZED VIEW spent OPTIONS (retain '1 day') AS SELECT city, COUNT(*) AS n FROM paid GROUP BY city"


def versions(writer: Writer, after: Point | None, until: int, first: int = 0) -> list[tuple]:
    """Return the versions of a view, each with the minute from which on it holds, and how far they go."""
    view = view_versions(writer.source, "timestamp")
    table = versions_between(view, after, Point("c", until), first)
    minutes = [None if time is None else time // MINUTE for time in table[VERSION].cast("int64").to_pylist()]
    return [
        (minute, "-" if row["cepsql_gone"] else "+", row["city"], row["n"]) if row[REACHED] is None else row[REACHED]
        for minute, row in zip(minutes, table.to_pylist(), strict=True)
    ]


def test_a_version_holds_from_the_watermark_of_its_batch_on(tmp_path):
    writer = Writer(f"sqlite:///{tmp_path / 'views.db'}", retain="3 minutes")
    writer.table.position = lambda batch: Position(batch * MINUTE if batch else None, ("-",))
    writer.write(0, [("Rome", 1)])
    writer.write(1, [("-U", "Rome", 1), ("+U", "Rome", 2)])
    writer.write(2, [])
    writer.write(3, [("-D", "Rome", 2), ("+I", "Oslo", 1)])
    before_all = -62_135_596_800_000_000 // MINUTE
    assert versions(writer, None, 1) == [
        (before_all, "+", "Rome", 1), (1, "-", "Rome", 1), (1, "+", "Rome", 2), MINUTE
    ]  # fmt: skip
    assert versions(writer, Point("c", 1), 2) == [2 * MINUTE]
    assert versions(writer, Point("c", 1), 3) == [(3, "-", "Rome", 2), (3, "+", "Oslo", 1), 3 * MINUTE]
    # A reader begins with the first batch that is kept, here that before the first rows.
    view = view_versions(writer.source, "timestamp")
    assert begin_reading(view, "r", "q") == Point("c", -1)
    for batch in range(4, 12):
        grow_old(tmp_path)
        writer.write(batch, [("Rome", batch)])
    read_until(view, "r", "q", 7)
    grow_old(tmp_path)
    writer.write(12, [])
    with pytest.raises(OperationalError, match="the changes of view spent since batch 1 are not kept any more"):
        versions(writer, Point("c", 1), 12)
    assert versions(writer, None, 8, first=7) == [
        (7, "+", "Oslo", 1), (7, "+", "Rome", 7), (8, "-", "Rome", 7), (8, "+", "Rome", 8), 8 * MINUTE
    ]  # fmt: skip


def test_a_reader_of_versions_resumes(tmp_path):
    writer = Writer(f"sqlite:///{tmp_path / 'views.db'}", retain="1 hour")
    names = ("city", "n", "cepsql_gone", VERSION, REACHED)
    reading = ChangesReading(view_versions(writer.source, "timestamp"), names, "q")
    assert _ChangesStreamReader(reading).latestOffset({}, None) == {}
    for batch in range(3):
        writer.write(batch, [("Rome", batch)])
    first = _ChangesStreamReader(reading).latestOffset({}, None)
    assert (first["first"], first["batch"]) == (-1, 2)
    writer.write(3, [("Oslo", 3)])
    reader = _ChangesStreamReader(reading)
    second = reader.latestOffset(first, None)
    assert (second["first"], second["batch"]) == (-1, 3)

    def rows(start, end):
        (part,) = reader.partitions(start, end)
        return [row for batch in reader.read(part) for row in batch.to_pylist()]

    assert [row["n"] for row in rows({}, first)] == [0, 0, 1, 1, 2, None]
    assert [(row["city"], row[REACHED]) for row in rows(first, second)] == [("Oslo", None), (None, 3 * MINUTE)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT o.id, s.at FROM orders AS o JOIN added FOR SYSTEM_TIME AS OF o.at AS s ON s.city = o.city",
         "FOR SYSTEM_TIME AS OF needs view added to have a key"),
        ("SELECT o.id, s.n FROM (VALUES (1, TIMESTAMP '2026-01-05 10:00:00')) AS o (id, at) "
         "JOIN spent FOR SYSTEM_TIME AS OF o.at AS s ON s.n = o.id",
         "ON must compare city"),
        ("SELECT o.id, s.n FROM (VALUES (1, 'Rome', TIMESTAMP '2026-01-05 10:00:00')) AS o (id, city, at) "
         "RIGHT JOIN spent FOR SYSTEM_TIME AS OF o.at AS s ON s.city = o.city",
         "RIGHT JOIN with the version at a time is not supported"),
        ("SELECT o.id, s.n FROM orders AS o JOIN spent FOR SYSTEM_TIME AS OF o.at AS s ON s.n = o.id",
         "ON must compare city"),
        ("SELECT o.id, s.n FROM orders AS o JOIN sizes FOR SYSTEM_TIME AS OF o.at AS s ON s.n = o.id",
         "view sizes has no watermark, so its versions have no time: it reads the changes of view spent"),
        ("SELECT o.id, s.n FROM orders AS o JOIN timeless FOR SYSTEM_TIME AS OF o.at AS s ON s.city = o.city",
         "view timeless has no watermark, so its versions have no time: stream silent has none"),
    ],
)  # fmt: skip
def test_what_has_no_versions_is_refused(text, said):
    with cepsql.connect() as engine:
        for stream in (ORDERS, PAID, f"CREATE STREAM silent (city STRING, total INT) {FILES}"):
            engine.check(stream.format("x"))
        engine.check(SPENT)
        engine.check("CREATE MATERIALIZED VIEW sizes AS SELECT n, COUNT(*) AS cities FROM spent GROUP BY n")
        engine.check("CREATE MATERIALIZED VIEW added AS SELECT city, at FROM paid")
        engine.check("CREATE MATERIALIZED VIEW timeless AS SELECT city, COUNT(*) AS n FROM silent GROUP BY city")
        with pytest.raises(cepsql.Error) as caught:
            engine.query(text)
        assert caught.value.message.startswith(said)


def test_versions_show_no_column_of_their_own():
    """What a star gives are the columns of the view; rows that are only added hold from their own time on."""
    with cepsql.connect() as engine:
        for stream in (ORDERS, PAID):
            engine.check(stream.format("x"))
        engine.check(SPENT)
        engine.check(
            "CREATE MATERIALIZED VIEW twice AS SELECT * FROM paid MATCH_RECOGNIZE (PARTITION BY city ORDER BY at "
            "MEASURES MATCH_ID() AS id, LAST(at) AS at PATTERN (A A) DEFINE A AS total > 0)"
        )
        for view, key in (("spent", "s.city = o.city"), ("twice", "s.id = o.city")):
            plan = engine.query(f"SELECT * FROM orders AS o JOIN {view} FOR SYSTEM_TIME AS OF o.at AS s ON {key}").plan
            columns = {"spent": ["city", "n"], "twice": ["city", "id", "at"]}[view]
            assert [column.name for column in plan.columns] == ["id", "city", "at", *columns]
            (read,) = [one for one in plan.origins if one.name == view]
            assert read.streaming and read.watermark.column == {"spent": VERSION, "twice": "at"}[view]


@pytest.mark.parametrize("number", range(examples(1)))
def test_each_row_meets_the_version_of_its_time(spark, tmp_path, number):
    """Random batches of a view and rows of a stream, with restarts: a row meets what a read as of its time gives."""
    draw = draws(f"versions {number}")
    (folder := tmp_path / "orders").mkdir()
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        engine.sql(ORDERS.format(folder).replace("AS at)", "AS at - INTERVAL '3' MINUTES)"))
        writer, marks = Writer(f"sqlite:///{tmp_path / 'views.db'}", retain="1 day"), []
        writer.table.position = lambda batch: Position(marks[batch] * MINUTE, ("-",))
        engine.catalog.add(writer.view)
        rows: dict[str, int] = {}
        asked: list[tuple[str, str]] = []
        output: list[tuple] = []
        minute = 0
        for step in range(3):
            for _ in range(3):
                # Several batches may have one watermark.
                minute += draw.choice((0, 0, 1, 2))
                city, n = draw.choice("abc"), draw.randrange(4)
                said = [("-U", city, rows.pop(city))] if city in rows else []
                if n:
                    rows[city] = n
                    said.append(("+U" if said else "+I", city, n))
                marks.append(minute)
                writer.write(len(marks) - 1, said)
            lines = []
            for _ in range(6):
                asked.append((draw.choice("abc"), f"1970-01-01T00:{max(0, minute - draw.randrange(3)):02}:00Z"))
                lines.append(",".join([str(len(asked) - 1), *asked[-1]]))
            (folder / f".{step}").write_text("\n".join([*lines, ""]))
            (folder / f".{step}").rename(folder / f"{step}.csv")
            standing = engine.query(JOINED).start(
                lambda table, _: output.extend(map(tuple, (row.values() for row in table.to_pylist()))),
                checkpoint=str(tmp_path / "checkpoint"),
                drain=step == 2,
            )
            if step == 2:
                standing.await_(120)
                assert standing.progress.rows_late == 0
            else:
                standing.process_available()
                standing.stop()

        def version(city: str, at: str) -> int | None:
            asked = f"SELECT n FROM spent FOR SYSTEM_TIME AS OF TIMESTAMP '{at}' WHERE city = '{city}'"
            try:
                there = engine.query(asked).arrow().to_pylist()
            except OperationalError as error:
                assert "keeps no version" in error.message
                return None
            return there[0]["n"] if there else None

        assert sorted(output) == [(number, version(*one)) for number, one in enumerate(asked)]
        # The same of a table at rest, from the versions that are kept.
        engine.sql(f"CREATE TABLE past (id INT, city STRING, at TIMESTAMP) {FILES.format(folder)}")
        at_rest = JOINED.replace("FROM orders", "FROM past")
        assert sorted(map(tuple, engine.query(at_rest).collect())) == sorted(output)
        inner = engine.query(at_rest.replace("LEFT JOIN", "JOIN") + " AND s.n > 1").collect()
        assert sorted(map(tuple, inner)) == sorted(row for row in output if row[1] and row[1] > 1)
        stars = engine.query(at_rest.replace("o.id, s.n", "s.*")).columns
        assert [name for name, _ in stars] == ["city", "n", "at"]


def test_a_table_asks_for_versions_that_are_kept_no_more(spark, tmp_path):
    (tmp_path / "past").mkdir()
    (tmp_path / "past" / "1.csv").write_text("1,Rome,1970-01-01T00:02:00Z\n2,Bern,1970-01-01T00:09:00Z\n")
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        writer = Writer(f"sqlite:///{tmp_path / 'views.db'}", retain="3 minutes")
        engine.catalog.add(writer.view)
        for batch in range(10):
            writer.write(batch, [("Rome", batch)])
            grow_old(tmp_path)
        engine.sql(f"CREATE TABLE past (id INT, city STRING, at TIMESTAMP) {FILES.format(tmp_path / 'past')}")
        joined = JOINED.replace("FROM orders", "FROM past")
        with pytest.raises(
            cepsql.Error, match=r"view spent keeps no version as of 1969-12-31 19:02:00: its oldest is of"
        ):
            engine.query(joined).collect()
        # A row that WHERE leaves out asks for nothing.
        assert [tuple(row) for row in engine.query(f"{joined} WHERE o.id > 1").collect()] == [(2, None)]


@pytest.mark.parametrize("seed", range(3))
def test_readers_of_versions_survive_kills(tmp_path, seed):
    """Whatever is planned, computed and committed again, each version comes once, in order."""
    draw = random.Random(seed)
    writer = Writer(f"sqlite:///{tmp_path / 'views.db'}", retain="1 minute")
    reading = ChangesReading(
        view_versions(writer.source, "timestamp"), ("city", "n", "cepsql_place", "cepsql_gone", VERSION), "q"
    )
    reader, planned, rows, versions_read = _ChangesStreamReader(reading), [{}], {}, []
    for batch in range(30):
        city, n = draw.choice("abc"), draw.randrange(3)
        said = [("-U", city, rows.pop(city))] if city in rows else []
        if n:
            rows[city] = n
            said.append(("+U" if said else "+I", city, n))
        grow_old(tmp_path)
        writer.write(batch, said)
        if draw.random() < 0.3:
            reader = _ChangesStreamReader(reading)
        if draw.random() < 0.5:
            continue
        end = reader.latestOffset(planned[-1], None)
        if draw.random() < 0.3:
            # Killed before it was planned; a first reader that is not known is not waited for in the end.
            reader = _ChangesStreamReader(reading)
            end = reader.latestOffset(planned[-1], None)
        if draw.random() < 0.3:
            reader = _ChangesStreamReader(reading)
        (part,) = reader.partitions(planned[-1], end)
        came = [tuple(row.values()) for piece in reader.read(part) for row in piece.to_pylist()]
        versions_read += [row for row in came if row[2] is not None]
        planned.append(end)
        if draw.random() < 0.7:
            reader.commit(end)
    state: dict[str, int] = {}
    for city, n, place, gone, time in versions_read:
        if gone:
            assert state.pop(city) == n
        else:
            assert city not in state
            state[city] = n
        assert place >= 0 and time is not None
    assert [row[2] for row in versions_read if row[2]] == sorted({row[2] for row in versions_read if row[2]})
    assert [row[4] for row in versions_read] == sorted(row[4] for row in versions_read)
    with_last = versions_between(reading.view, None, Point("c", planned[-1]["batch"]), planned[-1]["batch"])
    assert state == {row["city"]: row["n"] for row in with_last.to_pylist() if row[REACHED] is None}
