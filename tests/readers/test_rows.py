"""The rows of USING datagen, without Spark: the n-th one depends on n and the seeds alone."""

import datetime
import itertools
import statistics

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepsql.catalog import ColumnDefinition, Source
from cepsql.readers.datagen.fields import generator, is_endless, with_start
from cepsql.readers.datagen.generated_rows import rows
from cepsql.scalar.zone import UTC, Zone

COLUMNS = {
    "id": "BIGINT", "who": "STRING", "symbol": "STRING", "price": "DECIMAL(8, 2)", "level": "DOUBLE", "n": "TINYINT",
    "big": "BIGINT", "text": "STRING", "flag": "BOOLEAN", "bytes": "BINARY", "share": "FLOAT", "at": "TIMESTAMP",
    "local": "TIMESTAMP_NTZ", "day": "DATE",
}  # fmt: skip
OPTIONS = {
    "number-of-rows": "300", "rows-per-second": "3", "fields.id.kind": "sequence", "fields.who.kind": "name",
    "fields.symbol.values": "A, B,C", "fields.price.kind": "walk", "fields.price.min": "10", "fields.price.max": "12",
    "fields.price.per": "symbol", "fields.level.kind": "walk", "fields.n.min": "-2", "fields.n.max": "2",
    "fields.text.length": "17", "fields.text.null-rate": "0.25", "fields.at.max-past": "2 seconds",
    "fields.local.start": "2026-03-02 09:00:00", "fields.local.step": "5 minutes", "fields.day.step": "1 day",
}  # fmt: skip


def made(columns=COLUMNS, options=OPTIONS, streaming=True):
    definitions = tuple(ColumnDefinition(name, kind) for name, kind in columns.items())
    return generator(Source("g", definitions, "datagen", tuple(options.items()), streaming))


def table(generator, begin=0, end=300, zone=UTC):
    return pa.Table.from_batches(list(rows(generator, begin, end, zone)))


WHOLE = table(made()).to_pydict()


@given(st.integers(0, 300), st.integers(0, 300))
def test_rows_are_the_same_however_they_are_cut(one, other):
    begin, end = sorted((one, other))
    part = list(rows(made(), begin, end, UTC))
    columns = pa.Table.from_batches(part).to_pydict() if part else {name: [] for name in WHOLE}
    assert columns == {name: values[begin:end] for name, values in WHOLE.items()}


def test_each_kind_gives_what_it_should():
    assert WHOLE["id"] == list(range(1, 301))
    assert set(WHOLE["symbol"]) == {"A", "B", "C"}
    assert len(set(WHOLE["who"])) > 20 and all(name.istitle() for name in WHOLE["who"])
    assert set(WHOLE["n"]) == {-2, -1, 0, 1, 2}
    assert min(WHOLE["big"]) < -(1 << 61) and max(WHOLE["big"]) > 1 << 61
    assert {len(text) for text in WHOLE["text"] if text} == {17}
    assert 40 < WHOLE["text"].count(None) < 110
    assert set(WHOLE["flag"]) == {True, False}
    assert all(0 <= share < 1 for share in WHOLE["share"])
    first = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    behind = [first + datetime.timedelta(seconds=n / 3) - at for n, at in enumerate(WHOLE["at"])]
    assert min(behind) > datetime.timedelta(seconds=-0.001) and max(behind) > datetime.timedelta(seconds=1.5)
    assert WHOLE["at"] != sorted(WHOLE["at"])
    assert WHOLE["local"][2] == datetime.datetime(2026, 3, 2, 9, 10)
    assert WHOLE["day"][31] == datetime.date(2026, 2, 1)


def test_a_walk_moves_by_small_steps_within_its_bounds():
    steps = [b - a for a, b in zip(WHOLE["level"], WHOLE["level"][1:], strict=False)]
    assert 0.7 < statistics.pstdev(steps) < 1.3 and abs(statistics.mean(steps)) < 0.3
    assert all(10 <= price <= 12 for price in WHOLE["price"])
    by_symbol = {
        symbol: [p for s, p in zip(WHOLE["symbol"], WHOLE["price"], strict=True) if s == symbol] for symbol in "ABC"
    }
    moved = [abs(b - a) for prices in by_symbol.values() for a, b in itertools.pairwise(prices)]
    assert max(moved) < 0.5 and len({tuple(prices[:20]) for prices in by_symbol.values()}) == 3


def test_seeds_give_other_rows():
    assert table(made(options=OPTIONS | {"seed": "1"})).to_pydict()["who"] != WHOLE["who"]
    changed = table(made(options=OPTIONS | {"fields.who.seed": "1"})).to_pydict()
    assert changed["who"] != WHOLE["who"]
    assert {name for name in WHOLE if changed[name] != WHOLE[name]} == {"who"}


def test_times_are_those_of_the_session():
    zone = Zone((), (3_600_000_000,))
    shifted = table(
        made({"at": "TIMESTAMP", "local": "TIMESTAMP_NTZ"}, {"number-of-rows": "1"}), 0, 1, zone
    ).to_pylist()[0]
    assert shifted["at"] == datetime.datetime(2025, 12, 31, 23, tzinfo=datetime.UTC)
    assert shifted["local"] == datetime.datetime(2026, 1, 1)
    options = with_start((("fields.at.start", "now"),), datetime.datetime(2026, 5, 4, 3, 2, 1, 5, datetime.UTC))
    assert options == (("fields.at.start", "2026-05-04 03:02:01+00:00"),)
    assert table(made({"at": "TIMESTAMP"}, dict(options)), 0, 1, zone).to_pylist()[0]["at"].hour == 3


@pytest.mark.parametrize(
    "options, rows", [({}, None), ({"number-of-rows": "5"}, 5), ({"fields.id.start": "3", "fields.id.end": "9"}, 7),
                      ({"fields.id.end": "9", "number-of-rows": "4"}, 4), ({"fields.id.end": "0"}, 0)],
)  # fmt: skip
def test_how_many_rows_there_are(options, rows):
    assert made({"id": "INT"}, options).rows == rows
    source = Source("g", (ColumnDefinition("id", "INT"),), "datagen", tuple(options.items()))
    assert is_endless(source) == (rows is None)
