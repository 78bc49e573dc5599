"""The rows of a DataFrame as an Arrow table, or as batches in its tasks."""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, YearMonthIntervalType

from cepsql.errors import NotSupportedError


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return all rows; times are in the session's time zone, where Spark itself always says UTC.

    Arrow does not get INTERVAL YEAR TO MONTH from Spark: such columns are text, as Spark writes it.
    """
    return in_zone(arrow_columns(frame).toArrow(), frame)


def arrow_columns(frame: DataFrame) -> DataFrame:
    """Return the frame with INTERVAL YEAR TO MONTH as text."""
    fields = frame.schema.fields
    if not any(isinstance(field.dataType, YearMonthIntervalType) for field in fields):
        return frame
    columns = [F.col(f"__{i}") for i in range(len(fields))]
    texts = [isinstance(field.dataType, YearMonthIntervalType) for field in fields]
    numbered = frame.toDF(*(f"__{i}" for i in range(len(fields))))
    written = [c.cast("string") if text else c for c, text in zip(columns, texts, strict=True)]
    return numbered.select(*written).toDF(*frame.columns)


def map_rows(
    frame: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """Return what a function makes of the rows of each task, as `DataFrame.mapInArrow` does, which looks columns up by
    their names: it takes a point in one for one between names, and cannot tell equal names apart."""
    names = frame.columns
    return frame.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(partial(_named, function, names), schema)


def _named(
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    names: list[str],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    return function(batch.rename_columns(names) for batch in batches)


def in_zone(table: pa.Table, frame: DataFrame) -> pa.Table:
    """Return the table with its times in the time zone of the frame's session."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            local = pa.timestamp(field.type.unit, zone)
            table = table.set_column(i, pa.field(field.name, local, field.nullable), table.column(i).cast(local))
    return table


def refuse_months(schema: StructType) -> None:
    """Raise NotSupportedError for columns that are, or hold, an INTERVAL YEAR TO MONTH: Arrow does not get them."""
    kinds = [field.dataType.simpleString() for field in schema.fields]
    if any("interval year" in kind or "interval month" in kind for kind in kinds):
        raise NotSupportedError(
            "INTERVAL YEAR TO MONTH values in a pattern, or in another operator over a stream, are not supported",
            hint="let a subquery count their months: CAST(CAST(x AS INTERVAL MONTH) AS INT)",
        )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the types that the tasks of a stage get and give; times are in UTC.

    Raises NotSupportedError for what they cannot get.
    """
    refuse_months(schema)
    convert: Any = to_arrow_schema
    # Before PySpark 4.2 it is UTC always.
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(convert).parameters else {}
    return convert(schema, **zone)
