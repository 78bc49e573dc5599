"""Windows of a calendar lie where Python's own clocks have them."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.operators.windowing.window_grids import CalendarGrid, FixedGrid
from cepsql.scalar.zone import Zone

HOUR = 3_600_000_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
BERLIN = ZoneInfo("Europe/Berlin")
# 2025 to 2028: clocks go on at 2 in the night of the last Sunday of March, and back at 3 in October.
CHANGES = [
    (2025, 3, 30), (2025, 10, 26), (2026, 3, 29), (2026, 10, 25), (2027, 3, 28), (2027, 10, 31),
    (2028, 3, 26), (2028, 10, 29),
]  # fmt: skip


def micros(at: dt.datetime) -> int:
    return (at - EPOCH) // dt.timedelta(microseconds=1)


def berlin() -> Zone:
    """The zone as the engine gets it from Java."""
    locals_, offsets = [], [HOUR]
    for i, day in enumerate(CHANGES):
        after = 2 * HOUR if i % 2 == 0 else HOUR
        locals_.append(micros(dt.datetime(*day, tzinfo=dt.UTC)) + 3 * HOUR)
        offsets.append(after)
    return Zone(tuple(locals_), tuple(offsets))


def begin(months: bool, number: int, first: int, hours: int) -> int:
    """Return when the clocks of Berlin show the beginning that is so many months or days after 1970."""
    if months:
        year, month = divmod(number + first, 12)
        day = dt.date(1970 + year, month + 1, 1)
    else:
        day = dt.date(1970, 1, 1) + dt.timedelta(number + first)
    local = dt.datetime(day.year, day.month, day.day) + dt.timedelta(hours=hours)
    return micros(local.replace(tzinfo=BERLIN))


@settings(max_examples=examples(100))
@given(
    st.booleans(), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3), st.integers(0, 5), st.integers(0, 700),
    st.integers(-3, 3),
)  # fmt: skip
def test_windows_follow_the_clocks(months, every, longer, first, hours, place, moved):
    size = every * longer
    grid = CalendarGrid(months, size, every, first, hours * HOUR, berlin())
    # From 2025-03 on.
    number = ((663 + place % 24) if months else 20_150 + place) // every
    starts = [begin(months, n * every, first, hours) for n in (number, number + moved)]
    ends = [begin(months, n * every + size, first, hours) for n in (number, number + moved)]
    one, other = (np.array([end]) for end in ends)
    assert grid.moved(one, moved).tolist() == [ends[1]]
    assert grid.starts(one).tolist() == [starts[0]]
    for early, counted in ((0, moved), (1, moved - 1), (-1, moved)):
        assert grid.between(one, other - early).tolist() == [counted]


@pytest.mark.parametrize("length", [10, 60])
def test_fixed_windows(length):
    grid, ends = FixedGrid(length, 10), np.array([40, 70])
    assert grid.moved(ends, 2).tolist() == [60, 90]
    assert grid.starts(ends).tolist() == [40 - length, 70 - length]
    assert grid.between(ends, np.array([69, 70])).tolist() == [2, 0]
