"""Convert columns of texts to columns of values by the rules of Spark's CSV reader, value by value if need be."""

import math
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.decimals import exponent
from cepsql.scalar.times import parse_date, parse_timestamp
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FRACTIONS,
    INT,
    INTEGERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    is_decimal,
)
from cepsql.scalar.values import whole_number
from cepsql.scalar.zone import Zone

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DOUBLE = re.compile(
    rf"{_NUMBER}[fFdD]?|[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?", re.ASCII
)
_DECIMAL = re.compile(_NUMBER)
_INTEGER = re.compile(r"[+-]?\d+")
_SPECIAL = {"NaN": "nan", "Inf": "inf", "-Inf": "-inf"}
_JAVA_SPECIAL = {
    sign + name: ("-" if sign == "-" else "") + value
    for sign in ("", "+", "-")
    for name, value in (("NaN", "nan"), ("Infinity", "inf"))
}
_LEAST_SCALE = 646_456_993
"""The number of decimal places from which on Java can't round a number other than 0."""

_BLANK = "".join(map(chr, range(33)))

_PLAIN = {
    TINYINT: r"^-?\d{1,2}$",
    SMALLINT: r"^-?\d{1,4}$",
    INT: r"^-?\d{1,9}$",
    BIGINT: r"^-?\d{1,18}$",
    FLOAT: r"^-?\d+(\.\d*)?$",
    DOUBLE: r"^-?\d+(\.\d*)?$",
    DATE: r"^\d{4}-\d\d-\d\d$",
    TIMESTAMP: r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?$",
}
"""Patterns of texts that Arrow casts as Spark does, for most values of a type."""

_EXACT_TIME = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-](0\d|1[0-7]):[0-5]\d)?$"
_LOCAL_TIME, _ZONE = r"^(.{19}(?:\.\d{1,6})?).*$", r"^.{19}(?:\.\d+)?"
"""In a time with any number of digits and perhaps a zone: the part that Arrow casts, and the part before the zone."""


def text_values(texts: pa.Array, type: Type, zone: Zone) -> tuple[pa.Array, np.ndarray]:
    """Read a column of texts as a type.

    texts: STRING, NULL where the file has no value.
    Returns the column, and a mask of texts that are not of the type and become NULL.
    """
    if type == STRING:
        return texts, np.zeros(len(texts), bool)
    pattern = _plain(type)
    plain = pc.fill_null(pc.match_substring_regex(texts, pattern), False) if pattern else None
    if plain is not None:
        try:
            values = _cast(pc.if_else(plain, texts, pa.scalar(None, pa.string())), type, zone)
        except pa.ArrowInvalid:
            plain = None
    if plain is None:
        plain = pa.repeat(False, len(texts))
        values = pa.nulls(len(texts), arrow_type(type))
    odd = pc.and_(pc.invert(plain), pc.is_valid(texts))
    bad = np.zeros(len(texts), bool)
    places = np.flatnonzero(odd.to_numpy(zero_copy_only=False))
    if len(places):
        read, wrong = (_read_times if type == TIMESTAMP else _read_odd)(texts.take(pa.array(places)), type, zone)
        values = pc.replace_with_mask(values, odd, read)
        bad[places] = wrong
    return values, bad


def parse_text(text: str, type: Type, zone: Zone) -> object:
    """Return the value of a text, as `pyarrow.array` takes it for the type, or None if it is not of the type."""
    if type in INTEGERS:
        return _integer(text, arrow_type(type).bit_width) if _INTEGER.fullmatch(text) else None
    if type in FRACTIONS:
        return _floating(text, type)
    if type == BOOLEAN:
        return {"true": True, "false": False}.get(text.lower())
    if type == DATE:
        return parse_date(text)
    if type == TIMESTAMP:
        return parse_timestamp(text, zone)
    if is_decimal(type):
        return _decimal(text.replace(",", ""), arrow_type(type))
    raise TypeError(type)


def _plain(type: Type) -> str | None:
    if not is_decimal(type):
        return _PLAIN.get(type)
    decimal: Any = arrow_type(type)
    whole = decimal.precision - decimal.scale
    fraction = rf"(\.\d{{0,{decimal.scale}}})?" if decimal.scale else ""
    return rf"^-?\d{{1,{whole}}}{fraction}$" if whole else None


def _cast(texts: pa.Array, type: Type, zone: Zone) -> pa.Array:
    if type != TIMESTAMP:
        return pc.cast(texts, arrow_type(type))
    return at_zone(pc.cast(texts, pa.timestamp("us")), zone)


