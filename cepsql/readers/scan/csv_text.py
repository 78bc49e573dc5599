"""Rows as lines of CSV, exactly as Spark's writer writes them, for columns where that is simple."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.scalar.types import BOOLEAN, DATE, FRACTIONS, INTEGERS, STRING, TIMESTAMP, Type, is_decimal
from cepsql.scalar.zone import Zone

SEPARATOR = ","
_COMMENT = "#"
_ESCAPED = r'["\\\x00-\x1f\x7f]'
"""Matches texts that only Spark can write."""
_SIGNS = (b'"', b"\\", b"\x7f", SEPARATOR.encode())
_FIRST_SIGN = ord(" ")
"""A non-empty text without _SIGNS and characters before this one is written unchanged."""
_SMALL, _GREAT = 1e-3, 1e7
"""Numbers between these are written without exponent."""
_PLAIN_SCALE = 6
"""Decimals with a larger scale can have an exponent."""
_CLOCK_SIGNS, _CLOCK_SPACE = len("2026-01-01 12:00:00.000000"), len("2026-01-01")
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = (day.toordinal() - _EPOCH for day in (datetime.date.min, datetime.date.max))
"""Days since the epoch; years outside them have a sign."""


def has_csv_text(type: Type) -> bool:
    """Tell whether `csv_lines` can write values of a type."""
    decimal = is_decimal(type) and 0 <= type.scale <= _PLAIN_SCALE
    return decimal or type in (*INTEGERS, *FRACTIONS, BOOLEAN, STRING, DATE, TIMESTAMP)


def csv_lines(rows: pa.RecordBatch, zone: Zone) -> memoryview | None:
    """Return the lines of rows in UTF-8, each with its line end; None if only Spark can write a value.

    rows: of two columns or more, of types for which `has_csv_text` is true.
    zone: the session's time zone, in which times are written.
    """
    texts = []
    for number, column in enumerate(rows.columns):
        text = _texts(column, zone, begins=number == 0)
        if text is None:
            return None
        texts.append(pc.fill_null(text, ""))
    texts[-1] = pc.binary_join_element_wise(texts[-1], "", "\n")
    lines = pc.binary_join_element_wise(*texts, SEPARATOR)
    _, ends, data = lines.buffers()
    places = memoryview(ends).cast("i")
    return memoryview(data)[places[lines.offset] : places[lines.offset + len(lines)]]


def _texts(column: pa.Array, zone: Zone, begins: bool) -> pa.Array | None:
    kind = column.type
    if pa.types.is_string(kind):
        return _marked(column, begins)
    if pa.types.is_timestamp(kind):
        return _times(column, zone)
    if pa.types.is_floating(kind):
        return _fractions(column)
    if pa.types.is_date(kind) and not _has_plain_years(column.view(pa.int32()), 1):
        return None
    return column.cast(pa.string())


def _marked(column: pa.Array, begins: bool) -> pa.Array | None:
    """Return texts, quoted if they are empty, contain a separator, or would make a line a comment.

    begins: lines begin with these texts.
    """
    if _stand_as_they_are(column, begins):
        return column
    if pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py():
        return None
    quoted = pc.or_(pc.match_substring(column, SEPARATOR), pc.equal(column, ""))
    if begins:
        quoted = pc.or_(quoted, pc.starts_with(column, _COMMENT))
    return pc.if_else(quoted, pc.binary_join_element_wise('"', column, '"', ""), column)


def _stand_as_they_are(column: pa.Array, begins: bool) -> bool:
    """Tell whether all texts are written unchanged: none is empty or has a special character."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    # Arrow may have no buffer for texts without bytes.
    octets = np.frombuffer(column.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
    if np.any(ends[1:] == ends[:-1]) and pc.any(pc.equal(column, "")).as_py():
        return False
    signs = (*_SIGNS, _COMMENT.encode()) if begins else _SIGNS
    text = octets.tobytes()
    return not (octets.min(initial=_FIRST_SIGN) < _FIRST_SIGN or any(sign in text for sign in signs))


def _fractions(column: pa.Array) -> pa.Array | None:
    """Return numbers as Java writes them, with the fewest digits that identify them: 1.0, 1.5E10.

    None if some are subnormal: they have fewer digits.
    """
    texts, size = column.cast(pa.string()), pc.abs(column)
    whole = pc.invert(pc.match_substring(texts, "."))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    usual = pc.or_(pc.equal(size, 0), pc.and_(pc.greater_equal(size, _SMALL), pc.less(size, _GREAT)))
    others = pc.invert(pc.fill_null(usual, True))
    values = column.filter(others).to_numpy()
    if np.any(np.abs(values) < np.finfo(values.dtype).smallest_normal):
        return None
    exponent_texts = [_with_exponent(value) for value in values]
    return pc.replace_with_mask(texts, others, pa.array(exponent_texts, pa.string()))


def _with_exponent(value: np.floating) -> str:
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    digits, _, exponent = np.format_float_scientific(value, trim="0", exp_digits=1).partition("e")
    return f"{digits}E{int(exponent)}"


def _times(column: pa.Array, zone: Zone) -> pa.Array | None:
    """Return times as yyyy-MM-ddTHH:mm:ss.SSSSSS with their offset from UTC."""
    null = column.is_null()
    instants = column.view(pa.int64()).fill_null(0).to_numpy()
    clocks = zone.clocks(instants)
    if not _has_plain_years(pa.array(clocks), DAY):
        return None
    texts = pa.array(clocks).view(pa.timestamp("us")).cast(pa.string())
    signs = np.frombuffer(texts.buffers()[2], np.uint8, len(texts) * _CLOCK_SIGNS).reshape(-1, _CLOCK_SIGNS).copy()
    signs[:, _CLOCK_SPACE] = ord("T")
    texts = pa.StringArray.from_buffers(len(texts), texts.buffers()[1], pa.py_buffer(signs))
    offsets = pa.array((clocks - instants) // 1_000_000).dictionary_encode()
    offset_texts = pa.array([_offset(seconds) for seconds in offsets.dictionary.to_pylist()], pa.string())
    texts = pc.binary_join_element_wise(
        texts, offset_texts[0] if len(offset_texts) == 1 else offset_texts.take(offsets.indices), ""
    )
    return pc.if_else(null, None, texts) if column.null_count else texts


def _offset(seconds: int) -> str:
    if seconds == 0:
        return "Z"
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{rest:02}" if rest else text


def _has_plain_years(times: pa.Array, day: int) -> bool:
    """Tell whether all times are in the years 1 to 9999; `day` is the length of a day in their unit."""
    ends = pc.min_max(times)
    first, last = ends["min"].as_py(), ends["max"].as_py()
    return first is None or (first >= _FIRST_DAY * day and last < (_LAST_DAY + 1) * day)
