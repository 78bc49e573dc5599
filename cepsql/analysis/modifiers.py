"""Words inside calls, such as DISTINCT or ORDER BY: which calls of MATCH_RECOGNIZE take them."""

from sqlglot import exp

from cepsql.analysis.aggregate_calls import is_aggregate
from cepsql.analysis.positions import span_of
from cepsql.analysis.scope import FIRST, LAST, MatchScope, navigation_name, spoken_name
from cepsql.errors import ProgrammingError

_NAVIGATION = (FIRST, LAST, "PREV", "NEXT")
_WORDS: dict[type[exp.Expr], str] = {
    exp.Distinct: "DISTINCT", exp.Ordered: "ORDER BY", exp.Order: "ORDER BY", exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS", exp.Limit: "LIMIT", exp.HavingMax: "HAVING", exp.Filter: "FILTER",
    exp.WithinGroup: "WITHIN GROUP",
}  # fmt: skip
_BEHIND = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)


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
                "it reads the row that it says, whatever is there; FIRST_VALUE and LAST_VALUE take IGNORE NULLS",
            )
        ordering = isinstance(node, exp.Order | exp.Ordered)
        if behind or isinstance(node, exp.Distinct):
            right = call is not None and is_aggregate(call)
        else:
            right = ordering and node.find_ancestor(exp.WithinGroup) is not None
        if not right:
            hint = "the rows of a match come in their order; LISTAGG and percentiles take WITHIN GROUP (ORDER BY ...)"
            raise ProgrammingError(f"{word} may not stand here", span_of(node, scope.place), hint if ordering else None)
