"""JSON values of records are read the same by Spark's from_json and by Arrow, value by value."""

import re

import pytest
from json_samples import TYPES, drawn_lines, fixed_lines
from values import plain, plain_sql, plain_values

from cepsql.analysis.sql.properties import DELETED, ORIGIN, PLACE
from cepsql.catalog import ColumnDefinition, Source, ValueFormat
from cepsql.ordered.arrival import partition_part
from cepsql.readers.scan.layout import FileLayout
from cepsql.scalar.types import parse_type
from cepsql.spark.frames.key_columns import FORMER
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.sources.record_values import decoded
from cepsql.spark.sources.source import RECORD_ORIGIN, RECORD_PLACE

LAYOUT = FileLayout("json", tuple((name, parse_type(type)) for name, type in TYPES.items()), frozenset(TYPES))
OWN = [
    None,
    b"",
    b" \n",
    b"null",
    b"[]",
    b'[{"i": 1}]',
    b'{"i":\n1}',
    b' \t{"i": 1}',
    b'{"i": 1} more',
    b'{"s": "\xff"}',
]


HALF_PAIR = re.compile(rb"""\\u[dD][89a-fA-F][^,{}]*["']:""")
TEXT = [name for name, type in TYPES.items() if type == "string"]
"""Of these only what JSON has as text is compared: Arrow keeps numbers, objects and arrays as written."""


def test_values(spark):
    pytest.importorskip("confluent_kafka")
    from cepsql.readers.scan.json_records import read_values

    lines = [*OWN, *fixed_lines(), *drawn_lines(400, 0.1, 1), *drawn_lines(300, 0, 2)]
    # A name with half of a surrogate pair makes a record malformed for Arrow, as in files, but not for from_json.
    lines = [line for line in lines if line is None or not HALF_PAIR.search(line)]
    columns = tuple(ColumnDefinition(name, kind) for name, kind in TYPES.items())
    source = Source("s", columns, "kafka", value=ValueFormat("json"))
    rows = spark.createDataFrame([(i, line) for i, line in enumerate(lines)], "offset BIGINT, value BINARY")
    frame = decoded(source, rows.repartition(1).orderBy("offset"), "malformed", "text")
    expected = [
        None if row[-1] else [plain(value) for value in row[:-1]]
        for row in frame.selectExpr(*map(plain_sql, TYPES, TYPES.values()), "malformed").collect()
    ]
    read, fits = read_values(lines, LAYOUT, session_zone(spark))
    values = iter(zip(*(plain_values(read[name]) for name in TYPES), strict=True))
    actual = [list(next(values)) if well else None for well in fits]
    wrong = [(line, a, e) for line, a, e in zip(lines, actual, expected, strict=True) if not _same(line, a, e)]
    assert wrong == []


def _same(line: bytes, actual: list | None, expected: list | None) -> bool:
    if actual is None or expected is None:
        return actual == expected
    written = [name in TEXT and not re.search(rb'"%s" *: *["\']' % name.encode(), line) for name in TYPES]
    return all(a == e or free for a, e, free in zip(actual, expected, written, strict=True))


CHANGES = [
    ("1", '{"op": "u", "before": {"id": 1}, "after": {"id": 2}}'),
    ("1", '{"op": "d", "before": null}'),
    (None, '{"op": "d", "before": null}'),
]


@pytest.mark.parametrize(
    ("keys", "deleted", "former"),
    [(["key"], ["1"], []), (["topic", "id"], [], [("t", 1)]), (["half"], [], [])],
    ids=["around the value", "in both", "computed"],
)
def test_keys_of_changes_may_stand_around_the_value(spark, keys, deleted, former):
    columns = (
        ColumnDefinition("id", "BIGINT"),
        ColumnDefinition("key", "STRING", metadata="key"),
        ColumnDefinition("topic", "STRING", metadata="topic"),
        ColumnDefinition("half", "DOUBLE", expression="id / 2"),
    )
    source = Source("s", columns, "kafka", value=ValueFormat("debezium"), key=tuple(keys))
    records = spark.createDataFrame(CHANGES, "key STRING, value STRING").selectExpr(
        "CAST(key AS BINARY) AS key", "CAST(value AS BINARY) AS value", "'t' AS topic"
    )
    rows = decoded(source, records, "malformed", "text").collect()
    assert [row.key for row in rows if row[DELETED] and not row.malformed] == deleted
    assert [tuple(row[FORMER]) for row in rows if row.asDict().get(FORMER)] == former


def test_records_know_their_places(spark):
    places = [(0, 0), (3, 5), (3, 2**42 - 1), (3, 2**42 + 7), (4, 2**50)]
    values = ", ".join(f"('t', {partition}, {offset}L, CAST('{{}}' AS BINARY))" for partition, offset in places)
    records = spark.sql(f"SELECT * FROM VALUES {values} AS r (topic, partition, offset, value)")
    records = records.selectExpr("*", f"{RECORD_ORIGIN} AS {ORIGIN}", f"{RECORD_PLACE} AS {PLACE}")
    columns = (ColumnDefinition("x", "INT"),)
    source = Source("s", columns, "kafka", value=ValueFormat("json"))
    rows = decoded(source, records, "malformed", "text").select(ORIGIN, PLACE).collect()
    expected = [((0, "t", part), place) for part, place in (partition_part(*one) for one in places)]
    assert [(tuple(origin), place) for origin, place in rows] == expected == sorted(expected)
