"""The fast sort against Python's, on every type, with NULL, NaN, both zeros and many ties."""

import math
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.ordered import plain_columns as ordered_columns
from cepsql.ordered import sorting as ordered_sort
from cepsql.ordered.row_layout import OrderColumn
from cepsql.ordered.sorting import key_order, partition_rows, stable_order

FLOATS = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan])
INTEGERS = st.sampled_from([-(2**63), -1, 0, 5, 2**63 - 1])
TYPES = {
    "null": (pa.null(), st.none()),
    "boolean": (pa.bool_(), st.booleans()),
    "byte": (pa.int8(), st.integers(-2, 2)),
    "bigint": (pa.int64(), INTEGERS),
    "float": (pa.float32(), FLOATS),
    "double": (pa.float64(), FLOATS),
    "string": (pa.string(), st.sampled_from(["", "a", "b", "B", "ä", "￿", "\U00010000"])),
    "binary": (pa.binary(), st.sampled_from([b"", b"\x00", b"\x7f", b"\x80"])),
    "decimal": (pa.decimal128(9, 2), st.sampled_from([Decimal("-1.00"), Decimal("0.00"), Decimal("10.50")])),
    "date": (pa.date32(), st.sampled_from([date(1960, 1, 1), date(2020, 2, 29)])),
    "timestamp": (pa.timestamp("us", "UTC"), st.integers(-2, 2)),
    "interval": (pa.duration("us"), st.sampled_from([timedelta(-1), timedelta(0, 1)])),
    "array": (pa.list_(pa.float64()), st.lists(st.none() | FLOATS, max_size=2)),
    "struct": (pa.struct([("x", pa.int32()), ("y", pa.float32())]),
               st.fixed_dictionaries({"x": st.none() | st.integers(0, 1), "y": st.none() | FLOATS})),
    "map": (pa.map_(pa.string(), pa.int32()),
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), max_size=1)),
}  # fmt: skip


@st.composite
def columns(draw, size: int):
    """Draw an Arrow column, preferring few distinct values so that there are ties."""
    type_, values = TYPES[draw(st.sampled_from(sorted(TYPES)))]
    return pa.array(draw(st.lists(st.none() | values, min_size=size, max_size=size)), type_)


@st.composite
def cases(draw):
    size = draw(st.integers(0, 12))
    table = {f"k{i}": draw(columns(size)) for i in range(draw(st.integers(0, 2)))}
    times = st.sampled_from([-(2**61), 0, 1, 2, 2**61]) if draw(st.booleans()) else st.integers(0, 2)
    table["t"] = pa.array(draw(st.lists(times, min_size=size, max_size=size)), pa.int64())
    order = []
    for i in range(draw(st.integers(0, 2))):
        table[f"o{i}"] = draw(columns(size))
        order.append(OrderColumn(f"o{i}", "", draw(st.booleans()), draw(st.booleans())))
    table |= {f"v{i}": draw(columns(size)) for i in range(draw(st.integers(0, 2)))}
    table["m"] = pa.array(range(size), pa.int64())
    return pa.table(table), tuple(order)


def rank(value, equal_zeros: bool):
    """Return a Python key for a value that is not NULL."""
    if isinstance(value, float):
        sign = 0 if equal_zeros else math.copysign(1, value)
        return (1,) if math.isnan(value) else (0, value, sign)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict):
        return tuple(nullable(v, equal_zeros) for v in value.values())
    if isinstance(value, list | tuple):
        return tuple(nullable(v, equal_zeros) for v in value)
    return value


def nullable(value, equal_zeros: bool = True):
    return (0,) if value is None else (1, rank(value, equal_zeros))


def by_python(table: pa.Table, order) -> tuple[list[int], list[int]]:
    """Return the row numbers (column m) in order, and where partitions begin."""
    rows = table.to_pylist()
    partitions: dict = {}
    for row in rows:
        partitions.setdefault(tuple(nullable(v) for n, v in row.items() if n[0] == "k"), []).append(row)
    result, starts = [], [0]
    for partition in partitions.values():
        ties = [*(n for n in table.column_names if n[0] in "vm"), *(c.name for c in order)]
        partition.sort(key=lambda r, ties=ties: tuple(nullable(r[n], equal_zeros=False) for n in ties))
        for column in reversed(order):
            valued = [r for r in partition if r[column.name] is not None]
            valued.sort(key=lambda r, n=column.name: rank(r[n], True), reverse=column.descending)
            missing = [r for r in partition if r[column.name] is None]
            partition[:] = missing + valued if column.nulls_first else valued + missing
        partition.sort(key=lambda r: r["t"])
        result += [r["m"] for r in partition]
        starts.append(len(result))
    return result, starts


