"""Dates and times of any year: Python's end with the year 9999, and Arrow writes no text of far ones."""

import datetime

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.calendar import DAY, day_text, time_text
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
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_numbered(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_numbered(kind.key_type), _numbered(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(_numbered(kind.value_type)))
    return kind
