"""The AND-ed parts of DEFINE conditions as the user wrote them, with the expression and the inputs of each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from cepsql.analysis.row_pattern.define_conditions import lower_value
from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.row_pattern.scope import FIRST, LAST, MATCH_FUNCTIONS, RUNNING, MatchScope, navigation_name
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.plain_sql import conjuncts, sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error, Span
from cepsql.language.islands import KEPT_AGGREGATES
from cepsql.language.tokens import Text
from cepsql.pattern.program import MatchProgram, Scalar

_READERS = {FIRST, LAST, RUNNING, "PREV", "NEXT", *MATCH_FUNCTIONS, *KEPT_AGGREGATES}


@dataclass(frozen=True)
class ReadValue:
    """A column, navigation, aggregate or classifier in a part: its place in the part's text, and its value."""

    begin: int
    end: int
    value: Scalar


@dataclass(frozen=True)
class ConditionPart:
    """One of the AND-ed parts of a condition.

    sql:   as the user wrote it.
    truth: the expression, which distinguishes NULL from false; it reads columns of `ConditionParts.program` only.
    reads: its inputs, left to right.
    """

    sql: str
    truth: Scalar
    reads: tuple[ReadValue, ...]


@dataclass(frozen=True)
class ConditionParts:
    """The parts of all conditions of a program.

    program: the program with the travelling columns that the parts read, after its own ones.
    parts:   one tuple a variable, empty for a variable without DEFINE.
    columns: the columns of the input that ORDER BY and DEFINE name, with the travelling column of each.
    """

    program: MatchProgram
    parts: tuple[tuple[ConditionPart, ...], ...]
    columns: tuple[tuple[str, str], ...]


def condition_parts(match: MatchPlan, sql: str) -> ConditionParts:
    """Split the conditions of a match at their ANDs; `sql` is the text to which positions in its clause refer."""
    scope, clause = match.scope, match.clause
    traveling = replace(
        match.traveling, values=list(match.traveling.values), predicates=list(match.traveling.predicates)
    )
    text, defined = Text(sql), {}
    for name, condition in clause.defines:
        lowering = scope.variables.index(name.text), scope.at(name.span), traveling
        defined[name.text] = tuple(_part(node, span, sql, *lowering) for node, span in _split(condition, text))
    columns: dict[str, str] = {}
    for expression in (*clause.order_by, *(condition for _, condition in clause.defines)):
        for column in expression.find_all(exp.Column):
            _add_column(column, scope, traveling, columns)
    parts = tuple(defined.get(name, ()) for name in scope.variables)
    program = replace(match.program, values=tuple(traveling.values))
    return ConditionParts(program, parts, tuple(columns.items()))


def _add_column(column: exp.Column, scope: MatchScope, traveling: Traveling, columns: dict[str, str]) -> None:
    try:
        plain = scope.resolve(column)[1]
    except Error:
        return  # The argument of CLASSIFIER(U), a star, or the parameter of a lambda.
    root = plain.find(exp.Column)
    assert root is not None
    name = scope.columns[root.name.lower()][0]
    columns.setdefault(name, traveling.value(scope.row_sql(root)))


def _part(
    node: exp.Expr, span: Span | None, sql: str, variable: int, scope: MatchScope, traveling: Traveling
) -> ConditionPart:
    reads = []
    for reader in _readers(node):
        try:
            value = lower_value(reader, variable, scope, traveling)
        except Error:
            continue  # The parameter of a lambda.
        place = span_of(reader)
        if span is not None and place is not None and span.start <= place.start < place.end <= span.end:
            reads.append(ReadValue(place.start - span.start, place.end - span.start, value))
    written = sql_of(node) if span is None else sql[span.start : span.end]
    return ConditionPart(written, lower_value(node, variable, scope, traveling), tuple(reads))


def _readers(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the outermost expressions that read rows of the match."""
    named = navigation_name(node) in _READERS
    if named or isinstance(node, exp.Column | exp.AggFunc | exp.Filter | exp.WithinGroup):
        yield node
    else:
        for child in node.iter_expressions():
            yield from _readers(child)


def _split(condition: exp.Expr, text: Text) -> list[tuple[exp.Expr, Span | None]]:
    """Return the AND-ed parts of a condition, with the span of each if it is certain."""
    place = span_of(condition)
    if place is None:
        return [(node, None) for node in conjuncts(condition)]
    inside = [i for i, token in enumerate(text.tokens) if place.start <= token.start and token.end < place.end]
    return _split_tokens(condition, text, inside[0], inside[-1] + 1)


def _split_tokens(node: exp.Expr, text: Text, begin: int, end: int) -> list[tuple[exp.Expr, Span | None]]:
    """Split the condition in tokens `begin` to `end`."""
    while isinstance(node, exp.Paren) and text.raw(begin) == "(" and text.closing[begin] == end - 1:
        node, begin, end = node.this, begin + 1, end - 1
    if not isinstance(node, exp.And):
        return [(node, text.span(begin, end))]
    sides = list(node.flatten(unnest=False))
    edges = [begin - 1, *_ands(text, begin, end), end]
    if len(edges) != len(sides) + 1:
        return [(part, None) for part in conjuncts(node)]
    parts = []
    for side, before, after in zip(sides, edges, edges[1:], strict=False):
        parts += _split_tokens(side, text, before + 1, after)
    return parts


def _ands(text: Text, begin: int, end: int) -> list[int]:
    """Return the token indexes of the ANDs that join conditions: outside brackets and CASE, and not of BETWEEN."""
    ands, open_betweens, cases, i = [], 0, 0, begin
    while i < end:
        word = text.word(i)
        cases += (word == "CASE") - (word == "END")
        if cases == 0:
            open_betweens += word == "BETWEEN"
            if word == "AND" and open_betweens:
                open_betweens -= 1
            elif word == "AND":
                ands.append(i)
        i = text.closing.get(i, i) + 1
    return ands
