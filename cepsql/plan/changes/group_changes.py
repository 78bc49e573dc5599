"""GROUP BY without a window, or DISTINCT, over a stream with EMIT CHANGES, becomes an ordered operator."""

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.emitted_groups import plan_group_changes
from cepsql.analysis.clauses.running_calls import running_aggregate
from cepsql.analysis.row_pattern.aggregate_calls import own_aggregates
from cepsql.analysis.sql.plain_sql import spoken_type, sql_of
from cepsql.catalog import ColumnDefinition
from cepsql.errors import Span
from cepsql.language.notes import copied
from cepsql.plan.groups.assigned_windows import refuse_group_by_all
from cepsql.plan.groups.window_groups import over_groups
from cepsql.plan.operators.changing_groups import ChangingGroups
from cepsql.plan.tree.nodes import Node, Sql, sql_over
from cepsql.plan.tree.reader import Checked, RowsAsTheyCome
from cepsql.plan.tree.rows_below import RowsBelow, hoist_selects


def hoist_changing_groups(below: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query whose outermost SELECT reads an operator with its groups, which come out as they change.

    below: its aggregates are such as `cepsql.plan.changes.composed_aggregates.is_total` says.
    The query itself is returned if that SELECT makes no groups.
    """

    def wanted(select: exp.Select, nodes: object) -> bool:
        grouped = select.args.get("group") is not None or select.args.get("distinct") is not None
        return select.parent is None and (grouped or bool(own_aggregates(select)))

    def hoist(select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool) -> exp.Select:
        return _hoisted(select, nodes, place, checked)

    return hoist_selects(below, wanted, hoist, place)


def _hoisted(select: exp.Select, nodes: dict[str, Node], place: Span, checked: Checked) -> exp.Select:
    refuse_group_by_all(select, place)
    calls, columns = own_aggregates(select), RowsBelow(frozenset({OPERATION}))
    distinct = select.args.get("distinct") is not None
    group = select.args.get("group")
    keys = [item.unalias() for item in select.expressions] if distinct else list(group.expressions) if group else []
    names = {key: columns.take(key).name for key in keys}
    planned_calls = [running_aggregate(f"__a{i}", copied(call), columns.take, place) for i, call in enumerate(calls)]
    planned = [one for one in planned_calls if one is not None]
    name = f"__groups_{len(nodes)}"
    if not columns.names:
        columns.take(exp.Literal.number(1))
    inner = columns.select(select)
    rows = checked(RowsAsTheyCome(place), sql_over(inner, nodes), "GROUP BY")
    aggregates = [
        (ColumnDefinition(one.name, spoken_type(call)), one) for call, one in zip(calls, planned, strict=True)
    ]
    available = rows.properties.columns
    groups = plan_group_changes(name, available, list(names.values()), aggregates, [sql_of(call) for call in calls])
    nodes[name] = ChangingGroups(groups, (rows,))
    named = names | {call: one.name for call, one in zip(calls, planned, strict=True)}
    plain = copied(select)
    plain.set("distinct", None)
    return over_groups(plain, named, None, name, whole=True).select(exp.column(OPERATION, table=name))
