"""Records of Kafka give the same columns whichever way their values are read: all by Arrow, or some one by one."""

from itertools import product

import pytest

from cepsql.ordered.arrival import Origin
from cepsql.readers.scan.layout import FileLayout
from cepsql.scalar.types import parse_type
from cepsql.scalar.zone import Zone

METADATA = {"key": "string", "topic": "string", "partition": "int", "offset": "bigint", "timestamp": "timestamp"}
VALUES = [b'{"x": 1, "y": "a"}', b'{"x": 2}', b'{"x":\n 3}', b"nonsense", b'{"x": "no"}', b"", None]


@pytest.mark.parametrize("wanted", [[*METADATA, "x"], ["x", "key"], ["timestamp"], ["y"], []], ids=" ".join)
@pytest.mark.parametrize("keys", [(b"k", None), (b"k", b"\xff")], ids=str)
def test_metadata_and_values(wanted, keys):
    from confluent_kafka import Message

    from cepsql.readers.scan.json_records import read_records

    layout = FileLayout(
        "json",
        (("x", parse_type("int")), ("y", parse_type("string"))),
        frozenset(wanted),
        metadata=tuple((name, parse_type(type), name) for name, type in METADATA.items()),
    )
    read = {b'{"x": 1, "y": "a"}': (1, "a"), b'{"x": 2}': (2, None), b'{"x":\n 3}': (3, None)}
    for values in product(VALUES, repeat=2):
        rows, messages = [], []
        for offset, (value, key) in enumerate(product(values, keys)):
            messages.append(Message("t", 1, offset, key, value, timestamp=(1, offset * 1000)))
            if value in read and key != b"\xff":
                at = offset * 1_000_000
                metadata = (key and key.decode(), "t", 1, offset, at)
                rows.append(dict(zip([*METADATA, "x", "y"], metadata + read[value], strict=True)))
        (chunk,) = read_records([messages], layout, Zone())
        assert (chunk.rows, chunk.malformed) == (len(rows), len(messages) - len(rows))
        assert (chunk.origin, chunk.place) == (Origin(0, "t", 1 << 21), 0)
        columns = {name: array.cast("int64") if name == "timestamp" else array for name, array in chunk.columns.items()}
        assert {name: array.to_pylist() for name, array in columns.items()} == {
            name: [row[name] for row in rows] for name in wanted
        }
