"""What is remembered by key, against a dictionary of rows."""

import datetime
import itertools
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.ordered.keyed.key_hashes import key_hashes
from cepsql.ordered.keyed.keyed_rows import KeyedChange, KeyedRows, keyed_rows, touched_hashes
from cepsql.ordered.keyed.level import read_level, write_level
from cepsql.ordered.keyed.sorted_hashes import sorted_hashes
from cepsql.ordered.operator import OrderedRows

SCHEMA = pa.schema([("k0", pa.string()), ("k1", pa.int64()), ("v", pa.int64()), ("gone", pa.bool_())])
KEYS = st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(0, 3))
SECTIONS = ("rows", "values")


def table(rows):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


def hashes_of(keys):
    columns = [pa.array([key[place] for key in keys], SCHEMA.field(place).type) for place in range(2)]
    return np.unique(key_hashes(columns, len(keys)))


def rows_of(keyed, keys):
    sections = keyed.of(hashes_of(keys))
    return {name: sorted(map(repr, rows.to_pylist())) for name, rows in sections.items()}


def expected(remembered, keys):
    """Return the rows of keys; no two of the keys here have one hash."""
    sections = {name: [row for key in keys for row in remembered.get((name, key), [])] for name in SECTIONS}
    return {name: sorted(map(repr, table(rows).to_pylist())) for name, rows in sections.items() if rows}


def through_bytes(keyed):
    """Return what a state of these rows has in the next micro-batch."""
    levels = []
    for level in keyed.levels:
        sink = pa.BufferOutputStream()
        write_level(level, sink)
        levels.append(read_level(sink.getvalue()))
    return KeyedRows(keyed.names, tuple(levels))


@st.composite
def batches(draw):
    """Draw micro-batches: of each its keys, and the rows that these have from then on in each section."""
    drawn = []
    for _ in range(draw(st.integers(1, 12))):
        keys = draw(st.lists(KEYS, unique=True, max_size=8))
        values = st.lists(st.tuples(st.integers(-(2**60), 2**60), st.booleans()), max_size=3)
        rows = {(name, key): [(*key, *one) for one in draw(values)] for name in SECTIONS for key in keys}
        drawn.append((keys, rows))
    return drawn


@settings(max_examples=300)
@given(batches(), st.booleans())
def test_keys_have_the_rows_that_they_were_given_last(drawn, forgetful):
    keyed, remembered = KeyedRows(("k0", "k1")), {}
    every = [(text, number) for text in ("a", "b", "", None) for number in range(4)]

    def forgets(section, rows):
        return np.asarray(rows["gone"]) if forgetful else None

    for keys, rows in drawn:
        remembered |= rows
        sections = {name: table([row for key in keys for row in rows[name, key]]) for name in SECTIONS}
        keyed = through_bytes(keyed.changed(KeyedChange(hashes_of(keys), sections, forgets)))
        if forgetful:
            there = {
                name: [row for row in section_rows if "'gone': False" in row]
                for name, section_rows in rows_of(keyed, every).items()
            }
            wanted = {
                name: [row for row in section_rows if "'gone': False" in row]
                for name, section_rows in expected(remembered, every).items()
            }
            assert {n: r for n, r in there.items() if r} == {n: r for n, r in wanted.items() if r}
        else:
            assert rows_of(keyed, every) == expected(remembered, every)
            assert rows_of(keyed, keys) == expected(remembered, keys)
        sizes = [level.size for level in keyed.levels]
        assert all(older >= 2 * newer for older, newer in itertools.pairwise(sizes))


def test_a_key_without_rows_takes_no_room_for_ever():
    keyed = KeyedRows(("k0", "k1"))
    for number in range(40):
        hashes = hashes_of([("a", number)])
        keyed = keyed.changed(KeyedChange(hashes, {"rows": table([("a", number, 1, False)])}, _forgets_none))
        keyed = keyed.changed(KeyedChange(hashes, {}, _forgets_none))
    assert sum(level.size for level in keyed.levels) <= 4


def _forgets_none(*_) -> None:
    pass


def test_deletions_that_are_over_are_forgotten():
    keyed = KeyedRows(("k0", "k1"))
    for number in range(64):
        rows = table([("a", number, number, True)])
        change = KeyedChange(hashes_of([("a", number)]), {"rows": rows}, lambda _, rows: np.asarray(rows["gone"]))
        keyed = keyed.changed(change)
    assert sum(level.size for level in keyed.levels) <= 4


