"""Tables that change, read from files: the order of their changes, deletions, envelopes of Debezium."""

import json
import os
import sqlite3
from pathlib import Path

import pytest
from chance import everyday

from cepsql.catalog import Sink
from cepsql.engine import connect


@pytest.fixture
def engine(spark):
    return connect(spark, catalog="")


def write(folder: Path, name: str, lines: list[str], time: int) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("\n".join([*lines, ""]))
    os.utime(hidden, (time, time))
    hidden.rename(folder / name)


def contents(query, checkpoint: Path) -> tuple[set, tuple]:
    """Return the rows that the changes of a drained query leave, and what was counted."""
    table: list[tuple] = []

    def apply(rows, _):
        changes = [(change.pop("op"), tuple(change.values())) for change in rows.to_pylist()]
        for op, row in changes:
            table.remove(row) if op.startswith("-") else None
        table.extend(row for op, row in changes if op.startswith("+"))

    with query.start(apply, checkpoint=checkpoint, drain=True) as standing:
        standing.await_(120)
        progress = standing.progress
    counts = progress.rows_read, progress.rows_used, progress.rows_malformed, progress.counters["outdated"]
    return set(table), counts


@pytest.mark.parametrize("limit", everyday([", maxFilesPerTrigger 1", ""]))
def test_what_a_file_says_last_counts(engine, tmp_path, limit):
    folder = tmp_path / "in"
    # Without an event time files count in the order of their times, and rows in that of the file.
    write(folder, "z.csv", ["1,first", "2,kept", "1,second", "3,gone", ",nobody"], 1_000)
    write(folder, "a.csv", ["1,third", "3,", "4,new", "4,newer", "9,"], 2_000)
    engine.sql(f"""CREATE STREAM s (id INT, name STRING, PRIMARY KEY (id) DELETE WHEN name IS NULL)
                   USING csv OPTIONS (path '{folder}'{limit})""")
    table, counts = contents(engine.query("SELECT name, id FROM s EMIT CHANGES"), tmp_path / "checkpoint")
    assert table == {("third", 1), ("kept", 2), ("newer", 4)}
    assert counts == (10, 9, 1, 0)


def envelope(op: str, before=None, after=None, schema: bool = False, ms: int = 0, **further) -> str:
    change = {"before": before, "after": after, "op": op, "ts_ms": ms, **further}
    return json.dumps({"schema": {"type": "struct"}, "payload": change} if schema else change)


DEBEZIUM = [
    envelope("r", after={"id": 1, "owner": "ann"}, ms=5),
    envelope("c", after={"id": 2, "owner": "bob", "more": [1]}, ms=5, schema=True, source={"lsn": 7}),
    envelope("c", after={"id": 3, "owner": "cyd"}, ms=6),
    envelope("u", after={"id": 1, "owner": "Ann"}, ms=6),
    envelope("u", before={"id": 3, "owner": "cyd"}, after={"id": 3, "owner": None}, ms=6),
    envelope("d", before={"id": 2, "owner": None}, ms=7),
    envelope("d", before={"id": 2, "owner": None}, ms=7),
    envelope("d", before={"id": 99}, ms=7),
]
BROKEN = [
    envelope("u", before={"id": 1}),
    envelope("d", after={"id": 1}),
    envelope("x", after={"id": 1, "owner": "x"}),
    envelope("c", after={"owner": "nobody"}),
    envelope("c", after={"id": "one", "owner": "nobody"}),
    json.dumps({"after": {"id": 1}}),
    "[1]",
    '{"before": ',
    "null",
]


TIME = ", ms BIGINT METADATA FROM 'ts_ms', at TIMESTAMP AS timestamp_millis(ms), WATERMARK FOR at AS at"


@pytest.mark.parametrize("time", everyday([TIME, ""]))
def test_envelopes_of_debezium_in_files(engine, tmp_path, time):
    write(tmp_path / "in", "1.json", [*DEBEZIUM[:4], "", *BROKEN, *DEBEZIUM[4:]], 1_000)
    engine.sql(f"""CREATE STREAM accounts (id BIGINT, owner STRING{time}, PRIMARY KEY (id))
                   USING json OPTIONS (path '{tmp_path / "in"}') FORMAT debezium
                   LATE ROWS INTO bad USING json OPTIONS (path '{tmp_path / "bad"}')""")
    table, counts = contents(engine.query("SELECT owner, id FROM accounts EMIT CHANGES"), tmp_path / "checkpoint")
    assert table == {("Ann", 1), (None, 3)}
    assert counts == (17, 8, 9, 0)
    assert sorted(row.record for row in engine.sql("SELECT record FROM bad").collect()) == sorted(BROKEN)


MOVES = [
    envelope("c", after={"id": 1, "owner": "ann"}, ms=5),
    envelope("c", after={"id": 2, "owner": "bob"}, ms=5),
    envelope("u", before={"id": 1, "owner": "ann"}, after={"id": 3, "owner": "Ann"}, ms=6),
    envelope("u", before={"id": 2, "owner": "bob"}, after={"id": 1, "owner": "bob"}, ms=7, schema=True),
    envelope("u", before={"owner": "bob"}, after={"id": 1, "owner": "Bob"}, ms=8),
    envelope("u", before={"id": 3, "owner": "Ann"}, after={"owner": "nobody"}, ms=9),
]


