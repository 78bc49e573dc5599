"""Regular expressions of Java for which RE2 finds the same matches and groups."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import re2

_SPECIAL = "\\^$.|?*+()[]{}"
_MOST_REPEATED = 1000
"""RE2's limit of a repetition."""

_END = r"(?:\x{d}\x{a}|[\x{a}\x{d}\x{85}\x{2028}\x{2029}])?\z"
"""Java's $: the end, or a line terminator before it."""

_LINE_ENDS = ((0xA, 0xA), (0xD, 0xD), (0x85, 0x85), (0x2028, 0x2029))
_DIGITS = ((0x30, 0x39),)
_WORD = (*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE = ((0x9, 0xD), (0x20, 0x20))
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_RETURN = 0xD


@dataclass(frozen=True)
class Regex:
    """A regular expression for RE2, whose groups are named g0 (the whole match), g1, g2 and so on.

    groups: the number of groups besides g0.
    empty:  it may match an empty text.
    ends:   it matches only at the end of the text; its match may extend beyond g0.
    """

    source: str
    groups: int
    empty: bool
    ends: bool


@lru_cache(maxsize=1024)
def re2_regex(pattern: str) -> Regex | None:
    """Translate Java's regular expression for RE2; None if it is invalid, or RE2 might find other matches.

    >>> re2_regex("a(b|c)+$").source
    '(?P<g0>a(?P<g1>b|c)+)(?:\\\\x{d}\\\\x{a}|[\\\\x{a}\\\\x{d}\\\\x{85}\\\\x{2028}\\\\x{2029}])?\\\\z'
    >>> re2_regex("(?i)a[b-c]").source
    '(?P<g0>[aA][b-cB-C])'
    >>> re2_regex("(?=a)") is None
    True
    """
    ends = pattern.endswith("$") and (len(pattern) - len(pattern[:-1].rstrip("\\"))) % 2 == 1
    reader = _RegexReader(pattern[:-1] if ends else pattern)
    try:
        part = reader.alternatives()
        # Java sees no end between \r and \n. A $ of one branch is not worth the code.
        if reader.rest or (ends and (part.takes_return or part.branches > 1)):
            return None
        regex = Regex(f"(?P<g0>{part.source}){_END if ends else ''}", reader.groups, part.empty, ends)
        _compiled(regex.source)
    except (_Unlike, re2.error):
        return None
    return regex


def supported_regex(pattern: str) -> Regex:
    """Return the `re2_regex` of a pattern that must have one."""
    regex = re2_regex(pattern)
    assert regex is not None
    return regex


def rlike(text: str, pattern: str) -> bool:
    """Tell whether a part of a text matches a pattern that has a `re2_regex`."""
    return _search(text, pattern) is not None


def regexp_extract(text: str, pattern: str, group: int = 1) -> str:
    """Return a group of the first match, "" without a match."""
    match = _search(text, pattern)
    return "" if match is None else match.group(f"g{group}") or ""


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Replace all matches by a literal text; no match may be empty."""
    return _compiled(supported_regex(pattern).source).sub(lambda match: replacement, text)


REGEX_FUNCTIONS: dict[str, Callable] = {
    "rlike": rlike, "regexp_extract": regexp_extract, "regexp_replace": regexp_replace,
}  # fmt: skip
"""By the operation's name in `cepsql.scalar.expressions.Call`."""


def _search(text: str, pattern: str):
    return _compiled(supported_regex(pattern).source).search(text)


@lru_cache(maxsize=1024)
def _compiled(source: str):
    options = re2.Options()
    options.log_errors = False
    return re2.compile(source, options)


class _Unlike(Exception):
    """The pattern has a part that differs between Java and RE2."""


@dataclass(frozen=True)
class _RegexPart:
    """A part of a pattern for RE2.

    takes_return: a match may contain a \\r.
    branches:     the number of alternatives at its top level.
    """

    source: str
    empty: bool
    takes_return: bool
    branches: int = 1


class _RegexReader:
    """A reader of a pattern from left to right; `groups` counts those begun so far, `rest` is unread."""

    def __init__(self, pattern: str):
        self.rest, self.groups = pattern, 0
        self.any_case = self.takes("(?i)")

    def take(self) -> str:
        if not self.rest:
            raise _Unlike
        first, self.rest = self.rest[0], self.rest[1:]
        return first

    def takes(self, text: str) -> bool:
        if not self.rest.startswith(text):
            return False
        self.rest = self.rest[len(text) :]
        return True

    def alternatives(self) -> _RegexPart:
        branches = [self.sequence()]
        while self.takes("|"):
            branches.append(self.sequence())
        return _RegexPart(
            "|".join(branch.source for branch in branches),
            any(branch.empty for branch in branches),
            any(branch.takes_return for branch in branches),
            len(branches),
        )

    def sequence(self) -> _RegexPart:
        parts = []
        while self.rest and self.rest[0] not in "|)":
            parts.append(self.repeated(self.atom()))
        return _RegexPart(
            "".join(part.source for part in parts),
            all(part.empty for part in parts),
            any(part.takes_return for part in parts),
        )

    def atom(self) -> _RegexPart:
        first = self.take()
        match first:
            case "^":
                return _RegexPart("^", True, False)
            case ".":
                return self.one_of(_LINE_ENDS, True)
            case "(":
                return self.group()
            case "[":
                return self.character_class()
            case "\\":
                escaped = self.escaped()
                return self.one_of(*escaped) if isinstance(escaped, tuple) else self.character(escaped)
        if first in _SPECIAL:
            raise _Unlike
        return self.character(first)

    def character(self, sign: str) -> _RegexPart:
        return self.one_of(((ord(sign), ord(sign)),), False)

    def one_of(self, ranges: tuple[tuple[int, int], ...], without: bool) -> _RegexPart:
        """Return a class of these characters, or of all others."""
        if self.any_case:
            ranges += tuple(pair for low, high in ranges for pair in _other_case(low, high))
        has_return = any(low <= _RETURN <= high for low, high in ranges) != without
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1] and not without:
            return _RegexPart(_character(ranges[0][0]), False, has_return)
        inside = "".join(
            _character(low) if low == high else f"{_character(low)}-{_character(high)}" for low, high in ranges
        )
        return _RegexPart(f"[{'^' if without else ''}{inside}]", False, has_return)

    def group(self) -> _RegexPart:
        opening = "(?:"
        if not self.takes("?:"):
            if self.rest[:1] == "?":
                raise _Unlike
            self.groups += 1
            opening = f"(?P<g{self.groups}>"
        inside = self.alternatives()
        if not self.takes(")"):
            raise _Unlike
        return _RegexPart(f"{opening}{inside.source})", inside.empty, inside.takes_return)

    def escaped(self) -> "str | tuple[tuple[tuple[int, int], ...], bool]":
        """Read what follows a backslash: a character, or ranges of characters and whether they are excluded."""
        sign = self.take()
        if sign.lower() in _CLASSES:
            return _CLASSES[sign.lower()], sign.isupper()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        # Other letters and digits have meanings of their own.
        if sign.isalnum() or not sign.isascii():
            raise _Unlike
        return sign

    def character_class(self) -> _RegexPart:
        without = self.takes("^")
        ranges: list[tuple[int, int]] = []
        while not ranges or self.rest[:1] != "]":
            first = self.member()
            if isinstance(first, tuple):
                ranges += first
                continue
            last = first
            if self.rest[:1] == "-" and self.rest[1:2] != "]":
                self.take()
                end = self.member()
                if isinstance(end, tuple) or end < first or "-" in (first, end):
                    raise _Unlike
                last = end
            ranges.append((ord(first), ord(last)))
        self.take()
        return self.one_of(tuple(ranges), without)

    def member(self) -> str | tuple[tuple[int, int], ...]:
        """Read a member of a class: a character, or the ranges of a predefined class."""
        first = self.take()
        if first == "\\":
            escaped = self.escaped()
            if isinstance(escaped, tuple):
                ranges, without = escaped
                if without:
                    raise _Unlike
                return ranges
            return escaped
        # Java has nested classes and intersections.
        if first in "[]^" or (first == "&" and self.rest[:1] == "&"):
            raise _Unlike
        return first

    def repeated(self, part: _RegexPart) -> _RegexPart:
        least, most, written = self.quantifier()
        if not written:
            return part
        # Java and RE2 differ in how often an empty match is repeated, and in its groups.
        if part.empty or self.rest[:1] in ("+", "*", "{"):
            raise _Unlike
        if self.takes("?"):
            written += "?"
            if self.rest[:1] in ("?", "+", "*", "{"):
                raise _Unlike
        source = part.source if _is_single(part.source) else f"(?:{part.source})"
        return _RegexPart(source + written, least == 0, part.takes_return and most != 0)

    def quantifier(self) -> tuple[int, int | None, str]:
        """Read a quantifier: the least and most repetitions, and its text; "" without one."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.takes(sign):
                return least, most, sign
        if not self.takes("{"):
            return 1, 1, ""
        inside, closed, self.rest = self.rest.partition("}")
        first, comma, last = inside.partition(",")
        numbers = [number for number in (first, last) if number]
        if not closed or not first or not all(n.isascii() and n.isdigit() for n in numbers):
            raise _Unlike
        least = int(first)
        most = least if not comma else int(last) if last else None
        if max(map(int, numbers)) > _MOST_REPEATED or (most is not None and most < least):
            raise _Unlike
        return least, most, "{" + inside + "}"


def _is_single(source: str) -> bool:
    return len(source) == 1 or source[0] in "[(" or source.startswith("\\x{")


def _other_case(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the ASCII letters of a range in the other case; Java's (?i) covers no others."""
    for first, last, distance in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
        if low <= last and high >= first:
            yield max(low, first) + distance, min(high, last) + distance


def _character(code: int) -> str:
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\x{{{code:x}}}"
