"""The rows of micro-batches, brought in pieces: few along with the results of tasks, more of them in files."""

import pytest
from pyspark.errors import PySparkException

from cepsql.spark.frames.pieces import PieceCollector, collect_pieces


def rows_of(found) -> list[tuple]:
    return [tuple(row.values()) for table in found for row in table.to_pylist()]


@pytest.fixture
def collector():
    collector = PieceCollector()
    yield collector
    collector.close()


def test_frames_of_other_columns_follow_each_other(spark, collector):
    first = spark.createDataFrame([(1, "a")], "n INT, t STRING")
    for frame in (first, first, first.selectExpr("t AS u"), first.toDF("a.b", "A"), first):
        with collector.collect(frame) as found, collect_pieces(frame) as alone:
            assert rows_of(found) == rows_of(alone) == [tuple(row) for row in frame.collect()]
            assert found.rows == 1


def test_many_rows_are_in_files_that_go(spark, collector):
    frame = spark.range(0, 400_000, 1, 2).selectExpr("id", "repeat('x', 20) AS text")
    with collector.collect(frame) as found:
        assert found.rows == 400_000 and any(row["file"] for row in found._handed)
        for _ in range(2):
            assert sum(table["id"].to_numpy().sum() for table in found) == 400_000 * 399_999 // 2
        assert list(collector._folder.iterdir())
    assert not list(collector._folder.iterdir())
    with pytest.raises(PySparkException):
        collector.collect(frame.selectExpr("IF(id > 399000, raise_error('no'), id) AS id", "text"))
    assert not list(collector._folder.iterdir())
    folder = collector._folder
    collector.close()
    assert not folder.exists()


def test_batches_without_rows_have_none(spark, collector):
    with collector.collect(spark.range(3).where("id > 5")) as found:
        assert found.rows == 0 and list(found) == []
