"""The Spark pipelines that the benchmark compares; each reads all files of a folder once, in one micro-batch.

A pipeline is a function of (session, folder of CSV files, fresh checkpoint folder) that returns when all is done, with
the number of matches if it finds any. Functions that Spark sends to its workers are local: workers cannot import this
file.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from queries import COLUMNS, DELAY_SECONDS, QUERIES

Pipeline = Callable[[SparkSession, Path, Path], int | None]

SCHEMA = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS)


def pass_through(spark: SparkSession, files: Path, checkpoint: Path) -> None:
    """Scan CSV with the declared schema, shuffle by key, pass rows to Python as Arrow and back, drop them.

    This is what any operator in Python costs before it does a thing.
    """

    def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    _run(_stream(spark, files).repartition("key").mapInArrow(identity, SCHEMA), checkpoint)


def count_per_key(spark: SparkSession, files: Path, checkpoint: Path) -> None:
    """Count rows in a state per key with applyInPandasWithState: the least a hand-written operator by key does."""

    def count(key: tuple[int], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        n = (state.get[0] if state.exists else 0) + sum(map(len, frames))
        state.update((n,))
        yield pd.DataFrame({"key": [key[0]], "n": [n]})

    groups = _stream(spark, files).groupBy("key")
    counts = groups.applyInPandasWithState(
        count, "key BIGINT, n BIGINT", "n BIGINT", "append", GroupStateTimeout.NoTimeout
    )
    _run(counts, checkpoint)


def cepsql_query(name: str, scan: str) -> Pipeline:
    """Return the pipeline that runs a query of the benchmark by cepsql, to the end of its input.

    scan: the setting cepsql.scan.
    """

    def pipeline(spark: SparkSession, files: Path, checkpoint: Path) -> int:
        import cepsql

        matches = 0

        def count(rows: pa.Table, batch_id: int) -> None:
            nonlocal matches
            matches += len(rows)

        engine = cepsql.connect(spark)
        engine.sql(f"SET cepsql.scan = '{scan}'")
        engine.sql(_create_stream(files))
        engine.sql(QUERIES[name]).start(on_rows=count, drain=True).await_(None)
        return matches

    return pipeline


def _stream(spark: SparkSession, files: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).csv(str(files))


def _run(rows: DataFrame, checkpoint: Path) -> None:
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).outputMode("append")
    writer.trigger(availableNow=True).start().awaitTermination()


def _create_stream(files: Path) -> str:
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS)
    return f"""CREATE STREAM events ({columns}, WATERMARK FOR ts AS ts - INTERVAL '{DELAY_SECONDS}' SECOND)
        USING csv OPTIONS (path '{files.absolute()}')"""
