"""Running values of each key, whatever the micro-batches: what a plain loop over all rows gives."""

import math
from collections import Counter
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, inputs
from test_deduplicate import END, key_of, place
from test_frame_rows import partitions, used_rows

from cepsql.errors import OperationalError
from cepsql.operators.running import RunningCall, RunningOperator
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance

TYPES = {"o0": pa.int32(), "v0": pa.string(), "m": pa.int64(), "x": pa.float64(), "d": pa.decimal128(6, 2)}
VALUES = RowLayout(
    LAYOUT.keys, LAYOUT.time, LAYOUT.order, (*LAYOUT.values, Column("x", "x"), Column("d", "d")), LAYOUT.predicates
)
SCHEMA = pa.schema(
    [("k0", pa.float64()), ("t", pa.int64()), *TYPES.items(), ("bucket", pa.int32()), ("malformed", pa.bool_())]
)
NUMBERS = st.none() | st.sampled_from([0.1, 0.2, -0.0, 0.0, 1e16, -1e16, 3.5, math.inf, math.nan])
DECIMALS = st.none() | st.integers(-99999, 99999).map(lambda n: Decimal(n) / 100)


def calls():
    """Draw calls with the types of what they give."""
    ranks = [("row_number", None), ("rank", None), ("dense_rank", None)]
    chosen = [(f, c) for f in ("count", "min", "max", "first", "last") for c in TYPES]
    numbers = [(f, c) for f in ("sum", "avg") for c in ("o0", "m", "x", "d")]
    one = st.tuples(st.sampled_from([*ranks, *chosen, *numbers]), st.booleans(), st.booleans())
    return st.lists(one, min_size=1, max_size=4).map(
        lambda drawn: tuple(
            (RunningCall(f"w{i}", f, c, rows, ignore), type_of(f, c)) for i, ((f, c), rows, ignore) in enumerate(drawn)
        )
    )


def type_of(function: str, column: str | None) -> pa.DataType:
    if column is None:
        return pa.int32()
    if function == "count":
        return pa.int64()
    if function not in ("sum", "avg"):
        return TYPES[column]
    if column == "d":
        return pa.decimal128(16, 2) if function == "sum" else pa.decimal128(10, 6)
    return pa.int64() if function == "sum" and column != "x" else pa.float64()


def peer(row: dict):
    return row["t"], row["o0"]


