"""Aggregates in DEFINE: those that can be kept up while a match is being built."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.aggregate_calls import AggregateCall
from cepsql.analysis.aggregates import aggregate_variables, lower_aggregate, refuse_window_function
from cepsql.analysis.positions import span_of
from cepsql.analysis.scope import MatchScope, spoken_function
from cepsql.analysis.traveling import Traveling
from cepsql.errors import NotSupportedError
from cepsql.pattern.program import Aggregate, Navigation

_BOOLEAN = {"BOOL_AND": "min", "EVERY": "min", "BOOL_OR": "max", "SOME": "max", "ANY": "max"}
_PLAIN = {"TRY_SUM": exp.Sum, "TRY_AVG": exp.Avg}
_LISTS = ("ARRAYAGG", "ARRAY_AGG", "COLLECT_LIST")
_BY = {"ARGMAX": "max_by", "MAX_BY": "max_by", "ARGMIN": "min_by", "MIN_BY": "min_by"}
_OF_ONE_ROW = {"ANY_VALUE": True, "FIRST_VALUE": True, "LAST_VALUE": False}


def lower_condition_aggregate(call: AggregateCall, scope: MatchScope, traveling: Traveling) -> Aggregate | Navigation:
    """Turn an aggregate call in a DEFINE condition into what the matcher keeps up.

    Raises NotSupportedError for other aggregates, ProgrammingError for what an aggregate may not hold.
    """
    found = lower_aggregate(_alike(call), scope, traveling)
    if found is not None:
        return found
    refuse_window_function(call, scope)
    plain = len(call.arguments) == 1 and call.order is None and not call.nulls
    if plain and call.name in _BOOLEAN:
        # AND lets Spark refuse an argument that is not BOOLEAN.
        sql = f"({scope.row_sql(call.arguments[0])}) AND TRUE"
        if call.filter is not None:
            sql = f"CASE WHEN {scope.row_sql(call.filter)} THEN {sql} END"
        return Aggregate(_BOOLEAN[call.name], traveling.value(sql), aggregate_variables(call, scope))
    if plain and call.name in _OF_ONE_ROW and call.filter is None:
        column = traveling.value(scope.row_sql(call.arguments[0]))
        return Navigation(column, aggregate_variables(call, scope), first=_OF_ONE_ROW[call.name])
    if call.name in _LISTS and plain and not call.distinct:
        return Aggregate("collect_list", _filtered(call, traveling, scope), aggregate_variables(call, scope))
    if call.name in _BY and call.order is None and not call.nulls and not call.distinct and len(call.arguments) == 2:
        value = traveling.value(scope.row_sql(call.arguments[0]))
        by = _filtered(call, traveling, scope)
        return Aggregate(_BY[call.name], value, aggregate_variables(call, scope), by=by)
    several = " of these values" if isinstance(call.function, exp.AggFunc) else ""
    raise NotSupportedError(
        f"the aggregate {spoken_function(call.function)}{several} in DEFINE is not supported",
        span_of(call.function, scope.place),
        "COUNT, COUNT_IF, SUM, AVG, MIN, MAX, MAX_BY, MIN_BY, BOOL_AND, BOOL_OR, FIRST_VALUE, LAST_VALUE and "
        "COLLECT_LIST are; MEASURES take any",
    )


def _filtered(call: AggregateCall, traveling: Traveling, scope: MatchScope) -> str:
    """Return the travelling column of the last argument, NULL where the condition of FILTER does not hold."""
    sql = scope.row_sql(call.arguments[-1])
    return traveling.value(sql if call.filter is None else f"CASE WHEN {scope.row_sql(call.filter)} THEN {sql} END")


def _alike(call: AggregateCall) -> AggregateCall:
    """Take TRY_SUM and TRY_AVG for SUM and AVG, which give NULL for what does not fit, too."""
    if call.name not in _PLAIN or call.distinct or len(call.arguments) != 1:
        return call
    return replace(call, function=_PLAIN[call.name](this=call.arguments[0].copy()))
