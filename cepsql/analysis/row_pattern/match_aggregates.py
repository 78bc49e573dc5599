"""Aggregate calls over the rows of a match become the matcher's aggregates, where it has them."""

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall, is_aggregate
from cepsql.analysis.row_pattern.scope import (
    FINAL,
    FIRST,
    LAST,
    MATCH_FUNCTIONS,
    RUNNING,
    MatchScope,
    navigation_name,
    no_arguments,
    one_variable,
)
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.function_calls import spoken_function
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.pattern.program import Aggregate, ByVariable, MatchNumber
from cepsql.scalar.expressions import Literal

_MATCHER: dict[type[exp.Expr], str] = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Count: "count", exp.CountIf: "count_if",
}  # fmt: skip
_WINDOW_FUNCTIONS = (
    exp.CumeDist, exp.DenseRank, exp.Grouping, exp.GroupingId, exp.Lag, exp.Lead, exp.NthValue, exp.Ntile,
    exp.PercentRank, exp.Rank,
)  # fmt: skip
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "unknown")


def lower_aggregate(call: AggregateCall, scope: MatchScope, traveling: Traveling) -> Aggregate | None:
    """Turn an aggregate call into the matcher's; None if the matcher has none for it.

    Raises ProgrammingError for what an aggregate may not hold.
    """
    check_aggregate(call, scope)
    name = "try_avg" if call.name == "TRY_AVG" else _MATCHER.get(type(call.function))
    if name is None or len(call.arguments) != 1 or call.order is not None or call.nulls:
        return None
    (argument,) = call.arguments
    variables = aggregate_variables(call, scope)
    distinct, forms = call.distinct, [argument]
    if isinstance(argument, exp.Star) or (isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star)):
        if call.filter is None:
            return Aggregate("count", None, variables)
        name, distinct, forms = "count", False, [call.filter]
        sql = "CASE WHEN {} THEN 1 END"
    elif name == "count_if":
        name, sql = "count", "CASE WHEN {} THEN 1 END"
        if call.filter is not None:
            forms, sql = [argument, call.filter], "CASE WHEN ({}) AND ({}) THEN 1 END"
    elif not _takes(name, scope.type_of(argument), distinct):
        return None
    else:
        sql = "{}"
        if call.filter is not None:
            forms, sql = [call.filter, argument], "CASE WHEN {} THEN {} END"
    column = aggregated(forms, scope, traveling, sql)
    return None if column is None else Aggregate(name, column, variables, distinct)


def aggregated(
    parts: list[exp.Expr], scope: MatchScope, traveling: Traveling, sql: str = "{}"
) -> str | ByVariable | MatchNumber | None:
    """Return what holds, for each row, the value of an expression that may ask for the row's variable.

    parts: the expressions that stand for the {} of `sql`.
    None if it also asks for MATCH_NUMBER(), which is known only when a match is being built.
    """
    names = {navigation_name(node) for part in parts for node in part.walk()}
    if "MATCH_NUMBER" in names:
        return MatchNumber() if sql == "{}" and navigation_name(parts[0].unnest()) == "MATCH_NUMBER" else None
    if "CLASSIFIER" not in names:
        return traveling.value(sql.format(*map(scope.row_sql, parts)))
    if sql == "{}" and navigation_name(parts[0].unnest()) == "CLASSIFIER":
        return ByVariable(tuple(map(Literal, scope.variables)))
    named = [[_of_variable(part, name, scope) for part in parts] for name in scope.variables]
    return ByVariable(tuple(traveling.value(sql.format(*written)) for written in named))


def _of_variable(expression: exp.Expr, name: str, scope: MatchScope) -> str:
    """Return the Spark SQL of an expression for rows of one variable."""

    def named(node: exp.Expr) -> exp.Expr:
        return exp.Literal.string(name) if navigation_name(node) == "CLASSIFIER" else node

    return scope.row_sql(expression.transform(named))


def _takes(name: str, kind: str, distinct: bool) -> bool:
    """Tell whether the matcher has the aggregate for values, or different ones, of a Spark type."""
    if name in ("sum", "avg", "try_avg"):
        return kind.split("(")[0] in _NUMBERS
    nested = kind.startswith(("array", "struct", "map", "variant"))
    return not (nested and distinct) if name == "count" else not (nested or kind.startswith("interval"))


def check_aggregate(call: AggregateCall, scope: MatchScope) -> None:
    """Raise ProgrammingError for what may not stand in an aggregate call."""
    place = span_of(call.function, scope.place)
    if call.distinct and not call.arguments:
        raise ProgrammingError("an expression is missing after DISTINCT", place)
    parts = [
        *call.arguments,
        *([call.filter] if call.filter is not None else []),
        *([call.order] if call.order else []),
    ]
    for node in (node for part in parts for node in part.walk()):
        name = navigation_name(node)
        if is_aggregate(node) or name in (FIRST, LAST, "PREV", "NEXT", RUNNING, FINAL):
            raise ProgrammingError("an aggregate may not hold navigation or another aggregate", place)
        if name == "MATCH_NUMBER":
            no_arguments(node, scope)
        elif name in MATCH_FUNCTIONS and name != "CLASSIFIER":
            raise NotSupportedError(f"{name} in an aggregate is not supported", place)
    starred = [part for part in parts if part.find(exp.Star) is not None]
    if starred and (not isinstance(call.function, exp.Count) or call.filter in starred):
        raise ProgrammingError("a star may stand only in COUNT", place)
    if starred and call.distinct:
        raise NotSupportedError(
            "COUNT(DISTINCT *) in MATCH_RECOGNIZE is not supported", place, "name the columns: COUNT(DISTINCT A.x, A.y)"
        )


def aggregate_variables(call: AggregateCall, scope: MatchScope) -> frozenset[int] | None:
    """Return the variable whose rows are aggregated, None for all rows.

    Raises ProgrammingError if arguments, FILTER and WITHIN GROUP name different ones.
    """
    parts = [*call.arguments]
    if any(isinstance(part, exp.Star) for part in parts):
        # COUNT(*) counts all rows, so that its filter may not name a variable either.
        parts = [exp.column(next(iter(scope.columns.values()))[0], quoted=True)]
    parts += [call.filter] if call.filter is not None else []
    parts += [item.this for item in call.order.expressions] if call.order is not None else []
    return one_variable(exp.Tuple(expressions=[part.copy() for part in parts]), scope, call.name)


def refuse_window_function(call: AggregateCall, scope: MatchScope) -> None:
    """Raise NotSupportedError for what sqlglot takes for an aggregate but what reads neighbours, or ranks or groups."""
    if not isinstance(call.function, _WINDOW_FUNCTIONS):
        return
    hint = "aggregates in MATCH_RECOGNIZE are over the rows of the match; PREV and NEXT read neighbours"
    if isinstance(call.function, exp.Lag | exp.Lead):
        instead, side = ("NEXT", "after") if isinstance(call.function, exp.Lead) else ("PREV", "before")
        hint = f"{instead}(x, n) reads the row n rows {side}"
    name = spoken_function(call.function)
    raise NotSupportedError(f"{name} in MATCH_RECOGNIZE is not supported", span_of(call.function, scope.place), hint)
