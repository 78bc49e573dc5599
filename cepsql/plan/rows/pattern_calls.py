"""The functions over a window with a row pattern: what each is as a measure, and what it is called."""

from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import OF_ALL_ROWS, RANKS
from cepsql.analysis.row_pattern.aggregate_calls import called_function, is_aggregate
from cepsql.analysis.row_pattern.scope import FIRST, LAST
from cepsql.analysis.sql.function_calls import spoken_function
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.spark_names import spark_name
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.windows_with_patterns import MEASURE


def is_measure(call: exp.Window) -> bool:
    """Tell whether a call is the name of a measure before OVER."""
    function = call.this
    return isinstance(function, exp.Anonymous) and function.name == MEASURE


def ignores_frame(call: exp.Window) -> bool:
    """Tell whether a function reads rows of the partition, whatever the frame is."""
    return isinstance(called_function(call.this), exp.Lag | exp.Lead)


def as_measure(call: exp.Window, place: Span) -> exp.Expr:
    """Return the measure that a function over the rows of a match is.

    Raises NotSupportedError and ProgrammingError for functions that do not go over these rows.
    """
    function, at = called_function(call.this), span_of(call, place)
    if isinstance(function, (*RANKS, *OF_ALL_ROWS)):
        raise NotSupportedError(
            f"{spoken_function(function)} over a window with a row pattern is not supported",
            at,
            "it goes by all rows of the partition: write it over a window without PATTERN",
        )
    single = call.this.this if isinstance(call.this, exp.RespectNulls) else call.this
    if isinstance(function, exp.NthValue):
        number = function.args["offset"]
        if single is not function:
            word = "FILTER" if isinstance(single, exp.Filter) else "IGNORE NULLS"
            raise NotSupportedError(f"NTH_VALUE with {word} over a window with a row pattern is not supported", at)
        if not number.is_int or int(number.name) < 1:
            raise ProgrammingError("NTH_VALUE takes a constant number from 1 on", span_of(number, at))
        return _navigation(FIRST, function, exp.Literal.number(int(number.name) - 1))
    if isinstance(function, exp.First | exp.Last | exp.FirstValue | exp.LastValue):
        first = isinstance(function, exp.First | exp.FirstValue)
        if single is function and len(list(function.iter_expressions())) == 1 and function.find(exp.Column):
            return _navigation(FIRST if first else LAST, function)
        renamed = exp.Anonymous(
            this="FIRST_VALUE" if first else "LAST_VALUE",
            expressions=[argument.copy() for argument in function.iter_expressions()],
        )
        renamed.meta.update(function.meta)
        return call.this.transform(lambda node: renamed if isinstance(node, type(function)) else node)
    if not is_aggregate(call.this):
        raise ProgrammingError(f"{spoken_function(function)} is no aggregate, and no other function of a window", at)
    return call.this


def _navigation(name: str, function: exp.Expr, *further: exp.Expr) -> exp.Expr:
    navigation = exp.Anonymous(this=name, expressions=[function.this.copy(), *further])
    navigation.meta.update(function.meta)
    return navigation


def spoken_call(call: exp.Window) -> str:
    """Return a window function as it is called by those who read the statement."""
    window = call.args.get("alias")
    if window is None:
        return sql_of(without_tables(call))
    said = call.this.expressions[0].name if is_measure(call) else spark_name(call.this)
    return f"{said} OVER {'(...)' if window.name.startswith('__') else window.name}"
