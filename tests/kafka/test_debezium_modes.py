"""Messages of Debezium in each of its modes mean the same in files of JSON lines and through Kafka."""

import base64
import json

import pytest
from chance import everyday

import cepsql

MICROS, DAYS = 1_774_744_200_123_456, 20541
"""2026-03-29 00:30:00.123456 in UTC, in the session of New York the evening before."""
AT = "2026-03-28 20:30:00.123456"
ZONED = "2026-03-29T02:30:00.123456+02:00"
KINDS = "price DECIMAL(10,2), amount DECIMAL(10,3), at TIMESTAMP, zoned TIMESTAMP, day DATE, bytes BINARY"
RAW = b"\x00\xff"


def coded(unscaled: int) -> str:
    size = (unscaled.bit_length() + 8) // 8
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def kind(name: str, **parameters: str) -> dict:
    return {"name": name, **({"parameters": parameters} if parameters else {})}


CONNECT, DEBEZIUM = "org.apache.kafka.connect.data", "io.debezium"
MODES = {
    "precise, adaptive, bytes": (
        {"price": kind(f"{CONNECT}.Decimal", scale="2"), "amount": kind(f"{DEBEZIUM}.data.VariableScaleDecimal"),
         "at": kind(f"{DEBEZIUM}.time.MicroTimestamp"), "day": kind(f"{DEBEZIUM}.time.Date")},
        {"price": coded(1234), "amount": {"scale": 3, "value": coded(-1500)}, "at": MICROS, "day": DAYS,
         "bytes": base64.b64encode(RAW).decode()},
        AT,
    ),
    "string, connect, hex": (
        {"at": kind(f"{CONNECT}.Timestamp"), "day": kind(f"{CONNECT}.Date")},
        {"price": "12.34", "amount": "-1.500", "at": MICROS // 1000, "day": DAYS, "bytes": RAW.hex()},
        AT[:-3],
    ),
    "double, isostring, base64-url-safe": (
        {"at": kind(f"{DEBEZIUM}.time.IsoTimestamp"), "day": kind(f"{DEBEZIUM}.time.IsoDate")},
        {"price": 12.34, "amount": -1.5, "at": "2026-03-29T00:30:00.123456Z", "day": "2026-03-29Z",
         "bytes": base64.urlsafe_b64encode(RAW).decode()},
        AT,
    ),
    "precise, nanoseconds, base64": (
        {"price": kind(f"{CONNECT}.Decimal", scale="2"), "amount": kind(f"{CONNECT}.Decimal", scale="3"),
         "at": kind(f"{DEBEZIUM}.time.NanoTimestamp"), "day": kind(f"{DEBEZIUM}.time.Date")},
        {"price": coded(1234), "amount": coded(-1500), "at": MICROS * 1000 + 789, "day": DAYS,
         "bytes": base64.b64encode(RAW).decode()},
        AT,
    ),
}  # fmt: skip


def messages(described: dict, values: dict, with_schema: bool) -> list[str]:
    """Return the messages of a table: two rows, one of NULLs, one that is deleted, and one that is no change."""
    row = values | {"zoned": ZONED}
    fields = [{"field": "id", "type": "int64"}]
    fields += [{"field": name, "type": "any", **described.get(name, {})} for name in row]
    changes = [
        {"op": "c", "before": None, "after": {"id": 1, **row}},
        {"op": "r", "before": None, "after": {"id": 2, **row}},
        {"op": "c", "before": None, "after": {"id": 3, **dict.fromkeys(row)}},
        {"op": "d", "before": {"id": 2, **row}, "after": None},
        {"op": "c", "before": None, "after": {"id": 4, **row, "day": "soon"}},
    ]
    schema = {"type": "struct", "fields": [{"field": side, "fields": fields} for side in ("before", "after")]}
    return [json.dumps({"schema": schema, "payload": one} if with_schema else one) for one in changes]


@pytest.mark.parametrize("mode", everyday(MODES, 4))
@pytest.mark.parametrize("with_schema", everyday([True, False]))
def test_files_and_kafka_tell_the_same(spark, topics, tmp_path, mode, with_schema):
    described, values, at = MODES[mode]
    lines = messages(described, values, with_schema)
    (tmp_path / "1.json").write_text("\n".join([*lines, ""]))
    topic = topics.new(1)
    topics.put(topic, *lines)
    names = ("decimal.handling.mode", "time.precision.mode", "binary.handling.mode")
    options = ", ".join(f"'{name}' '{value}'" for name, value in zip(names, mode.split(", "), strict=True))
    shown = ", ".join(f"CAST({name} AS STRING) AS {name}" for name in ("price", "amount", "at", "zoned", "day"))
    expected = [
        {"id": 1, "price": "12.34", "amount": "-1.500", "at": at, "zoned": AT, "day": "2026-03-29", "raw": RAW},
        {"id": 3, **dict.fromkeys(("price", "amount", "at", "zoned", "day", "raw"))},
    ]
    with cepsql.connect(spark) as engine:
        for source in (f"json OPTIONS (path '{tmp_path}')", f"kafka {topics.options(topic)}"):
            begin = " FROM EARLIEST" if source.startswith("kafka") else ""
            engine.sql(f"CREATE OR REPLACE STREAM o (id BIGINT, {KINDS}, PRIMARY KEY (id)) USING {source} "
                       f"FORMAT debezium OPTIONS ({options}){begin}")  # fmt: skip
            output: list[dict] = []
            query = engine.query(f"SELECT id, {shown}, bytes AS raw FROM o EMIT CHANGES")
            with query.start(lambda rows, _, output=output: output.extend(rows.to_pylist()), drain=True) as standing:
                standing.await_()
            assert sorted(({n: v for n, v in row.items() if n != "op"} for row in output), key=str) == expected, source
            assert standing.progress.rows_malformed == 1
