"""The rows of every window, whatever the micro-batches."""

from collections import Counter
from dataclasses import replace

from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, inputs, packets
from test_deduplicate import END, key_of, place
from test_frame_rows import partitions, with_bounds

from cepsql.operators.windowing.window_kinds import Fixed
from cepsql.operators.windowing.windows import FixedWindows, Sessions
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode


def windows_by_hand(rows: list[dict], operator) -> list[tuple]:
    """Return key, bounds and rows of each window of a partition in order."""
    windows: dict[tuple, list] = {}
    if isinstance(operator, FixedWindows):
        for row in rows:
            for number in range(-60, 60):
                start = operator.offset + number * operator.slide
                if start <= row["t"] < start + operator.size and start + operator.size - 1 > row["came"]:
                    windows.setdefault((start, start + operator.size), []).append(row)
    else:
        sessions: list[list] = []
        for row in (row for row in rows if row["t"] > row["came"]):
            if not sessions or row["t"] > sessions[-1][-1]["t"] + operator.gap:
                sessions.append([])
            sessions[-1].append(row)
        for session in sessions:
            windows[session[0]["t"], session[-1]["t"] + operator.gap] = session
    return [(*bounds, tuple(map(place, held))) for bounds, held in windows.items()]


OPERATORS = st.one_of(
    st.builds(FixedWindows, st.just(LAYOUT), st.integers(1, 7), st.integers(1, 9), st.integers(0, 3)),
    st.builds(Sessions, st.just(LAYOUT), st.integers(1, 4)),
)


@settings(max_examples=examples(30))
@given(inputs(), st.integers(0, 6), OPERATORS)
def test_every_window_comes_once_and_whole(batches, delay, operator):
    used = sorted(with_bounds(batches, delay), key=place)
    expected = Counter((key_of(rows[0]), *w) for rows in partitions(used) for w in windows_by_hand(rows, operator))
    if isinstance(operator, FixedWindows):
        until = Fixed(operator.size, operator.slide, operator.offset).until
        operator = replace(operator, layout=replace(LAYOUT, until=until))
    stage = Stage(operator, (StageInput(delay),), "")
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    output: Counter = Counter()
    for tasks in [*batches, [[END]]]:
        packed = [packets(rows, BUCKETS) for rows in tasks]
        for bucket in range(BUCKETS):
            before = None if states[bucket] is None else decode(states[bucket], operator, "").bound
            advanced = advance(stage, states[bucket], [blob for task in packed for blob in task.get(bucket, [])])
            states[bucket] = advanced.state
            output.update(whole_windows(advanced.output.to_pylist()))
            check_timely(operator, advanced, before)
    assert output == expected


def whole_windows(rows: list[dict]) -> list[tuple]:
    """Return key, bounds and rows of the windows that came out together."""
    windows: list[tuple] = []
    for row in rows:
        if row["first"]:
            windows.append((key_of(row), row["window_start"], row["window_end"], []))
        assert windows[-1][:3] == (key_of(row), row["window_start"], row["window_end"])
        assert row["place"] == len(windows[-1][3])
        windows[-1][3].append(place(row))
    return [(*bounds, tuple(held)) for *bounds, held in windows]


def check_timely(operator, advanced, before: int | None) -> None:
    """Check that what comes out is over, and that what is kept may still come out."""
    late = 1 if isinstance(operator, FixedWindows) else 0
    for row in advanced.output.to_pylist():
        assert row["window_end"] - late <= advanced.bound
        assert before is None or row["window_end"] - late > before
    (held,) = decode(advanced.state, operator, "").operator_state.held
    for row in held.to_pylist() if held is not None else []:
        assert row["t"] + (operator.size if late else operator.gap * 100) > advanced.bound
