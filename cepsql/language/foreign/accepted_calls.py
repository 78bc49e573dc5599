"""Calls of functions of other engines, which become those of Spark's that mean the same before anything is parsed.

A name in backquotes is one of the user's own functions, and stays; so does one that the user's session has.
"""

import re
from functools import cache

from sqlglot.tokens import Token, TokenType

from cepsql.base.cached_property import cached_property
from cepsql.language.foreign.accepted_arguments import RULES
from cepsql.language.foreign.accepted_functions import FORMS
from cepsql.language.foreign.call_places import arguments, stands_in_from
from cepsql.language.tokens import DIALECT, closing_brackets, made_token

_PLACE = re.compile(r"\{(\d+)?(\*)?(?::-(\d+))?(over)?\}")
_CALLED = re.compile(r"(?<![\w.])\w++(?=\s*\()")
_MARK = "__place_"
_FOLLOWING = ("OVER", "FILTER", "WITHIN")
_LAMBDAS = ("TRANSFORM", "FILTER", "REDUCE", "EXISTS", "FORALL", "ANY_MATCH", "ALL_MATCH", "NONE_MATCH", "ZIP_WITH",
            "TRANSFORM_KEYS", "TRANSFORM_VALUES", "MAP_FILTER", "LIST_TRANSFORM", "LIST_FILTER")  # fmt: skip
"""Functions whose arguments have no names, so that => makes a function of what stands before it, as -> does."""

_SYNTAX = frozenset({"CAST", "DATE", "FLOOR", "MAP", "MAX", "MIN", "ROW", "PERCENTILE_CONT"})
"""Names that are Spark's, and of such a form there that nobody gives them another meaning."""

_FIELDS = {
    "ISOWEEK": "WEEK", "ISOYEAR": "YEAROFWEEK", "ISODOW": "DOW_ISO", "DAY_OF_WEEK": "DOW_ISO", "DAY_OF_MONTH": "DAY",
    "DAY_OF_YEAR": "DOY", "YEAR_OF_WEEK": "YEAROFWEEK", "YOW": "YEAROFWEEK",
}  # fmt: skip
"""Parts of times in EXTRACT."""


def spark_calls(tokens: list[Token]) -> tuple[list[Token], list[int]]:
    """Return the tokens of plain SQL with Spark's functions in place of those of other engines, and where these stood,
    in characters of the text."""
    calls = _AcceptedCalls(tokens)
    return calls.rewritten(0, len(tokens)), calls.places


def accepted_names() -> frozenset[str]:
    """Return the names of functions of other engines some call of which is accepted."""
    return frozenset({name for name, _ in FORMS.values()} | set(RULES))


def called_names(sql: str) -> frozenset[str]:
    """Return in lower case which functions of other engines a text may call: what stands in quotes counts, too."""
    return _other_names().intersection(map(str.lower, _CALLED.findall(sql)))


@cache
def _other_names() -> frozenset[str]:
    return frozenset(map(str.lower, accepted_names() - _SYNTAX))


@cache
def _by_arity() -> dict[str, tuple[tuple[int, bool, str], ...]]:
    """Return by name how many arguments each form takes, whether it takes more, and what it means."""
    forms: dict[str, tuple[tuple[int, bool, str], ...]] = {}
    for form, (name, meaning) in FORMS.items():
        arguments = [one.strip() for one in form.partition("(")[2].removesuffix(")").split(",") if one.strip()]
        fixed = [one for one in arguments if one != "*"]
        forms[name] = (*forms.get(name, ()), (len(fixed), len(fixed) < len(arguments), meaning))
    return forms


@cache
def _beginnings() -> frozenset[str]:
    """Return the words with which begins what may be rewritten."""
    return frozenset({"SAFE", "MAP", *RULES, *_by_arity()})


