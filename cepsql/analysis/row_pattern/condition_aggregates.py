"""Aggregates in DEFINE: those that can be kept up while a match is being built."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall
from cepsql.analysis.row_pattern.match_aggregates import (
    aggregate_variables,
    aggregated,
    lower_aggregate,
    refuse_window_function,
)
from cepsql.analysis.row_pattern.scope import MatchScope
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.function_calls import spoken_function
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError
from cepsql.pattern.program import Aggregate, ByVariable, Classifier, MatchNumber, Navigation

_BOOLEAN = {"BOOL_AND": "min", "EVERY": "min", "BOOL_OR": "max", "SOME": "max", "ANY": "max"}
_PLAIN = {"TRY_SUM": exp.Sum, "TRY_AVG": exp.Avg}
_LISTS = ("ARRAYAGG", "ARRAY_AGG", "COLLECT_LIST")
_BY = {"ARGMAX": "max_by", "MAX_BY": "max_by", "ARGMIN": "min_by", "MIN_BY": "min_by"}
_OF_ONE_ROW = {"ANY_VALUE": True, "FIRST_VALUE": True, "LAST_VALUE": False}


def lower_condition_aggregate(
    call: AggregateCall, scope: MatchScope, traveling: Traveling
) -> Aggregate | Navigation | Classifier:
    """Turn an aggregate call in a DEFINE condition into what the matcher keeps up.

    Raises NotSupportedError for other aggregates, ProgrammingError for what an aggregate may not hold.
    """
    lowered = lower_aggregate(_alike(call), scope, traveling)
    if lowered is not None:
        # What does not fit is NULL for TRY_SUM and TRY_AVG.
        return replace(lowered, function=call.name.lower()) if call.name in _PLAIN else lowered
    refuse_window_function(call, scope)
    plain = len(call.arguments) == 1 and call.order is None and not call.nulls
    if plain and call.name in _BOOLEAN:
        # AND lets Spark refuse an argument that is not BOOLEAN.
        parts, sql = [call.arguments[0]], "({}) AND TRUE"
        if call.filter is not None:
            parts, sql = [call.filter, *parts], f"CASE WHEN {{}} THEN {sql} END"
        column = aggregated(parts, scope, traveling, sql)
        if column is not None:
            return Aggregate(_BOOLEAN[call.name], column, aggregate_variables(call, scope))
    if plain and call.name in _OF_ONE_ROW and call.filter is None:
        column, variables = aggregated(call.arguments, scope, traveling), aggregate_variables(call, scope)
        if isinstance(column, str):
            return Navigation(column, variables, first=_OF_ONE_ROW[call.name])
        if isinstance(column, ByVariable) and column.column is None:
            return Classifier(variables, first=_OF_ONE_ROW[call.name])
    if call.name in _LISTS and plain and not call.distinct:
        column = _filtered(call, scope, traveling)
        if column is not None:
            return Aggregate("collect_list", column, aggregate_variables(call, scope))
    if call.name in _BY and call.order is None and not call.nulls and not call.distinct and len(call.arguments) == 2:
        column, by = aggregated(call.arguments[:1], scope, traveling), _filtered(call, scope, traveling)
        if isinstance(column, str) and isinstance(by, str):
            return Aggregate(_BY[call.name], column, aggregate_variables(call, scope), by=by)
    several = " of these values" if isinstance(call.function, exp.AggFunc) else ""
    raise NotSupportedError(
        f"the aggregate {spoken_function(call.function)}{several} in DEFINE is not supported",
        span_of(call.function, scope.place),
        "COUNT, COUNT_IF, SUM, AVG, MIN, MAX, MAX_BY, MIN_BY, BOOL_AND, BOOL_OR, FIRST_VALUE, LAST_VALUE, STDDEV, "
        "VARIANCE, MEDIAN, PERCENTILE, MODE, BIT_AND, BIT_OR, LISTAGG and COLLECT_LIST are; MEASURES take any",
    )


def _filtered(call: AggregateCall, scope: MatchScope, traveling: Traveling) -> str | ByVariable | MatchNumber | None:
    """Return what travels for the last argument, NULL where the condition of FILTER does not hold."""
    argument = call.arguments[-1]
    if call.filter is None:
        return aggregated([argument], scope, traveling)
    return aggregated([call.filter, argument], scope, traveling, "CASE WHEN {} THEN {} END")


def _alike(call: AggregateCall) -> AggregateCall:
    """Take TRY_SUM and TRY_AVG for SUM and AVG, which have the same arguments."""
    if call.name not in _PLAIN or call.distinct or len(call.arguments) != 1:
        return call
    return replace(call, function=_PLAIN[call.name](this=call.arguments[0].copy()))
