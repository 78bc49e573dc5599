"""Kafka records with JSON values, as Spark's from_json reads them: one object each, anything else is malformed."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Message

from cepsql.ordered.arrival import Origin, partition_part
from cepsql.readers.kafka.record_columns import column
from cepsql.readers.scan.chunk import Chunk
from cepsql.readers.scan.json import objects_by_arrow
from cepsql.readers.scan.json_line import read_line
from cepsql.readers.scan.json_value import converter
from cepsql.readers.scan.layout import FileLayout
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.types import STRING
from cepsql.scalar.zone import Zone

METADATA = {
    "key": "key",
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestamp_type": "timestampType",
}
"""The metadata of a record that a scan can read, with its names in `cepsql.readers.kafka.record_columns`."""

_FEW = 64
_SPACE = b" \t\n\r"
_ZERO = b"\0"


def read_records(records: Iterable[Sequence[Message]], layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    """Yield the rows of records; each list of records is from one partition."""
    for messages in records:
        columns, fits = read_values([message.value() for message in messages], layout, zone)
        carried = {name: column(METADATA[what], messages) for name, _, what in layout.metadata if what in METADATA}
        readable = np.ones(len(messages), bool)
        for name, type, _ in layout.metadata:
            if type == STRING and pa.types.is_binary(carried[name].type):
                carried[name], valid = _texts(carried[name])
                readable &= valid
        if not readable.all():
            is_readable = pa.array(readable[fits])
            columns = {name: values.filter(is_readable) for name, values in columns.items()}
            fits &= readable
        well = None if fits.all() else pa.array(fits)
        for name, type, _ in layout.metadata:
            if name in layout.wanted:
                values = carried[name] if well is None else carried[name].filter(well)
                columns[name] = values.cast(arrow_type(type))
        rows = int(fits.sum())
        yield Chunk(columns, rows, len(messages) - rows, *_begin(messages))


def _begin(messages: Sequence[Message]) -> tuple[Origin | None, int]:
    """Return the partition of records, and the position of the first record in it."""
    if not messages:
        return None, 0
    topic, partition, offset = messages[0].topic(), messages[0].partition(), messages[0].offset()
    assert topic is not None and partition is not None and offset is not None
    part, place = partition_part(partition, offset)
    return Origin(0, topic, part), place


def read_values(
    values: Sequence[bytes | None], layout: FileLayout, zone: Zone
) -> tuple[dict[str, pa.Array], np.ndarray]:
    """Return the wanted columns of the values that are objects as declared, and a mask of these values.

    A record without a value is malformed, and so is one whose bytes are not UTF-8.
    """
    present = [value for value in values if value]
    if len(present) == len(values) and (chunk := _by_arrow(present, layout, zone)) is not None:
        return chunk.columns, np.ones(len(values), bool)
    if len(values) <= _FEW:
        return _one_by_one(values, layout, zone)
    middle = len(values) // 2
    (some, fit), (others, fit_too) = (read_values(v, layout, zone) for v in (values[:middle], values[middle:]))
    joined = {name: pa.concat_arrays([some[name], others[name]]) for name in some}
    return joined, np.concatenate([fit, fit_too])


def _by_arrow(values: Sequence[bytes], layout: FileLayout, zone: Zone) -> Chunk | None:
    block = b"\n".join(values) + b"\n"
    if block.count(b"\n") != len(values) or _ZERO in block:
        return None
    return objects_by_arrow(block, layout, zone)


def _one_by_one(
    values: Sequence[bytes | None], layout: FileLayout, zone: Zone
) -> tuple[dict[str, pa.Array], np.ndarray]:
    converters = {name: converter(type, zone) for name, type in layout.columns}
    parsed = [_row(value, converters) for value in values]
    rows = [row for row in parsed if row is not None]
    columns = {
        name: pa.array([row.get(name) for row in rows], arrow_type(type))
        for name, type in layout.columns
        if name in layout.wanted
    }
    return columns, np.array([row is not None for row in parsed], bool)


def _row(value: bytes | None, converters: dict) -> dict[str, object] | None:
    # A value with zeros could be text in another encoding, which files may have.
    if value is None or _ZERO in value.rstrip(_SPACE + _ZERO) or not value.lstrip(_SPACE).startswith(b"{"):
        return None
    try:
        value.decode()
    except UnicodeDecodeError:
        return None
    rows, malformed = read_line(value, converters)
    return None if malformed else rows[0]


def _texts(keys: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return bytes as texts, NULL where they are not UTF-8, and a mask of those that are."""
    try:
        return keys.cast(pa.string()), np.ones(len(keys), bool)
    except pa.ArrowInvalid:
        texts = [None if key is None else _decoded(key) for key in keys.to_pylist()]
        decoded = pa.array(texts, pa.string())
        return decoded, np.asarray(pc.equal(pc.is_null(decoded), pc.is_null(keys)))


def _decoded(key: bytes) -> str | None:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None
