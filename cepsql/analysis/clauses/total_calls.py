"""Which aggregates of windows go on from row to row, so that a few values of a group are kept and not its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import ON_CLOSE
from cepsql.analysis.clauses.grouped_windows import SessionWindow, WindowGroups
from cepsql.analysis.clauses.running_calls import Take, running_aggregate
from cepsql.analysis.row_pattern.aggregate_calls import called_function
from cepsql.analysis.sql.plain_sql import spoken_type, sql_of
from cepsql.catalog import ColumnDefinition
from cepsql.errors import Span
from cepsql.operators.running import RunningCall
from cepsql.ordered.row_layout import Column, RowLayout
from cepsql.scalar.types import BOOLEAN, DATE, FRACTIONS, INTEGERS, STRING, TIMESTAMPS, Type, is_decimal, parse_type

_NUMBERS = {*INTEGERS, *FRACTIONS}
_COMPARED = {*_NUMBERS, BOOLEAN, STRING, DATE, *TIMESTAMPS}
_LONGEST_ADDED = 28
"""Digits of decimals whose sum has ten more, as Spark gives it."""


@dataclass(frozen=True)
class Totals:
    """How an operator computes the aggregates of groups.

    layout: the columns that travel: keys, time, and arguments of aggregates as values.
    calls:  one for each aggregate of the groups.
    in_order: one of them adds floating point, whose sum goes by the order of the rows.
    """

    layout: RowLayout
    calls: tuple[RunningCall, ...]
    in_order: bool


def totals(groups: WindowGroups) -> Totals | None:
    """Return how the aggregates of groups go on from row to row, None if one of them needs all rows of a group."""
    if groups.aggregates is None or groups.emission != ON_CLOSE:
        return None
    values: dict[str, Column] = {}

    def take(argument: exp.Expr) -> exp.Column:
        sql = sql_of(argument)
        column_of = values.setdefault(sql, Column(f"v{len(values)}", sql))
        return exp.column(column_of.name)

    types = {column.name: column.type for column in groups.columns}
    calls, in_order = [], False
    for column, call in groups.aggregates:
        plain, distinct = _without_distinct(call)
        plain_call = _plain_call(column, plain, take)
        if plain_call is not None and plain_call.column is not None:
            kind = _argument_type(plain, types)
            plain_call = _going_on(plain_call, kind, distinct)
            in_order |= plain_call is not None and plain_call.function in ("sum", "avg") and kind in FRACTIONS
        if plain_call is None:
            return None
        calls.append(plain_call)
    return Totals(replace(groups.layout, values=tuple(values.values())), tuple(calls), in_order)


def joins_rows(groups: WindowGroups, summed: Totals) -> bool:
    """Tell whether rows of a key that lie in the same windows are made one, as soon as they are there."""
    return not isinstance(groups.window, SessionWindow) and not summed.in_order


def _plain_call(column: ColumnDefinition, call: exp.Expr, take: Take) -> RunningCall | None:
    """Return how an aggregate over all values goes on, None if it does not."""
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star | exp.Literal) and not call.expressions:
        return RunningCall(column.name, "count")
    return running_aggregate(column.name, call, take, Span(0, 0))


def _going_on(plain_call: RunningCall, kind: Type, distinct: bool) -> RunningCall | None:
    """Return a call of values of a type, which may be one of distinct values; None if it needs all rows."""
    if not distinct or plain_call.function in ("min", "max"):
        return plain_call if _goes_on(plain_call.function, kind) else None
    exact = plain_call.function in ("count", "sum", "avg") and (kind in _COMPARED or is_decimal(kind))
    return replace(plain_call, distinct=True) if exact and _goes_on(plain_call.function, kind) else None


def _without_distinct(call: exp.Expr) -> tuple[exp.Expr, bool]:
    """Return an aggregate over all values, and whether it was one over distinct values, of one column."""
    plain = call.copy()
    distinct = plain.find(exp.Distinct)
    if distinct is None or len(distinct.expressions) != 1 or distinct.parent is not called_function(plain):
        return plain, False
    distinct.replace(distinct.expressions[0])
    return plain, True


def _argument_type(call: exp.Expr, types: Mapping[str, str]) -> Type:
    argument = called_function(call).this
    return parse_type(types[argument.name] if isinstance(argument, exp.Column) else spoken_type(argument))


def _goes_on(function: str, type: Type) -> bool:
    """Tell whether values of a type are counted, added or compared as Spark does; a sum of decimals has room."""
    if function == "count":
        return True
    if is_decimal(type):
        return type.precision <= _LONGEST_ADDED
    return type in (_NUMBERS if function in ("sum", "avg") else _COMPARED)
