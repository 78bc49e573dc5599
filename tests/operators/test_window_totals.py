"""Aggregates of windows are those of a plain loop over the rows of each, whatever the micro-batches."""

from collections import defaultdict
from dataclasses import replace
from math import gcd

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, inputs, packets
from test_deduplicate import END, key_of
from test_frame_rows import partitions, with_bounds

from cepsql.errors import OperationalError
from cepsql.operators.running import RunningCall
from cepsql.operators.windowing.partial_totals import PartialTotals
from cepsql.operators.windowing.window_kinds import Fixed, Gaps
from cepsql.operators.windowing.window_totals import WindowTotals
from cepsql.ordered.counts import Counts
from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode

LAYOUT = RowLayout(
    (Column("k0", "key"),), Column("t", "ts"), values=(Column("o0", "seq"), Column("v0", "price")), predicates=("true",)
)
NUMBERS = tuple(RunningCall(name, name, "o0", rows=True) for name in ("count", "sum", "avg", "min", "max"))
CALLS = (
    RunningCall("rows", "count"),
    *NUMBERS,
    RunningCall("earliest", "first", "v0", rows=True),
    RunningCall("latest", "last", "v0", rows=True, ignore_nulls=True),
    RunningCall("numbers", "count", "o0", rows=True, distinct=True),
    RunningCall("added", "sum", "o0", rows=True, distinct=True),
    RunningCall("texts", "count", "v0", rows=True, distinct=True),
)
WHOLE = pa.int64()
TYPES = (
    *(WHOLE, WHOLE, WHOLE, pa.float64(), pa.int32(), pa.int32(), pa.string(), pa.string()),
    *(WHOLE, WHOLE, WHOLE),
)

WINDOWS = st.one_of(
    st.builds(Fixed, st.integers(1, 7), st.integers(1, 9), st.integers(0, 3)), st.builds(Gaps, st.integers(1, 4))
)


def place(row: dict) -> tuple:
    """Sort by t, then by the values, NULL first."""
    return row["t"], *((row[name] is not None, row[name]) for name in ("o0", "v0", "m"))


def windows_by_hand(rows: list[dict], windows) -> dict[tuple[int, int], list[dict]]:
    """Return the rows of each window of a partition in order, by its bounds."""
    if isinstance(windows, Fixed):
        rows_by_window = defaultdict(list)
        for row in rows:
            for start in range(windows.offset - 60 * windows.slide, 60 * windows.slide, windows.slide):
                if start <= row["t"] < start + windows.size and start + windows.size - 1 > row["came"]:
                    rows_by_window[start, start + windows.size].append(row)
        return rows_by_window
    sessions: list[list[dict]] = []
    for row in (row for row in rows if row["t"] > row["came"]):
        if not sessions or row["t"] > sessions[-1][-1]["t"] + windows.gap:
            sessions.append([])
        sessions[-1].append(row)
    return {(session[0]["t"], session[-1]["t"] + windows.gap): session for session in sessions}


def totals_by_hand(rows: list[dict]) -> tuple:
    numbers_present = [row["o0"] for row in rows if row["o0"] is not None]
    texts = [row["v0"] for row in rows if row["v0"] is not None]
    numbers = (
        (sum(numbers_present), sum(numbers_present) / len(numbers_present), min(numbers_present), max(numbers_present))
        if numbers_present
        else (None,) * 4
    )
    distinct = len(set(numbers_present)), sum(set(numbers_present)) if numbers_present else None, len(set(texts))
    return (len(rows), len(numbers_present), *numbers, rows[0]["v0"], texts[-1] if texts else None, *distinct)


@settings(max_examples=examples(15))
@given(inputs(), st.integers(0, 6), WINDOWS, st.booleans(), st.randoms(use_true_random=False))
def test_every_group_comes_once_with_its_totals(batches, delay, windows, joins, chance):
    layout = replace(LAYOUT, until=windows.until) if isinstance(windows, Fixed) else LAYOUT
    joins = joins and isinstance(windows, Fixed)
    if joins:
        layout = replace(layout, reduction=PartialTotals(windows, CALLS, tuple(LAYOUT.ties)), joins=True)
    operator = WindowTotals(layout, windows, CALLS, TYPES)
    expected = {
        (key_of(rows[0]), *bounds): totals_by_hand(held)
        for rows in partitions(sorted(with_bounds(batches, delay), key=place))
        for bounds, held in windows_by_hand(rows, windows).items()
    }
    late = 0 if isinstance(windows, Gaps) else 1
    stage = Stage(operator, (StageInput(delay),), "", 0 if joins else None)
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    totals, counts = {}, Counts()
    for tasks in [*batches, [[END]]]:
        # Where late rows are kept, rows come whole to the stage.
        steps = [layout.reduction if chance.random() < 0.7 else None for _ in tasks]
        packed = [packets(rows, BUCKETS, reduction=step) for rows, step in zip(tasks, steps, strict=True)]
        for bucket in range(BUCKETS):
            before = BEGINNING if states[bucket] is None else decode(states[bucket], operator, "").bound
            advanced = advance(stage, states[bucket], [blob for task in packed for blob in task.get(bucket, [])])
            states[bucket] = advanced.state
            counts += advanced.counts.inputs[0]
            for row in advanced.output.to_pylist():
                group = (key_of(row), row["window_start"], row["window_end"])
                assert group not in totals
                assert before < row["window_end"] - late <= advanced.bound
                totals[group] = tuple(row[call.name] for call in CALLS)
            parts = decode(states[bucket], operator, "").operator_state
            assert parts.held == (None,)
            standing = advanced.standing
            assert standing.rows == standing.waiting + standing.open
            # Values are kept for open groups alone.
            assert "open" in parts.sections or not parts.sections
            assert standing.deadline is None or standing.deadline > advanced.bound
    assert totals == expected
    came = with_bounds(batches, delay)
    on_time = [row for row in came if last_moment(row["t"], windows) > row["came"]]
    assert (counts.used, counts.late) == (len(on_time), len(came) - len(on_time))


def last_moment(time: int, windows) -> int:
    """Return until when a row counts, by the plain meaning of the windows."""
    if isinstance(windows, Gaps):
        return time
    begin = max(
        begin
        for begin in range(windows.offset - 60 * windows.slide, time + 1)
        if (begin - windows.offset) % windows.slide == 0
    )
    pane = gcd(windows.size, windows.slide)
    return max(begin + windows.size - 1, time + pane - 1 - (time - windows.offset) % pane)


def test_a_sum_that_outgrows_its_type():
    rows = pa.table({"k0": [1.0] * 2, "t": [1, 2], "o0": [2**63 - 1, 1], "v0": pa.nulls(2, pa.string())})
    ordered = OrderedRows(rows, np.array([0, 2]), np.array([0]))
    calls, types = (RunningCall("sum", "sum", "o0", rows=True),), (pa.int64(),)
    wrapping = WindowTotals(LAYOUT, Fixed(10, 10), calls, types, wraps=True)
    assert wrapping.advance([ordered], {}, BEGINNING, END_OF_TIME).output["sum"].to_pylist() == [-(2**63)]
    with pytest.raises(OperationalError, match="outgrows"):
        WindowTotals(LAYOUT, Fixed(10, 10), calls, types).advance([ordered], {}, BEGINNING, END_OF_TIME)
