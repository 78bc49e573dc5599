"""What comes with the first micro-batch of a query, whatever its streams bring.

A stream of a folder with one file does so; a checkpoint knows that it has been read. A stage runs where packets come:
an empty one lets an operator give out a row before any row came, such as a count of 0. And the rows of tables at rest
are joined with this stream to become rows of a stream.
"""

from functools import cache
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from cepsql.base.temporary import temporary_folder
from cepsql.language.tokens import quoted
from cepsql.ordered.packet import empty_packet
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, write_whole

_FOLDER, _FILE, _BEGUN = "begin", "begin.txt", "__begun"


def write_begin(control: CheckpointPath) -> None:
    """Write the file beside the control folder of a checkpoint, if it is not there yet.

    Raises OSError.
    """
    folder = control.parent / _FOLDER
    if not (folder / _FILE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _FILE, "begin\n")


def begin_packets(spark: SparkSession, control: str | None) -> DataFrame:
    """Return the stream of the empty packet for the bucket of all rows, as `bucket` and `packet`.

    control: the control folder of the query's checkpoint; None: a query without one, which runs on this machine.
    """
    packet = f"X'{empty_packet().hex()}' AS packet"
    return _first_batch(spark, control).selectExpr("0 AS bucket", packet)


def added_rows(table: DataFrame, control: str | None) -> DataFrame:
    """Return the rows of a table at rest as a stream that has all of them in its first micro-batch.

    control: as of `begin_packets`.
    """
    names = list(map(quoted, table.columns))
    return _first_batch(table.sparkSession, control).crossJoin(table).selectExpr(*names)


def _first_batch(spark: SparkSession, control: str | None) -> DataFrame:
    """Return a stream of one row."""
    folder = _own_folder() if control is None else f"{control.rpartition('/')[0]}/{_FOLDER}"
    return spark.readStream.text(folder).selectExpr(f"value AS {_BEGUN}")


@cache
def _own_folder() -> str:
    folder: Path = temporary_folder("cepsql-begin-")
    (folder / _FILE).write_text("begin\n", "utf-8")
    return str(folder)
