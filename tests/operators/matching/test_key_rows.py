"""The rows of one key: those of the right key, each where the watermark puts it, in order."""

import math

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM
from ordered_samples import BUCKETS, KEYS, inputs, packets
from test_match_operator import STAGE, by_hand, run

from cepsql.operators.matching.key_rows import held_rows, sort_batches, state_of_key
from cepsql.ordered.stage import StageInput
from cepsql.ordered.state import decode, first_state

TIES = ["v0", "m"]


def shown(table: pa.Table | None) -> list[tuple]:
    return [] if table is None else [(r["t"], r["o0"], r["v0"], r["m"]) for r in table.to_pylist()]


def in_order(rows: list[dict]) -> list[tuple]:
    """Sort by t, then o0 DESC NULLS LAST, then v0 and m."""

    def place(row: dict) -> tuple:
        tie = 2 if row["o0"] is None else -row["o0"]
        return row["t"], tie, row["v0"] is not None, row["v0"] or "", row["m"]

    return [(row["t"], row["o0"], row["v0"], row["m"]) for row in sorted(rows, key=place)]


@settings(max_examples=examples(15))
@given(inputs(), st.integers(0, 4))
def test_the_watermark_tells_rows_apart(batches, delay):
    for row in (row for tasks in batches for task in tasks for row in task):
        row |= {"k0": 1.0, "bucket": 0}
    packed = [[blob for task in tasks for blob in packets(task, 1).get(0, [])] for tasks in batches]
    key_rows = sort_batches(PROGRAM, (StageInput(delay),), packed, TIES)
    used, counts = by_hand(batches, delay)
    if counts.used + counts.late == 0:
        assert key_rows is None
        return
    rows = [row for tasks in batches for task in tasks for row in task if not row["malformed"]]
    bound = max(row["t"] for row in rows if row["t"] is not None) - delay
    late = [row for row in rows if row["t"] is not None and not any(row is other for other in used)]
    assert (key_rows.bound, key_rows.timeless) == (bound, counts.null_time)
    assert shown(key_rows.released) == in_order([row for row in used if row["t"] <= bound])
    assert shown(key_rows.waiting) == in_order([row for row in used if row["t"] > bound])
    assert shown(key_rows.late) == in_order(late)
    assert (key_rows.scan, key_rows.number) == (0, 0)


@settings(max_examples=examples(15))
@given(inputs(), st.integers(0, 4))
def test_a_state_is_cut_down_to_a_key(batches, delay):
    for _, _, states in run(batches, delay):
        for bucket in range(BUCKETS):
            state = decode(states[bucket], STAGE.operator, STAGE.identity)
            (all_held,), (all_waiting,) = state.operator_state.held, state.operator_state.waiting
            for key in (key for key, where in KEYS if where == bucket):
                one = [pa.array([key], pa.float64())]
                cut = state_of_key(PROGRAM, state, one)
                held, waiting = (rows_of(table, key) for table in (all_held, all_waiting))
                if cut is None:
                    assert held == waiting == []
                    continue
                rows_of_key = held_rows(PROGRAM, cut, one, TIES)
                assert shown(rows_of_key.released) == [(r["t"], r["o0"], r["v0"], r["m"]) for r in held]
                assert shown(rows_of_key.waiting) == in_order(waiting)
                assert rows_of_key.scan == sum(row["context"] for row in held)
                assert rows_of_key.number == sum(
                    row["number"] for row in rows_of(state.operator_state.sections.get("numbers"), key)
                )
                assert (rows_of_key.late, rows_of_key.bound, rows_of_key.timeless) == (None, state.bound, 0)
                assert not {"first", "context", "covered"} & set(rows_of_key.released.column_names)


def rows_of(table: pa.Table | None, key: float | None) -> list[dict]:
    return [] if table is None else [row for row in table.to_pylist() if same(row["k0"], key)]


def same(a: float | None, b: float | None) -> bool:
    return a == b or (None not in (a, b) and math.isnan(a) and math.isnan(b))


def test_nothing_is_held():
    assert state_of_key(PROGRAM, first_state(STAGE.operator, 1), [pa.array([1.0])]) is None
