"""The rows of micro-batches, brought in pieces: few along with the results of tasks, more of them in files."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from cepsql.scalar.zone import Zone
from cepsql.spark.frames.pieces import PieceCollector, collect_pieces
from cepsql.spark.frames.task_files import written_or_given


def rows_of(tables) -> list[tuple]:
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


@pytest.fixture
def collector():
    collector = PieceCollector()
    yield collector
    collector.close()


def test_frames_of_other_columns_follow_each_other(spark, collector):
    first = spark.createDataFrame([(1, "a")], "n INT, t STRING")
    for frame in (first, first, first.selectExpr("t AS u"), first.toDF("a.b", "A"), first):
        with collector.collect(frame) as pieces, collect_pieces(frame) as alone:
            assert rows_of(pieces) == rows_of(alone) == [tuple(row) for row in frame.collect()]
            assert pieces.rows == 1


def test_many_rows_are_in_files_that_go(spark, collector):
    frame = spark.range(0, 400_000, 1, 2).selectExpr("id", "repeat('x', 20) AS text")
    with collector.collect(frame) as pieces:
        assert pieces.rows == 400_000 and any(part.file for part in pieces._parts)
        for _ in range(2):
            assert sum(table["id"].to_numpy().sum() for table in pieces) == 400_000 * 399_999 // 2
        assert list(collector._folder.iterdir())
    assert not list(collector._folder.iterdir())
    with pytest.raises(PySparkException):
        collector.collect(frame.selectExpr("IF(id > 399000, raise_error('no'), id) AS id", "text"))
    assert not list(collector._folder.iterdir())
    folder = collector._folder
    collector.close()
    assert not folder.exists()


@pytest.fixture
def written():
    """The last step of a query, as the plan of one has it."""

    # Workers do not find the module of a test, but what is within a function comes along.
    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from written_or_given("w", (batch.rename_columns(["c0", "c1"]) for batch in batches), 2, Zone())

    return lambda frame: frame.mapInArrow(step, "c0 BIGINT, c1 TIMESTAMP").toDF("id", "at")


def test_tasks_write_the_rows_where_the_last_step_lets_them(spark, collector, written):
    frame = spark.range(0, 9, 1, 2).selectExpr("id", "timestamp_seconds(id) AS at")
    last = written(frame)
    for number in range(3):
        with collector.collect(last, "w") as pieces, collect_pieces(frame) as alone:
            assert pieces.rows == 9 and collector._by_tasks
            assert rows_of(pieces) == rows_of(pieces) == rows_of(alone)
            assert next(iter(pieces)).schema.types == next(iter(alone)).schema.types
            assert all(part.file for part in pieces._parts)
        with collector.collect(last.where("id < 0") if number else last, "other") as pieces:
            assert pieces.rows == (0 if number else 9)
    # A step of Spark's is the last one now.
    for _ in range(2):
        with collector.collect(frame, "w") as pieces, collect_pieces(frame) as alone:
            assert rows_of(pieces) == rows_of(alone) and pieces.rows == 9
        assert not collector._by_tasks
    assert not list(collector._folder.iterdir())


def test_what_fails_in_a_task_that_writes_leaves_no_file(spark, collector, written):
    frame = spark.range(0, 9, 1, 2).selectExpr("IF(id = 8, raise_error('no'), id) AS id", "timestamp_seconds(id) AS at")
    with pytest.raises(PySparkException):
        collector.collect(written(frame), "w")
    assert not list(collector._folder.iterdir())


def test_batches_without_rows_have_none(spark, collector):
    with collector.collect(spark.range(3).where("id > 5")) as pieces:
        assert pieces.rows == 0 and list(pieces) == []