def by_hand(rows: list[dict], call: RunningCall, at: int):
    """Compute a call for a row of a partition in order."""
    end = at if call.rows else max(i for i, row in enumerate(rows) if peer(row) == peer(rows[at]))
    first = min(i for i, row in enumerate(rows) if peer(row) == peer(rows[at]))
    match call.function:
        case "row_number":
            return at + 1
        case "rank":
            return first + 1
        case "dense_rank":
            return len({peer(row) for row in rows[: first + 1]})
    values = [row[call.column] for row in rows[: end + 1]]
    there = [value for value in values if value is not None]
    match call.function:
        case "count":
            return len(there)
        case "first" | "last":
            candidates = there if call.ignore_nulls else values
            return None if not candidates else candidates[0 if call.function == "first" else -1]
        case "min" | "max":
            return extreme(there, call.function == "max")
    if not there:
        return None
    if isinstance(there[0], Decimal):
        with localcontext() as context:
            context.prec = 60
            mean = (sum(there) / len(there)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
            return sum(there) if call.function == "sum" else mean
    total = 0.0 if isinstance(there[0], float) or call.function == "avg" else 0
    for value in there:
        total += value
    return total if call.function == "sum" else total / len(there)


def extreme(there: list, greatest: bool):
    best = None
    for value in there:
        nan, held = value != value, best is not None and best != best
        better = (nan or (not held and value > best)) if best is not None else True
        worse = (held and not nan) or (not nan and best is not None and value < best)
        if best is None or ((better and not (nan and held)) if greatest else worse):
            best = value
    return best


def shown(value) -> str:
    return str(Fraction(value)) if isinstance(value, Decimal) else repr(value)


def packed(rows: list[dict]) -> dict[int, list[bytes]]:
    packets: dict[int, list[bytes]] = {}
    for batch in pack([pa.RecordBatch.from_pylist(rows, SCHEMA)], BUCKETS):
        for row in batch.to_pylist():
            packets.setdefault(row["bucket"], []).append(row["packet"])
    return packets


@settings(max_examples=examples(30))
@given(inputs(), st.integers(0, 6), calls(), st.data())
def test_running_values_are_those_of_a_loop(batches, delay, asked, data):
    for row in (row for tasks in batches for task in tasks for row in task):
        row["x"], row["d"] = data.draw(NUMBERS), data.draw(DECIMALS)
    used = sorted(used_rows(batches, delay), key=lambda row: (*place(row), shown(row["x"]), shown(row["d"])))
    # Which of two rows that tie, but for what stands behind x and d in the layout, comes first is the stage's to say.
    assume(len({(shown(key_of(row)), place(row)[:-1]) for row in used}) == len(used))
    functions = [call for call, _ in asked]
    expected = Counter(
        (shown(key_of(row)), place(row), *(shown(by_hand(rows, call, i)) for call in functions))
        for rows in partitions(used)
        for i, row in enumerate(rows)
    )
    operator = RunningOperator(VALUES, tuple(functions), tuple(kind for _, kind in asked))
    stage = Stage(operator, (StageInput(delay),), "")
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    output: Counter = Counter()
    for tasks in [*batches, [[END]]]:
        blobs = [packed(rows) for rows in tasks]
        for bucket in range(BUCKETS):
            advanced = advance(stage, states[bucket], [blob for task in blobs for blob in task.get(bucket, [])])
            states[bucket] = advanced.state
            rows = advanced.output.to_pylist()
            assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
            output.update((shown(key_of(row)), place(row), *(shown(row[c.name]) for c in functions)) for row in rows)
    assert output == expected


@pytest.mark.parametrize("size", [10, 3000])
def test_sums_of_long_and_short_partitions_are_added_in_order(size):
    layout = RowLayout((Column("k0", ""),), Column("t", ""), values=(Column("v0", ""),))
    values = [0.1 * (i % 7) for i in range(size)]
    rows = pa.RecordBatch.from_pylist([{"k0": i % 3, "t": i, "v0": v, "bucket": 0} for i, v in enumerate(values)])
    blobs = [blob for batch in pack([rows], 1) for blob in batch["packet"].to_pylist()]
    operator = RunningOperator(layout, (RunningCall("w", "sum", "v0"),), (pa.float64(),))
    output = advance(Stage(operator, (StageInput(0),), ""), None, blobs).output
    totals = [0.0] * 3
    for i, value in enumerate(values):
        totals[i % 3] += value
        assert output["w"][i].as_py() == totals[i % 3]


def test_without_keys_numbers_go_on():
    operator = RunningOperator(replace(VALUES, keys=()), (RunningCall("w", "row_number"),), (pa.int32(),))
    stage, state, seen = Stage(operator, (StageInput(0),), ""), None, []
    for times in ([1, 2], [3], [7, 8]):
        blobs = packed([{"t": t, "m": 0, "o0": 0, "bucket": 0, "malformed": False} for t in times])
        advanced = advance(stage, state, blobs[0])
        state = advanced.state
        seen += advanced.output["w"].to_pylist()
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("column, values, kind", [("v0", [2**63 - 1, 1], pa.int64())])
def test_a_sum_that_outgrows_its_type_is_an_error(column, values, kind):
    layout = RowLayout((), Column("t", ""), values=(Column("v0", ""),))
    rows = pa.RecordBatch.from_pylist([{"t": i, "v0": v, "bucket": 0} for i, v in enumerate(values)])
    blobs = [blob for batch in pack([rows], 1) for blob in batch["packet"].to_pylist()]
    operator = RunningOperator(layout, (RunningCall("w", "sum", column),), (kind,))
    with pytest.raises(OperationalError, match="outgrows"):
        advance(Stage(operator, (StageInput(0),), ""), None, blobs)


def test_an_average_takes_integers_that_no_double_holds():
    layout = RowLayout((), Column("t", ""), values=(Column("v0", ""),))
    rows = pa.RecordBatch.from_pylist([{"t": i, "v0": 2**53 + 1, "bucket": 0} for i in range(2)])
    blobs = [blob for batch in pack([rows], 1) for blob in batch["packet"].to_pylist()]
    operator = RunningOperator(layout, (RunningCall("w", "avg", "v0"),), (pa.float64(),))
    assert advance(Stage(operator, (StageInput(0),), ""), None, blobs).output["w"].to_pylist() == [2.0**53, 2.0**53]
