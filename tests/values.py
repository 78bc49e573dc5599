"""Values in a form in which those of Spark and of Arrow can be compared."""

import math

import pyarrow as pa


def plain_sql(name: str, type: str) -> str:
    """Return the Spark SQL of a column that `plain_values` compares: times and dates as numbers."""
    wrapped = {"timestamp": f"unix_micros(`{name}`)", "date": f"unix_date(`{name}`)"}.get(type, f"`{name}`")
    return f"{wrapped} AS `{name}`"


def plain_values(column: pa.Array) -> list:
    """Return a column as values of Python, times, dates and intervals as numbers."""
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.view(pa.int64())
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    return [plain(value) for value in column.to_pylist()]


def plain(value):
    """Return a value that equals itself, with the sign of zero."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    return value
