"""Groups of windows that come out when they change: whoever applies the changes has what the windows hold."""

from dataclasses import replace

from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, inputs, packets
from test_deduplicate import END, key_of, place
from test_frame_rows import partitions, with_bounds
from test_window_operators import windows_by_hand

from cepsql.operators.windowing.changing_windows import ChangingWindows
from cepsql.operators.windowing.window_kinds import Fixed, Gaps
from cepsql.operators.windowing.windows import FixedWindows, Sessions
from cepsql.ordered.operator import Change
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode

WINDOWS = st.one_of(
    st.builds(Fixed, st.integers(1, 7), st.integers(1, 7), st.integers(0, 3)).filter(lambda w: w.slide <= w.size),
    st.builds(Gaps, st.integers(1, 4)),
)


def by_hand(batches: list, delay: int, windows: Fixed | Gaps) -> dict[tuple, list]:
    """Return the rows of each key and window."""
    plain = (
        Sessions(LAYOUT, windows.gap)
        if isinstance(windows, Gaps)
        else FixedWindows(LAYOUT, windows.size, windows.slide, windows.offset)
    )
    used = sorted(with_bounds(batches, delay), key=place)
    groups = [(key_of(rows[0]), *window) for rows in partitions(used) for window in windows_by_hand(rows, plain)]
    return {group[:3]: sorted(group[3]) for group in groups}


def apply(result: dict[tuple, list], rows: list[dict]) -> None:
    """Apply the changes of one step; each must fit what is there."""
    groups: dict[tuple, list] = {}
    for row in rows:
        group = key_of(row), row["window_start"], row["window_end"], row["change"]
        assert row["first"] == (group not in groups)
        assert row["place"] == len(groups.setdefault(group, []))
        groups[group].append(place(row))
    for (*group, kind), held in sorted(groups.items(), key=lambda item: repr(item[0][3] in (0, 3))):
        if kind in (Change.DELETE, Change.UPDATE_BEFORE):
            assert sorted(result.pop(tuple(group))) == sorted(held)
            assert kind == Change.DELETE or (*group, Change.UPDATE_AFTER) in groups
        else:
            assert tuple(group) not in result
            assert (kind == Change.UPDATE_AFTER) == ((*group, Change.UPDATE_BEFORE) in groups)
            result[tuple(group)] = sorted(held)


@settings(max_examples=examples(15))
@given(
    inputs(),
    st.integers(0, 6),
    st.integers(0, 5),
    WINDOWS,
    st.one_of(st.none(), st.integers(1, 5)),
    st.booleans(),
)
def test_changes_add_up_to_the_windows(batches, delay, lateness, windows, every, once):
    layout = replace(LAYOUT, until=windows.until) if isinstance(windows, Fixed) else LAYOUT
    operator = ChangingWindows(layout, windows, lateness, None if once else every, once)
    stage = Stage(operator, (StageInput(delay),), "", lateness)
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    result: dict[tuple, list] = {}
    for number, tasks in enumerate([*batches, [[END]]], 1):
        packed = [packets(rows, BUCKETS) for rows in tasks]
        for bucket in range(BUCKETS):
            advanced = advance(stage, states[bucket], [blob for task in packed for blob in task.get(bucket, [])])
            states[bucket] = advanced.state
            rows = advanced.output.to_pylist()
            apply(result, rows)
            if once:
                assert all(row["change"] == Change.INSERT for row in rows)
            check_forgotten(operator, advanced)
        if every is None and not once:
            assert result == by_hand(batches[:number], delay + lateness, windows)
    assert result == by_hand(batches, delay + lateness, windows)


def check_forgotten(operator: ChangingWindows, advanced) -> None:
    """Check that kept rows can still matter."""
    (held,) = decode(advanced.state, operator, "").operator_state.held
    longest = operator.windows.gap if isinstance(operator.windows, Gaps) else operator.windows.size
    sessions = isinstance(operator.windows, Gaps)
    for row in held.to_pylist() if held is not None and not sessions else []:
        assert row["t"] + longest + operator.lateness > advanced.bound
