"""Which MATCH_RECOGNIZE of a query EXPLAIN MATCH is about, and which partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.sql.parameters import literal
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError, in_text, suggestion
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import Ordered, matches_of, walk

Key = Sequence[exp.Expr] | Mapping[str, object] | object
"""A key as statements and programs give it: SQL, values by column name, values in order, or the only value."""


@dataclass(frozen=True)
class AskedPartition:
    """A partition that is asked for: the match, and Spark SQL of the constants of its key as PARTITION BY has them."""

    match: MatchPlan
    constants: tuple[str, ...]


def asked_partition(plan: Plan, key: Key) -> AskedPartition:
    """Find out which match of a query, and which partition of it, is asked for.

    Of several matches it is the one that reads no other match.
    Raises ProgrammingError if there is no match or the key does not fit, NotSupportedError if there are several.
    """
    with in_text(plan.text):
        match = _explained_match(plan)
        return AskedPartition(match, tuple(sql_of(value) for value in _constants(match, key)))


def asked_match(plan: Plan) -> MatchPlan:
    """Return the match of a query that is asked for; raises as `asked_partition`."""
    with in_text(plan.text):
        return _explained_match(plan)


def key_columns(match: MatchPlan) -> list[str]:
    """Return the names of the PARTITION BY columns of a match."""
    return [column.name for column in match.output[: len(match.program.keys)]]


def _explained_match(plan: Plan) -> MatchPlan:
    up_to = (matches_of(node) for node in walk(plan.logical) if isinstance(node, Ordered) and node.pattern_match)
    matches = [innermost for innermost, *others in up_to if not others]
    if not matches:
        raise ProgrammingError("the query has no MATCH_RECOGNIZE to explain", plan.query.span)
    if len(matches) > 1:
        raise NotSupportedError(
            f"EXPLAIN MATCH of a query with {len(matches)} MATCH_RECOGNIZE side by side is not supported",
            matches[1].clause.span,
            "explain them one by one",
        )
    if matches[0].clause.frame is not None:
        raise NotSupportedError(
            "EXPLAIN MATCH of a row pattern in a window is not supported",
            matches[0].clause.span,
            "EXPLAIN PATTERN shows its conditions and its automaton",
        )
    return matches[0]


def _constants(match: MatchPlan, key: Key) -> tuple[exp.Expr, ...]:
    """Return the constants of a key in the order of PARTITION BY."""
    columns = key_columns(match)
    items = [_item(value) for value in _values(key, columns)]
    place = next((span_of(value) for _, value in items if span_of(value)), match.clause.span)
    if any(name is not None for name, _ in items):
        items = _in_order(items, columns)
    if len(items) != len(columns):
        wanted = f"PARTITION BY has {_count(len(columns), 'column')}" if columns else "there is no PARTITION BY"
        hint = f"FOR KEY ({', '.join(f'{name} = ...' for name in columns)})" if columns else "leave FOR KEY out"
        raise ProgrammingError(f"{wanted}, and the key {_count(len(items), 'value')}", place, hint)
    for _, value in items:
        if value.find(exp.Column, exp.Query, exp.AggFunc, exp.Window):
            raise ProgrammingError("FOR KEY takes constants", span_of(value, place), "texts stand in single quotes")
        if missing := value.find(exp.Placeholder):
            raise ProgrammingError(f"no value was given for :{missing.this}", place)
    return tuple(value for _, value in items)


def _values(key: Key, columns: list[str]) -> list:
    if isinstance(key, Mapping):
        return [exp.EQ(this=exp.column(name), expression=_constant(value)) for name, value in key.items()]
    if isinstance(key, Sequence) and not isinstance(key, str | bytes):
        return [_constant(value) for value in key]
    # The key None is the partition whose only key is NULL; without PARTITION BY it is no key.
    return [] if key is None and not columns else [_constant(key)]


def _constant(value: object) -> exp.Expr:
    return value if isinstance(value, exp.Expr) else literal(value)


def _item(value: exp.Expr) -> tuple[exp.Identifier | None, exp.Expr]:
    """Split `column = constant`."""
    if isinstance(value, exp.EQ) and isinstance(value.this, exp.Column):
        return value.this.this, value.expression
    return None, value


def _in_order(
    items: list[tuple[exp.Identifier | None, exp.Expr]], columns: list[str]
) -> list[tuple[exp.Identifier | None, exp.Expr]]:
    names, values = {name.lower(): name for name in columns}, {}
    for name, value in items:
        if name is None:
            raise ProgrammingError("FOR KEY names either all columns or none", span_of(value))
        if name.this.lower() not in names:
            hint = suggestion(name.this, columns, "columns of PARTITION BY")
            raise ProgrammingError(f"PARTITION BY has no column {name.this}", span_of(name), hint)
        if name.this.lower() in values:
            raise ProgrammingError(f"FOR KEY names {name.this} twice", span_of(name))
        values[name.this.lower()] = (name, value)
    return [values[name] for name in names if name in values]


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
