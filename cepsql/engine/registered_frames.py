"""DataFrames under names by which statements read them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cepsql.analysis.sql.constant_intervals import duration_micros
from cepsql.catalog import ColumnDefinition, Registered, Watermark
from cepsql.errors import InterfaceError, ProgrammingError, suggestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames = Mapping[str, Registered]
"""DataFrames by their names in lower case."""


def registered(name: str, frame: "DataFrame", watermark: object = None) -> Registered:
    """Return a DataFrame of Spark under a name, with its own watermark unless one is given.

    watermark: the event-time column, and how late rows may be as text.
    Raises InterfaceError for a watermark of another kind, ProgrammingError for a column that the frame does not have.
    """
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.frames.user_frames import frame_watermark

    columns = frame_columns(frame)
    mark = frame_watermark(frame) if watermark is None else _given_watermark(name, columns, watermark)
    return Registered(name, columns, frame, frame.isStreaming, mark)


def _given_watermark(name: str, columns: Sequence[ColumnDefinition], given: object) -> Watermark:
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(isinstance(part, str) for part in given):
        hint = 'such as ("ts", "10 seconds")'
        raise InterfaceError(f"a watermark is a column and how late rows may be, not {given!r}", hint=hint)
    column, delay = given
    if column.lower() not in (c.name.lower() for c in columns):
        known = suggestion(column, [c.name for c in columns], "columns")
        raise ProgrammingError(f"{name} has no column {column}", hint=known)
    return Watermark(column, duration_micros(delay))
