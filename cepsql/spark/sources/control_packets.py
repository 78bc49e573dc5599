"""Packets of the control folder for several operators from one source: each source costs time in every batch."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.ordered.packet import PACKET_DDL, pack
from cepsql.spark.checkpoint.control import control_times
from cepsql.spark.frames.column_types import struct_of
from cepsql.spark.frames.packet_files import numbered
from cepsql.spark.frames.worker import settle

Reader = tuple[int, int]
"""The numbers of an operator and of its input that receives the packets."""


def control_packets(spark: SparkSession, control: str, readers: Sequence[Reader], column: str) -> DataFrame:
    """Return the packets of a control folder, each with the number of its operator in a column."""
    rows = struct_of(f"{PACKET_DDL}, {column} INT")
    return control_times(spark, control).mapInArrow(partial(_packets, readers, column), rows)


def packets_of_times(times: Sequence[int], readers: Iterable[Reader], column: str) -> Iterator[pa.RecordBatch]:
    """Yield packets, as `control_packets` has them, of what files of the folder say in `control_time`."""
    if not times:
        return
    rows = pa.record_batch([pa.array(times, pa.int64()), pa.array([0] * len(times), pa.int32())], ["t", "bucket"])
    for operator, number in readers:
        yield from numbered(pack([rows], 1, number), column, operator)


def _packets(readers: Sequence[Reader], column: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return packets_of_times([t for batch in batches for t in batch["t"].to_pylist()], readers, column)