@pytest.mark.parametrize(
    ("time", "limit"),
    everyday(
        (
            (time, limit)
            for limit in (", maxFilesPerTrigger 1", "")
            for time in (TIME, "", TIME + ", op STRING METADATA")
        ),
        6,
    ),
)
def test_an_update_may_give_a_row_another_key(engine, tmp_path, time, limit):
    for number, line in enumerate(MOVES):
        write(tmp_path / "in", f"{number}.json", [line], 1_000 + number)
    engine.sql(f"""CREATE STREAM accounts (id BIGINT, owner STRING{time}, PRIMARY KEY (id))
                   USING json OPTIONS (path '{tmp_path / "in"}'{limit}) FORMAT debezium
                   LATE ROWS INTO bad USING json OPTIONS (path '{tmp_path / "bad"}')""")
    table, counts = contents(engine.query("SELECT owner, id FROM accounts EMIT CHANGES"), tmp_path / "checkpoint")
    assert table == {("Ann", 3), ("Bob", 1)}
    assert counts == (6, 5, 1, 0)
    assert [row.record for row in engine.sql("SELECT record FROM bad").collect()] == MOVES[5:]


@pytest.mark.parametrize(
    "closed", everyday([" DELETE WHEN OP = 'd' OR owner = 'ann'", "", " DELETE WHEN owner = 'ann'"], 3)
)
def test_a_version_ends_when_its_row_is_deleted_or_gets_another_key(engine, tmp_path, closed):
    deletes = envelope("d", before={"id": 1, "owner": "Bob"}, ms=9)
    write(tmp_path / "in", "1.json", [*MOVES, deletes], 1_000)
    write(tmp_path / "asked", "1.csv", [f"{id},{ms}" for ms in (5, 6, 7, 8, 9) for id in (1, 2)], 1_000)
    engine.sql(f"""
        CREATE STREAM accounts (id BIGINT, owner STRING, op STRING METADATA{TIME}, PRIMARY KEY (id){closed})
        USING json OPTIONS (path '{tmp_path / "in"}') FORMAT debezium;
        CREATE STREAM asked (id BIGINT, ms BIGINT, ts TIMESTAMP AS timestamp_millis(ms), WATERMARK FOR ts AS ts)
        USING csv OPTIONS (path '{tmp_path / "asked"}')
    """)
    output: list[dict] = []
    query = engine.query("""SELECT a.ms, a.id, owner FROM asked AS a
                            JOIN accounts FOR SYSTEM_TIME AS OF a.ts AS c ON a.id = c.id""")
    with query.start(lambda rows, _: output.extend(rows.to_pylist()), drain=True) as standing:
        standing.await_(120)
        inputs = standing.progress.inputs
    assert sorted(tuple(row.values()) for row in output) == [
        *([] if closed else [(5, 1, "ann")]),
        (5, 2, "bob"),
        (6, 2, "bob"),
        (7, 1, "bob"),
        (8, 1, "Bob"),
    ]
    assert (inputs["accounts"].read, inputs["accounts"].used, inputs["accounts"].malformed) == (7, 6, 1)


def test_a_pattern_over_the_changes_as_events(engine, tmp_path):
    write(tmp_path / "in", "1.json", [*DEBEZIUM[:-1], *BROKEN], 1_000)
    engine.sql(f"""CREATE STREAM changes (id BIGINT, owner STRING, op STRING METADATA{TIME})
                   USING json OPTIONS (path '{tmp_path / "in"}') FORMAT debezium""")
    output: list[dict] = []
    query = engine.query("""SELECT * FROM changes MATCH_RECOGNIZE (
                              PARTITION BY id ORDER BY at MEASURES MADE.owner AS made, GONE.op AS op
                              PATTERN (MADE OTHER*? GONE) DEFINE MADE AS op = 'c', GONE AS op = 'd')""")
    with query.start(lambda rows, _: output.extend(rows.to_pylist()), drain=True) as standing:
        standing.await_(120)
    assert output == [{"id": 2, "made": "bob", "op": "d"}]


def test_a_sink_with_a_key_holds_the_join(engine, tmp_path):
    # Each file is a micro-batch: rows come, change their key, and go.
    write(tmp_path / "posts", "1.csv", ["1,ann,hello,", "2,bob,hi,", "3,ann,again,"], 1_000)
    write(tmp_path / "posts", "2.csv", ["1,bob,hello!,", "3,,,gone"], 2_000)
    write(tmp_path / "follows", "1.csv", ["eve,ann,", "eve,bob,", "dan,bob,"], 1_000)
    write(tmp_path / "follows", "2.csv", ["eve,bob,gone", "dan,ann,"], 2_000)
    engine.sql(f"""
        CREATE STREAM posts (id INT, author STRING, body STRING, gone STRING,
          PRIMARY KEY (id) DELETE WHEN gone = 'gone')
        USING csv OPTIONS (path '{tmp_path / "posts"}', maxFilesPerTrigger 1);
        CREATE STREAM follows (who STRING, whom STRING, gone STRING, PRIMARY KEY (who, whom) DELETE WHEN gone = 'gone')
        USING csv OPTIONS (path '{tmp_path / "follows"}', maxFilesPerTrigger 1)
    """)
    timeline = engine.query("SELECT who, id, body FROM follows JOIN posts ON author = whom EMIT CHANGES")
    options = (("path", str(tmp_path / "out.db")), ("create_table", "true"))
    sink = Sink("timeline", (), "sqlite", options, key=("who", "id"))
    with timeline.start(sink=sink, checkpoint=tmp_path / "checkpoint", drain=True) as standing:
        standing.await_(120)
        assert standing.progress.batches > 1
        counted = standing.progress
    assert (counted.rows_read, counted.rows_used) == (10, 10)
    rows = sqlite3.connect(tmp_path / "out.db").execute("SELECT who, id, body FROM timeline").fetchall()
    assert sorted(rows) == [("dan", 1, "hello!"), ("dan", 2, "hi")]
