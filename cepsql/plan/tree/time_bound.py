"""How far the condition of a join lets the event times of its two sides lie apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.constant_intervals import LONGEST_MONTH, interval_micros, interval_months
from cepsql.analysis.sql.fleeting import random_call
from cepsql.analysis.sql.strict import is_strict
from cepsql.base.calendar import DAY
from cepsql.errors import ProgrammingError, answer

_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
_UPPER, _EQUAL = (exp.LT, exp.LTE), (exp.EQ, exp.NullSafeEQ)
_MONTH = (28 * DAY, LONGEST_MONTH * DAY)
"""How long a month is, at least and at most."""


@dataclass(frozen=True)
class TimeLimit:
    """Says that the event time of the side `later` is at most so many microseconds after that of the side `earlier`.

    exact: Spark counts them so, too. It adds days by the session's calendar, where one can be longer or shorter.
    """

    earlier: str
    later: str
    micros: int
    exact: bool

    @property
    def widest(self) -> int:
        """The microseconds that it may be in any calendar: no change of clocks is longer than a day."""
        return self.micros if self.exact else self.micros + DAY


def time_limits(part: exp.Expr, times: Mapping[str, str], months: bool = False) -> tuple[list[TimeLimit], bool]:
    """Return what a condition says of the event times of two sides, and whether it says nothing else.

    part:   a condition, with the table of every column.
    times:  the two sides' aliases with their event-time columns, lower case.
    months: whether intervals of months and years are known, too, as long as they are at most.
    Known are comparisons of the event times, each more or less a constant interval.
    """
    part = part.unnest()
    if isinstance(part, exp.And):
        return _all(part.flatten(), times, months)
    if isinstance(part, exp.Between):
        low, high = exp.GTE(this=part.this, expression=part.args["low"]), part.args["high"]
        return _all([low, exp.LTE(this=part.this, expression=high)], times, months)
    if isinstance(part, tuple(_TURNED)):
        part = _TURNED[type(part)](this=part.expression, expression=part.this)
    if not isinstance(part, _UPPER + _EQUAL):
        return [], False
    smaller, greater = (_time(side, times, months) for side in _sides(part))
    if smaller is None or greater is None or smaller.side == greater.side:
        return [], False
    exact, micros = smaller.exact and greater.exact, greater.most - smaller.least
    limits = [TimeLimit(greater.side, smaller.side, micros - isinstance(part, exp.LT), exact)]
    if isinstance(part, _EQUAL):
        limits.append(TimeLimit(smaller.side, greater.side, smaller.most - greater.least, exact))
    return limits, True


@dataclass(frozen=True)
class TimeUpTo:
    """A time that a row of one side says itself, up to which rows of the other side are asked for.

    time:   an expression over the columns of its side.
    before: rows at the time itself are not.
    """

    time: exp.Expr
    before: bool

    @property
    def strict(self) -> bool:
        """Whether it is NULL where the columns of its side are, as beside a row without a partner."""
        return all(isinstance(node, exp.Column) or is_strict(node) for node in self.time.walk())


def own_limit(part: exp.Expr, times: Mapping[str, str]) -> tuple[str, str, TimeUpTo] | None:
    """Return the sides (earlier, later) of a comparison which says that the event time of the later one comes no later
    than a time that the row of the earlier one says, and that time; None for anything else.

    part, times: as for `time_limits`.
    """
    part = part.unnest()
    if isinstance(part, tuple(_TURNED)):
        part = _TURNED[type(part)](this=part.expression, expression=part.this)
    if not isinstance(part, _UPPER) or random_call(part) or part.find(exp.Query, exp.Subquery):
        return None
    later, said = part.this.unnest(), part.expression
    tables = {column.table.lower() for column in said.find_all(exp.Column)}
    if not isinstance(later, exp.Column) or times.get(later.table.lower()) != later.name.lower() or len(tables) != 1:
        return None
    (earlier,) = tables
    if earlier not in times or earlier == later.table.lower():
        return None
    return earlier, later.table.lower(), TimeUpTo(said, isinstance(part, exp.LT))


def missing_bounds(conditions: Iterable[exp.Expr], times: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs (earlier, later) of sides for which nothing says how much later the second may be.

    conditions: what must all hold, with the table of every column; times: as for `time_limits`.
    """
    sides = list(times)
    limited = {(limit.earlier, limit.later) for part in conditions for limit in time_limits(part, times)[0]}
    return [pair for pair in ((sides[0], sides[1]), (sides[1], sides[0])) if pair not in limited]


@dataclass(frozen=True)
class _Time:
    """The event time of a side and so many microseconds, at least and at most."""

    side: str
    least: int = 0
    most: int = 0
    exact: bool = True


def _all(parts: Iterable[exp.Expr], times: Mapping[str, str], months: bool) -> tuple[list[TimeLimit], bool]:
    part_limits = [time_limits(part, times, months) for part in parts]
    return [limit for limits, _ in part_limits for limit in limits], all(whole for _, whole in part_limits)


def _sides(part: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    return part.this, part.expression


def _time(expression: exp.Expr, times: Mapping[str, str], months: bool) -> _Time | None:
    expression = expression.unnest()
    if isinstance(expression, exp.Add) and isinstance(expression.this.unnest(), exp.Interval):
        expression = exp.Add(this=expression.expression, expression=expression.this)
    if isinstance(expression, exp.Add | exp.Sub):
        time, length = _time(expression.this, times, months), _length(expression.expression, months)
        if time is None or length is None:
            return None
        least, most = length if isinstance(expression, exp.Add) else (-length[1], -length[0])
        exact = time.exact and least == most and abs(most) < DAY
        return _Time(time.side, time.least + least, time.most + most, exact)
    if isinstance(expression, exp.Column) and times.get(expression.table.lower()) == expression.name.lower():
        return _Time(expression.table.lower())
    return None


def _length(interval: exp.Expr, months: bool) -> tuple[int, int] | None:
    """Return the microseconds of a constant interval, at least and at most; None for anything else."""
    count = interval_months(interval) if months else None
    if count is not None:
        return count * _MONTH[0], count * _MONTH[1]
    micros = answer(lambda: interval_micros(interval), ProgrammingError)
    return None if isinstance(micros, ProgrammingError) else (micros, micros)