class _AcceptedCalls:
    def __init__(self, tokens: list[Token]):
        self.tokens = tokens
        self.places: list[int] = []
        quoted = TokenType.STRING, TokenType.IDENTIFIER
        self._words = ["" if token.token_type in quoted else token.text.upper() for token in tokens]

    @cached_property
    def _closing(self) -> dict[int, int]:
        return closing_brackets(self.tokens)

    def rewritten(self, begin: int, end: int) -> list[Token]:
        """Return the tokens of a range, those of its calls rewritten."""
        out: list[Token] = []
        i = begin
        while i < end:
            begins = self._words[i] in _beginnings()
            made = (self._call(i) or self._safe(i) or self._map(i)) if begins else None
            if made is None:
                out.append(self._field(i) or self._arrow(i))
                i += 1
            else:
                out += made[0]
                i = made[1]
        return out

    def _word(self, i: int) -> str:
        return self._words[i] if 0 <= i < len(self._words) else ""

    def _call(self, i: int, safe: bool = False) -> tuple[list[Token], int] | None:
        """Return what a call that begins at a token becomes, and where what follows it begins; None for no such one."""
        name = self._word(i)
        if self._word(i + 1) != "(" or i + 1 not in self._closing or (name not in _by_arity() and name not in RULES):
            return None
        before = self._word(i - 1)
        if (
            (before == "." and not safe)
            or (name == "ROW" and before in ("AS", "::", "VALUES"))
            or stands_in_from(self._words, i)
        ):
            return None
        arguments = self._arguments(i + 1)
        meaning = self._meaning(name, arguments)
        if meaning is None:
            return None
        close = self._closing[i + 1]
        following = self._following(close + 1)
        if following > close + 1 and "{over}" not in meaning and not re.fullmatch(r"\w+\(.*\)", meaning):
            return None
        if safe:
            meaning = _tried(meaning)
        self.places.append(self.tokens[i].start)
        inside = following if "{over}" in meaning else close + 1
        return self._filled(meaning, arguments, (close + 1, inside), self.tokens[i]), inside

    def _safe(self, i: int) -> tuple[list[Token], int] | None:
        """Return what SAFE.f(x) becomes, BigQuery's TRY."""
        if (
            self._word(i) != "SAFE"
            or self._word(i + 1) != "."
            or self._word(i + 3) != "("
            or i + 3 not in self._closing
        ):
            return None
        self.places.append(self.tokens[i].start)
        made = self._call(i + 2, safe=True)
        if made is not None:
            return made
        close, at = self._closing[i + 3], self.tokens[i]
        call = [self.tokens[i + 2], self.tokens[i + 3], *self.rewritten(i + 4, close), self.tokens[close]]
        brackets = made_token(TokenType.L_PAREN, "(", at), made_token(TokenType.R_PAREN, ")", at)
        return [made_token(TokenType.VAR, "TRY", at), brackets[0], *call, brackets[1]], close + 1

    def _map(self, i: int) -> tuple[list[Token], int] | None:
        """Return what MAP['key', value, ...] becomes; in square brackets behind a column there is one value."""
        if (self._word(i), self._word(i + 1)) != ("MAP", "[") or i + 1 not in self._closing:
            return None
        arguments, at = self._arguments(i + 1), self.tokens[i]
        if len(arguments) % 2 or not arguments:
            return None
        self.places.append(at.start)
        close = self._closing[i + 1]
        brackets = made_token(TokenType.L_PAREN, "(", at), made_token(TokenType.R_PAREN, ")", at)
        return [at, brackets[0], *self.rewritten(i + 2, close), brackets[1]], close + 1

    def _field(self, i: int) -> Token | None:
        """Return the word of Spark's in place of one in EXTRACT(ISOWEEK FROM ts)."""
        if self._words[i] not in _FIELDS or (self._word(i - 2), self._word(i - 1)) != ("EXTRACT", "("):
            return None
        self.places.append(self.tokens[i].start)
        return made_token(TokenType.VAR, _FIELDS[self._word(i)], self.tokens[i])

    def _arrow(self, i: int) -> Token:
        """Return a token; => in the argument of a function that takes functions becomes ->."""
        token = self.tokens[i]
        if token.token_type != TokenType.FARROW:
            return token
        opening = max((at for at, close in self._closing.items() if at < i < close), default=0)
        # The arguments of a function may stand in brackets of their own.
        if self._word(opening - 1) not in _LAMBDAS:
            return token
        self.places.append(token.start)
        return made_token(TokenType.ARROW, "->", token)

    def _arguments(self, opening: int) -> list[tuple[int, int]]:
        return arguments(self.tokens, self._closing, opening)

    def _meaning(self, name: str, arguments: list[tuple[int, int]]) -> str | None:
        if any(begin == end for begin, end in arguments):
            return None
        for count, more, meaning in _by_arity().get(name, ()):
            if len(arguments) == count or (more and len(arguments) > count):
                return meaning
        rule = RULES.get(name)
        return None if rule is None else rule([self.tokens[begin:end] for begin, end in arguments])

    def _following(self, i: int) -> int:
        """Return where what belongs to an aggregate behind its brackets ends: FILTER (...), OVER (...) or OVER w."""
        while self._word(i) in _FOLLOWING or self._word(i) in ("IGNORE NULLS", "RESPECT NULLS"):
            if self._word(i) == "WITHIN" and self._word(i + 1) != "GROUP":
                break
            i += 2 if self._word(i) == "WITHIN" else 1
            if self._word(i) == "(" and i in self._closing:
                i = self._closing[i] + 1
            elif self._word(i - 1) == "OVER":
                i += 1
        return i

    def _filled(
        self, meaning: str, arguments: list[tuple[int, int]], following: tuple[int, int], at: Token
    ) -> list[Token]:
        """Return the tokens of an expression with the arguments in their places."""
        out: list[Token] = []
        for part, place in _pieces(meaning):
            out += [made_token(kind, text, at) for kind, text in part]
            if place is None:
                continue
            number, every, shorter, over = place
            if over:
                out += self.rewritten(*following)
            elif every:
                begin = int(number or 0)
                if begin < len(arguments):
                    out += self.rewritten(arguments[begin][0], arguments[-1][1])
            else:
                begin, end = arguments[int(number)]
                out += self.rewritten(begin, end - int(shorter or 0))
        return out


_Piece = tuple[tuple[tuple[TokenType, str], ...], tuple[str, str, str, str] | None]


@cache
def _pieces(meaning: str) -> tuple[_Piece, ...]:
    """Return the tokens of an expression, and the places between them."""
    places: list[tuple[str, str, str, str]] = []

    def marked(match: re.Match) -> str:
        places.append((match[1] or "", match[2] or "", match[3] or "", match[4] or ""))
        return f" {_MARK}{len(places) - 1} "

    pieces: list[_Piece] = []
    part: list[tuple[TokenType, str]] = []
    for token in DIALECT.tokenize(_PLACE.sub(marked, meaning)):
        if token.text.startswith(_MARK):
            pieces.append((tuple(part), places[int(token.text.removeprefix(_MARK))]))
            part = []
        else:
            part.append((token.token_type, token.text))
    return (*pieces, (tuple(part), None))


def _tried(meaning: str) -> str:
    """Return an expression that gives NULL where the given one fails."""
    if meaning.startswith("to_date("):
        return f"CAST(try_to_timestamp({meaning.removeprefix('to_date(')} AS DATE)"
    if meaning.startswith("to_timestamp("):
        return f"try_{meaning}"
    return f"TRY({meaning})"
