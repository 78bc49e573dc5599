"""The rows of every frame, whatever the micro-batches."""

import itertools
from collections import Counter

from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, inputs, packets
from test_deduplicate import END, key_of, place

from cepsql.operators.framing.frame_rows import FrameRows
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode

FRAMES = st.tuples(
    st.integers(0, 3), st.integers(0, 2), st.integers(0, 5), st.integers(0, 4),
    st.one_of(st.just(0), st.integers(0, 3)), st.one_of(st.just(0), st.integers(0, 2)),
)  # fmt: skip
"""Rows before and after, microseconds before and after, groups of equal rows before and after."""


def used_rows(batches, delay: int) -> list[dict]:
    """Return the rows that are not late."""
    bound, used = BEGINNING, []
    for tasks in batches:
        good = [r for task in tasks for r in task if not r["malformed"] and r["t"] is not None]
        used += [r for r in good if r["t"] > bound]
        bound = max([bound, *(r["t"] - delay for r in good)])
    return used


def with_bounds(batches, delay: int) -> list[dict]:
    """Return the rows that have a time, each with the bound that there was when it came."""
    bound, with_bound = BEGINNING, []
    for tasks in batches:
        good = [r for task in tasks for r in task if not r["malformed"] and r["t"] is not None]
        with_bound += [row | {"came": bound} for row in good]
        bound = max([bound, *(r["t"] - delay for r in good)])
    return with_bound


def frame(rows: list[dict], at: int, frames) -> tuple:
    """Return the rows of a partition, in order, around one of them that its frame holds."""
    before, after, early, late, sooner, later = frames
    t = rows[at]["t"]
    numbers = [number for number, (_, group) in enumerate(itertools.groupby(rows, key=peer)) for _ in group]
    near = [place(r) for i, r in enumerate(rows) if at - before <= i <= at + after]
    timely = [place(r) for r in rows if t - early <= r["t"] <= t + late]
    peers = [place(r) for r, n in zip(rows, numbers, strict=True) if -sooner <= n - numbers[at] <= later]
    return place(rows[at]), tuple(near), tuple(timely), tuple(peers) if sooner or later else ()


def peer(row: dict) -> str:
    """Return what rows have in common that are equal in the order."""
    return repr([row[name] for name in ("t", *(column.name for column in LAYOUT.order))])


def partitions(rows: list[dict]) -> list[list[dict]]:
    """Return rows by key, in the order in which they come."""
    rows_by_key: dict = {}
    for row in rows:
        rows_by_key.setdefault(key_of(row), []).append(row)
    return list(rows_by_key.values())


@settings(max_examples=examples(30))
@given(inputs(), st.integers(0, 6), FRAMES)
def test_every_row_comes_once_with_its_frame(batches, delay, frames):
    used = sorted(used_rows(batches, delay), key=place)
    expected = [frame(rows, i, frames) for rows in partitions(used) for i in range(len(rows))]
    stage = Stage(FrameRows(LAYOUT, *frames), (StageInput(delay),), "")
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    output = []
    for tasks in [*batches, [[END]]]:
        packed = [packets(rows, BUCKETS) for rows in tasks]
        for bucket in range(BUCKETS):
            advanced = advance(stage, states[bucket], [blob for task in packed for blob in task.get(bucket, [])])
            states[bucket] = advanced.state
            for rows in partitions(advanced.output.to_pylist()):
                assert [row["place"] for row in rows] == list(range(len(rows)))
                output += [frame(rows, i, frames) for i, row in enumerate(rows) if row["fresh"]]
            check_kept(stage, advanced.state, frames, delay)
    assert Counter(output) == Counter(expected)


def check_kept(stage: Stage, state: bytes, frames, delay: int) -> None:
    """Check that no row is kept that no frame to come can hold."""
    before, after, early, late, sooner, later = frames
    decoded = decode(state, stage.operator, "")
    (held,) = decoded.operator_state.held
    if held is None:
        return
    assert decoded.bound != END_OF_TIME
    for _, rows in itertools.groupby(held.to_pylist(), key=lambda row: repr(key_of(row))):
        rows = list(rows)
        given_rows = [row for row in rows if row["given"]]
        if before == after == late == sooner == later == 0:
            # The whole partition goes at once.
            assert given_rows[-1]["t"] > decoded.bound - early
        if late == after == later == 0:
            assert len(given_rows) == len(rows)
