"""Aggregate calls over the rows of a match become the matcher's aggregates."""

from sqlglot import exp

from cepsql.analysis.positions import span_of
from cepsql.analysis.scope import (
    FINAL,
    FIRST,
    LAST,
    RUNNING,
    MatchScope,
    navigation_name,
    one_variable,
    spoken_function,
)
from cepsql.analysis.traveling import Traveling
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.tokens import KEPT_AGGREGATES
from cepsql.pattern.program import Aggregate

AGGREGATES = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Count: "count", exp.CountIf: "count_if",
}  # fmt: skip


def lower_aggregate(call: exp.Expr, scope: MatchScope, traveling: Traveling) -> Aggregate | None:
    """Turn an aggregate call into the matcher's; None if the expression is no aggregate.

    Raises NotSupportedError for aggregates that the matcher does not have.
    """
    if isinstance(call, exp.Filter) and isinstance(call.this, exp.AggFunc):
        raise NotSupportedError(
            "FILTER on an aggregate over rows of the match is not supported", span_of(call, scope.place)
        )
    if isinstance(call, exp.WithinGroup) or navigation_name(call) in KEPT_AGGREGATES:
        raise _unknown_aggregate(call, scope)
    if not isinstance(call, exp.AggFunc) or isinstance(call, exp.First | exp.Last):
        return None
    name = AGGREGATES.get(type(call))
    if name is None or (name != "count" and call.this is None):
        raise _unknown_aggregate(call, scope)
    argument, distinct = call.this, False
    if isinstance(argument, exp.Distinct):
        distinct = True
        if len(argument.expressions) != 1:
            raise NotSupportedError(
                f"{name.upper()}(DISTINCT) of several values is not supported", span_of(call, scope.place)
            )
        argument = argument.expressions[0]
    if call.expressions:
        raise NotSupportedError(f"{name.upper()} of several values is not supported", span_of(call, scope.place))
    for node in argument.walk():
        if isinstance(node, exp.AggFunc) or navigation_name(node) in (FIRST, LAST, "PREV", "NEXT", RUNNING, FINAL):
            raise ProgrammingError(
                "an aggregate may not hold navigation or another aggregate", span_of(call, scope.place)
            )
        if navigation_name(node) in ("CLASSIFIER", "MATCH_NUMBER"):
            raise NotSupportedError(
                f"{navigation_name(node)} in an aggregate is not supported", span_of(call, scope.place)
            )
    if argument.find(exp.Star) and name != "count":
        raise ProgrammingError("a star may stand only in COUNT", span_of(call, scope.place))
    if isinstance(argument, exp.Star):
        return Aggregate("count", None, None)
    variables = one_variable(argument, scope, name.upper())
    if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
        return Aggregate("count", None, variables)
    if name == "count_if":
        sql = f"CASE WHEN {scope.row_sql(argument)} THEN 1 END"
        return Aggregate("count", traveling.value(sql), variables, distinct)
    return Aggregate(name, traveling.value(scope.row_sql(argument)), variables, distinct)


def _unknown_aggregate(call: exp.AggFunc, scope: MatchScope) -> NotSupportedError:
    place = span_of(call, scope.place)
    call = call.this if isinstance(call, exp.WithinGroup) else call
    if isinstance(call, exp.Lag | exp.Lead):
        instead = "PREV" if isinstance(call, exp.Lag) else "NEXT"
        hint = f"{instead}(x, n) reads the row n rows {'before' if instead == 'PREV' else 'after'}"
        return NotSupportedError(f"{spoken_function(call)} in MATCH_RECOGNIZE is not supported", place, hint)
    return NotSupportedError(
        f"the aggregate {spoken_function(call)} over rows of the match is not supported",
        place,
        "COUNT, COUNT_IF, SUM, AVG, MIN and MAX are",
    )
