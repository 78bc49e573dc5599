"""Arguments of functions that Spark has, as other engines write them."""

import re

from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.foreign.call_places import arguments
from cepsql.language.foreign.respelling import KEPT
from cepsql.language.tokens import closing_brackets

_OF_UNITS = {
    "DATEDIFF": "DATEDIFF({}, a, b)", "DATE_DIFF": "DATE_DIFF({}, a, b)", "TIMESTAMPDIFF": "TIMESTAMPDIFF({}, a, b)",
}  # fmt: skip
_OF_NUMBERS = {
    ("TRANSFORM", 3): (
        "TRANSFORM of a map", "transform_keys(m, (k, v) -> upper(k)), transform_values(m, (k, v) -> v + 1)",
    ),
}  # fmt: skip
"""By the name of a function and how many arguments it has: what is meant, and what to write instead."""

_UNITS = re.compile(r"(year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?", re.IGNORECASE)
_OF_PATTERNS = ("TO_CHAR", "TO_DATE", "TO_TIMESTAMP", "DATE_FORMAT")
_PATTERN_WORDS = {
    "YYYY": "yyyy", "YY": "yy", "HH24": "HH", "HH12": "hh", "MI": "mm", "SS": "ss", "DD": "dd", "FF6": "SSSSSS",
    "FF3": "SSS", "MON": "MMM", "DY": "E",
}  # fmt: skip
_CUTTING = "TRUNC"
_COLLECTING = ("ARRAY_AGG", "COLLECT_LIST")
_NAMES = frozenset({_CUTTING, *_OF_UNITS, *(name for name, _ in _OF_NUMBERS), *_OF_PATTERNS, *_COLLECTING})
"""Functions whose arguments are looked at."""

_TELLING = re.compile(r"YYYY|HH24|HH12|MI|DD|FF\d")


def refuse_foreign_arguments(tokens: list[Token], sql: str) -> None:
    """Raise an error for units in quotes, the patterns of times that Oracle has, and lists in an order."""
    names = [token.text.upper().removeprefix(KEPT) for token in tokens[:-2]]
    closing = closing_brackets(tokens) if not _NAMES.isdisjoint(names) else {}
    for i, (token, name) in enumerate(zip(tokens, names, strict=False)):
        if name not in _NAMES or tokens[i + 1].token_type != TokenType.L_PAREN or i + 1 not in closing:
            continue
        first = tokens[i + 2]
        if name in _OF_UNITS and first.token_type == TokenType.STRING and _UNITS.fullmatch(first.text):
            unit = first.text.upper().removesuffix("S")
            raise ProgrammingError(
                f"the unit of {name} stands without quotes", _span(first), _OF_UNITS[name].format(unit), sql
            )
        places = arguments(tokens, closing, i + 1)
        if (name, len(places)) in _OF_NUMBERS:
            call, hint = _OF_NUMBERS[name, len(places)]
            raise NotSupportedError(f"{call} is not supported", _span(token), hint, sql)
        if name == _CUTTING and (len(places) == 1 or _is_number(_second(tokens, places))):
            hint = "floor(x * 10) / 10 cuts digits of a positive number off, trunc(day, 'MONTH') a date"
            raise NotSupportedError("TRUNC of a number is not supported", _span(token), hint, sql)
        if name in _OF_PATTERNS:
            _refuse_pattern(name, _second(tokens, places), sql)
        if name in _COLLECTING:
            _refuse_order(name, tokens[closing[i + 1] + 1 :], sql)


def _refuse_pattern(name: str, argument: Token | None, sql: str) -> None:
    if argument is None or argument.token_type != TokenType.STRING or not _TELLING.search(argument.text):
        return
    words = "|".join(sorted(_PATTERN_WORDS, key=len, reverse=True))
    pattern = re.sub(words, lambda match: _PATTERN_WORDS[match[0]], argument.text)
    function = "date_format" if name == "TO_CHAR" else name.lower()
    raise NotSupportedError(
        f"'{argument.text}' is no pattern of times in Spark", _span(argument), f"{function}(x, '{pattern}')", sql
    )


def _refuse_order(name: str, following: list[Token], sql: str) -> None:
    if [token.text.upper() for token in following[:1]] == ["WITHIN"]:
        raise NotSupportedError(
            f"WITHIN GROUP of {name} is not supported",
            _span(following[0]),
            "transform(array_sort(array_agg(struct(y, x))), p -> p.x) is the list of x in the order of y",
            sql,
        )


def _second(tokens: list[Token], places: list[tuple[int, int]]) -> Token | None:
    """Return the only token of the second argument of a call that has two."""
    return tokens[places[1][0]] if len(places) == 2 and places[1][1] - places[1][0] == 1 else None


def _is_number(token: Token | None) -> bool:
    return token is not None and token.token_type == TokenType.NUMBER


def _span(token: Token) -> Span:
    return Span(token.start, token.end + 1)
