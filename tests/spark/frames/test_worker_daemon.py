"""The daemon of Python workers takes Spark's modules from where they are installed, not from archives of sources."""

import os

import pyspark
import pytest

from cepsql.spark.frames.worker_daemon import archives_last

LIB = "/site/pyspark/python/lib"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["", f"{LIB}/pyspark.zip", f"{LIB}/py4j-src.zip", "/std", "/site"],
         ["", "/std", "/site", f"{LIB}/pyspark.zip", f"{LIB}/py4j-src.zip"]),
        ([f"{LIB}/pyspark.zip", "/mine.zip", "/std"], [f"{LIB}/pyspark.zip", "/mine.zip", "/std"]),
        (["/spark/python/lib/pyspark.zip", "/spark", "/site"], ["/spark/python/lib/pyspark.zip", "/spark", "/site"]),
        (["pyspark.zip", "/site"], ["pyspark.zip", "/site"]),
        ([], []),
    ],
)  # fmt: skip
def test_archives_stand_behind_their_installation(paths, expected):
    assert archives_last(paths) == expected


def test_nothing_where_spark_was_started_hides_a_module_of_pythons(spark):
    # Such as a json.py there.
    def paths(batches):
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": ["" if sys.flags.safe_path else "unsafe", *sys.path]})

    search_path = [row.path for row in spark.range(1, numPartitions=1).mapInArrow(paths, "path string").collect()]
    assert "unsafe" not in search_path
    assert os.getcwd() in search_path


def test_workers_run_what_is_installed(spark):
    def places(batches):
        import py4j
        import pyarrow as pa
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"place": [pyspark.__file__, py4j.__file__]})

    rows = spark.range(2, numPartitions=1).mapInArrow(places, "place string").collect()
    assert rows[0].place == pyspark.__file__
    assert ".zip" not in rows[1].place
