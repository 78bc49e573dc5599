"""Joins within a time, compared with a nested loop, whatever the micro-batches."""

import math
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from late_rows import on_time

from cepsql.operators.pairing.interval_join import UNBOUNDED, IntervalJoinOperator, JoinKind
from cepsql.operators.pairing.pair_condition import PairColumn, PairCondition
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode
from cepsql.scalar.expressions import STANDARD_SESSION, Call, Literal
from cepsql.scalar.types import BIGINT, STRING
from cepsql.scalar.typing import typed

KEYS = (Column("k0", ""), Column("k1", ""))
LEFT = RowLayout(KEYS, Column("t", ""), (), (Column("v0", ""),))
RIGHT = RowLayout(KEYS, Column("t", ""), (), (Column("v0", ""), Column("v1", "")), ("p",))
KEY_FIELDS = [("k0", pa.float64()), ("k1", pa.string()), ("t", pa.int64())]
SCHEMAS = (
    pa.schema([*KEY_FIELDS, ("v0", pa.int64()), ("u", pa.int64()), ("bucket", pa.int32())]),
    pa.schema(
        [
            *KEY_FIELDS,
            ("v0", pa.string()),
            ("v1", pa.bool_()),
            ("u", pa.int64()),
            ("m", pa.int64()),
            ("bucket", pa.int32()),
        ]
    ),
)
COLUMNS = (
    pa.schema([("t", pa.int64()), ("v0", pa.int64())]),
    pa.schema([("t", pa.int64()), ("v0", pa.string()), ("v1", pa.bool_()), ("m", pa.int64())]),
)
END = {"t": END_OF_TIME, "bucket": 0}
BUCKETS = 2
PLACES = {1.0: 0, 2.0: 1, 0.0: 0, math.nan: 1, None: 0}


@st.composite
def batches(draw):
    """Draw micro-batches of rows of two streams; each row has a number of its own in v0."""
    drawn, number = [], 0
    for n in range(draw(st.integers(1, 6))):
        sides = []
        for side in range(2):
            rows = []
            for _ in range(draw(st.integers(0, 5))):
                until = draw(st.one_of(st.none(), st.integers(4 * n - 4, 4 * n + 12)))
                key = draw(st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.0, -0.0, math.nan, None]))
                row = {"k0": key, "k1": draw(st.sampled_from(["x", "x", "x", None])), "bucket": PLACES[key]}
                row |= {"t": draw(st.integers(4 * n - 4, 4 * n + 5)), "v0": number if side == 0 else str(number)}
                row["u"] = until
                rows.append(row if side == 0 else row | {"v1": True, "m": number})
                number += 1
            sides.append(rows)
        drawn.append(sides)
    return drawn


def run(stage, drawn):
    """Yield output rows, the bound, and the states after each batch."""
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    for sides in [*drawn, ([END], [])]:
        blobs: dict[int, list[bytes]] = {bucket: [] for bucket in range(BUCKETS)}
        for side, rows in enumerate(sides):
            batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMAS[side])
            for row in (row for packed in pack([batch], BUCKETS, side) for row in packed.to_pylist()):
                blobs[row["bucket"]].append(row["packet"])
        output = []
        for bucket in range(BUCKETS):
            advanced = advance(stage, states[bucket], blobs[bucket])
            states[bucket] = advanced.state
            rows = advanced.output.to_pylist()
            assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
            assert advanced.counts.counters["pairs"] + advanced.counts.counters["unmatched"] == len(rows)
            output += rows
        yield output, advanced.bound, dict(states)


def meet(one: dict, other: dict) -> bool:
    if None in (one["k0"], one["k1"], other["k0"], other["k1"]) or one["k1"] != other["k1"]:
        return False
    return one["k0"] == other["k0"] or (math.isnan(one["k0"]) and math.isnan(other["k0"]))


def condition(text: str) -> PairCondition:
    """Make the condition that the numbers of two rows have different remainders, in one way or another."""
    numbers = Call("mod", (PairColumn(0, "v0"), Literal(3))), Call("mod", (PairColumn(1, "m"), Literal(3)))
    different = Call("ne", numbers)
    if text == "by row":
        different = Call("ne", (Call("bit_count", numbers[:1]), Call("bit_count", numbers[1:])))
    if text == "with NULL":
        different = Call("and", (different, Call("eq", (PairColumn(0, "k1"), PairColumn(1, "k1")))))
    types = {"v0": BIGINT, "m": BIGINT, "k1": STRING}
    return PairCondition(typed(different, lambda leaf: types[leaf.name], STANDARD_SESSION), STANDARD_SESSION)


RANGES = st.tuples(st.integers(-5, 5), st.integers(-5, 5)).map(sorted)
CONDITIONS = st.sampled_from([None, None, "by column", "by row", "with NULL"])


def asked(text: str | None, one: dict, other: dict) -> bool:
    if text == "by row":
        return (one["v0"] % 3).bit_count() != (other["m"] % 3).bit_count()
    return text is None or one["v0"] % 3 != other["m"] % 3


