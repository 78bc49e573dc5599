"""Values of VARIANT, which Spark returns as structs of two binaries in version 1 of Parquet's Variant Encoding."""

import datetime
import decimal
import struct
import uuid
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

_PRIMITIVE, _SHORT_TEXT, _OBJECT = 0, 1, 2
_CONSTANTS = {0: None, 1: True, 2: False}
_INTEGERS = {3: 1, 4: 2, 5: 4, 6: 8}
_DECIMALS = {8: 4, 9: 8, 10: 16}
"""The size of the number in bytes, by the id of the type."""

_DOUBLE, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ, _FLOAT, _BINARY, _TEXT, _UUID = 7, 11, 12, 13, 14, 15, 16, 20
_DIGITS = decimal.Context(prec=40)


def is_variant(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is Spark's VARIANT."""
    return pa.types.is_struct(kind) and any((field.metadata or {}).get(b"variant") == b"true" for field in kind)


def variant_value(value: bytes, metadata: bytes) -> Any:
    """Return a VARIANT as a dict, a list, or a Python or NumPy value; bytes for an unknown type.

    >>> variant_value(bytes.fromhex("020100000205 61"), bytes.fromhex("01010001 78"))
    {'x': 'a'}
    """
    size = (metadata[0] >> 6) + 1
    count = _number(metadata, 1, size)
    ends = [_number(metadata, 1 + size * (1 + i), size) for i in range(count + 1)]
    texts = metadata[1 + size * (count + 2) :]
    return _value(value, 0, [texts[begin:end].decode() for begin, end in pairwise(ends)])


def _value(data: bytes, at: int, keys: list[str]) -> Any:
    kind, header, begin = data[at] & 3, data[at] >> 2, at + 1
    if kind == _PRIMITIVE:
        return _primitive(data, begin, header)
    if kind == _SHORT_TEXT:
        return data[begin : begin + header].decode()
    large, id_size = (header >> 4, (header >> 2 & 3) + 1) if kind == _OBJECT else (header >> 2, 0)
    offset_size, count_size = (header & 3) + 1, 4 if large & 1 else 1
    count, ids = _number(data, begin, count_size), begin + count_size
    offsets = ids + count * id_size
    values = offsets + (count + 1) * offset_size
    elements = [
        _value(data, values + _number(data, offsets + i * offset_size, offset_size), keys) for i in range(count)
    ]
    if kind != _OBJECT:
        return elements
    return {keys[_number(data, ids + i * id_size, id_size)]: elements[i] for i in range(count)}


def _primitive(data: bytes, at: int, kind: int) -> Any:
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind in _INTEGERS:
        return _number(data, at, _INTEGERS[kind], signed=True)
    if kind in _DECIMALS:
        return decimal.Decimal(_number(data, at + 1, _DECIMALS[kind], signed=True)).scaleb(-data[at], _DIGITS)
    if kind in (_BINARY, _TEXT):
        content = data[at + 4 : at + 4 + _number(data, at, 4)]
        return content if kind == _BINARY else content.decode()
    if kind == _DOUBLE:
        return struct.unpack_from("<d", data, at)[0]
    if kind == _FLOAT:
        return np.float32(struct.unpack_from("<f", data, at)[0])
    if kind == _DATE:
        return np.datetime64(_number(data, at, 4, signed=True), "D").item()
    if kind in (_TIMESTAMP, _TIMESTAMP_NTZ):
        moment = np.datetime64(_number(data, at, 8, signed=True), "us").item()
        is_utc = kind == _TIMESTAMP and isinstance(moment, datetime.datetime)
        return moment.replace(tzinfo=datetime.UTC) if is_utc else moment
    if kind == _UUID:
        return str(uuid.UUID(bytes=data[at : at + 16]))
    return data[at - 1 :]


def _number(data: bytes, at: int, size: int, signed: bool = False) -> int:
    return int.from_bytes(data[at : at + size], "little", signed=signed)
