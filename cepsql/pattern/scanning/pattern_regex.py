"""Row patterns as RE2 expressions over row codes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from cepsql.pattern.compile import can_be_empty
from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable, walk
from cepsql.pattern.scanning.alphabet import FUTURE, NO_ROW

RE2_MEMORY = 64 << 20


@dataclass(frozen=True)
class Element:
    """A part of the pattern whose rows are adjacent in a match.

    part:    a variable, or a quantified variable or group.
    length:  its number of rows in every match, or None.
    leading: nothing can precede it in a match.
    group:   the capture group of its rows, or None.
    """

    part: Pattern
    length: int | None
    leading: bool
    group: int | None = None


@dataclass(frozen=True)
class Expression:
    """An RE2 expression and the elements of the pattern in order.

    At most one element has neither a length nor a group: it has the remaining rows.
    """

    text: bytes
    elements: tuple[Element, ...]


def is_expressible(pattern: Pattern) -> bool:
    """Tell whether RE2 finds the preferred match of the pattern: no anchors, no empty match, no empty iteration."""
    return not can_be_empty(pattern) and not any(
        isinstance(node, Anchor | Permute) or (isinstance(node, Repeat) and can_be_empty(node.part))
        for node in walk(pattern)
    )


def translate(pattern: Pattern, classes: Mapping[str, bytes]) -> Expression:
    """Translate an expressible pattern for RE2.

    classes: for every variable the codes that it accepts. It accepts FUTURE, too, unless nothing can precede it,
    because a match begins with a row.
    """
    tokens = list(_tokens(pattern, leading=True, certain=True))
    free = sum(isinstance(token, Element) and token.length is None for token in tokens)
    text, elements, group = b"", [], 0
    for token in tokens:
        if isinstance(token, bytes):
            text += token
            continue
        inner = _text(token.part, classes, token.leading)
        if token.length is None and group < free - 1:
            group += 1
            token = Element(token.part, None, token.leading, group)
            inner = b"(" + inner + b")"
        text += inner
        elements.append(token)
    return Expression(text, tuple(elements))


@lru_cache(maxsize=256)
def compile_expression(text: bytes) -> Any:
    """Compile an expression over row codes, once in a process.

    Raises re2.error if it is too large.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = RE2_MEMORY
    options.log_errors = False
    return re2.compile(text, options)


def futures_needed(pattern: Pattern) -> int:
    """Return the greatest number of further rows that a partial match may need to complete."""
    return _completion(pattern)[1]


def _completion(pattern: Pattern) -> tuple[int, int]:
    """Return the length of the shortest match, and the most rows that a position needs to complete, itself included."""
    match pattern:
        case Variable():
            return 1, 1
        case Concat(parts):
            least, most = 0, 0
            for part in reversed(parts):
                shortest, longest = _completion(part)
                most = max(most, longest + least)
                least += shortest
            return least, most
        case Alternate(parts):
            completions = [_completion(part) for part in parts]
            return min(least for least, _ in completions), max(most for _, most in completions)
        case Repeat(part, low, high):
            least, most = _completion(part)
            return (0, 0) if high == 0 else (least * low, most + least * max(low - 1, 0))
        case Exclude(part):
            return _completion(part)
    return 0, 0


def _tokens(pattern: Pattern, leading: bool, certain: bool) -> Iterator[bytes | Element]:
    """Yield the syntax around elements, and the elements."""
    match pattern:
        case Empty() | Repeat(_, _, 0):
            yield b"(?:)"
        case Exclude(part):
            yield from _tokens(part, leading, certain)
        case Concat(parts):
            for i, part in enumerate(parts):
                yield from _tokens(part, leading and i == 0, certain)
        case Alternate(parts):
            for i, part in enumerate(parts):
                yield b"|" if i else b"(?:"
                yield from _tokens(part, leading, False)
            yield b")"
        case Repeat(part, low, 1) if not isinstance(part, Variable):
            yield b"(?:"
            yield from _tokens(part, leading, certain and low == 1)
            yield b")" + _quantifier(pattern)
        case _:
            yield Element(pattern, _length(pattern) if certain else None, leading)


def _text(pattern: Pattern, classes: Mapping[str, bytes], leading: bool) -> bytes:
    match pattern:
        case Variable(name):
            return _class(classes[name], leading)
        case Repeat(_, _, 0) | Empty():
            return b"(?:)"
        case Exclude(part):
            return _text(part, classes, leading)
        case Concat(parts):
            return b"".join(_text(part, classes, leading and i == 0) for i, part in enumerate(parts))
        case Alternate(parts):
            return b"(?:" + b"|".join(_text(part, classes, leading) for part in parts) + b")"
        case Repeat(Variable() as part, low, high, greedy) if leading and low > 0 and high != 1:
            rest = Repeat(part, low - 1, None if high is None else high - 1, greedy)
            return _text(part, classes, True) + _text(rest, classes, False)
        case Repeat(part, _, high):
            return b"(?:" + _text(part, classes, leading and high == 1) + b")" + _quantifier(pattern)
    raise AssertionError(pattern)


def _quantifier(repeat: Repeat) -> bytes:
    high = b"" if repeat.high is None else b"%d" % repeat.high
    return b"{%d,%s}" % (repeat.low, high) + (b"" if repeat.greedy else b"?")


def _class(codes: bytes, leading: bool) -> bytes:
    members = codes + bytes([NO_ROW]) if leading else codes + bytes([FUTURE])
    return b"[" + b"".join(b"\\x%02x" % code for code in members) + b"]"


def _length(pattern: Pattern) -> int | None:
    """Return the number of rows of every match of the pattern, None if it varies."""
    match pattern:
        case Variable():
            return 1
        case Empty():
            return 0
        case Exclude(part):
            return _length(part)
        case Concat(parts):
            lengths = [_length(part) for part in parts]
            fixed = [length for length in lengths if length is not None]
            return sum(fixed) if len(fixed) == len(lengths) else None
        case Alternate(parts):
            choices = {_length(part) for part in parts}
            return choices.pop() if len(choices) == 1 else None
        case Repeat(part, low, high) if low == high:
            length = _length(part)
            return None if length is None else low * length
    return None
