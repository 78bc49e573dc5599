"""Conditions on the time of now: from when and until when each row fulfils them."""

from dataclasses import dataclass, field

from sqlglot import exp, parse_one

from cepsql.analysis.sql.constant_intervals import interval_months
from cepsql.analysis.sql.epoch_times import OTHER_UNITS, is_number, made_time
from cepsql.analysis.sql.plain_sql import conjuncts, spoken_type, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.tokens import DIALECT

TIMESTAMP, TIMESTAMP_NTZ = "TIMESTAMP", "TIMESTAMP_NTZ"
"""The types of a clock: TIMESTAMP_NTZ is that of event times without a time zone."""

_DAYS = (exp.CurrentDate,)
_MOMENTS = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)
_DAY_CALLS, _MOMENT_CALLS = ("CURDATE",), ("NOW", "PROCTIME")
_ARRIVAL = "PROCTIME"

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ
}  # fmt: skip
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LTE, exp.LTE: exp.GT, exp.GTE: exp.LT, exp.LT: exp.GTE
}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_LONG_UNITS = _UNITS[: _UNITS.index("DAY") + 1]
_MAKING = ("MAKE_DT_INTERVAL", "MAKE_YM_INTERVAL", "MAKE_INTERVAL")
_MICROSECOND = "INTERVAL '0.000001' SECOND"

HINT = "compare it by <, <=, >, >= or BETWEEN in conditions joined by AND, such as at > NOW() - INTERVAL '1' HOUR"


@dataclass
class ValidTimes:
    """When rows fulfil conditions.

    enters: SQL of times, from the latest of which on a row does.
    leaves: SQL of times, at the earliest of which it does no more.
    others: further conditions, which do not ask the time of now.
    """

    enters: list[exp.Expr] = field(default_factory=list)
    leaves: list[exp.Expr] = field(default_factory=list)
    others: list[exp.Expr] = field(default_factory=list)


def is_clock(node: exp.Expr) -> bool:
    """Tell whether an expression is a call that gives the time or the day of now."""
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in (*_DAY_CALLS, *_MOMENT_CALLS)
    return isinstance(node, _DAYS + _MOMENTS)


def _gives_day(call: exp.Expr) -> bool:
    """Tell whether a call that gives the time of now gives its day."""
    return isinstance(call, _DAYS) or (isinstance(call, exp.Anonymous) and call.name.upper() in _DAY_CALLS)


def clock_call(expression: exp.Expr) -> exp.Expr | None:
    """Return the first call in an expression that gives the time of now, None if there is none."""
    return next(filter(is_clock, expression.walk()), None)


def is_arrival(call: exp.Expr) -> bool:
    """Tell whether a call gives the time at which rows are processed, whatever their event times."""
    return isinstance(call, exp.Anonymous) and call.name.upper() == _ARRIVAL


def valid_times(conditions: list[exp.Expr], kind: str, place: Span) -> ValidTimes:
    """Return from when and until when a row fulfils conditions that ask the time of now.

    kind: the type of the clock, TIMESTAMP or TIMESTAMP_NTZ.
    Months, and days of the session's time zone, are those of the calendar: a row leaves at the first moment at which a
    condition does not hold for it.
    Raises NotSupportedError for conditions that are no comparison with the time of now.
    """
    limits = ValidTimes()
    for condition in conditions:
        for part in _comparisons(condition, place):
            if clock_call(part) is None:
                limits.others.append(part)
            else:
                _Comparison(part, kind, span_of(part, place) or place).add_to(limits)
    return limits


