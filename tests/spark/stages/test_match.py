"""A match over a stream: batch by batch, restarted, drained; equal to the match over the same rows as a table."""

import os
from dataclasses import replace

import pyarrow as pa
import pytest
from chance import everyday

from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.ordered.row_layout import Column
from cepsql.pattern.ir import Concat, Repeat, Variable
from cepsql.pattern.program import Aggregate, Bit, Classifier, Complete, MatchNumber, MatchProgram, Measure, Navigation
from cepsql.spark.checkpoint.checkpoint import open_checkpoint
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.frames.buckets import Buckets
from cepsql.spark.frames.operator_rows import event_time
from cepsql.spark.run.replayed_batches import Replay, replay_source, write_batch
from cepsql.spark.run.sink import RowSink
from cepsql.spark.run.standing_query import StartOptions, start
from cepsql.spark.sources.source import read_source
from cepsql.spark.stages.match import match_stage, match_table
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import run_staged, staged_rows

SECOND = 1_000_000
PROGRAM = MatchProgram(
    pattern=Concat((Variable("A"), Repeat(Variable("B"), 0, None), Variable("C"))),
    variables=("A", "B", "C"),
    conditions=(Bit(0), Bit(1), Bit(2)),
    keys=(Column("k0", "lower(sym)"),),
    time=Column("t", "ts"),
    order=(),
    values=(Column("v0", "price"), Column("v1", "ts"), Column("v2", "qty")),
    predicates=("kind = 'a'", "kind = 'b'", "kind = 'c'"),
    measures=(
        Measure("first_price", Navigation("v0", frozenset({0}), first=True)),
        Measure("ended", Navigation("v1")),
        Measure("bs", Aggregate("count", None, frozenset({1}))),
        Measure("qty", Aggregate("sum", "v2")),
        Measure("last", Classifier()),
        Measure("number", MatchNumber()),
        Measure("whole", Complete()),
    ),
)
TYPES = (
    "struct<k0:string,first_price:decimal(8,2),ended:timestamp,bs:bigint,qty:bigint,last:string,number:bigint,"
    "whole:boolean>"
)
COLUMNS = tuple(
    ColumnDefinition(*c.split()) for c in ("sym STRING", "ts TIMESTAMP", "kind STRING", "price DECIMAL(8,2)", "qty INT")
)
BATCHES = [
    ["x,00,a,1,1", "y,01,a,2,1", "X,02,b,3,2", "nonsense", "x,,a,9,9"],
    ["x,01,b,4,3", "x,04,c,5,4", "y,20,b,6,5", ",05,a,7,6"],
    # Ten seconds late at most: the rows of y and z come too late.
    ["y,02,b,8,7", "z,09,a,9,8", ",12,c,10,9", "y,21,c,11,10"],
    ["x,22,a,12,11", "x,22,c,13,12", "w,23,a,14,13"],
]


def text(lines):
    """Return CSV; a two-digit time is a second of one minute."""
    rows = []
    for line in lines:
        cells = line.split(",")
        if len(cells) == 5 and cells[1]:
            cells[1] = f"2026-01-01 00:00:{cells[1]}"
        rows.append(",".join(cells) + "\n")
    return "".join(rows)


def events(folder, streaming):
    return Source("events", COLUMNS, "csv", (("path", str(folder)), ("maxFilesPerTrigger", "1")), streaming)


def add(folder, number):
    part = folder / f".{number}.csv"
    part.write_text(text(BATCHES[number]))
    # Spark takes files in the order of their times, and these are written in the same millisecond.
    os.utime(part, (1_000_000_000 + number, 1_000_000_000 + number))
    part.rename(folder / f"{number}.csv")


def rows(*tables):
    return sorted(map(repr, (row for table in tables if table is not None for row in table.to_pylist())))


def matches(feeds, buckets):
    staged = match_stage(feeds, PROGRAM, ["*"])
    return staged_rows(staged, run_staged(staged, "matches", buckets), markers=False)


@pytest.fixture(scope="module")
def expected(spark, tmp_path_factory):
    """The matches over the rows that are not late, as a table."""
    folder = tmp_path_factory.mktemp("table")
    good_lines = [line for batch in BATCHES for line in batch if line not in ("y,02,b,8,7", "z,09,a,9,8")]
    (folder / "all.csv").write_text(text(good_lines))
    frame = match_table(read_source(spark, events(folder, False)), PROGRAM, ["ts"])
    assert frame.schema.simpleString() == TYPES
    table = to_arrow(frame)
    assert table.num_rows == 4
    return table


