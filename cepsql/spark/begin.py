"""The first micro-batch of an operator that gives out a row before any row came, such as a count of 0.

A stage runs where packets come. So one more stream, of a folder with one file, brings an empty packet with the first
micro-batch; a checkpoint knows that it has been read.
"""

from functools import cache
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from cepsql.ordered.packet import empty_packet
from cepsql.spark.checkpoint_path import CheckpointPath, write_whole
from cepsql.temporary import temporary_folder

_FOLDER, _FILE = "begin", "begin.txt"


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
    folder = _own_folder() if control is None else f"{control.rpartition('/')[0]}/{_FOLDER}"
    packet = f"X'{empty_packet().hex()}' AS packet"
    return spark.readStream.text(folder).selectExpr("0 AS bucket", packet)


@cache
def _own_folder() -> str:
    folder: Path = temporary_folder("cepsql-begin-")
    (folder / _FILE).write_text("begin\n", "utf-8")
    return str(folder)