def at_zone(local: pa.Array, zone: Zone) -> pa.Array:
    """Convert TIMESTAMPs without zone, local to the zone, to instants."""
    if not zone.begins and not zone.offsets[0]:
        return local.view(pa.timestamp("us", "UTC"))
    instants = zone.instants(local.view(pa.int64()).fill_null(0).to_numpy())
    mask = local.is_null().to_numpy(zero_copy_only=False) if local.null_count else None
    return pa.array(instants, mask=mask).view(pa.timestamp("us", "UTC"))


def _read_times(texts: pa.Array, type: Type, zone: Zone) -> tuple[pa.Array, np.ndarray]:
    """Read times with a zone, or with more digits than Arrow accepts, with Arrow; other texts one by one."""
    exact = pc.match_substring_regex(texts, _EXACT_TIME)
    try:
        values = _exact_times(pc.if_else(exact, texts, pa.scalar(None, pa.string())), zone)
    except pa.ArrowInvalid:
        return _read_odd(texts, type, zone)
    wrong = np.zeros(len(texts), bool)
    others = pc.invert(exact)
    places = np.flatnonzero(others.to_numpy(zero_copy_only=False))
    if len(places):
        read, wrong[places] = _read_odd(texts.take(pa.array(places)), type, zone)
        values = pc.replace_with_mask(values, others, read)
    return values, wrong


def _exact_times(texts: pa.Array, zone: Zone) -> pa.Array:
    """Return the instants of texts like _EXACT_TIME; raises ArrowInvalid if one is not a time."""
    local = pc.cast(pc.replace_substring_regex(texts, _LOCAL_TIME, r"\1"), pa.timestamp("us"))
    zones = pc.replace_substring_regex(texts, _ZONE, "").dictionary_encode()
    zone_texts = zones.dictionary.to_pylist()
    ahead = pa.array([_ahead(name) for name in zone_texts], pa.int64()).take(zones.indices)
    named = pa.array([bool(name) for name in zone_texts], pa.bool_()).take(zones.indices)
    instants = pc.subtract(local.view(pa.int64()), ahead).view(pa.timestamp("us", "UTC"))
    return pc.if_else(named, instants, at_zone(local, zone))


def _ahead(offset: str) -> int:
    """Return the microseconds by which an offset like +02:00 is ahead of UTC; 0 for Z and an empty text."""
    if offset in ("", "Z"):
        return 0
    size = (int(offset[1:3]) * 60 + int(offset[4:6])) * 60_000_000
    return -size if offset[0] == "-" else size


def _read_odd(texts: pa.Array, type: Type, zone: Zone) -> tuple[pa.Array, np.ndarray]:
    """Read texts one by one, each distinct text once."""
    encoded = texts.dictionary_encode()
    distinct = [parse_text(text, type, zone) for text in encoded.dictionary.to_pylist()]
    wrong = np.array([value is None for value in distinct], bool)
    places = encoded.indices
    return pa.array(distinct, arrow_type(type)).take(places), wrong[places.to_numpy(zero_copy_only=False)]


def _integer(text: str, bits: int) -> int | None:
    value = whole_number(text)
    return value if value is not None and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _floating(text: str, type: Type) -> float | None:
    if text in _SPECIAL:
        return float(_SPECIAL[text])
    text = text.strip(_BLANK)
    if text in _JAVA_SPECIAL:
        return float(_JAVA_SPECIAL[text])
    if not _DOUBLE.fullmatch(text):
        return None
    if "x" in text or "X" in text:
        return _hexadecimal(text.rstrip("fFdD") if "p" in text.lower() else text)
    text = text.rstrip("fFdD")
    if type == DOUBLE:
        return float(text)
    # Via a double, some numbers would be rounded twice.
    return float(np.float32(text)) if abs(float(text)) < 1e-37 else _single(text)


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if text[0] == "-" else math.inf


def _single(text: str) -> float:
    try:
        return pc.cast(pa.scalar(text.lstrip("+")), pa.float32()).as_py()
    except pa.ArrowInvalid:
        return float(np.float32(float(text)))


def _decimal(text: str, type: pa.Decimal128Type) -> Decimal | None:
    if not _DECIMAL.fullmatch(text):
        return None
    with localcontext() as context:
        context.prec = 400
        try:
            value = Decimal(text)
        except InvalidOperation:
            # Java doesn't read exponents with that many digits either.
            return None
        if -exponent(value) > (_LEAST_SCALE if value else 2**31 - 1) or exponent(value) >= 2**31:
            return None
        if value and value.adjusted() > 40:
            return None
        value = (value or Decimal(0)).quantize(Decimal(1).scaleb(-type.scale), ROUND_HALF_UP)
    return value if value.adjusted() < type.precision - type.scale or not value else None
