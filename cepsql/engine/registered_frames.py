"""DataFrames that statements read by name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cepsql.analysis.sql.constant_intervals import duration_micros
from cepsql.catalog import ColumnDefinition, Registered, Watermark
from cepsql.errors import InterfaceError, ProgrammingError, suggestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames = Mapping[str, Registered]
"""DataFrames by lower-case name."""


def registered(name: str, frame: "DataFrame", watermark: object = None) -> Registered:
    """Return a Spark DataFrame under a name, by default with its own watermark.

    watermark: the event-time column, and how late rows may be, as text.
    Raises InterfaceError for a watermark of another type, ProgrammingError for a column that the frame lacks.
    """
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.frames.user_frames import frame_watermark

    columns = frame_columns(frame)
    mark = frame_watermark(frame) if watermark is None else _given_watermark(name, columns, watermark)
    return Registered(name, columns, frame, frame.isStreaming, mark)


def _given_watermark(name: str, columns: Sequence[ColumnDefinition], watermark: object) -> Watermark:
    parts = watermark if isinstance(watermark, tuple | list) else ()
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        hint = 'such as ("ts", "10 seconds")'
        raise InterfaceError(f"a watermark is a column and how late rows may be, not {watermark!r}", hint=hint)
    column, delay = parts
    if column.lower() not in (c.name.lower() for c in columns):
        hint = suggestion(column, [c.name for c in columns], "columns")
        raise ProgrammingError(f"{name} has no column {column}", hint=hint)
    return Watermark(column, duration_micros(delay))
