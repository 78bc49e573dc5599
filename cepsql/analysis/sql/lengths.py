"""Constant lengths of windows: fixed ones, and days, weeks, months and years, which a calendar measures."""

import re
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.intervals import interval_micros, limited
from cepsql.analysis.sql.positions import span_of
from cepsql.calendar import DAY
from cepsql.errors import ProgrammingError, Span

MICROS, DAYS, WEEKS, MONTHS = "microseconds", "days", "weeks", "months"

_LONGEST_DAYS = {DAYS: 1, WEEKS: 7, MONTHS: 31}
_SHORTEST_DAYS = {DAYS: 1, WEEKS: 7, MONTHS: 28}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


@dataclass(frozen=True)
class Length:
    """A number of one unit: MICROS, DAYS, WEEKS or MONTHS."""

    count: int
    unit: str = MICROS

    @property
    def fixed(self) -> bool:
        """Whether it is the same on every day."""
        return self.unit == MICROS

    @property
    def most_days(self) -> int:
        """How many days of the calendar it has at most; not of a fixed one."""
        return self.count * _LONGEST_DAYS[self.unit]

    @property
    def least_days(self) -> int:
        """How many days of the calendar it has at least; not of a fixed one."""
        return self.count * _SHORTEST_DAYS[self.unit]

    @property
    def longest(self) -> int:
        """How long it is at most, microseconds: clocks are put back by at most a day."""
        return self.count if self.fixed else (self.most_days + 1) * DAY

    @property
    def shortest(self) -> int:
        """How long it is at least, microseconds."""
        return self.count if self.fixed else max(self.least_days - 1, 0) * DAY + DAY // 2


def window_length(interval: exp.Expr, place: Span | None = None) -> Length:
    """Return a constant length, which may be zero or less.

    Raises ProgrammingError if it is not constant, has months beside days, or is too long for event times.

    >>> from sqlglot import parse_one
    >>> window_length(parse_one("INTERVAL '2' YEARS", dialect="spark"))
    Length(count=24, unit='months')
    >>> window_length(parse_one("INTERVAL '36' HOURS", dialect="spark"))
    Length(count=129600000000, unit='microseconds')
    """
    place = span_of(interval, place)
    if isinstance(interval, exp.Neg):
        found = window_length(interval.this, place)
        return Length(-found.count, found.unit)
    amounts = _amounts(interval)
    units = {unit for _, unit in amounts}
    if amounts and units <= set(_MONTHS):
        return _limited(Length(sum(number * _MONTHS[unit] for number, unit in amounts), MONTHS), place)
    if amounts and units == {"WEEK"}:
        return _limited(Length(sum(number for number, _ in amounts), WEEKS), place)
    if amounts and units <= {"WEEK", "DAY"}:
        return _limited(Length(sum(number * (7 if unit == "WEEK" else 1) for number, unit in amounts), DAYS), place)
    if units & set(_MONTHS):
        raise ProgrammingError("the length of a window can't combine months or years with other units", place)
    return Length(interval_micros(interval, place))


def _limited(found: Length, place: Span | None) -> Length:
    limited(found.longest, place)
    return found


def _amounts(interval: exp.Expr) -> list[tuple[int, str]]:
    """Return whole numbers with their units in the singular, nothing where a part is something else."""
    if isinstance(interval, exp.Add):
        left, right = _amounts(interval.this), _amounts(interval.expression)
        return [*left, *right] if left and right else []
    if not isinstance(interval, exp.Interval) or not isinstance(interval.this, exp.Literal):
        return []
    unit = interval.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return []
    text = f"{interval.this.this} {unit.name}" if unit is not None else str(interval.this.this)
    parts = re.findall(r"([+-]?\d+)\s*([A-Za-z]+)", text)
    if re.sub(r"[+-]?\d+\s*[A-Za-z]+", "", text).strip():
        return []
    return [(int(number), name.upper().removesuffix("S")) for number, name in parts]
