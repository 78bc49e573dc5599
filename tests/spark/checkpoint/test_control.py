"""The end of the input makes Spark's own windows give out what they hold."""

import datetime

import pyarrow as pa
from pyspark.sql import functions as F

from cepsql.catalog import Watermark
from cepsql.spark.checkpoint.checkpoint import open_checkpoint
from cepsql.spark.checkpoint.control import with_watermark
from cepsql.spark.run.replayed_batches import replay_source, write_batch
from cepsql.spark.run.sink import RowSink
from cepsql.spark.run.standing_query import StartOptions, start
from cepsql.spark.sources.source import observe_source


def test_a_drained_window_is_complete(spark, tmp_path):
    frame = observe_source(replay_source(spark, tmp_path / "in", "ts TIMESTAMP, n INT"), "source")
    times = [datetime.datetime(2026, 1, 1, 0, minute, tzinfo=datetime.UTC) for minute in (1, 2, 11, 12)]
    write_batch(tmp_path / "in", pa.table({"ts": times, "n": pa.array([1, 2, 3, 4], pa.int32())}))
    # The row that ends the input has no n, and must not fall to the condition before it has moved the watermark.
    checkpoint = open_checkpoint(None, "f")
    timed = with_watermark(frame, Watermark("ts", 60_000_000), checkpoint.control)
    sums = timed.where("n > 0").groupBy(F.window("ts", "10 minutes")).sum("n")
    tables = []
    with start(sums, RowSink(lambda table, _: tables.append(table)), checkpoint, StartOptions(drain=True)) as query:
        assert query.await_(600)
        progress = query.progress
    assert sorted(row["sum(n)"] for table in tables for row in table.to_pylist()) == [3, 7]
    assert (progress.rows_read, progress.rows_used, progress.rows_out) == (4, 4, 2)
    assert not checkpoint.folder.exists()