@pytest.mark.parametrize("restarts", everyday([True, False]))
def test_batch_by_batch(spark, tmp_path, expected, restarts):
    folder = tmp_path / "events"
    folder.mkdir()
    checkpoint = open_checkpoint(tmp_path / "checkpoint", "f")
    feed = Feed(read_source(spark, events(folder, True)), 10 * SECOND, control=checkpoint.control)
    frame = matches([feed], Buckets(3, 2))
    outputs = []
    with Replay(frame, checkpoint) as replay:
        for number in range(len(BATCHES)):
            add(folder, number)
            outputs.append(replay.advance())
            if restarts and number in (0, 2):
                replay.restart()
        assert [table and table.num_rows for table in outputs] == [None, 1, None, 1]
        outputs.append(replay.end())
    assert rows(*outputs) == rows(expected)
    assert outputs[1].schema == expected.schema
    if not restarts:
        progress = replay.query.progress
        assert replay.query.status == "stopped"
        assert progress.rows_read == sum(map(len, BATCHES)) == 16
        assert (progress.rows_used, progress.rows_late, progress.rows_malformed, progress.rows_null_time) == (
            12,
            2,
            1,
            1,
        )
        assert (progress.rows_null_key, progress.matches, progress.timeouts, progress.rows_out) == (2, 4, 0, 4)


def test_drain_finishes_and_says_so(spark, tmp_path, expected):
    folder = tmp_path / "events"
    folder.mkdir()
    for number in (0, 1, 3):
        add(folder, number)
    checkpoint = open_checkpoint(tmp_path / "checkpoint", "f")
    feed = Feed(read_source(spark, events(folder, True)), 10 * SECOND, control=checkpoint.control)
    frame = matches([feed], None)
    tables = []
    with start(frame, RowSink(lambda table, _: tables.append(table)), checkpoint, StartOptions(drain=True)) as query:
        assert query.await_(600)
    assert (query.status, query.progress.matches, query.progress.rows_out) == ("finished", 2, 2)
    assert {row["k0"] for table in tables for row in table.to_pylist()} == {"x"}
    with pytest.raises(OperationalError, match="was ended"):
        open_checkpoint(tmp_path / "checkpoint", "f")


def test_checkpoints_of_others_are_refused(tmp_path):
    open_checkpoint(tmp_path / "mine", {"query": {"frame": "f"}})
    open_checkpoint(tmp_path / "mine", {"query": {"frame": "f"}})
    with pytest.raises(OperationalError, match="different query"):
        open_checkpoint(tmp_path / "mine", {"query": {"frame": "g"}})
    with pytest.raises(OperationalError, match="holds other files"):
        open_checkpoint(tmp_path, {"query": {"frame": "f"}})


def test_a_failure_in_the_callback_fails_the_query(spark, tmp_path):
    checkpoint = open_checkpoint(None, "f")
    frame = replay_source(spark, tmp_path / "in", "n BIGINT")
    write_batch(tmp_path / "in", pa.table({"n": [1]}))

    def refuse(table, _):
        raise OperationalError("the disk is full", hint="empty it")

    query = start(frame, RowSink(refuse), checkpoint)
    with pytest.raises(OperationalError, match="the disk is full"):
        query.await_(600)
    assert query.status == "failed"
    assert not checkpoint.folder.exists()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_event_time_does_not_depend_on_the_zone(spark, zone):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.sql(
            "SELECT TIMESTAMP'2026-03-08 02:30:00.123456Z' AS z, TIMESTAMP_NTZ'1969-03-08 02:30:00.123456' AS n, "
            "DATE'2026-03-08' AS d, 7 AS i, 'x' AS s"
        )
        times = frame.selectExpr(*(f"{event_time(frame, name)} AS {name}" for name in "zndi")).first()
        assert tuple(times) == (1772937000123456, -25824599876544, 1772928000000000, 7)
        with pytest.raises(ProgrammingError, match="by a STRING"):
            event_time(frame, "s")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_table_without_keys_is_ordered_as_asked(spark):
    frame = spark.sql("SELECT * FROM VALUES (1, 'b'), (3, 'a'), (NULL, 'c'), (2, 'b') AS t(n, kind)")
    program = replace(PROGRAM, keys=(), time=None, values=(Column("v0", "n"),), measures=PROGRAM.measures[:1])
    rows_by_order = {
        order: match_table(frame, program, [order]).collect() for order in ("n DESC", "n", "n DESC NULLS FIRST")
    }
    assert {order: [tuple(row) for row in rows] for order, rows in rows_by_order.items()} == {
        "n DESC": [(3,)],
        "n": [],
        "n DESC NULLS FIRST": [],
    }
