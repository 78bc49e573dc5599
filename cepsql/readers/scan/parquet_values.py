"""Values of Parquet in the declared types: which casts are exact, and which Spark reads without a cast."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.readers.scan.texts import text_values
from cepsql.scalar.arrow.column_values import type_of
from cepsql.scalar.zone import Zone

INTERVAL = pa.month_day_nano_interval()
"""The type for Parquet's INTERVAL, which Arrow reads as 12 bytes: months, days and milliseconds."""

_UUID = "arrow.uuid"
_PER_MICRO = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The maximum number of digits of an integer, by its bits."""


@dataclass(frozen=True)
class ParquetReading:
    """How the values of a column are read as the declared type.

    spark:   Spark's own scan reads the same values.
    checked: values may not fit; a row with such a value is malformed.
    """

    spark: bool
    checked: bool = False


_SAME, _CAST = ParquetReading(spark=True), ParquetReading(spark=False)
_CHECKED = ParquetReading(spark=False, checked=True)


def reading(held: pa.DataType, declared: pa.DataType) -> ParquetReading | None:
    """Return how Arrow reads values of one type as another; None if a cast would not be exact.

    held: Arrow's type of the column in the file, INTERVAL for Parquet's INTERVAL.
    """
    held = _stored(held)
    if _is_list(held) and _is_list(declared):
        return reading(held.value_type, declared.value_type)
    if pa.types.is_map(held) and pa.types.is_map(declared):
        return _worst([reading(held.key_type, declared.key_type), reading(held.item_type, declared.item_type)])
    if pa.types.is_struct(held) and pa.types.is_struct(declared):
        return _worst([reading(part.type, _part(declared, part.name)) for part in held if _part(declared, part.name)])
    if pa.types.is_nested(held) or pa.types.is_nested(declared):
        return _CAST if pa.types.is_null(held) else None
    return _of_times(held, declared) or _of_numbers(held, declared) or _of_texts(held, declared)


def converted(column: pa.Array, held: pa.DataType, declared: pa.DataType, zone: Zone) -> tuple[pa.Array, np.ndarray]:
    """Return a column as the declared type, and a mask of the values that do not fit and become NULL.

    Times are truncated to microseconds. A date becomes its midnight in the zone.
    held, declared: types for which there is a `reading`.
    """
    fits = np.zeros(len(column), bool)
    if isinstance(column, pa.ExtensionArray) and held.extension_name != _UUID:
        column = column.storage
    if pa.types.is_dictionary(column.type) or pa.types.is_run_end_encoded(column.type):
        column = pc.cast(column, column.type.value_type)
    held = held if held == INTERVAL else column.type
    if held == declared:
        return column, fits
    if pa.types.is_null(held):
        return pa.nulls(len(column), declared), fits
    if pa.types.is_nested(held):
        return _nested(column, declared, zone)
    if held == INTERVAL and pa.types.is_duration(declared):
        return _spans(column)
    if isinstance(held, pa.BaseExtensionType):
        return _uuids(column, declared), fits
    if held != INTERVAL and pa.types.is_temporal(held):
        return _times(column, declared, zone)
    if _is_text(held) and pa.types.is_temporal(declared):
        return text_values(pc.cast(column, pa.string()), type_of(declared), zone)
    if pa.types.is_decimal(declared) and pa.types.is_integer(held):
        column = pc.cast(column, pa.decimal128(min(38, _DIGITS[held.bit_width] + declared.scale), declared.scale))
    return _cast(column, declared)


def plain_type(held: pa.DataType) -> pa.DataType:
    """Return Spark's type, as an Arrow type, of a file's column without a declared type."""
    held = _stored(held)
    if _is_list(held):
        return pa.list_(plain_type(held.value_type))
    if pa.types.is_map(held):
        return pa.map_(plain_type(held.key_type), plain_type(held.item_type))
    if pa.types.is_struct(held):
        return pa.struct([pa.field(part.name, plain_type(part.type)) for part in held])
    if pa.types.is_timestamp(held):
        return pa.timestamp("us", held.tz)
    if pa.types.is_duration(held):
        return pa.duration("us")
    if held == INTERVAL or pa.types.is_fixed_size_binary(held):
        # Months have no fixed length.
        return pa.binary()
    if pa.types.is_unsigned_integer(held):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}[held.bit_width]
    if held == pa.float16():
        return pa.float32()
    if pa.types.is_time(held) or pa.types.is_null(held) or _is_text(held) or isinstance(held, pa.BaseExtensionType):
        return pa.string()
    return pa.decimal128(held.precision, held.scale) if pa.types.is_decimal(held) else held


def _stored(type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return type.value_type
    if isinstance(type, pa.BaseExtensionType) and type.extension_name != _UUID:
        return type.storage_type
    return type


def _worst(readings: list[ParquetReading | None]) -> ParquetReading | None:
    castable = [one for one in readings if one is not None]
    if len(castable) < len(readings):
        return None
    return ParquetReading(all(one.spark for one in castable), any(one.checked for one in castable))


def _part(struct: pa.StructType, name: str) -> pa.DataType | None:
    """Return the type of a field, whatever the case of its name."""
    return next((field.type for field in struct if field.name.lower() == name.lower()), None)


def _of_times(held: pa.DataType, declared: pa.DataType) -> ParquetReading | None:
    fine = getattr(held, "unit", None) == "ns"
    raw = declared == pa.int64()
    if pa.types.is_timestamp(held):
        if pa.types.is_timestamp(declared):
            return _CAST if fine else _SAME
        return _SAME if raw else None
    if pa.types.is_date(held):
        if pa.types.is_timestamp(declared):
            return _CAST if declared.tz else _SAME
        return _SAME if pa.types.is_date(declared) else None
    if pa.types.is_time(held):
        if raw:
            return _SAME
        return _CAST if _is_text(declared) or pa.types.is_duration(declared) else None
    if pa.types.is_duration(held):
        if pa.types.is_duration(declared):
            return _SAME if held.unit == "us" else _CAST
        return _SAME if raw else None
    if held == INTERVAL:
        return _CHECKED if pa.types.is_duration(declared) else _SAME if pa.types.is_binary(declared) else None
    return None


def _of_numbers(held: pa.DataType, declared: pa.DataType) -> ParquetReading | None:
    if pa.types.is_null(held):
        return _CAST
    if pa.types.is_integer(held):
        return _of_integers(held, declared)
    if pa.types.is_floating(held):
        if pa.types.is_integer(declared):
            return _CHECKED
        if pa.types.is_floating(declared) and held.bit_width <= declared.bit_width:
            return _CAST if held == pa.float16() else _SAME
        return None
    if pa.types.is_decimal(held):
        if pa.types.is_decimal(declared):
            whole, places = held.precision - held.scale, held.scale
            return _SAME if whole <= declared.precision - declared.scale and places <= declared.scale else _CHECKED
        if pa.types.is_floating(declared):
            return _CAST
        return _CHECKED if pa.types.is_integer(declared) else None
    return None


def _of_integers(held: pa.DataType, declared: pa.DataType) -> ParquetReading | None:
    unsigned = pa.types.is_unsigned_integer(held)
    bits = held.bit_width + unsigned
    if pa.types.is_integer(declared):
        return _SAME if bits <= declared.bit_width else _CHECKED
    if pa.types.is_decimal(declared):
        room = declared.precision - declared.scale
        if room < _DIGITS[held.bit_width] - (held == pa.int64()):
            return _CHECKED
        # Spark reads only the widest unsigned integers as DECIMAL(20, 0).
        if unsigned and declared != pa.decimal128(20, 0):
            return _CAST
        return ParquetReading(held != pa.uint32() or not unsigned)
    if pa.types.is_floating(declared):
        exact = bits <= (53 if declared == pa.float64() else 24)
        return ParquetReading(spark=held in (pa.int8(), pa.int16()) and exact, checked=not exact)
    return _CAST if _is_text(declared) else None


def _of_texts(held: pa.DataType, declared: pa.DataType) -> ParquetReading | None:
    if held == declared:
        return _SAME
    if _is_text(held):
        if _is_text(declared) or pa.types.is_binary(declared):
            return _SAME
        local = pa.types.is_timestamp(declared) and declared.tz is None
        return _CHECKED if pa.types.is_date(declared) or (pa.types.is_timestamp(declared) and not local) else None
    if isinstance(held, pa.BaseExtensionType):
        return _CAST if _is_text(declared) else _SAME if pa.types.is_binary(declared) else None
    if pa.types.is_large_binary(held) or pa.types.is_fixed_size_binary(held) or pa.types.is_binary_view(held):
        return _SAME if pa.types.is_binary(declared) else None
    if pa.types.is_boolean(held):
        return _CAST if _is_text(declared) else None
    return None


def _is_text(type: pa.DataType) -> bool:
    return pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)


def _is_list(type: pa.DataType) -> bool:
    return pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type)


def _cast(column: pa.Array, declared: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """Cast the values that fit; halve the column until those that do not fit are isolated."""
    try:
        return pc.cast(column, declared), np.zeros(len(column), bool)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return pa.nulls(1, declared), np.ones(1, bool)
    middle = len(column) // 2
    halves = [_cast(part, declared) for part in (column[:middle], column[middle:])]
    return pa.concat_arrays([values for values, _ in halves]), np.concatenate([bad for _, bad in halves])


def _times(column: pa.Array, declared: pa.DataType, zone: Zone) -> tuple[pa.Array, np.ndarray]:
    held = column.type
    if _is_text(declared):
        texts = pc.cast(_micros(column, pa.time64("us"))[0], pa.string())
        return pc.replace_substring_regex(texts, r"(\.\d*[1-9])?\.?0+$|\.0+$", r"\1"), np.zeros(len(column), bool)
    if declared == pa.int64():
        raw = column.view(pa.int32()) if held.bit_width == 32 else column.view(pa.int64())
        return pc.cast(raw, pa.int64()), np.zeros(len(column), bool)
    if pa.types.is_date(held):
        days = pc.cast(column, pa.date32())
        if pa.types.is_date(declared):
            return days, np.zeros(len(column), bool)
        local = pc.fill_null(days.view(pa.int32()), 0).to_numpy().astype(np.int64) * DAY
        micros = zone.instants(local) if declared.tz else local
        return _like(micros, column, declared), np.zeros(len(column), bool)
    return _micros(column, declared)


def _micros(column: pa.Array, declared: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """Return times or spans in microseconds, rounded down."""
    held = column.type
    factor, divisor = _PER_MICRO[held.unit]
    numbers = column.view(pa.int32() if held.bit_width == 32 else pa.int64())
    plain = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    bad = np.abs(plain // 2) > (2**62 - 1) // factor
    return _like(np.where(bad, 0, plain) * factor // divisor, column, declared, bad), bad


def _like(numbers: np.ndarray, column: pa.Array, declared: pa.DataType, bad: np.ndarray | None = None) -> pa.Array:
    """Return numbers as a type, NULL where the column is NULL, or where `bad` is true."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(numbers, pa.int64(), mask=missing if bad is None else missing | bad).view(declared)


