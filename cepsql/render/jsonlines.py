"""Rows as JSON, one object a line."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepsql.base.calendar import day_text
from cepsql.render.far_times import iso_time, python_values
from cepsql.render.scalars import duration_text, float_text
from cepsql.render.variant import is_variant, variant_value

_CONTROL = re.compile("[\x7f-\x9f]")


def json_rows(rows: pa.Table, names: Sequence[str], zone: str) -> Iterator[str]:
    """Yield each row as one JSON object without a line end."""
    keys = [_string(name) + ":" for name in names]
    columns = [_texts(column, zone) for column in rows.columns]
    for row in zip(*columns, strict=True):
        yield "{" + ",".join(key + text for key, text in zip(keys, row, strict=True)) + "}"


def _texts(column: pa.ChunkedArray, zone: str) -> list[str]:
    return [json_text(value, column.type, zone) for value in python_values(column)]


def json_text(value: Any, kind: pa.DataType, zone: str) -> str:
    """Return one value of an Arrow type, in the form of `python_values`, as JSON.

    Decimals are numbers with all their digits, NaN and infinities strings, binary base64, timestamps ISO 8601 (with the
    offset of `zone`, or none for TIMESTAMP_NTZ). A map is an object if its keys are strings, otherwise a list of
    [key, value] pairs. A VARIANT is its content.

    >>> from decimal import Decimal
    >>> json_text([Decimal("1.50"), None], pa.list_(pa.decimal128(5, 2)), "UTC")
    '[1.50,null]'
    """
    if value is None:
        return "null"
    if pa.types.is_boolean(kind):
        return "true" if value else "false"
    if pa.types.is_integer(kind):
        return str(value)
    if pa.types.is_floating(kind):
        text = float_text(value, np.float32 if pa.types.is_float32(kind) else float)
        return f'"{text}"' if text[-1] in "Ny" else text
    if pa.types.is_decimal(kind):
        return format(value, "f")
    if pa.types.is_timestamp(kind):
        return f'"{iso_time(value, None if kind.tz is None else zone)}"'
    if pa.types.is_date(kind):
        return f'"{day_text(value) if isinstance(value, int) else value.isoformat()}"'
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return f'"{base64.b64encode(value).decode("ascii")}"'
    if pa.types.is_duration(kind):
        return f'"{duration_text(value)}"'
    if is_variant(kind):
        return _variant(variant_value(value["value"], value["metadata"]), zone)
    if pa.types.is_struct(kind):
        return "{" + ",".join(_string(f.name) + ":" + json_text(value[f.name], f.type, zone) for f in kind) + "}"
    if pa.types.is_map(kind):
        return _map(value, kind, zone)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return "[" + ",".join(json_text(item, kind.value_type, zone) for item in value) + "]"
    return _string(str(value))


def _variant(value: Any, zone: str) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_string(name)}:{_variant(item, zone)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ",".join(_variant(item, zone) for item in value) + "]"
    return json_text(value, pa.scalar(value).type, zone)


def _map(pairs: list[tuple[object, object]], kind: pa.MapType, zone: str) -> str:
    texts = [(json_text(key, kind.key_type, zone), json_text(item, kind.item_type, zone)) for key, item in pairs]
    if pa.types.is_string(kind.key_type) or pa.types.is_large_string(kind.key_type):
        return "{" + ",".join(f"{key}:{item}" for key, item in texts) + "}"
    return "[" + ",".join(f"[{key},{item}]" for key, item in texts) + "]"


def _string(text: str) -> str:
    # JSON does not escape control characters that some terminals execute.
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
