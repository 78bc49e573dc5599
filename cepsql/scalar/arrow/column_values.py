"""Arrow columns as the plain Python values that expressions compute with, and their Spark types."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import pyarrow as pa

from cepsql.scalar.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VOID,
    Type,
    array_of,
    decimal,
    is_decimal,
    is_number,
)

Value: TypeAlias = pa.Array | pa.Scalar
"""A value for each row, or one for all."""

_TYPES = {
    pa.bool_(): BOOLEAN, pa.int8(): TINYINT, pa.int16(): SMALLINT, pa.int32(): INT, pa.int64(): BIGINT,
    pa.float32(): FLOAT, pa.float64(): DOUBLE, pa.string(): STRING, pa.large_string(): STRING, pa.binary(): BINARY,
    pa.large_binary(): BINARY, pa.date32(): DATE, pa.null(): VOID,
}  # fmt: skip

_ARROW_TYPES = {
    BOOLEAN: pa.bool_(), TINYINT: pa.int8(), SMALLINT: pa.int16(), INT: pa.int32(), BIGINT: pa.int64(),
    FLOAT: pa.float32(), DOUBLE: pa.float64(), STRING: pa.string(), BINARY: pa.binary(), DATE: pa.date32(),
    VOID: pa.null(),
    TIMESTAMP: pa.timestamp("us", "UTC"), TIMESTAMP_NTZ: pa.timestamp("us"),
}  # fmt: skip


def type_of(type: pa.DataType) -> Type:
    """Return the Spark type of an Arrow type; one of a name of its own where expressions compute with none.

    Of an interval Arrow does not tell the units: see `cepsql.pattern.program.MatchProgram.intervals`.
    """
    if pa.types.is_timestamp(type):
        return TIMESTAMP if type.tz else TIMESTAMP_NTZ
    if pa.types.is_decimal(type):
        return decimal(type.precision, type.scale)
    if pa.types.is_duration(type):
        return INTERVAL
    if pa.types.is_list(type):
        return in_rows(array_of(type_of(type.value_type)), str(type))
    if pa.types.is_map(type):
        return in_rows(Type("map", arguments=(type_of(type.key_type), type_of(type.item_type))), str(type))
    return _TYPES.get(type) or Type(str(type))


def in_rows(kind: Type, name: str) -> Type:
    """Return the type by which expressions compute with the values of a column: one of this name if with none."""
    # In an array or map values of other types are not the plain ones that expressions compute with.
    plain = all(is_number(inner) or inner in (STRING, BOOLEAN) for inner in kind.arguments)
    return kind if plain and kind != UNKNOWN else Type(name)


def arrow_type(type: Type) -> pa.DataType:
    """Return the Arrow type of the values of a Spark type that Arrow computes with.

    Raises KeyError for other types.
    """
    if type.name == INTERVAL.name:
        return pa.duration("us")
    return pa.decimal128(type.precision, type.scale) if is_decimal(type) else _ARROW_TYPES[type]


def all_rows(value: Value, rows: int) -> pa.Array:
    """Return a value for each row."""
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def one_for_all(result: pa.Array, *arguments: Value) -> Value:
    """Return a result of constants, which has one row, as a constant."""
    return result[0] if all(isinstance(argument, pa.Scalar) for argument in arguments) else result


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
