"""The rows of a DataFrame as an Arrow table."""

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import YearMonthIntervalType


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return all rows; times are in the session's time zone, where Spark itself always says UTC.

    Arrow does not get INTERVAL YEAR TO MONTH from Spark: such columns are text, as Spark writes it.
    """
    return localized(arrow_frame(frame).toArrow(), frame)


def arrow_frame(frame: DataFrame) -> DataFrame:
    """Return the frame with text in place of what Spark does not give Arrow."""
    fields = frame.schema.fields
    texts = [isinstance(field.dataType, YearMonthIntervalType) for field in fields]
    if not any(texts):
        return frame
    numbered = frame.toDF(*(f"__{i}" for i in range(len(fields))))
    columns = [F.col(name) for name in numbered.columns]
    written = [c.cast("string") if text else c for c, text in zip(columns, texts, strict=True)]
    return numbered.select(*written).toDF(*frame.columns)


def localized(table: pa.Table, frame: DataFrame) -> pa.Table:
    """Return rows that Spark gave with times in the session's time zone."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            local = pa.timestamp(field.type.unit, zone)
            table = table.set_column(i, pa.field(field.name, local, field.nullable), table.column(i).cast(local))
    return table
