"""Window functions over tables that Spark does not have: frames of GROUPS, which become frames of RANGE over the number
of the group, and MIGHT_HAVE_SEEN."""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.analysis.clauses.group_numbers import by_number, group_number, of_groups
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, Span
from cepsql.language.rewriting.bloom_filters import is_seen
from cepsql.plan.rows.window_functions import hoist_seen, named_item, own_aggregate, window_calls, with_own_window
from cepsql.plan.tree.nodes import Node, Sql
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import RowsBelow, hoist_selects, put_around, read_nodes


def over_tables(below: Sql, checked: Checked, place: Span) -> Sql:
    """Return plain SQL over tables whose window functions Spark has, or operators compute.

    Raises NotSupportedError for what is none of both.
    """
    groups = any(str(spec.args.get("kind")).upper() == "GROUPS" for spec in below.query.find_all(exp.WindowSpec))
    seen = any(map(is_seen, below.query.find_all(exp.Anonymous)))
    if not (groups or seen) or below.resolved.streaming:
        return below
    if groups:
        below = hoist_selects(below, _wanted, _hoisted, place, of_streams=False)
    return hoist_seen(below, checked, place) if seen else below


def _wanted(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
    if any(node.properties.streaming for node in read_nodes(select, nodes).values()):
        return False
    calls = window_calls(select)
    return any(of_groups(with_own_window(call, select)) for call in calls)


def _hoisted(select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool) -> exp.Select:
    """Return a SELECT over the rows with the number of each group in the order of each call."""
    calls = window_calls(select)
    if own_aggregate(select):
        raise NotSupportedError(
            "a frame of GROUPS beside GROUP BY or an aggregate is not supported",
            span_of(calls[0], place),
            "aggregate in a subquery, and write OVER around it",
        )
    columns, table = RowsBelow(), "__grouped"
    own = {call: with_own_window(call, select) for call in calls}
    numbers = {call: columns.take(group_number(one)) for call, one in own.items() if of_groups(one)}
    for column in numbers.values():
        column.set("table", exp.to_identifier(table))

    def computed(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Window) or node not in numbers:
            return node
        return by_number(own[node], numbers[node])

    def over(part: exp.Expr) -> exp.Expr:
        return columns.replace_in(part.copy().transform(computed), table)

    named = [named_item(item) if whole else item for item in select.expressions]
    outer = exp.select(*map(over, named)).from_(exp.to_table(table))
    windows = [window for window in select.args.get("windows") or [] if not of_groups(window)]
    put_around(outer, select, over, windows)
    outer.set("from_", exp.From(this=columns.select(select).subquery(table)))
    return outer