def test_rows_of_other_keys_are_not_taken():
    change = KeyedChange(hashes_of([("a", 1)]), {"rows": table([("b", 1, 1, False)])}, _forgets_none)
    with pytest.raises(AssertionError, match="did not come"):
        KeyedRows(("k0", "k1")).changed(change)


def test_sections_that_were_whole_are_taken_over():
    rows = [("a", 1, 1, False), (None, 2, 2, True), ("a", 1, 3, False)]
    keyed = keyed_rows(["k0", "k1"], {"rows": table(rows), "values": table([])})
    assert rows_of(keyed, [("a", 1)]) == expected({("rows", ("a", 1)): [rows[0], rows[2]]}, [("a", 1)])
    assert keyed_rows(["k0"], {}) == KeyedRows(("k0",))


def test_keys_of_both_sides_are_touched():
    rows = table([("a", 1, 1, False), ("a", 1, 2, False), ("b", 2, 3, False)])
    sides = [OrderedRows(rows, np.array([0, 2, 2, 3]), np.array([0, 2, 2])), None]
    assert touched_hashes(["k0", "k1"], sides).tolist() == hashes_of([("a", 1), ("b", 2)]).tolist()
    assert len(touched_hashes(["k0"], [None, None])) == 0


VALUES = [
    ([1, 1, None, -1], pa.int8()),
    ([True, True, None, False], pa.bool_()),
    ([0.0, -0.0, None, math.nan], pa.float32()),
    ([math.nan, -math.nan, None, 1e300], pa.float64()),
    ([Decimal("1.1"), Decimal("1.10"), None, Decimal(-(10**35))], pa.decimal128(38, 2)),
    (["schön", "schön", None, ""], pa.string()),
    ([b"\xff\x00", b"\xff\x00", None, b"\xff"], pa.binary()),
    ([datetime.date(2024, 2, 29)] * 2 + [None, datetime.date(1, 1, 1)], pa.date32()),
    ([datetime.datetime(2024, 2, 29)] * 2 + [None, datetime.datetime(1, 1, 1)], pa.timestamp("us", "UTC")),
    ([datetime.timedelta(1)] * 2 + [None, datetime.timedelta(-1)], pa.duration("us")),
    ([[0.0, None], [-0.0, None], None, []], pa.list_(pa.float64())),
    ([{"a": 1}, {"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())])),
]


@pytest.mark.parametrize(
    ("values", "kind"), VALUES, ids=lambda value: str(value) if isinstance(value, pa.DataType) else ""
)
def test_equal_keys_have_one_hash(values, kind):
    column = pa.array(values, kind)
    hashes = key_hashes([column], 4)
    assert hashes[0] == hashes[1] and len(np.unique(hashes)) == 3
    assert key_hashes([column.slice(1)], 3).tolist() == hashes[1:].tolist()
    # What a key is by itself does not depend on the others, or on how the column was made.
    assert key_hashes([pa.array(values[:1], kind)], 1).tolist() == hashes[:1].tolist()
    two = key_hashes([pa.array([1, 2, 1, 2]), column], 4)
    assert len(np.unique(two)) == 4


def test_hashes_stay_what_they_are():
    """They are stored."""
    columns = [pa.array([7, None]), pa.array(["Rome", None]), pa.array([Decimal("1.5"), None]), pa.array([2.5, None])]
    assert key_hashes(columns, 2).tolist() == [394741509, 1486530586]


def test_a_time_beyond_python_has_the_hash_that_it_has_alone():
    far = pa.array([[2**59], [5]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us")))
    assert key_hashes([far], 2)[1] == key_hashes([far.slice(1)], 1)[0]


@given(runs=st.lists(st.tuples(st.sampled_from([0, 7, 2**31, 2**32 - 1]), st.integers(1, 5)), max_size=12))
def test_hashes_are_sorted_stably_however_long_their_runs_are(runs):
    hashes = np.array([hash for hash, size in runs for _ in range(size)], np.uint32)
    ours, order = sorted_hashes(hashes), np.argsort(hashes, kind="stable")
    assert ours.places.tolist() == order.tolist()
    assert ours.hashes.tolist() == hashes[order].tolist()