@settings(max_examples=examples(38))
@given(cases(), st.sampled_from([2, 2**20]))
def test_sort_equals_python(case, part_rows):
    table, order = case
    keys, rest = ([n for n in table.column_names if n[0] in kind] for kind in ("k", "vm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_sort, "_PART_ROWS", part_rows)
        rows, starts = partition_rows(table, keys, "t", order, rest)
    assert all(c.num_chunks == 1 for c in rows.columns)
    assert (rows["m"].to_pylist(), starts.tolist()) == by_python(table, order)


@settings(max_examples=examples(10))
@given(cases(), st.randoms())
def test_order_in_a_partition_does_not_depend_on_arrival(case, random):
    table, order = case
    table = table.drop_columns(["m"])
    shuffled = pa.array(random.sample(range(table.num_rows), table.num_rows), pa.int64())
    keys, rest = ([n for n in table.column_names if n[0] == kind] for kind in "kv")
    orders = []
    for rows in (table, table.take(shuffled)):
        rows, starts = partition_rows(rows, keys, "t", order, rest)
        rows = rows.drop_columns(keys)
        orders.append(sorted(repr(rows.slice(a, b - a).to_pylist()) for a, b in pairwise(starts.tolist())))
    assert orders[0] == orders[1]


@pytest.mark.parametrize("span", [2**10, 2**40, 2**62])
def test_long_columns_of_any_span(span):
    random = np.random.default_rng(1)
    times, keys = random.integers(-span // 2, span // 2, 3000), random.integers(0, 500, 3000)
    rows, starts = partition_rows(pa.table({"k0": keys, "t": times, "m": np.arange(3000)}), ["k0"], "t", (), ["m"])
    assert starts[0] == 0 and starts[-1] == 3000 and (np.diff(starts) > 0).all()
    first = {k: i for i, k in reversed(list(enumerate(keys.tolist())))}
    expected = sorted(range(3000), key=lambda i: (first[keys[i]], times[i], i))
    assert rows["m"].to_pylist() == expected


def test_many_rows_are_sorted_a_column_at_a_time(monkeypatch):
    monkeypatch.setattr(ordered_columns, "MANY_ROWS", 2)
    tables = [pa.table({"k0": [2, 1], "t": [n, 0], "v": [f"{n}", None]}) for n in range(3)]
    expected = pa.concat_tables(tables)
    stacked = ordered_columns.stack_freely(tables)
    assert stacked.equals(expected) and not tables and all(c.num_chunks == 1 for c in stacked.columns)
    rows, starts = partition_rows(stacked, ["k0"], "t", (), ["v"])
    assert rows.to_pydict() == {
        "k0": [2, 2, 2, 1, 1, 1],
        "t": [0, 1, 2, 0, 0, 0],
        "v": ["0", "1", "2", None, None, None],
    }
    assert starts.tolist() == [0, 3, 6]


@settings(max_examples=examples(90))
@given(st.data())
def test_stable_order_of_every_range(data):
    seed, size = data.draw(st.integers(0, 2**32)), data.draw(st.integers(0, 400))
    width, kind = data.draw(
        st.sampled_from([(8, np.int8), (16, np.int16), (17, np.int64), (31, np.int32), (47, np.int64), (63, np.int64)])
    )
    below = data.draw(st.sampled_from([0, 2 ** (width - 1)])) if kind is np.int64 else 2 ** (width - 1)
    random = np.random.default_rng(seed)
    values = random.integers(-below, min(2**width - below, 2**63) - 1, size, np.int64, endpoint=True).astype(kind)
    if data.draw(st.booleans()):
        runs = np.array_split(values, data.draw(st.integers(1, 150)))
        values = np.concatenate([np.sort(run) for run in runs])
    places = random.permutation(size)
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert stable_order(values, places).tolist() == places[np.argsort(values[places], kind="stable")].tolist()


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), max_size=60), st.integers(1, 70))
def test_many_keys_are_ordered_some_at_a_time(rows, part_rows):
    codes, times = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    expected = np.lexsort((times, codes))
    order = key_order(codes, times, 10, part_rows)
    if order is None:
        order = np.arange(len(rows))
    assert order.tolist() == expected.tolist()
