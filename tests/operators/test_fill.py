"""Rows for the windows of a key in which nothing came, whatever the micro-batches."""

from collections import defaultdict
from decimal import Decimal

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.operators.windowing.fill import Filler, FillKind, FillOperator, constant
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import END_OF_TIME, Column, RowLayout
from cepsql.ordered.sorted_run import run_sorted
from cepsql.ordered.stage import Stage, StageInput, advance

STEP = 10
LAYOUT = RowLayout((Column("k0", ""),), Column("t", ""), values=tuple(Column(f"v{i}", "") for i in range(4)))
_TYPES = {"k0": pa.string(), "t": pa.int64(), "v0": pa.string(), "v1": pa.int64(), "v2": pa.float64()}
SCHEMA = pa.schema(_TYPES | {"v3": pa.int64(), "bucket": pa.int32()})


def operator(most: int | None, linear: bool) -> FillOperator:
    value = Filler(FillKind.LINEAR if linear else FillKind.PREVIOUS)
    fillers = (Filler(FillKind.KEY), Filler(FillKind.START), value, Filler(FillKind.CONSTANT, Decimal(0)))
    return FillOperator(LAYOUT, fillers, STEP, STEP, most)


def group(key: str | None, window: int, value: float) -> dict:
    end = window * STEP
    return {"k0": key, "t": end, "v0": key, "v1": end - STEP, "v2": value, "v3": 1, "bucket": 0}


def by_hand(groups: list[dict], most: int | None, linear: bool) -> list[tuple]:
    """Return all rows, key by key, with a loop over windows."""
    by_key, filled = defaultdict(list), []
    for row in sorted(groups, key=lambda row: row["t"]):
        by_key[row["k0"]].append(row)
    for key, rows in by_key.items():
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            filled.append((key, row["t"], row["v1"], row["v2"], 1))
            gap = 0 if following is None else (following["t"] - row["t"]) // STEP - 1
            if linear or most is None:
                count = 0 if most is not None and gap > most else gap
            else:
                count = most if following is None else min(gap, most)
            for number in range(1, count + 1):
                end, value = row["t"] + number * STEP, row["v2"]
                if linear:
                    value += (following["v2"] - value) * (number * STEP / (following["t"] - row["t"]))
                filled.append((key, end, end - STEP, value, 0))
    return sorted(filled, key=repr)


@settings(max_examples=examples(80))
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(1, 14), st.integers(0, 9)), max_size=12),
    st.none() | st.integers(1, 4),
    st.booleans(),
    st.data(),
)
def test_any_batches_fill_the_same(drawn, most, linear, data):
    groups = [group(*one) for one in {one[:2]: (*one[:2], float(one[2])) for one in drawn}.values()]
    groups.sort(key=lambda row: row["t"])
    stage = Stage(operator(most, linear), (StageInput(0),), "")
    output, state, counted = [], None, 0
    cuts = sorted(data.draw(st.lists(st.integers(0, 15), max_size=5)))
    bounds = [cut * STEP for cut in cuts] + [END_OF_TIME]
    for low, bound in zip([-1, *bounds], bounds, strict=False):
        rows = [row for row in groups if low < row["t"] <= bound]
        mark = dict.fromkeys(SCHEMA.names) | {"t": bound, "bucket": 0}
        marks = [mark] if bound == END_OF_TIME else []
        batch = pa.RecordBatch.from_pylist([*rows, *marks], SCHEMA)
        blobs = [blob for packed in pack([batch], 1) for blob in packed["packet"].to_pylist()]
        advanced = advance(stage, state, blobs)
        state = advanced.state
        counted += advanced.counts.counters["filled"]
        output += advanced.output.to_pylist()
    seen = sorted([(r["v0"], r["t"], r["v1"], r["v2"], r["v3"]) for r in output], key=repr)
    expected = by_hand(groups, most, linear)
    assert seen == [(key, end, start, pytest.approx(value), n) for key, end, start, value, n in expected]
    assert counted == len(expected) - len(groups)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 14), st.integers(0, 9)), min_size=1, max_size=12),
    st.none() | st.integers(1, 4),
    st.booleans(),
)
def test_a_table_is_filled_in_the_same_way(drawn, most, linear):
    groups = [group(*one) for one in {one[:2]: (*one[:2], float(one[2])) for one in drawn}.values()]
    groups.sort(key=lambda row: (row["k0"], row["t"]))
    batch = pa.RecordBatch.from_pylist(groups, SCHEMA)
    rows = [row for part in run_sorted(operator(most, linear), [batch], 1) for row in part.to_pylist()]
    seen = sorted([(r["v0"], r["t"], r["v1"], r["v2"], r["v3"]) for r in rows], key=repr)
    expected = by_hand(groups, most, linear)
    assert seen == [(key, end, start, pytest.approx(value), n) for key, end, start, value, n in expected]


def test_constants_have_the_type_of_their_column():
    assert constant(Decimal("0.5"), pa.decimal128(10, 2)).as_py() == Decimal("0.50")
    assert constant(None, pa.string()).as_py() is None
    with pytest.raises(pa.ArrowException):
        constant("none", pa.int64())
