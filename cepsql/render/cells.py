"""The text of single values, the same for tables and CSV."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.render.far_times import far_texts, has_far_times, python_values
from cepsql.render.jsonlines import json_text
from cepsql.render.scalars import duration_text, float_text

Texts = list[str | None]


def cells(values: pa.ChunkedArray, zone: str) -> Texts:
    """Give the text of each value of a column, None for NULL.

    Timestamps read as in Spark SQL, in the time zone `zone`, without trailing zeros after the second; binary is `\\x`
    and hexadecimal digits; arrays, maps and structs are JSON.
    """
    kind = values.type
    if has_far_times(values):
        return far_texts(values, zone)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind):
        return values.cast(pa.string()).to_pylist()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.to_pylist()
    if pa.types.is_timestamp(kind):
        return _timestamps(values, zone)
    convert = _converter(kind, zone)
    return [None if value is None else convert(value) for value in python_values(values)]


def _timestamps(values: pa.ChunkedArray, zone: str) -> Texts:
    if values.type.tz is not None:
        values = pc.local_timestamp(values.cast(pa.timestamp("us", zone)))
    text = values.cast(pa.timestamp("us")).cast(pa.string())
    # Two steps, as RE2 has no look-ahead: zeros after the decimal point, then a point left bare.
    text = pc.replace_substring_regex(text, r"(\.\d*?)0+$", r"\1")
    return pc.replace_substring_regex(text, r"\.$", "").to_pylist()


def _converter(kind: pa.DataType, zone: str) -> Callable[[Any], str]:
    if pa.types.is_float32(kind):
        return lambda value: float_text(value, np.float32)
    if pa.types.is_floating(kind):
        return float_text
    if pa.types.is_decimal(kind):
        return lambda value: format(value, "f")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return lambda value: "\\x" + value.hex()
    if pa.types.is_duration(kind):
        return duration_text
    return lambda value: json_text(value, kind, zone)
