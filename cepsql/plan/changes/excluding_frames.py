"""Window functions over tables at rest whose frames leave rows out, which Spark does not have, become operators."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import exclusion
from cepsql.analysis.sql.plain_sql import spoken_type, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog import ColumnDefinition
from cepsql.errors import NotSupportedError, Span
from cepsql.plan.changes.framed_rows import planned_window, same_rows, with_composed
from cepsql.plan.operators.retracting_frames import PlannedWindow, RetractingFrames
from cepsql.plan.rows.window_functions import named_item, own_aggregate, refuse_nested, window_calls, with_own_window
from cepsql.plan.tree.nodes import Node, Sql, sql_over
from cepsql.plan.tree.rows_below import RowsBelow, hoist_selects, put_around
from cepsql.plan.tree.stand_ins import stand_in


def hoist_excluding(below: Sql, place: Span) -> Sql:
    """Return plain SQL over tables in which each SELECT whose frames leave rows out reads operators that compute these.

    Raises NotSupportedError for functions that they do not know.
    """
    excluding = any(spec.args.get("exclude") is not None for spec in below.query.find_all(exp.WindowSpec))
    if not excluding or below.resolved.streaming:
        return below

    def wanted(select: exp.Select, _: Mapping[str, Node]) -> bool:
        return any(exclusion(with_own_window(call, select)) is not None for call in window_calls(select))

    hoisted = hoist_selects(below, wanted, _hoisted, place, of_streams=False)
    left = next((spec for spec in hoisted.query.find_all(exp.WindowSpec) if spec.args.get("exclude") is not None), None)
    if left is not None:
        raise NotSupportedError(
            "EXCLUDE outside the columns of a SELECT and QUALIFY is not supported",
            span_of(left, place),
            "select the call, and ORDER BY its name",
        )
    return hoisted


def _hoisted(select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool) -> exp.Select:
    """Return a SELECT over the operators of its frames, which are new entries of `nodes`."""

    def excludes(call: exp.Window) -> bool:
        return exclusion(with_own_window(call, select)) is not None

    texts = {call: sql_of(without_tables(call)) for call in window_calls(select)}
    if own_aggregate(select):
        raise NotSupportedError(
            "EXCLUDE in a frame beside GROUP BY or an aggregate is not supported",
            place,
            "aggregate in a subquery, and write OVER around it",
        )
    named = [named_item(item) if whole else item for item in select.expressions]
    select = select.copy()
    select.set("expressions", [item.copy() for item in named])
    select = with_composed(select, place, excludes)
    calls = [call for call in window_calls(select) if excludes(call)]
    refuse_nested(calls, place)
    own = {call: with_own_window(call, select) for call in calls}
    columns, results = RowsBelow(), {call: f"__x{number}" for number, call in enumerate(calls)}
    groups: dict[tuple, list[exp.Window]] = {}
    for call in calls:
        groups.setdefault(same_rows(own[call]), []).append(call)
    asked: list[tuple[tuple[str, ...], tuple[exp.Ordered, ...], tuple[PlannedWindow, ...]]] = []
    for group in groups.values():
        keys, order = columns.rows_of(own[group[0]])
        planned = [
            replace(
                planned_window(own[call], columns, span_of(call, place) or place),
                column=ColumnDefinition(results[call], spoken_type(call)),
            )
            for call in group
        ]
        asked.append((tuple(key.name for key in keys), tuple(order), tuple(planned)))
    table = f"__excluding_{len(nodes) + len(asked) - 1}"

    def computed(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Window) or node not in results:
            return node
        return stand_in(exp.column(results[node], table=table), texts.get(node, results[node]))

    def over(part: exp.Expr) -> exp.Expr:
        return columns.replace_in(part.copy().transform(computed), table)

    outer = exp.select(*map(over, select.expressions)).from_(exp.to_table(table))
    windows = [window for window in select.args.get("windows") or [] if exclusion(window) is None]
    outer = put_around(outer, select, over, windows)
    if not columns.names:
        columns.take(exp.Literal.number(1))
    inner = columns.select(select)
    rows = sql_over(inner, nodes)
    shown = [name.name for name in columns.names.values()]
    for by, items, made in asked:
        name = f"__excluding_{len(nodes)}"
        nodes[name] = RetractingFrames(name, (rows,), by, items, made, tuple(shown))
        rows = Sql(exp.select("*").from_(exp.to_table(name)), {name: nodes[name]})
        shown += [call.column.name for call in made]
    return outer
