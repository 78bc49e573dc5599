"""Window functions over all rows of a key so far, which an operator computes itself as it goes on."""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import EVERY_ROW, Reach, call_name, exclusion
from cepsql.analysis.row_pattern.aggregate_calls import called_function
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error, NotSupportedError, Span, answer
from cepsql.language.foreign.respelling import DISTINCT_CALL
from cepsql.language.notes import copied
from cepsql.language.rewriting.bloom_filters import SEEN, hashed, is_seen, seen_sizes
from cepsql.operators.running import RunningCall, SeenCall

_OF_ROWS = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
OF_COLUMNS: dict[type[exp.Expr], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
    exp.First: "first", exp.FirstValue: "first", exp.AnyValue: "first", exp.Last: "last", exp.LastValue: "last",
}  # fmt: skip
"""What operators compute of a column, by what calls it."""

_OF_VALUES = {**OF_COLUMNS, exp.CountIf: "count"}

Take = Callable[[exp.Expr], exp.Column]
"""Returns the column of the operator's rows that stands for an expression."""


def opened_call(call: exp.Window) -> tuple[exp.Expr, exp.Expr | None, bool]:
    """Return the function of a call, the condition of its FILTER, None for none, and whether it says IGNORE NULLS."""
    function, condition, ignores = call.this, None, False
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        if isinstance(function, exp.Filter):
            condition = function.expression.this
        else:
            ignores = isinstance(function, exp.IgnoreNulls)
        function = function.this
    return function, condition, ignores


def call_of_column(call: exp.Window, argument: exp.Expr, take: Take) -> exp.Window:
    """Return a call whose function reads a column in place of its argument; COUNT_IF and FILTER become values of it."""
    function, condition, ignores = opened_call(call)
    if isinstance(function, exp.CountIf):
        argument, function = exp.case().when(argument.copy(), exp.Literal.number(1)), exp.Count(big_int=True)
    if condition is not None:
        argument = exp.case().when(condition.copy(), argument.copy())
    reads = copied(function)
    reads.set("this", take(argument))
    copy = copied(call)
    copy.set("this", exp.IgnoreNulls(this=reads) if ignores else reads)
    return copy


def with_plain_argument(call: exp.Window, take: Take, place: Span) -> exp.Window:
    """Return a call over all rows so far whose function reads a column.

    Raises NotSupportedError for functions that do not go on from a few values, and for frames with another end.
    """
    function, condition, _ = opened_call(call)
    if is_seen(function) and function is call.this:
        value, *sizes = function.expressions
        seen = call.copy()
        seen.set("this", exp.Anonymous(this=SEEN, expressions=[take(hashed(value)), *(size.copy() for size in sizes)]))
        return seen
    spec = call.args.get("spec")
    ends_here = spec is None or str(spec.args.get("end") or "CURRENT ROW").upper() == "CURRENT ROW"
    kind = _OF_VALUES.get(type(function))
    chooses = kind in ("first", "last")
    plain = type(function) in _OF_ROWS or (kind is not None and not function.args.get("expressions"))
    plain &= type(function) in _OF_ROWS or function.this is not None or kind == "count"
    if not ends_here or not plain or function.find(exp.Distinct) or (condition is not None and chooses):
        raise NotSupportedError(
            f"{_written_name(call, function)} of this form over all rows before, on a stream, is not supported",
            span_of(call, place),
            "LAST_VALUE(x) IGNORE NULLS OVER (... ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING) is the last value before"
            if isinstance(function, exp.Lag)
            else "begin the frame some rows or time before: ROWS BETWEEN 10 PRECEDING AND CURRENT ROW",
        )
    copy = copied(call)
    if type(function) in _OF_ROWS:
        copy.set("this", function.copy())
        return copy
    argument = function.this
    if argument is None or isinstance(argument, exp.Star):
        argument = exp.Literal.number(1)
    return call_of_column(call, argument, take)


def whole_reach(call: exp.Window, reach: Reach) -> Reach:
    """Return how far a call reads of the rows that are kept: all, if its frame holds all rows before and its function
    does not go on from a few values."""
    if reach.before is not None:
        return reach
    if exclusion(call) is not None:
        return replace(reach, before=EVERY_ROW)
    plain = answer(lambda: with_plain_argument(call, lambda argument: exp.column("x"), span_of(call) or Span(0, 0)))
    # A wrong call of MIGHT_HAVE_SEEN is refused later, when it is planned.
    goes_on = not isinstance(plain, Error) or is_seen(called_function(call.this))
    return reach if goes_on else replace(reach, before=EVERY_ROW)


def running_aggregate(name: str, call: exp.Expr, take: Take, place: Span) -> RunningCall | None:
    """Return what an operator computes for an aggregate of all rows of a group so far, None if it cannot go on."""
    plain = answer(lambda: with_plain_argument(exp.Window(this=call), take, place))
    return None if isinstance(plain, Error) else replace(running_call(name, plain, lambda column: column), rows=True)


def running_call(name: str, call: exp.Window, columns: Callable[[str], str]) -> RunningCall:
    """Return what the operator computes for a call of `with_plain_argument`.

    columns: gives the name in the operator's rows of a column that the call reads.
    """
    ignore, function = isinstance(call.this, exp.IgnoreNulls), call.this
    if ignore:
        function = function.this
    if is_seen(function):
        return SeenCall(name, "seen", columns(function.expressions[0].name), True, False, False, *seen_sizes(function))
    spec = call.args.get("spec")
    rows = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    if type(function) in _OF_ROWS:
        return RunningCall(name, _OF_ROWS[type(function)])
    return RunningCall(name, _OF_VALUES[type(function)], columns(function.this.name), rows, ignore)


def _written_name(call: exp.Window, function: exp.Expr) -> str:
    """Return the name of a call as it was written, where another function stands for it."""
    distinct = function.meta_get(DISTINCT_CALL)
    return call_name(call) if distinct is None else f"{distinct}(DISTINCT ...)"
