"""Records as the columns that Spark's connector gives, in Arrow."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

import pyarrow as pa
from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

COLUMNS = {
    "key": "BINARY",
    "value": "BINARY",
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "timestampType": "INT",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
}
"""Names and Spark SQL types of what there is of a record."""

_TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}


def record_batches(names: Sequence[str], records: Iterable[Sequence[Message]]) -> Iterator[pa.RecordBatch]:
    """Yield records as batches with these columns, of the types in COLUMNS."""
    schema = pa.schema([(name, _TYPES[name]) for name in names])
    for messages in records:
        yield pa.RecordBatch.from_arrays([column(name, messages) for name in names], schema=schema)


def column(name: str, messages: Sequence[Message]) -> pa.Array:
    """Return one of COLUMNS of some records."""
    return pa.array([_READ[name](message) for message in messages], _TYPES[name])


def _micros(message: Message) -> int:
    return message.timestamp()[1] * 1000


def _timestamp_type(message: Message) -> int:
    return 0 if message.timestamp()[0] == TIMESTAMP_CREATE_TIME else 1


def _headers(message: Message) -> list[dict] | None:
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    return None if headers is None else [{"key": key, "value": value} for key, value in headers]


_READ: dict[str, Callable[[Message], object]] = {
    "key": Message.key,
    "value": Message.value,
    "topic": Message.topic,
    "partition": Message.partition,
    "offset": Message.offset,
    "timestamp": _micros,
    "timestampType": _timestamp_type,
    "headers": _headers,
}