def _spans(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return Parquet's intervals as days and fractions; months have no fixed length."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    joined = b"".join(value or bytes(12) for value in column.to_pylist())
    months, days, millis = np.frombuffer(joined, "<u4").reshape(-1, 3).astype(np.int64).T
    bad = (months != 0) & ~missing
    micros = days.astype("<u4").view("<i4").astype(np.int64) * DAY + millis.astype("<u4").view("<i4") * np.int64(1000)
    return pa.array(micros, pa.int64(), mask=missing | bad).view(pa.duration("us")), bad


def _uuids(column: pa.ExtensionArray, declared: pa.DataType) -> pa.Array:
    if pa.types.is_binary(declared):
        return pc.cast(column.storage, declared)
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], declared)


def _nested(column: pa.Array, declared: pa.DataType, zone: Zone) -> tuple[pa.Array, np.ndarray]:
    missing = column.is_null()
    if pa.types.is_struct(declared):
        parts, bad = [], np.zeros(len(column), bool)
        held = {column.type.field(i).name.lower(): i for i in range(column.type.num_fields)}
        for field in declared:
            place = held.get(field.name.lower())
            if place is None:
                parts.append(pa.nulls(len(column), field.type))
                continue
            part = column.field(place)
            values, wrong = converted(part, part.type, field.type, zone)
            parts.append(values)
            bad |= wrong
        bad &= ~missing.to_numpy(zero_copy_only=False)
        return pa.StructArray.from_arrays(parts, fields=list(declared), mask=missing), bad
    lists = pc.cast(column, pa.list_(_entry(column.type))) if pa.types.is_map(declared) else column
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    parents = np.repeat(np.arange(len(column)), lengths)
    bad = np.zeros(len(column), bool)
    if pa.types.is_map(declared):
        entries = pc.list_flatten(lists)
        keys, wrong_keys = converted(entries.field(0), column.type.key_type, declared.key_type, zone)
        items, wrong_items = converted(entries.field(1), column.type.item_type, declared.item_type, zone)
        bad[parents[wrong_keys | wrong_items]] = True
        return _with_nulls(pa.MapArray.from_arrays(offsets, keys, items), missing, declared), bad
    values, wrong = converted(pc.list_flatten(column), column.type.value_type, declared.value_type, zone)
    bad[parents[wrong]] = True
    return _with_nulls(pa.ListArray.from_arrays(offsets, values), missing, declared), bad


def _entry(map: pa.MapType) -> pa.DataType:
    return pa.struct([pa.field("key", map.key_type, nullable=False), pa.field("value", map.item_type)])


def _with_nulls(column: pa.Array, missing: pa.Array, declared: pa.DataType) -> pa.Array:
    return pc.if_else(missing, pa.scalar(None, column.type), column).cast(declared)
