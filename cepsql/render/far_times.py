"""Dates and times of any year: Python's end with the year 9999, and Arrow writes no text of far ones."""

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY, day_text, time_text
from cepsql.render.scalars import zone_info

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_CYCLE = 146_097 * DAY
"""Microseconds of 400 years, after which the calendar comes again, with the weekdays that summer time goes by."""

_FIRST = (datetime.datetime(1, 1, 3) - _EPOCH) // _MICROSECOND
_END = (datetime.datetime(9999, 12, 30) - _EPOCH) // _MICROSECOND
"""From the one to the other, clocks of every zone show a year from 1 to 9999."""


def python_values(column: pa.ChunkedArray | pa.Array) -> list:
    """Return values as `to_pylist` does; if one of their dates and times has no place in Python, all of these as the
    numbers of days and microseconds since 1970."""
    try:
        return column.to_pylist()
    except OverflowError:
        return column.cast(_numbered(column.type)).to_pylist()


def for_python(rows: pa.Table) -> pa.Table:
    """Return rows that Python can hold: columns with a date or time outside the years 1 to 9999 are text.

    Such a column has all its values as Spark casts them to STRING, times as clocks in the column's time zone show them;
    one of arrays, structs or maps has texts within. Columns without such a value stay as they are.
    """
    for number, column in enumerate(rows.columns):
        if _holds_far_times(column):
            field = rows.schema.field(number)
            texts = _with_texts(column)
            rows = rows.set_column(number, field.with_type(texts.type), texts)
    return rows


def _holds_far_times(column: pa.ChunkedArray) -> bool:
    """Tell whether a column has far times, or holds them in arrays, structs or maps."""
    kind = column.type
    if pa.types.is_struct(kind):
        return any(_holds_far_times(pc.struct_field(column, number)) for number in range(kind.num_fields))
    if pa.types.is_map(kind):
        parts = [part for chunk in column.chunks for part in (chunk.keys, chunk.items)]
        return any(_holds_far_times(pa.chunked_array([part])) for part in parts)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _holds_far_times(pc.list_flatten(column))
    return has_far_times(column)


def _with_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if not pa.types.is_nested(kind):
        return pa.chunked_array([far_texts(column, getattr(kind, "tz", None) or "UTC")], pa.string())
    numbers = column.cast(_numbered(kind)).to_pylist()
    return pa.chunked_array([[_text_within(value, kind) for value in numbers]], _worded(kind))


def _text_within(value: Any, kind: pa.DataType) -> Any:
    """Return a value, of which dates and times are numbers, with texts in their places."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _text_within(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(_text_within(key, kind.key_type), _text_within(item, kind.item_type)) for key, item in value]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_text_within(part, kind.value_type) for part in value]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return far_texts(pa.chunked_array([[value]], _numbered(kind)).cast(kind), getattr(kind, "tz", None) or "UTC")[0]
    return value


def has_far_times(column: pa.ChunkedArray) -> bool:
    """Tell whether a column is one of dates, or times, for one of which clocks of some zone show no year from 1 to
    9999."""
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return False
    unit = DAY if pa.types.is_date(column.type) else 1
    ends = pc.min_max(column.cast(_numbered(column.type)))
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return low is not None and (low * unit < _FIRST or high * unit >= _END)


def far_texts(column: pa.ChunkedArray, zone: str) -> list[str | None]:
    """Return a column of dates, or of times as clocks in `zone` show them, as Spark casts them to STRING."""
    write = day_text if pa.types.is_date(column.type) else time_text
    shift = _offset if getattr(column.type, "tz", None) is not None else lambda value, zone: 0
    numbers = column.cast(_numbered(column.type)).to_pylist()
    return [None if value is None else write(value + shift(value, zone)) for value in numbers]


def iso_time(value: datetime.datetime | int, zone: str | None) -> str:
    """Return a time that `python_values` gave in ISO 8601, with the offset of `zone`; None: it has none.

    >>> iso_time(253_402_300_799_000_000, "Europe/Berlin")
    '+10000-01-01T00:59:59+01:00'
    """
    if isinstance(value, datetime.datetime):
        try:
            return (value if zone is None else value.astimezone(zone_info(zone))).isoformat()
        except OverflowError:
            value = (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    if zone is None:
        return time_text(value).replace(" ", "T")
    offset = _near(value, zone).isoformat(timespec="hours")[len("2000-01-01T00") :]
    return time_text(value + _offset(value, zone)).replace(" ", "T") + offset


def _offset(micros: int, zone: str) -> int:
    """Return by how many microseconds clocks in a zone are ahead of UTC at an instant."""
    offset = _near(micros, zone).utcoffset()
    assert offset is not None
    return offset // _MICROSECOND


def _near(micros: int, zone: str) -> datetime.datetime:
    """Return a time at which clocks in a zone are as far ahead of UTC as at an instant."""
    near = max(_FIRST, micros if micros < _END else _END - _CYCLE + (micros - _END) % _CYCLE)
    return (_EPOCH + near * _MICROSECOND).replace(tzinfo=datetime.UTC).astimezone(zone_info(zone))


def _numbered(kind: pa.DataType) -> pa.DataType:
    """Return the type with whole numbers in place of dates and times."""
    return _with_times_as(kind, pa.int32(), pa.int64())


def _worded(kind: pa.DataType) -> pa.DataType:
    """Return the type with texts in place of dates and times."""
    return _with_times_as(kind, pa.string(), pa.string())


def _with_times_as(kind: pa.DataType, date: pa.DataType, time: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return time
    if pa.types.is_date(kind):
        return date
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_times_as(field.type, date, time)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_with_times_as(kind.key_type, date, time), _with_times_as(kind.item_type, date, time))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(_with_times_as(kind.value_type, date, time)))
    return kind
