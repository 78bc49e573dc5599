"""Markers between the matches of a stream: rows that say up to which event time everything has been given out."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructType, TimestampType

from cepsql.catalog import Watermark
from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, IDLE
from cepsql.plan.tree.markers import BOUND
from cepsql.spark.checkpoint.control import ABOVE_WATERMARK, END_MICROS
from cepsql.spark.frames.arrow_rows import arrow_schema
from cepsql.spark.frames.operator_rows import column_type
from cepsql.spark.frames.worker import settle


def unpack_bounded(operator: DataFrame, schema: StructType, hold: int) -> DataFrame:
    """Return the rows in the operator's `output`, with NULL in the BIGINT column BOUND, and markers.

    operator: the stage's `bound` and `output`.
    schema:   of the rows.
    A marker has only BOUND: the stage's bound in microseconds less its hold (END_OF_TIME at the end of the input).
    Every row of a later batch has an event time above it.
    """
    arrow = arrow_schema(schema)
    marked = StructType([*schema.fields]).add(BOUND, LongType())
    return operator.mapInArrow(partial(_unpack, arrow, hold), marked)


def with_match_watermark(frame: DataFrame, event_time: Watermark) -> DataFrame:
    """Return the matches in a frame with markers under Spark's watermark, which the markers move; none is left.

    event_time: the column of the matches' event time, and the hold.
    Raises NotSupportedError if it is no TIMESTAMP.
    """
    kind = column_type(frame, event_time.column)
    if not isinstance(kind, TimestampType):
        raise NotSupportedError(
            f"a window or join over matches by {event_time.column}, which is {kind.simpleString().upper()} and not "
            "TIMESTAMP, is not supported",
            hint="declare a computed column of the stream, ts TIMESTAMP AS CAST(... AS TIMESTAMP), with its watermark",
        )
    column = quoted(event_time.column)
    # Spark counts watermarks in milliseconds.
    delay = -(-event_time.delay // 1000)
    bound = f"timestamp_micros(least({BOUND}, {END_MICROS}L) + {event_time.delay}L)"
    others = [quoted(name) for name in frame.columns]
    # A row may have no time, as one of an outer join's other side; it is no marker.
    marked = f"if({BOUND} IS NULL, {column}, {bound}) AS {column}"
    timed = [marked if name == column else name for name in others]
    watched = frame.selectExpr(*timed).withWatermark(column, f"{delay} milliseconds")
    # No marker has so early a time, but the optimizer does not know it: a condition on the event time stays here, too.
    no_marker = f"({BOUND} IS NULL OR {column} < TIMESTAMP '0001-01-01')"
    return watched.where(f"{no_marker} AND {ABOVE_WATERMARK}").drop(BOUND)


def _unpack(schema: pa.Schema, hold: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    bound = BEGINNING
    for batch in batches:
        for reached, data in zip(batch["bound"].to_pylist(), batch["output"], strict=True):
            bound = max(bound, reached)
            if data.is_valid:
                for rows in pa.ipc.open_stream(data.as_buffer()):
                    # One stream goes to Spark, with one schema, and its later batches must have it exactly.
                    schema = rows.schema
                    yield _with_bound(rows.columns, schema, pa.nulls(rows.num_rows, pa.int64()))
    if bound > BEGINNING:
        reached = bound if bound in (IDLE, END_OF_TIME) else bound - hold
        yield _with_bound([pa.nulls(1, kind) for kind in schema.types], schema, pa.array([reached], pa.int64()))


def _with_bound(columns: list[pa.Array], schema: pa.Schema, bound: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*columns, bound], schema=schema.append(pa.field(BOUND, pa.int64())))