def _comparisons(condition: exp.Expr, place: Span, negated: bool = False) -> list[exp.Expr]:
    """Return the comparisons that must all hold."""
    condition = condition.unnest()
    if clock_call(condition) is None:
        return [exp.not_(condition) if negated else condition]
    if isinstance(condition, exp.Not):
        return _comparisons(condition.this, place, not negated)
    if isinstance(condition, exp.Or if negated else exp.And):
        return [one for side in (condition.left, condition.right) for one in _comparisons(side, place, negated)]
    if isinstance(condition, exp.Between) and not negated:
        low = exp.GTE(this=condition.this, expression=condition.args["low"])
        return [low, exp.LTE(this=condition.this.copy(), expression=condition.args["high"])]
    if negated and type(condition) in _NEGATED:
        return [_NEGATED[type(condition)](this=condition.this, expression=condition.expression)]
    if negated or type(condition) not in _FLIPPED:
        text = sql_of(without_tables(exp.not_(condition) if negated else condition))
        either = isinstance(condition, exp.Or) or (negated and isinstance(condition, exp.And | exp.Between))
        raise NotSupportedError(
            f"{text} cannot be kept up to date as time goes on",
            span_of(condition, place) or place,
            "write a UNION of two SELECTs, with one of the conditions each" if either else HINT,
        )
    return [condition]