@settings(max_examples=examples(20))
@given(batches(), RANGES, st.tuples(st.integers(0, 3), st.integers(0, 3)), st.sampled_from(JoinKind), CONDITIONS)
def test_a_nested_loop_gives_the_same(drawn, limits, delays, kind, text):
    low, high = limits
    join = IntervalJoinOperator(LEFT, RIGHT, low, high, kind, COLUMNS, None if text is None else condition(text))
    stage = Stage(join, (StageInput(delays[0], 0), StageInput(delays[1], 1)), "")
    left, right = on_time(drawn, delays)
    pairs = [
        (a["v0"], b["v0"])
        for a in left
        for b in right
        if meet(a, b) and low <= b["t"] - a["t"] <= high and asked(text, a, b)
    ]
    expected = joined(pairs, left, right, kind)
    output_pairs, before = [], BEGINNING
    for output, bound, states in run(stage, drawn):
        for row in output:
            times = [row["l_t"], row.get("r_t")]
            assert row["t"] == max(time for time in times if time is not None)
            assert row["t"] > before - join.hold
            assert all(time is None or time > before - hold for time, hold in zip(times, join.holds, strict=True))
        output_pairs += [(row["l_v0"], row.get("r_v0")) for row in output]
        before = bound
        for state in states.values():
            parts = decode(state, join, "").operator_state
            for side, reach in enumerate((high, -low)):
                if parts.held[side] is not None:
                    assert min(parts.held[side]["t"].to_pylist()) + reach > bound
                    assert not parts.held[side]["k1"].null_count
    assert Counter(output_pairs) == Counter(expected)


LIMITED = tuple(replace(layout, values=(*layout.values, Column("u", ""))) for layout in (LEFT, RIGHT))
LIMITED_COLUMNS = (
    COLUMNS[0].append(pa.field("u", pa.int64())),
    COLUMNS[1].insert(3, pa.field("u", pa.int64())),
)
OWN = st.sampled_from([(True, False), (False, True), (True, True)])


@settings(max_examples=examples(20))
@given(batches(), RANGES, OWN, st.tuples(st.integers(0, 3), st.integers(0, 3)), st.sampled_from(JoinKind), CONDITIONS)
def test_rows_say_themselves_how_long_they_can_be_met(drawn, bounds, own, delays, kind, text):
    low, high = -UNBOUNDED if own[1] else bounds[0], UNBOUNDED if own[0] else bounds[1]
    limits = tuple("u" if said else None for said in own)
    found_condition = None if text is None else condition(text)
    join = IntervalJoinOperator(*LIMITED, low, high, kind, LIMITED_COLUMNS, found_condition, limits)
    stage = Stage(join, (StageInput(delays[0], 0), StageInput(delays[1], 1)), "")
    left, right = on_time(drawn, delays)

    def within(row: dict, other: dict, side: int) -> bool:
        return not own[side] or (row["u"] is not None and other["t"] <= row["u"])

    pairs = [
        (a, b)
        for a in left
        for b in right
        if meet(a, b) and low <= b["t"] - a["t"] <= high and within(a, b, 0) and within(b, a, 1) and asked(text, a, b)
    ]
    expected = joined([(a["v0"], b["v0"]) for a, b in pairs], left, right, kind)
    output_pairs, before = [], BEGINNING
    for output, bound, states in run(stage, drawn):
        for row in output:
            times = [row["l_t"], row.get("r_t")]
            holds = zip((*times, row["t"]), (*join.holds, join.hold), strict=True)
            assert all(time is None or hold is None or time > before - hold for time, hold in holds)
        output_pairs += [(row["l_v0"], row.get("r_v0")) for row in output]
        before = bound
        for state in states.values():
            for side, held in enumerate(decode(state, join, "").operator_state.held):
                if held is not None and own[side]:
                    # No row is kept that nobody can meet any more.
                    assert min(held["u"].to_pylist()) > bound
    assert Counter(output_pairs) == Counter(expected)


def joined(pairs, left, right, kind) -> list[tuple]:
    """Return what a join gives of these pairs, by a plain loop."""
    ones, others = {one for one, _ in pairs}, {other for _, other in pairs}
    if kind == JoinKind.SEMI:
        return [(one, None) for one in ones]
    expected = [] if kind == JoinKind.ANTI else pairs
    if kind != JoinKind.INNER:
        expected = expected + [(a["v0"], None) for a in left if a["v0"] not in ones]
    if kind == JoinKind.FULL:
        expected = expected + [(None, b["v0"]) for b in right if b["v0"] not in others]
    return expected


def test_columns_of_both_sides():
    join = IntervalJoinOperator(LEFT, RIGHT, 0, 5, JoinKind.LEFT, COLUMNS)
    stage = Stage(join, (StageInput(0, 0), StageInput(0, 1)), "")
    key = {"k0": 1.0, "k1": "x", "bucket": 0}
    left = [key | {"t": 1, "v0": 7}, key | {"t": 20, "v0": 8}]
    right = [key | {"t": 3, "v0": "a", "v1": False, "m": 1}]
    outputs = [output for output, _, _ in run(stage, [(left, right)])]
    pair = {"k0": 1.0, "k1": "x", "t": 3, "l_t": 1, "l_v0": 7, "r_t": 3, "r_v0": "a", "r_v1": False, "r_m": 1}
    alone = {"k0": 1.0, "k1": "x", "t": 20, "l_t": 20, "l_v0": 8, "r_t": None, "r_v0": None, "r_v1": None, "r_m": None}
    assert outputs == [[pair], [alone]]


@pytest.mark.parametrize("kind", JoinKind)
def test_a_side_may_never_come(kind):
    stage = Stage(IntervalJoinOperator(LEFT, RIGHT, 0, 5, kind, COLUMNS), (StageInput(0, 0), StageInput(0, 1)), "")
    left = [{"k0": 1.0, "k1": "x", "bucket": 0, "t": 1, "v0": 7}]
    outputs = [[row["l_v0"] for row in output] for output, _, _ in run(stage, [(left, [])])]
    assert outputs == [[], [7] if kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI) else []]
