"""What a micro-batch makes in Java is let go of with the batch, also where Python collects no garbage."""

import gc
import itertools
import os
import time

import pytest
from chance import everyday
from py4j.finalizer import ThreadSafeFinalizer

from cepsql.catalog import Sink
from cepsql.engine import connect

BATCHES = 24
ROWS = "{0},2026-01-01 00:00:{1:02},{0}\n9,2025-01-01 00:00:00,9\nx,,\n"
MATCH = (
    "SELECT m.x FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x PATTERN (A) DEFINE A AS true) AS m"
)
WINDOWS = "SELECT k, window(ts, '1 second').end AS e, count(*) AS n FROM s GROUP BY ALL"
SINKS = ("function", "parquet", "sqlite")


def bound():
    """Return how many objects of Java's Python still has; a thread of py4j's tells Java of the others every second."""
    return len(ThreadSafeFinalizer.finalizers)


@pytest.mark.nightly("it has many batches")
@pytest.mark.parametrize(("sql", "sink"), everyday(itertools.product([MATCH, WINDOWS], SINKS), 6))
def test_objects_of_past_batches_are_freed(spark, tmp_path, sink, sql):
    (tmp_path / "in").mkdir()
    for number in range(BATCHES):
        file = tmp_path / "in" / f"{number:03}.csv"
        file.write_text(ROWS.format(number, number))
        os.utime(file, (number + 1000, number + 1000))
    engine, counted = connect(spark), []
    engine.sql(
        f"CREATE STREAM s (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv "
        f"OPTIONS (path '{tmp_path}/in', maxFilesPerTrigger '1')"
    )
    options = {"parquet": {"path": str(tmp_path / "out")}}.get(
        sink, {"path": str(tmp_path / "out.db"), "table": "t", "create_table": "true"}
    )
    query, target = engine.sql(sql), Sink("out", (), sink, tuple(options.items()))
    collected = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        started = (
            query.start(lambda rows, _: None)
            if sink == "function"
            else query.start(sink=target, name="freed", checkpoint=str(tmp_path / "checkpoint"))
        )
        with started as running:
            while (done := running.progress.batches) < BATCHES and running.status == "running":
                counted.append((done, bound()))
                time.sleep(0.05)
            assert running.error is None
    finally:
        if collected:
            gc.enable()
    early = max(count for done, count in counted if 3 <= done <= 6)
    late = min(count for done, count in counted if done >= BATCHES - 6)
    # Each of the dozen batches between makes ten objects and more.
    assert late < early + 50