class _Comparison:
    """A comparison with the time of now."""

    def __init__(self, part: exp.Expr, kind: str, place: Span):
        self.part, self.kind, self.place = part, kind, place

    def add_to(self, limits: ValidTimes) -> None:
        """Add when it holds; raises NotSupportedError."""
        left, right, operator = self.part.this.unnest(), self.part.expression.unnest(), type(self.part)
        if clock_call(left) is None:
            left, right, operator = right, left, _FLIPPED[operator]
        if clock_call(right) is not None:
            raise self._refused()
        left, right, operator = self._without_difference(left, right, operator)
        self._check_time(right, left)
        other = f"CAST({sql_of(right)} AS {self.kind})"
        after = self._cast(f"{other} + {_MICROSECOND}")
        from_then_on = self._reached(left, other)
        if operator is exp.EQ and not self._is_daily(left):
            raise NotSupportedError(
                f"{sql_of(without_tables(self.part))} holds for one microsecond",
                self.place,
                "compare days: CAST(at AS DATE) = CURRENT_DATE; or <, <=, >, >= and BETWEEN",
            )
        if operator in (exp.GTE, exp.EQ):
            limits.enters.append(from_then_on)
        if operator is exp.GT:
            limits.enters.append(self._reached(left, after))
        if operator is exp.LT:
            limits.leaves.append(from_then_on)
        if operator in (exp.LTE, exp.EQ):
            limits.leaves.append(self._reached(left, after))

    def _check_time(self, time: exp.Expr, now: exp.Expr) -> None:
        """Refuse a number beside a time of now: a cast would take it for seconds since 1970."""
        if is_number(kind := spoken_type(time)) and not is_number(spoken_type(now)):
            raise ProgrammingError(
                f"{sql_of(without_tables(self.part))} compares a time with {kind.upper()}",
                self.place,
                f"{made_time(time.name or 'x')} is a time; {OTHER_UNITS}",
            )

    def _without_difference(
        self, left: exp.Expr, right: exp.Expr, operator: type[exp.Expr]
    ) -> tuple[exp.Expr, exp.Expr, type[exp.Expr]]:
        """Return a comparison of a time, in place of one of the length between two times."""
        if isinstance(left, exp.DateDiff) and not left.args.get("unit"):
            one, other = left.this.unnest(), left.expression.unnest()
            days = exp.func("make_dt_interval", right.copy(), dialect=DIALECT)
            if clock_call(other) is None:
                return one, exp.Add(this=_moment(_day(other), self.kind), expression=days), operator
            if clock_call(one) is None:
                return other, exp.Sub(this=_moment(_day(one), self.kind), expression=days), _FLIPPED[operator]
            raise self._refused()
        if isinstance(left, exp.Sub) and _is_interval(right) and not _is_interval(left.expression):
            one, other = left.this.unnest(), left.expression.unnest()
            if clock_call(other) is None:
                return one, exp.Add(this=_moment(other, self.kind), expression=right.copy()), operator
            if clock_call(one) is None:
                return other, exp.Sub(this=_moment(one, self.kind), expression=right.copy()), _FLIPPED[operator]
            raise self._refused()
        return left, right, operator

    def _reached(self, time: exp.Expr, least: str) -> exp.Expr:
        """Return the first moment of the clock at which an expression over it is not less than `least`."""
        return parse_one(self._first(time, least), read=DIALECT)

    def _first(self, time: exp.Expr, least: str) -> str:
        time = time.unnest()
        if is_clock(time):
            return self._next_whole(least, "DAY") if _gives_day(time) else least
        match time:
            case exp.Cast() | exp.TryCast() if time.to.is_type("timestamp", "timestampntz", "timestampltz"):
                return self._first(time.this, least)
            case exp.Cast() | exp.TryCast() if time.to.is_type("date"):
                return self._first(time.this, self._next_whole(least, "DAY"))
            case exp.TsOrDsToDate() | exp.Date() if time.this is not None:
                return self._first(time.this, self._next_whole(least, "DAY"))
            case exp.TimestampTrunc() | exp.DateTrunc():
                unit = time.args["unit"].name.upper()
                if unit not in _UNITS or (isinstance(time, exp.DateTrunc) and unit not in _LONG_UNITS):
                    raise self._refused()
                return self._first(time.this, self._next_whole(least, unit))
            case exp.Add():
                one, other = time.this.unnest(), time.expression.unnest()
                return self._moved(other, one, least, -1) if clock_call(other) else self._moved(one, other, least, -1)
            case exp.Sub() if clock_call(time.expression) is None:
                return self._moved(time.this, time.expression.unnest(), least, 1)
            case exp.TsOrDsAdd() | exp.DateAdd() | exp.TimestampAdd() | exp.DateSub() | exp.TimestampSub():
                unit = _unit_of(time)
                sign = 1 if isinstance(time, exp.DateSub | exp.TimestampSub) else -1
                return self._moved(time.this, self._length(time.expression, unit), least, sign)
            case exp.AddMonths():
                return self._moved(time.this, self._length(time.expression, "MONTH"), least, -1)
        raise self._refused()

    def _length(self, number: exp.Expr, unit: str) -> exp.Expr:
        """Return a length of so many units; a number of months must be constant."""
        if clock_call(number) is not None or unit not in _UNITS:
            raise self._refused()
        if unit not in _MONTHS:
            if unit == "DAY":
                return exp.func("make_dt_interval", number.copy(), dialect=DIALECT)
            one = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(unit))
            return exp.Mul(this=exp.Paren(this=number.copy()), expression=one)
        constant = number.unnest()
        negative = isinstance(constant, exp.Neg)
        digits = constant.this.unnest() if negative else constant
        if not isinstance(digits, exp.Literal) or not digits.name.isdigit():
            raise self._refused()
        months = exp.Interval(this=exp.Literal.string(digits.name), unit=exp.var(unit))
        return exp.Neg(this=months) if negative else months

    def _moved(self, time: exp.Expr, length: exp.Expr, least: str, sign: int) -> str:
        """Return the first moment at which `time`, less a length, reaches `least`; sign -1: more it."""
        if isinstance(length, exp.Neg):
            length, sign = length.this.unnest(), -sign
        if clock_call(length) is not None:
            raise self._refused()
        months = interval_months(length)
        if months is None:
            if not _is_interval(length) and self._is_daily(time):
                length = exp.func("make_dt_interval", length.copy(), dialect=DIALECT)
            return self._first(time, self._cast(f"{least} {'+' if sign > 0 else '-'} ({sql_of(length)})"))
        if self._is_daily(time):
            least = self._next_whole(least, "DAY")
        moved = self._cast(f"{least} {'+' if sign > 0 else '-'} INTERVAL '{months}' MONTH")
        # No day of that month leads to a day that it has not: the first one after it leads beyond.
        next_month = self._cast(f"TRUNC({moved}, 'MONTH') + INTERVAL '1' MONTH")
        return self._first(time, f"CASE WHEN DAY({moved}) < DAY({least}) THEN {next_month} ELSE {moved} END")

    def _is_daily(self, time: exp.Expr) -> bool:
        """Tell whether an expression over the clock gives whole days only."""
        time = time.unnest()
        if is_clock(time):
            return _gives_day(time)
        match time:
            case exp.Cast() | exp.TryCast():
                return bool(time.to.is_type("date")) or self._is_daily(time.this)
            case exp.TsOrDsToDate() | exp.Date():
                return True
            case exp.TimestampTrunc() | exp.DateTrunc():
                return time.args["unit"].name.upper() in _LONG_UNITS
            case exp.Add() | exp.Sub():
                one, other = time.this.unnest(), time.expression.unnest()
                if clock_call(one) is None:
                    one, other = other, one
                return self._is_daily(one) and _is_whole_days(other)
            case exp.TsOrDsAdd() | exp.DateAdd() | exp.TimestampAdd() | exp.DateSub() | exp.TimestampSub():
                return _unit_of(time) in _LONG_UNITS and self._is_daily(time.this)
            case exp.AddMonths():
                return self._is_daily(time.this)
        return False

    def _next_whole(self, least: str, unit: str) -> str:
        """Return the first beginning of a unit, such as a day, that is not before a time."""
        if unit == "DAY":
            return self._cast(f"DATE_ADD(CAST({least} - {_MICROSECOND} AS DATE), 1)")
        length = {"QUARTER": "INTERVAL '3' MONTH", "WEEK": "INTERVAL '7' DAY"}.get(unit, f"INTERVAL '1' {unit}")
        length = {"MILLISECOND": "INTERVAL '0.001' SECOND", "MICROSECOND": _MICROSECOND}.get(unit, length)
        return self._cast(f"DATE_TRUNC('{unit}', {least} - {_MICROSECOND}) + {length}")

    def _cast(self, sql: str) -> str:
        return f"CAST({sql} AS {self.kind})"

    def _refused(self) -> NotSupportedError:
        return NotSupportedError(
            f"{sql_of(without_tables(self.part))} cannot be kept up to date as time goes on", self.place, HINT
        )


