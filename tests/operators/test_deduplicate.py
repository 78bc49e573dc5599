"""The first row of each key within a time, whatever the micro-batches."""

import math
from dataclasses import replace

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, SCHEMA, inputs, packets

from cepsql.operators.deduplicate import DeduplicateOperator
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode

END = {"t": END_OF_TIME, "bucket": 0}
HUGE = 2**61


def run(stage: Stage, batches):
    """Advance all buckets through batches of tasks; yield the output rows, the states and the counters of each."""
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    for tasks in batches:
        packed = [packets(rows, BUCKETS) for rows in tasks]
        output, duplicates = [], 0
        for bucket in range(BUCKETS):
            blobs = [blob for task in packed for blob in task.get(bucket, [])]
            advanced = advance(stage, states[bucket], blobs)
            states[bucket] = advanced.state
            output.append(advanced.output.to_pylist())
            duplicates += advanced.counts.counters["duplicates"]
        yield output, dict(states), duplicates


def place(row: dict) -> tuple:
    """Sort by t, then o0 DESC NULLS LAST, then v0 and m."""
    tie = 2 if row["o0"] is None else -row["o0"]
    return row["t"], tie, row["v0"] is not None, row["v0"] or "", row["m"]


def key_of(row: dict):
    key = row["k0"]
    if key is None:
        return None
    return "NaN" if math.isnan(key) else key + 0.0


def by_hand(batches, delay: int, within: int | None) -> tuple[list[tuple], int]:
    """Return the rows to give out, and how many rows are not late."""
    bound, used = BEGINNING, []
    for tasks in batches:
        good = [r for task in tasks for r in task if not r["malformed"] and r["t"] is not None]
        used += [r for r in good if r["t"] > bound]
        bound = max([bound, *(r["t"] - delay for r in good)])
    last_times, first_rows = {}, []
    for row in sorted(used, key=place):
        last = last_times.get(key_of(row))
        if last is None or (within is not None and row["t"] >= last + within):
            last_times[key_of(row)] = row["t"]
            first_rows.append((key_of(row), *place(row)))
    return sorted(first_rows, key=repr), len(used)


@settings(max_examples=examples(20))
@given(inputs(), st.integers(0, 6), st.none() | st.integers(1, 6), st.sampled_from([0, 0, HUGE]))
def test_any_batches_give_the_first_rows(batches, delay, within, shift):
    for row in (row for tasks in batches for task in tasks for row in task):
        # Times far apart, too.
        row["t"] = row["t"] and (row["t"] - shift if row["t"] < 0 else row["t"])
    expected, used = by_hand(batches, delay, within)
    stage = Stage(DeduplicateOperator(LAYOUT, within), (StageInput(delay),), "")
    first_rows, dropped = [], 0
    for output, states, duplicates in run(stage, [*batches, [[END]]]):
        for rows in output:
            first_rows += [(key_of(row), *place(row)) for row in rows]
            assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
        dropped += duplicates
        for state in states.values():
            decoded = decode(state, stage.operator, "")
            levels = decoded.operator_state.keyed.levels
            assert decoded.operator_state.held == (None,)
            assert within != 1 or not levels
    assert sorted(first_rows, key=repr) == expected
    assert dropped == used - len(expected)


def test_keys_whose_time_is_over_are_forgotten():
    stage, state = Stage(DeduplicateOperator(LAYOUT, 10), (StageInput(0),), ""), None
    for batch in range(60):
        state = advance(stage, state, packets([{"k0": float(batch), "t": batch, "m": 0, "bucket": 0}], 1)[0]).state
        levels = decode(state, stage.operator, "").operator_state.keyed.levels
        remembered = sum(section.rows.num_rows for level in levels for section in level.sections.values())
        assert remembered <= 3 * 10
    assert remembered >= 10


@pytest.mark.parametrize("within, expected", [(1, 60_000), (2, 30_000), (20_000, 3), (None, 1)])
def test_many_rows_of_one_key(within, expected):
    layout = RowLayout((Column("k0", ""),), Column("t", ""))
    rows = pa.RecordBatch.from_pylist([{"k0": 1.0, "t": t, "bucket": 0} for t in range(60_000)])
    stage = Stage(DeduplicateOperator(layout, within), (StageInput(0),), "")
    blobs = [blob for batch in pack([rows], 1) for blob in batch["packet"].to_pylist()]
    output = advance(stage, None, blobs).output
    assert output["t"].to_pylist() == list(range(0, 60_000, within or 60_000))
    assert output.num_rows == expected


def test_without_keys_all_rows_are_one():
    layout = replace(LAYOUT, keys=())
    rows = [{"k0": None, "t": t, "m": 0, "bucket": 0} for t in (1, 2, 5, 8)]
    stage = Stage(DeduplicateOperator(layout, 4), (StageInput(0),), "")
    first = advance(stage, None, packets(rows[:2], 1)[0])
    second = advance(stage, first.state, packets(rows[2:], 1)[0])
    assert [first.output["t"].to_pylist(), second.output["t"].to_pylist()] == [[1], [5]]
    assert first.output.schema == SCHEMA
