"""The rows of a DataFrame as an Arrow table."""

import pyarrow as pa
from pyspark.sql import DataFrame


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return all rows; times are in the session's time zone, where Spark itself always says UTC."""
    table = frame.toArrow()
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            local = pa.timestamp(field.type.unit, zone)
            table = table.set_column(i, pa.field(field.name, local, field.nullable), table.column(i).cast(local))
    return table