def asking_parts(condition: exp.Expr | None) -> list[exp.Expr]:
    """Return those of the conditions that must all hold which ask the time of now."""
    return [part for part in conjuncts(condition) if clock_call(part) is not None]


def _unit_of(call: exp.Expr) -> str:
    """Return the unit of a call that adds to a time."""
    return "DAY" if call.args.get("unit") is None else str(call.args["unit"].name).upper()


def _is_interval(length: exp.Expr) -> bool:
    """Tell whether an expression is a length of time, as it is written."""
    length = length.unnest()
    match length:
        case exp.Interval():
            return True
        case exp.Neg():
            return _is_interval(length.this)
        case exp.Mul() | exp.Div():
            return _is_interval(length.this) or _is_interval(length.expression)
        case exp.Add() | exp.Sub():
            return _is_interval(length.this) and _is_interval(length.expression)
    return isinstance(length, exp.Func) and length.sql(DIALECT).upper().startswith(_MAKING)


def _is_whole_days(length: exp.Expr) -> bool:
    if not _is_interval(length) or interval_months(length) is not None:
        return True
    return isinstance(length, exp.Interval) and str(length.args.get("unit") or "").upper().rstrip("S") in _LONG_UNITS


def _moment(time: exp.Expr, kind: str) -> exp.Expr:
    return exp.cast(time.copy(), kind.lower(), dialect=DIALECT)


def _day(time: exp.Expr) -> exp.Expr:
    return exp.cast(time.copy(), "date", dialect=DIALECT)
