"""Operators over several streams in Spark: one order, one bound, counts of each input, restarts."""

from dataclasses import replace

import pyarrow as pa
import pytest
from chance import everyday
from pyspark.sql.types import LongType, StructType, TimestampType

from cepsql.operators.deduplicate import DeduplicateOperator
from cepsql.operators.pairing.interval_join import IntervalJoinOperator
from cepsql.ordered.counts import Counts
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout
from cepsql.spark.checkpoint.checkpoint import open_checkpoint
from cepsql.spark.run.replayed_batches import Replay, replay_source, write_batch
from cepsql.spark.staging.spark_stage import Feed, run_stage, stage_rows

SECOND = 1_000_000
LAYOUT = RowLayout(
    (Column("k0", "k"),), Column("t", "ts"), (OrderColumn("o0", "n"),), (Column("v0", "ts"), Column("v1", "what"))
)
INPUT = "k STRING, ts TIMESTAMP, n INT, what STRING"
OUTPUT = "k0 STRING, t BIGINT, o0 INT, v0 TIMESTAMP, v1 STRING"
SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("n", pa.int32()), ("what", pa.string())])


def rows(*triples: tuple[str, int, str]) -> pa.Table:
    """Make rows of (key, second, what)."""
    listed = [{"k": key, "ts": None if at is None else at * SECOND, "n": 1, "what": what} for key, at, what in triples]
    return pa.Table.from_pylist(listed, schema=SCHEMA)


def seen(table: pa.Table | None) -> list[tuple]:
    return [] if table is None else sorted((r["k0"], r["t"] // SECOND, r["v1"]) for r in table.to_pylist())


@pytest.mark.parametrize("restarts", everyday([True, False]))
def test_first_rows_of_two_streams(spark, tmp_path, restarts):
    """Orders may be ten seconds late, payments none; the first row of a key within five seconds comes out."""
    checkpoint = open_checkpoint(tmp_path / "checkpoint", "f")
    orders, payments = (replay_source(spark, tmp_path / name, INPUT) for name in ("orders", "payments"))
    feeds = [Feed(orders, 10 * SECOND, control=checkpoint.control), Feed(payments, 0)]
    stage = run_stage(DeduplicateOperator(LAYOUT, 5 * SECOND), feeds, "id", "firsts")
    frame = stage_rows(stage, StructType.fromDDL(OUTPUT))
    batches = [
        (rows(("a", 20, "order"), ("b", 21, "order"), ("a", None, "order")), None),
        (None, rows(("a", 12, "payment"), ("a", 13, "payment"), ("b", 9, "payment"))),
        (rows(("a", 40, "order"), ("a", 11, "order")), rows(("b", 18, "payment"), ("b", 8, "payment"))),
        (rows(("b", 18, "order")), rows(("a", 30, "payment"))),
    ]
    # The bounds are none, 11, 18, 30 and the end of time.
    expected = [
        [],
        [("b", 9, "payment")],
        [("a", 12, "payment"), ("b", 18, "payment")],
        [("a", 20, "order"), ("a", 30, "payment")],
        [("a", 40, "order")],
    ]
    outputs = []
    with Replay(frame, checkpoint) as replay:
        for batch in batches:
            for name, table in zip(("orders", "payments"), batch, strict=True):
                if table is not None:
                    write_batch(tmp_path / name, table)
            outputs.append(seen(replay.advance()))
            if restarts:
                replay.restart()
        outputs.append(seen(replay.end()))
    assert outputs == expected
    progress = replay.query.progress
    assert progress.counters == {"duplicates": 2}
    assert progress.inputs == {
        "0": Counts(read=6, used=3, late=2, null_time=1),
        "1": Counts(read=6, used=5, late=1),
    }
    assert (progress.rows_read, progress.rows_used, progress.rows_late, progress.rows_null_time) == (12, 8, 3, 1)


def test_pairs_of_two_streams(spark, tmp_path):
    checkpoint = open_checkpoint(tmp_path / "checkpoint", "f")
    orders, payments = (replay_source(spark, tmp_path / name, INPUT) for name in ("orders", "payments"))
    right = replace(LAYOUT, values=(Column("v0", "upper(what)"),))
    join = IntervalJoinOperator(LAYOUT, right, 0, 5 * SECOND)
    feeds = [Feed(orders, 0, control=checkpoint.control), Feed(payments, 0, side=1)]
    schema = StructType.fromDDL("k0 STRING, t BIGINT, l_t BIGINT, l_o0 INT, l_v0 TIMESTAMP, l_v1 STRING")
    schema = StructType([*schema.fields, *StructType.fromDDL("r_t BIGINT, r_o0 INT, r_v0 STRING").fields])
    assert isinstance(schema["l_v0"].dataType, TimestampType) and isinstance(schema["r_t"].dataType, LongType)
    frame = stage_rows(run_stage(join, feeds, "id", "pairs"), schema)
    outputs = []
    with Replay(frame, checkpoint) as replay:
        for order, payment in ((("a", 1, "x"), ("a", 3, "p")), (("b", 4, "y"), ("a", 7, "q")), (("a", 6, "z"), None)):
            write_batch(tmp_path / "orders", rows(order))
            if payment:
                write_batch(tmp_path / "payments", rows(payment))
            outputs.append(replay.advance())
        outputs.append(replay.end())
    pairs = [[] if t is None else [(r["l_v1"], r["r_v0"], r["t"] // SECOND) for r in t.to_pylist()] for t in outputs]
    assert pairs == [[], [("x", "P", 3)], [], [("z", "Q", 7)]]
