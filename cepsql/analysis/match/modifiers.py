"""What MEASURES and DEFINE may hold: which calls take words such as DISTINCT or ORDER BY, and one value for one row."""

from sqlglot import exp

from cepsql.analysis.match.aggregate_calls import is_aggregate
from cepsql.analysis.match.scope import FIRST, LAST, MatchScope, navigation_name
from cepsql.analysis.sql.function_calls import gives_rows, spoken_function, spoken_name
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import ProgrammingError

_NAVIGATION = (FIRST, LAST, "PREV", "NEXT")
_WORDS: dict[type[exp.Expr], str] = {
    exp.Distinct: "DISTINCT", exp.Ordered: "ORDER BY", exp.Order: "ORDER BY", exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS", exp.Limit: "LIMIT", exp.HavingMax: "HAVING", exp.Filter: "FILTER",
    exp.WithinGroup: "WITHIN GROUP",
}  # fmt: skip
_BEHIND = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)


def check_rows(expression: exp.Expr, scope: MatchScope) -> None:
    """Raise ProgrammingError for functions that give several rows, and for stars outside of calls."""
    for node in expression.walk(prune=lambda node: isinstance(node, exp.Query)):
        if gives_rows(node):
            raise ProgrammingError(
                f"{spoken_function(node)} gives several rows, so it may not stand in MATCH_RECOGNIZE",
                span_of(node, scope.place),
                "keep the array, and explode it in the SELECT around",
            )
    if isinstance(expression.unnest(), exp.Star):
        raise ProgrammingError("a star may stand only in COUNT", span_of(expression, scope.place))


def check_modifiers(expression: exp.Expr, scope: MatchScope) -> None:
    """Raise ProgrammingError for a word in or behind a call that takes no such word."""
    for node in expression.walk():
        word = _WORDS.get(type(node))
        if word is None or isinstance(node, exp.Query) or node.find_ancestor(exp.Query, exp.Window):
            continue
        behind = isinstance(node, _BEHIND) and isinstance(node.this, (exp.Func, *_BEHIND))
        call = node.this if behind else node.find_ancestor(exp.Func)
        if isinstance(call, exp.Expr) and navigation_name(call) in _NAVIGATION:
            raise ProgrammingError(
                f"{spoken_name(call)} takes no {word}",
                span_of(node, scope.place),
                "it reads one row by its position; FIRST_VALUE and LAST_VALUE take IGNORE NULLS",
            )
        ordering = isinstance(node, exp.Order | exp.Ordered)
        if behind or isinstance(node, exp.Distinct):
            right = call is not None and is_aggregate(call)
        else:
            right = ordering and node.find_ancestor(exp.WithinGroup) is not None
        if not right:
            hint = "the rows of a match come in their order; LISTAGG and percentiles take WITHIN GROUP (ORDER BY ...)"
            raise ProgrammingError(f"{word} may not stand here", span_of(node, scope.place), hint if ordering else None)
