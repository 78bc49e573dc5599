"""Arrow columns as the plain Python values that conditions compute with, and the names of their types."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
}


def spark_type(type: pa.DataType) -> str:
    """Return the Spark SQL type of an Arrow type, or Arrow's own name where conditions need none."""
    if pa.types.is_timestamp(type):
        return "timestamp" if type.tz else "timestamp_ntz"
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    return _NAMES.get(type, str(type))


def plain_values(rows: pa.Table, columns: Iterable[str]) -> dict[str, Sequence]:
    """Return columns as sequences: times as integer microseconds, dates as integer days, NULL as None."""
    return {name: _plain(rows.column(name)) for name in columns}


def _plain(column: pa.ChunkedArray) -> Sequence:
    type = column.type
    if pa.types.is_timestamp(type):
        column = column.cast(pa.timestamp("us", type.tz)).cast(pa.int64())
    elif pa.types.is_duration(type):
        column = column.cast(pa.duration("us")).cast(pa.int64())
    elif pa.types.is_date32(type):
        column = column.cast(pa.int32())
    # A view makes a plain number when it is read, and most never are; but it has no NULL.
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return memoryview(column.to_numpy())
    return column.to_pylist()
