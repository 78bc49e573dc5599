"""Aggregates that Spark computes after the matcher, from lists of the values that the rows of a match have."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall, spread_distinct
from cepsql.analysis.row_pattern.match_aggregates import aggregate_variables, aggregated, refuse_window_function
from cepsql.analysis.row_pattern.scope import MatchScope, navigation_name
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError
from cepsql.pattern.program import Aggregate, ByVariable, MatchNumber

ELEMENT = "__element"
"""What `ListAggregate.call` calls one row of the lists; its fields are named like the lists."""


@dataclass(frozen=True)
class ListAggregate:
    """One aggregate over lists that the matcher returns.

    name:      of the column that holds the result.
    variables: whose rows are aggregated, None for all; with `final` they say which lists have one length, and
               elements of the same rows.
    lists:     the matcher's columns that hold the arguments.
    condition: the column with a list of booleans, the condition of FILTER, or None.
    call:      the call in Spark SQL, perhaps with WITHIN GROUP, over fields of ELEMENT.
    nulls:     IGNORE NULLS, RESPECT NULLS or nothing.
    distinct:  only different elements count.
    """

    name: str
    variables: frozenset[int] | None
    final: bool
    lists: tuple[str, ...]
    condition: str | None
    call: str
    nulls: str = ""
    distinct: bool = False


def lower_list_aggregate(
    call: AggregateCall, scope: MatchScope, traveling: Traveling, atoms, final: bool
) -> exp.Column:
    """Return the column of an aggregate that the matcher does not compute; what it needs goes into `atoms`.

    Raises NotSupportedError for functions that are none.
    """
    refuse_window_function(call, scope)
    for argument in call.arguments if call.distinct else ():
        kind = scope.type_of(argument)
        if kind.startswith(("map", "variant")):
            raise NotSupportedError(
                f"{call.name} of DISTINCT {kind.upper()} values is not supported: Spark has no list of different ones",
                span_of(call.function, scope.place),
                f"take their texts: to_json({sql_of(argument)})",
            )
    variables = aggregate_variables(call, scope)
    lists: dict[str, None] = {}

    def list_of(node: exp.Expr) -> tuple[str, str | ByVariable | MatchNumber]:
        column = aggregated([node], scope, traveling)
        if column is None:
            raise NotSupportedError(
                f"MATCH_NUMBER in the FILTER of {call.name} is not supported", span_of(call.function, scope.place)
            )
        return atoms.column(Aggregate("list", column, variables, final=final)).name, column

    def travels(node: exp.Expr) -> exp.Expr:
        numbered = navigation_name(node) != "MATCH_NUMBER" and _asks(node, "MATCH_NUMBER")
        if numbered or (isinstance(node, exp.If) and isinstance(node.parent, exp.Case)):
            # The number of the match is known after the matcher only: Spark computes the rest from lists, too.
            copy = node.copy()
            for child in filter(_reads_row, list(copy.iter_expressions())):
                child.replace(travels(child))
            return copy
        name, column = list_of(node)
        lists[name] = None
        field = exp.column(name, table=ELEMENT)
        value = exp.func("timestamp_micros", field) if column == "t" else field
        atoms.computed.append((value, node))
        return value

    function = call.function.copy()
    for child in list(function.iter_expressions()):
        if isinstance(child, exp.Distinct):
            spread_distinct(function, child)
    for child in list(function.iter_expressions()):
        if _reads_row(child):
            child.replace(travels(child))
    order = call.order and call.order.copy()
    for item in order.expressions if order else ():
        if _reads_row(item.this):
            item.this.replace(travels(item.this))
    if not lists:
        # A list all the same: there are as many elements as rows.
        travels(exp.Literal.number(1))
    condition = list_of(call.filter)[0] if call.filter is not None else None
    sql = sql_of(function)
    if order is not None:
        sql += f" WITHIN GROUP ({sql_of(order).strip()})"
    return atoms.aggregate(ListAggregate("", variables, final, tuple(lists), condition, sql, call.nulls, call.distinct))


def _reads_row(node: exp.Expr) -> bool:
    return node.find(exp.Column) is not None or _asks(node, "CLASSIFIER", "MATCH_NUMBER")


def _asks(node: exp.Expr, *names: str) -> bool:
    return any(navigation_name(inner) in names for inner in node.walk())


def dump_aggregate(aggregate: ListAggregate) -> str:
    """Return an aggregate over lists as EXPLAIN shows it."""
    parts = [aggregate.call.replace(f"{ELEMENT}.", ""), aggregate.nulls]
    if aggregate.condition is not None:
        parts.append(f"FILTER (WHERE {aggregate.condition})")
    if aggregate.distinct:
        parts.append("of different elements")
    return f"{' '.join(part for part in parts if part)}, by Spark"
