"""Constant day-time intervals in microseconds."""

import re
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error, ProgrammingError, Span, answer
from cepsql.language.guard import guarded
from cepsql.language.interval_units import in_sparks_units, meant_unit
from cepsql.language.statements import CreateSource

_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}

LONGEST_MONTH = 31
"""How many days a month has at most."""

_LONGEST = 2**61
"""Event times lie within 2**62 microseconds of 1970: with this added they are numbers of 64 bits."""

_PART = r"([+-]?[\d.]+)\s*([A-Za-z]+)\s*"
_PARTS = re.compile(rf"\s*(?:interval\s)?\s*(?:{_PART})+", re.I)
"""Lengths with their units, and nothing else: '1,5 hours' are not 5 hours."""

_ORDER = ["year", "month", "day", "hour", "minute", "second"]
_TYPED = {"week": "day", "millisecond": "second", "microsecond": "second"}


def is_duration(text: str) -> bool:
    """Tell whether a text is a constant length of time from zero on.

    >>> is_duration("5 seconds"), is_duration("1 hour 30 min"), is_duration("5 blinks"), is_duration("1,5 hours")
    (True, True, False, False)
    """
    length = answer(lambda: duration_micros(text))
    return not isinstance(length, Error) and length >= 0


def duration_micros(text: str, span: Span | None = None) -> int:
    """Return a length of time that is written as text, such as '5 minutes', in microseconds.

    Raises ProgrammingError as `interval_micros` does.
    """
    return interval_micros(exp.Interval(this=exp.Literal.string(in_sparks_units(text))), span)


def interval_micros(expression: exp.Expr, span: Span | None = None) -> int:
    """Return the length of a constant interval, or sum of intervals, in microseconds.

    Raises ProgrammingError if it is not constant, or has years or months, whose length differs.

    >>> from sqlglot import parse_one
    >>> interval_micros(parse_one("INTERVAL '1' HOUR + INTERVAL '30' SECONDS", dialect="spark"))
    3630000000
    >>> interval_micros(parse_one("INTERVAL '9007199254740993' MICROSECONDS", dialect="spark"))
    9007199254740993
    """
    match expression:
        case exp.Paren():
            return interval_micros(expression.this, span)
        case exp.Add():
            return limited(interval_micros(expression.this, span) + interval_micros(expression.expression, span), span)
        case exp.Neg():
            return -interval_micros(expression.this, span)
        case exp.Interval():
            micros = _literal(expression)
            if micros is not None:
                return limited(micros, span)
            with guarded(span):
                spoken = str(expression.args.get("unit") or expression.this)
            if re.search(r"MONTH|YEAR|QUARTER", spoken, re.I):
                raise ProgrammingError(
                    "an interval of months or years has no fixed length", span, "give it in days or weeks"
                )
    with guarded(span):
        unit = meant_unit(re.findall(r"\w+", expression.sql().upper()))
    hint = "for example INTERVAL '15' MINUTES; units from microseconds to weeks"
    raise ProgrammingError("a constant interval is needed here", span, f"did you mean {unit}?" if unit else hint)


def interval_months(interval: exp.Expr) -> int | None:
    """Return the months of a constant interval of months, quarters or years; None for anything else.

    >>> from sqlglot import parse_one
    >>> interval_months(parse_one("INTERVAL '2' YEARS", dialect="spark"))
    24
    """
    if not isinstance(interval, exp.Interval) or not isinstance(interval.this, exp.Literal):
        return None
    unit, text = interval.args.get("unit"), interval.this.name.strip()
    number, name = [*(text.split() if unit is None else [text, str(unit)]), "", ""][:2]
    size = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(name.upper().removesuffix("S"))
    # No stream waits for thousands of years.
    return None if size is None or not number.isdigit() or len(number) > 5 else size * int(number)


def limited(micros: int, span: Span | None) -> int:
    """Return a length, in microseconds, by which event times can differ; raises ProgrammingError for a longer one."""
    if abs(micros) > _LONGEST:
        raise ProgrammingError("the interval is too long", span, "an interval is at most 73,000 years")
    return micros


def interval_of_seconds(expression: exp.Expr | None, default: Span, wrong: str, hint: str) -> int | None:
    """Return the microseconds of an interval of a second or more, None for none.

    Raises ProgrammingError, which says what is `wrong`, for a shorter one; `default` is where it stands if it does not
    know itself.
    """
    if expression is None:
        return None
    span = span_of(expression, default)
    micros = interval_micros(expression, span)
    if micros < _UNITS["SECOND"]:
        raise ProgrammingError(wrong, span, hint)
    return micros


def interval_type(interval: exp.Interval) -> str:
    """Return the Spark type of a constant interval: the units that it is written in.

    >>> from sqlglot import parse_one
    >>> interval_type(parse_one("INTERVAL '1' WEEK", dialect="spark"))
    'interval day'
    """
    unit = interval.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return f"interval {unit.this.name.lower()} to {unit.expression.name.lower()}"
    names = [unit.name] if unit is not None else re.findall(r"[A-Za-z]+", str(interval.this))
    units = [_TYPED.get(name.lower().removesuffix("s"), name.lower().removesuffix("s")) for name in names]
    known = bool(units) and set(units) <= {*_ORDER}
    first, last = (best(units, key=_ORDER.index) if known else "second" for best in (min, max))
    return f"interval {first}" if first == last else f"interval {first} to {last}"


def _literal(interval: exp.Interval) -> int | None:
    value, unit = interval.this, interval.args.get("unit")
    if isinstance(value, exp.Neg):
        inner = _literal(exp.Interval(this=value.this, unit=unit))
        return None if inner is None else -inner
    if not isinstance(value, exp.Literal):
        return None
    if isinstance(unit, exp.IntervalSpan):
        return _span(str(value.this), unit.this.name.upper(), unit.expression.name.upper())
    if unit is not None:
        return _amount(str(value.this), unit.name)
    if not _PARTS.fullmatch(str(value.this)):
        return None
    amounts = [_amount(number, name) for number, name in re.findall(_PART, str(value.this))]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if amounts and len(known) == len(amounts) else None


def _amount(number: str, unit: str) -> int | None:
    size = _UNITS.get(unit.upper().removesuffix("S") if unit.upper() != "S" else unit)
    try:
        amount = Decimal(number)
    except InvalidOperation:
        return None
    # What has more digits is no length that anyone would wait for, and slow to write out.
    return None if size is None or not amount.is_finite() or amount.adjusted() > 20 else round(amount * size)


def _span(text: str, first: str, last: str) -> int | None:
    """Read '1 02:03:04.5' DAY TO SECOND and its shorter forms."""
    order = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if first not in order or last not in order:
        return None
    sign = -1 if text.strip().startswith("-") else 1
    numbers = re.findall(r"[\d.]+", text)
    units = order[order.index(first) : order.index(last) + 1]
    if len(numbers) != len(units):
        return None
    amounts = [_amount(number, unit) for number, unit in zip(numbers, units, strict=True)]
    known = [amount for amount in amounts if amount is not None]
    return sign * sum(known) if len(known) == len(amounts) else None


def defined_refresh(create: CreateSource) -> int | None:
    """Return how often a table is read again, in microseconds, None if its definition does not say.

    Raises ProgrammingError for anything but an interval of a second or more.
    """
    wrong, hint = "REFRESH EVERY must be at least one second", "REFRESH EVERY INTERVAL '1' MINUTE"
    return interval_of_seconds(create.refresh, create.name.span, wrong, hint)
