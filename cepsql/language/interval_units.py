"""Units of intervals: Spark's, their abbreviations, and others of the calendar, which become months and years."""

import difflib
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import ProgrammingError, Span

_NAMES = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
_SPARKS = frozenset(f"{name}{end}" for name in _NAMES for end in ("", "S"))

_CALENDAR = {
    **dict.fromkeys(("QUARTER", "QUARTERS", "QTR", "QTRS", "Q"), (3, "MONTH")),
    **dict.fromkeys(("DECADE", "DECADES"), (10, "YEAR")),
    **dict.fromkeys(("CENTURY", "CENTURIES"), (100, "YEAR")),
    **dict.fromkeys(("MILLENNIUM", "MILLENNIUMS", "MILLENNIA"), (1000, "YEAR")),
}
_ABBREVIATED = {
    **dict.fromkeys(("US", "USEC", "USECS"), "MICROSECOND"),
    **dict.fromkeys(("MS", "MSEC", "MSECS"), "MILLISECOND"),
    **dict.fromkeys(("S", "SEC", "SECS"), "SECOND"),
    **dict.fromkeys(("M", "MIN", "MINS"), "MINUTE"),
    **dict.fromkeys(("H", "HR", "HRS"), "HOUR"),
    "D": "DAY",
    "W": "WEEK",
    **dict.fromkeys(("MON", "MONS"), "MONTH"),
    **dict.fromkeys(("Y", "YR", "YRS"), "YEAR"),
}
_OTHERS = {**_CALENDAR, **{name: (1, unit) for name, unit in _ABBREVIATED.items()}}
"""How many of which unit of Spark's one of another unit is."""

_TOO_FINE = ("NANOSECOND", "NANOSECONDS", "NS", "NSEC", "NSECS")

UNITS = re.compile("|".join(sorted({*_SPARKS, *_OTHERS}, key=len, reverse=True)))
"""Units that intervals may have, in capital letters."""

_PART = re.compile(r"([+-]?\d[\d.]*)(\s*)([A-Za-z]+)")
_MEANT = [*sorted(_SPARKS), "QUARTER", "QUARTERS", "DECADE", "DECADES"]


def meant_unit(words: Iterable[str]) -> str | None:
    """Return the unit of time that one of some words in capitals is nearly, None for none.

    >>> meant_unit(["15", "MINUTS"]), meant_unit(["MINUTES"])
    ('MINUTES', None)
    """
    others = (word for word in words if word.isalpha() and not UNITS.fullmatch(word))
    return next((near for word in others for near in difflib.get_close_matches(word, _MEANT, 1, 0.75)), None)


def spark_interval(interval: exp.Interval, tokens: list[Token], sql: str) -> exp.Interval | None:
    """Return a constant interval in units of Spark's, None for one that is.

    tokens: of the expression in which it stands, in the text `sql`.
    Raises ProgrammingError for an unknown unit, and for a fraction of one that takes whole numbers.
    """
    value, unit = interval.this, interval.args.get("unit")
    if isinstance(unit, exp.IntervalSpan) or not isinstance(value, exp.Literal):
        return None
    written = value.name if unit is None else f"{value.name} {unit.name}"
    for number, _, name in _PART.findall(written):
        _check(number, name.upper(), tokens, sql)
    spelled = in_sparks_units(written)
    if spelled == written:
        return None
    made = interval.copy()
    if unit is not None:
        spelled, name = spelled.rsplit(" ", 1)
        made.set("unit", exp.var(name))
    made.this.set("this", spelled)
    return made


def in_sparks_units(text: str) -> str:
    """Return a text of lengths in units of Spark's.

    >>> in_sparks_units("1 min 30 sec"), in_sparks_units("1 year 2 quarters"), in_sparks_units("5 minutes")
    ('1 MINUTE 30 SECOND', '1 year 6 MONTH', '5 minutes')
    """
    return _PART.sub(_in_sparks, text)


def respelt_units(tokens: list[Token]) -> Iterator[Token]:
    """Yield what names a unit in an interval that Spark does not have."""
    for i in (i for i, token in enumerate(tokens) if token.token_type == TokenType.INTERVAL):
        for token in takewhile(_is_of_interval, tokens[i + 1 :]):
            if any(word in _OTHERS for word in re.findall("[A-Z]+", token.text.upper())):
                yield token


def _is_of_interval(token: Token) -> bool:
    signs = TokenType.NUMBER, TokenType.STRING, TokenType.DASH
    return token.token_type in signs or UNITS.fullmatch(token.text.upper()) is not None


def in_months(sql: str) -> str:
    """Return SQL in which quarters are months.

    >>> in_months("ts - INTERVAL '2' QUARTERS")
    "ts - INTERVAL '6' MONTH"
    """
    return re.sub(r"\bINTERVAL '([+-]?\d+)' QUARTERS?\b", lambda match: f"INTERVAL '{int(match[1]) * 3}' MONTH", sql)


def _in_sparks(part: re.Match[str]) -> str:
    number, space, name = part.groups()
    size, unit = _OTHERS.get(name.upper(), (1, name))
    if size == 1:
        return f"{number}{space}{unit}"
    return f"{int(number) * size}{space}{unit}" if number.lstrip("+-").isdigit() else part[0]


def _check(number: str, unit: str, tokens: list[Token], sql: str) -> None:
    if unit in _SPARKS or unit in _ABBREVIATED:
        return
    if unit in _CALENDAR:
        if not number.lstrip("+-").isdigit():
            hint = f"a {_CALENDAR[unit][1].lower()} is the smallest part, such as INTERVAL '3' MONTHS"
            raise ProgrammingError(f"{unit} takes a whole number", _place(tokens, unit), hint, sql)
        return
    meant = meant_unit([unit])
    hint = f"did you mean {meant}?" if meant else "units: microseconds to weeks, months, quarters, years and decades"
    if unit in _TOO_FINE:
        hint = "times have microseconds and no less: INTERVAL '1' MICROSECOND"
    raise ProgrammingError(f"{unit} is no unit of an interval", _place(tokens, unit), hint, sql)


def _place(tokens: list[Token], unit: str) -> Span:
    """Return where the first interval with a unit names it."""
    # sqlglot has spelt this one out.
    names = {unit, *(_TOO_FINE if unit in _TOO_FINE else ())}
    begun = False
    for token in tokens:
        begun |= token.token_type == TokenType.INTERVAL
        if begun and names & set(re.findall("[A-Z]+", token.text.upper())):
            return Span(token.start, token.end + 1)
    return Span(tokens[0].start, tokens[-1].end + 1)
