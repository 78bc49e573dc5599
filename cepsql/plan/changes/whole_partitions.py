"""Aggregates OVER whole partitions of a table that changes are joins of its rows with their groups."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import OF_ALL_ROWS, RANKS
from cepsql.analysis.row_pattern.aggregate_calls import aggregate_call, own_aggregates
from cepsql.plan.rows.window_functions import window_calls, with_own_window
from cepsql.plan.tree.rows_below import RowsBelow

_OF_ONE_ROW = ("FIRSTVALUE", "FIRST_VALUE", "LASTVALUE", "LAST_VALUE")
_OF_PLACES = (exp.Lag, exp.Lead, exp.NthValue, *RANKS, *OF_ALL_ROWS)
_VALUE, _KEY = "__v", "__k"


def with_whole_partitions(select: exp.Select, name: Callable[[str], str], reserved: frozenset[str]) -> exp.Select:
    """Return a SELECT that joins its rows with the aggregates of their partitions; the same one if it asks for none.

    select:   with the table of every column.
    name:     returns a new name for a relation.
    reserved: names that no column may have.
    """
    calls = [call for call in window_calls(select) if _is_whole(with_own_window(call, select))]
    if not calls or select.args.get("group") is not None or _plain_aggregates(select):
        return select
    rows, columns = name("__rows"), RowsBelow(reserved)
    groups: dict[exp.Expr, str] = {call: name("__partition") for call in calls}

    def over(part: exp.Expr, table: str) -> exp.Expr:
        def taken(node: exp.Expr) -> exp.Expr:
            if node in groups:
                return exp.column(_VALUE, table=groups[node], quoted=True)
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
                return node
            column = columns.take(node)
            column.set("table", exp.to_identifier(table))
            return column

        return part.copy().transform(taken)

    outer = exp.select(*(over(item, rows) for item in select.expressions))
    if select.args.get("distinct") is not None:
        outer.set("distinct", over(select.args["distinct"], rows))
    if select.args.get("qualify") is not None:
        asked = over(select.args["qualify"].this, rows)
        ranked = asked.find(exp.Window) is not None
        outer.set("qualify" if ranked else "where", exp.Qualify(this=asked) if ranked else exp.Where(this=asked))
    if select.args.get("windows") and outer.find(exp.Window) is not None:
        outer.set("windows", [over(window, rows) for window in select.args["windows"]])
    made = []
    for call in calls:
        group = groups[call]
        window, below = with_own_window(call, select), f"{group}_rows"
        keys = window.args.get("partition_by") or []
        inner = exp.select(exp.alias_(over(window.this, below), _VALUE, quoted=True))
        inner = inner.select(*(exp.alias_(over(key, below), f"{_KEY}{i}", quoted=True) for i, key in enumerate(keys)))
        inner = inner.group_by(*(over(key, below) for key in keys)) if keys else inner
        equal = [
            exp.NullSafeEQ(this=over(key, rows), expression=exp.column(f"{_KEY}{i}", table=group, quoted=True))
            for i, key in enumerate(keys)
        ]
        made.append((inner, below, group, equal))
    if not columns.names:
        columns.take(exp.Literal.number(1))
    source = columns.select(select)
    outer.set("from_", exp.From(this=source.subquery(rows)))
    for inner, below, group, equal in made:
        relation = inner.from_(source.copy().subquery(below)).subquery(group)
        join = (
            exp.Join(this=relation, side="LEFT", on=exp.and_(*equal))
            if equal
            else exp.Join(this=relation, kind="CROSS")
        )
        outer.append("joins", join)
    return outer


def _is_whole(call: exp.Window) -> bool:
    """Tell whether a window function is an aggregate of its whole partition."""
    function, spec = aggregate_call(call.this), call.args.get("spec")
    if function is None or function.name in _OF_ONE_ROW or isinstance(function.function, _OF_PLACES):
        return False
    if spec is None:
        return not call.args.get("order")
    if spec.args.get("exclude") is not None:
        return False
    edges = [str(spec.args.get(part) or "").upper() for part in ("start", "end")]
    return edges == ["UNBOUNDED", "UNBOUNDED"] and str(spec.args.get("end_side") or "").upper() == "FOLLOWING"


def _plain_aggregates(select: exp.Select) -> bool:
    """Tell whether a SELECT aggregates its rows, beside its window functions."""
    items = [item.copy().transform(lambda node: exp.null() if isinstance(node, exp.Window) else node)
             for item in select.expressions]  # fmt: skip
    return bool(own_aggregates(exp.select(*items)))
