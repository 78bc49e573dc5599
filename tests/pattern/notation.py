"""Pattern text for tests, and rows and partitions made by hand."""

import re

import numpy as np
import pyarrow as pa

from cepsql.ordered.row_layout import END_OF_TIME, Column
from cepsql.pattern import ir
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.ordered_rows import Partitions, ScanResult
from cepsql.pattern.program import MatchProgram

_TOKENS = re.compile(r"\s*(PERMUTE|[A-Za-z]\w*|\{-|-\}|\{\d*,?\d*\}\??|[*+?]\??|[()|,^$])")
_SHORT = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def pattern(text: str) -> ir.Pattern:
    """Parse the text of a PATTERN clause."""
    tokens = _TOKENS.findall(text)
    parsed = _alternation(tokens)
    assert not tokens, tokens
    return parsed


def _alternation(tokens: list[str]) -> ir.Pattern:
    parts = [_concatenation(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        parts.append(_concatenation(tokens))
    return parts[0] if len(parts) == 1 else ir.Alternate(tuple(parts))


def _concatenation(tokens: list[str]) -> ir.Pattern:
    parts = []
    while tokens and tokens[0] not in ("|", ")", ",", "-}"):
        parts.append(_quantified(tokens))
    return parts[0] if len(parts) == 1 else ir.Concat(tuple(parts)) if parts else ir.Empty()


def _quantified(tokens: list[str]) -> ir.Pattern:
    part = _primary(tokens)
    if not tokens or tokens[0][0] not in "*+?{" or tokens[0] == "{-":
        return part
    token = tokens.pop(0)
    greedy = not (len(token) > 1 and token.endswith("?"))
    bounds = token if greedy else token[:-1]
    if bounds in _SHORT:
        return ir.Repeat(part, *_SHORT[bounds], greedy)
    low, comma, high = bounds[1:-1].partition(",")
    return ir.Repeat(part, int(low or 0), (int(high) if high else None) if comma else int(low), greedy)


def _primary(tokens: list[str]) -> ir.Pattern:
    token = tokens.pop(0)
    if token == "PERMUTE":
        parts, closing = [], tokens.pop(0)
        while closing != ")":
            parts.append(_alternation(tokens))
            closing = tokens.pop(0)
        return ir.Permute(tuple(parts))
    if token in "^$":
        return ir.Anchor(token == "$")
    if token in ("(", "{-"):
        inner = _alternation(tokens)
        assert tokens.pop(0) == {"(": ")", "{-": "-}"}[token]
        return inner if token == "(" else ir.Exclude(inner)
    return ir.Variable(token)


def program(parsed: ir.Pattern, conditions=None, names: tuple[str, ...] = (), **options) -> MatchProgram:
    """Make a program of a pattern with conditions by position of the variable; columns are v0, v1, f and m."""
    names = names or ir.variables(parsed)
    columns = tuple(Column(name, name) for name in ("v0", "v1", "f"))
    conditions = tuple(conditions or [None] * len(names))
    predicates = tuple(f"p{bit}" for bit in range(len(names)))
    return MatchProgram(parsed, names, conditions, (), Column("t", "t"), (), columns, predicates, (), **options)


def table(rows: list[dict]) -> pa.Table:
    """Make the columns of rows, all of them there even without rows."""
    types = {"t": pa.int64(), "v0": pa.int64(), "v1": pa.int64(), "f": pa.float64(), "m": pa.int64()}
    return pa.table({name: pa.array([row.get(name) for row in rows], type) for name, type in types.items()})


def whole(rows: list[dict]) -> Partitions:
    """Make one partition to which nothing will be added."""
    return partition(rows, 0, 0, END_OF_TIME)


def partition(rows: list[dict], scan: int, number: int, bound: int, end: int | None = None) -> Partitions:
    """Make one partition of rows, readable up to `end`."""
    ends = len(rows) if end is None else end
    return Partitions(
        table(rows), np.array([0, len(rows)]), np.array([scan]), np.array([ends]), np.array([number]), bound
    )


def letters(text: str, names: tuple[str, ...]) -> RowTests:
    """Test rows given as words: a variable holds at a row if the row's word has its letter in either case."""
    words = text.split()
    holds = [[name.lower() in word.lower() for word in words] for name in names]
    return RowTests(np.array(holds, bool).reshape(len(names), len(words)), None)


def matches(search: ScanResult) -> list[tuple[int, int, tuple[int, ...], bool]]:
    """Return (start, number, labels, complete) of every match."""
    m = search.matches
    stops = np.cumsum(m.length)
    return [
        (int(s), int(n), tuple(m.labels[stop - length : stop].tolist()), bool(c))
        for s, n, length, c, stop in zip(m.start, m.number, m.length, m.complete, stops, strict=True)
    ]
