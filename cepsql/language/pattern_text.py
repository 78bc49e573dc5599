"""The text between the parentheses of PATTERN, read into the tree of `cepsql.pattern.ir`."""

import re
from functools import cache

from lark import Lark, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken, VisitError

from cepsql.errors import ProgrammingError, Span
from cepsql.language.parse import grammar_text
from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable


@cache
def _lark() -> Lark:
    return Lark(grammar_text("pattern.lark"), parser="lalr", start="pattern", maybe_placeholders=True)


def parse_pattern(text: str, offset: int = 0) -> tuple[Pattern, dict[str, Span]]:
    """Read a row pattern; return it and where each variable first stands (characters, plus `offset`).

    Unquoted variables are folded to upper case.
    Raises ProgrammingError with a span that includes `offset`.

    >>> parse_pattern("a b*?")[0]
    Concat(parts=(Variable(name='A'), Repeat(part=Variable(name='B'), low=0, high=None, greedy=False)))
    """
    try:
        tree = _lark().parse(text)
    except UnexpectedEOF:
        raise ProgrammingError(
            "the row pattern ends too early", Span(offset + len(text), offset + len(text) + 1)
        ) from None
    except UnexpectedToken as error:
        at = len(text) if error.token.type == "$END" else error.token.start_pos
        what = "ends too early" if error.token.type == "$END" else f"has an unexpected {error.token}"
        raise ProgrammingError(f"the row pattern {what}", Span(offset + at, offset + at + 1), _hint(text, at)) from None
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise ProgrammingError(
            f"the row pattern has an unexpected {text[at]}",
            Span(offset + at, offset + at + 1),
            _hint(text, at),
        ) from None
    reader = _PatternReader(offset)
    try:
        return reader.transform(tree), reader.spans
    except VisitError as error:
        raise error.orig_exc from None


def _hint(text: str, at: int) -> str:
    """Return what helps with a pattern that is wrong at character `at`."""
    if re.search(r"\bWITHIN\b", text[:at], re.IGNORECASE):
        return "WITHIN stands behind the pattern: PATTERN (A B) WITHIN INTERVAL '1' HOUR"
    if text.rfind("{", 0, at) > max(text.rfind("}", 0, at), text.rfind("{-", 0, at)):
        return "a count is written {n}, {n,}, {n,m} or {,m}"
    if text[at : at + 1] in (",", ";", "&") or text[at : at + 2] == "->":
        return "what follows one another stands side by side: A B"
    return "a pattern is made of variables, ( ), |, * + ? and {n,m}, ^, $, PERMUTE( , ) and {- -}"


def fold(name: str) -> str:
    """Return the name a variable is known by: quoted ones as they are, others in upper case."""
    return name[1:-1] if name[:1] in ("`", '"') else name.upper()


@v_args(inline=True)
class _PatternReader(Transformer):
    def __init__(self, offset: int):
        super().__init__()
        self.offset = offset
        self.spans: dict[str, Span] = {}

    def variable(self, token) -> Variable:
        name = fold(token)
        if token.upper() in ("AND", "OR", "NOT"):
            span = Span(self.offset + token.start_pos, self.offset + token.end_pos)
            raise ProgrammingError(f"{token} is no variable", span, "A B is A and then B, A | B is one of them")
        self.spans.setdefault(name, Span(self.offset + token.start_pos, self.offset + token.end_pos))
        return Variable(name)

    def alternation(self, *parts) -> Alternate:
        return Alternate(parts)

    def concatenation(self, *parts) -> Concat:
        return Concat(parts)

    def empty(self) -> Empty:
        return Empty()

    def exclude(self, part) -> Exclude:
        return Exclude(part)

    def permute(self, _, *parts) -> Permute:
        return Permute(parts)

    def anchor_start(self) -> Anchor:
        return Anchor(end=False)

    def anchor_end(self) -> Anchor:
        return Anchor(end=True)

    def repeat(self, part, bounds, reluctant) -> Repeat:
        low, high, span = bounds
        if high is not None and (low > high or high == 0):
            wrong = "the upper bound of a quantifier must be at least 1 and not below the lower bound"
            raise ProgrammingError(wrong, span)
        return Repeat(part, low, high, reluctant is None)

    def star(self):
        return 0, None, None

    def plus(self):
        return 1, None, None

    def optional(self, _):
        return 0, 1, None

    def exactly(self, count):
        return int(count), int(count), self._span(count, count)

    def at_least(self, low, high):
        return int(low), None if high is None else int(high), self._span(low, high or low)

    def at_most(self, high):
        return 0, int(high), self._span(high, high)

    def _span(self, first, last) -> Span:
        return Span(self.offset + first.start_pos, self.offset + last.end_pos)
