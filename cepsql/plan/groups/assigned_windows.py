"""WINDOW TUMBLING (...) and TABLE(TUMBLE(...)): rows with the windows of event time that they lie in.

Over tables, and over streams as long as nothing waits for a window to be over, that is plain SQL, row by row. What goes
by windows reads rows that an ordered operator has kept until their window was over; its event time is one of the
window's columns.
"""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.clauses.assigned_window_calls import (
    CUMULATING,
    HOPPING,
    SESSION,
    AssignedWindows,
    plan_assigned_windows,
)
from cepsql.analysis.clauses.grouped_windows import FixedWindow, GivenWindow, SessionWindow, Window, plan_window_groups
from cepsql.analysis.clauses.window_sql import windowed_query
from cepsql.analysis.sql.plain_sql import without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import flat_name, table_name
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.statements import ParsedQuery, WindowClause
from cepsql.operators.windowing.windows import END, START, TIME
from cepsql.plan.operators.window_aggregate import WindowAggregate
from cepsql.plan.tree.changelogs import changelog_read
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.nodes import Node, RowWindows, Sql
from cepsql.plan.tree.reader import Checked, Reader, RowsInOrder, is_followed_by

_HELD = "__held"
NO_SESSIONS = "sessions of a table that changes are not supported"
INSTEAD = (
    "TUMBLING, HOPPING and CUMULATING windows are; LAG(ts) OVER (PARTITION BY k ORDER BY ts) tells where a session "
    "begins, and a SUM over that numbers them"
)


def window_rows(clause: WindowClause, below: Sql, checked: Checked) -> Sql:
    """Return the rows of a relation with the windows that they lie in.

    Sessions of a stream are known when they are over.
    Raises ProgrammingError and NotSupportedError for windows that cannot be told.
    """
    named = clause.time.name if clause.time is not None else TIME
    changing = below.resolved.streaming and changelog_read(below) is not None
    if changing and clause.kind == SESSION:
        raise NotSupportedError(NO_SESSIONS, clause.span, INSTEAD)
    # What the rows are made of may yet become operators. Windows of a table that changes are columns of its rows.
    as_they_are = changing or (below.resolved.streaming and below.refusal is None and is_followed_by(below, named))
    if below.resolved.streaming and not as_they_are:
        names = {column.name.lower() for column in below.resolved.columns}
        time = exp.Ordered(this=exp.column(named), nulls_first=True)
        below = checked(RowsInOrder((time,) if named.lower() in names else (), clause.span), below, "WINDOW")
    rows = below.properties
    if rows.streaming and rows.watermark is None:
        raise ProgrammingError(
            "windows of a stream need its event time",
            clause.span,
            "declare the stream with WATERMARK FOR, and keep that column unchanged in the subquery",
        )
    windows = plan_assigned_windows(clause, rows.columns, rows.watermark if rows.streaming else None)
    if not rows.streaming:
        return Sql(windowed_query(below.query, windows), below.inputs, windows=RowWindows(windows, below))
    return rows_in_windows(RowWindows(windows, below), checked)


def rows_in_windows(windows: RowWindows, checked: Checked) -> Sql:
    """Return rows of a stream with the windows that they lie in."""
    assigned, rows = windows.assigned, windows.rows
    if assigned.kind == SESSION:
        # What is known of the rows is asked of them as they are when nothing else needs to be known of the windows.
        return replace(_held(windows, END, checked), windows=windows)
    return Sql(windowed_query(rows.query, assigned), rows.inputs, windows=windows)


def implied_partition(clause: WindowClause, query: ParsedQuery) -> WindowClause:
    """Return a clause whose sessions are those of the keys beside the window in the GROUP BY around it.

    Without GROUP BY they are those of all rows.
    """
    if clause.kind != SESSION or clause.partition_by is not None:
        return clause
    for text in (query.expression, *(other.input for other in query.operators)):
        table = next((table for table in text.find_all(exp.Table) if table.name == clause.name), None)
        if table is not None:
            return replace(clause, partition_by=_keys_beside(table))
    return replace(clause, partition_by=())


def _keys_beside(table: exp.Table) -> tuple[exp.Expr, ...]:
    """Return the keys beside window_start and window_end in the GROUP BY over a relation."""
    select = table.parent_select
    if select is None or not isinstance(table.parent, exp.From) or select.args.get("joins"):
        return ()
    group = select.args.get("group")
    keys = [_written_key(key, select) for key in (group.expressions if group is not None else ())]
    windows = [key for key in keys if isinstance(key, exp.Column) and key.name.lower() in (START, END, TIME)]
    return tuple(without_tables(key) for key in keys if key not in windows) if windows else ()


def _written_key(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return a key of GROUP BY, for a number or the alias of an item that item."""
    if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(select.expressions):
        return select.expressions[int(key.name) - 1].unalias()
    if isinstance(key, exp.Column) and not key.table:
        for item in select.expressions:
            if isinstance(item, exp.Alias) and item.alias.lower() == key.name.lower():
                return item.this
    return key


def traced_window(column: exp.Expr, select: exp.Select, nodes: Mapping[str, Node]) -> Sql | None:
    """Return the rows with windows of which a column of what a SELECT reads is START, END or TIME, None if it is not.

    nodes: what is read, by flat name.
    """
    if not isinstance(column, exp.Column):
        return None
    item = next((item for item in relations(select) if item.alias_or_name.lower() == column.table.lower()), None)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select):
        return _traced_output(column.name, item.this, nodes)
    node = nodes.get(flat_name(table_name(item))) if isinstance(item, exp.Table) else None
    return _traced(column.name, node) if isinstance(node, Sql) else None


def group_keys(select: exp.Select) -> list[exp.Expr]:
    """Return what a SELECT groups by."""
    group = select.args.get("group")
    return [] if group is None else list(group.expressions)


def refuse_group_by_all(select: exp.Select, place: Span) -> None:
    """Raise NotSupportedError for a GROUP BY ALL over a stream whose keys only Spark knows."""
    refusal = refused_group_by_all(select, place)
    if refusal is not None:
        raise refusal


def refused_group_by_all(select: exp.Select, place: Span) -> NotSupportedError | None:
    """Return why a GROUP BY ALL over a stream whose keys only Spark knows is refused; None for other groups."""
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return None
    return NotSupportedError(
        "GROUP BY ALL beside a star, or an aggregate with columns around it, is not supported over a stream",
        place,
        "name the keys",
    )


def read_windows(select: exp.Select, nodes: Mapping[str, Node]) -> tuple[exp.Table, RowWindows] | None:
    """Return the one relation with windows that a SELECT reads itself; None if there is none."""
    tables = {
        table: nodes.get(flat_name(table_name(table))) for table in relations(select) if isinstance(table, exp.Table)
    }
    windowed = [(table, n.windows) for table, n in tables.items() if isinstance(n, Sql) and n.windows is not None]
    return windowed[0] if len(windowed) == 1 else None


def refuse_groups_beside(root: Sql) -> None:
    """Raise ProgrammingError for a GROUP BY over WINDOW (...), or over windows of a stream, that leaves windows out."""
    if not any(_has_windows(node) for node in root.inputs.values()):
        return
    query, nodes = _inside(root)
    for select in query.find_all(exp.Select):
        read, group = read_windows(select, nodes), select.args.get("group")
        if read is None or (read[1].assigned.timed and not root.resolved.streaming):
            continue
        if root.resolved.streaming:
            refuse_group_by_all(select, (span_of(group) if group is not None else None) or read[1].assigned.span)
        elif group is not None and (group.args.get("all") or group.find(exp.Cube, exp.Rollup, exp.GroupingSets)):
            continue
        calls = [call for item in select.expressions for call in item.find_all(exp.AggFunc)]
        plain = [call for call in calls if call.find_ancestor(exp.Window) is None]
        if (group is not None or plain) and not any(traced_window(key, select, nodes) for key in group_keys(select)):
            raise ProgrammingError(
                "GROUP BY over rows in windows must name the window",
                span_of(group if group is not None else plain[0], read[1].assigned.span),
                "GROUP BY window_start, window_end, with other keys beside them",
            )


def hold_windows(below: Sql, reader: Reader, checked: Checked) -> Sql:
    """Return an input in which rows wait until their window is over, if its reader goes by a column of the windows."""
    nodes = {flat_name(name): node for name, node in below.inputs.items()}
    if not any(_has_windows(node) for node in nodes.values()):
        return below
    resolved = below.inlined
    if not isinstance(resolved.qualified, exp.Select):
        return below
    names = [item.this.name.lower() for item in reader.order_by]
    traced = {name: _traced_output(name, resolved.qualified, nodes) for name in names}
    holding = next((node for node in traced.values() if node is not None), None)
    if holding is None or holding.windows is None:
        return below
    output = _given(names, resolved.qualified, nodes)
    return _with(below, holding, _held(holding.windows, output, checked))


def _given(names: list[str], query: exp.Select, nodes: Mapping[str, Node]) -> str:
    """Return by which column of the windows the rows are followed: one that the reader orders by."""
    columns = [_column_below(name, query, nodes) for name in names]
    return next((column for column in (END, TIME, START) if column in columns), END)


def _column_below(name: str, query: exp.Select, nodes: Mapping[str, Node]) -> str | None:
    """Return the name that a column has in the rows with windows, None if it is not one of the windows."""
    item = next((item for item in query.selects if item.alias_or_name.lower() == name.lower()), None)
    column = item.unalias() if item is not None else None
    if not isinstance(column, exp.Column) or traced_window(column, query, nodes) is None:
        return None
    source = next(item for item in relations(query) if item.alias_or_name.lower() == column.table.lower())
    if isinstance(source, exp.Subquery):
        assert isinstance(source.this, exp.Select)
        return _column_below(column.name, source.this, nodes)
    assert isinstance(source, exp.Table)
    node = nodes[flat_name(table_name(source))]
    assert isinstance(node, Sql)
    if node.windows is not None:
        return column.name.lower()
    qualified, below = _inside(node)
    assert isinstance(qualified, exp.Select)
    return _column_below(column.name, qualified, below)


def _has_windows(node: Node) -> bool:
    return isinstance(node, Sql) and (node.windows is not None or any(map(_has_windows, node.inputs.values())))


def _with(node: Sql, old: Sql, new: Sql) -> Sql:
    """Return plain SQL with another node in place of one below it."""
    if node is old:
        return new
    inputs = {name: _with(below, old, new) if isinstance(below, Sql) else below for name, below in node.inputs.items()}
    return node if all(inputs[name] is below for name, below in node.inputs.items()) else replace(node, inputs=inputs)


def _traced(name: str, node: Sql) -> Sql | None:
    if node.windows is not None:
        return node if name.lower() in node.windows.assigned.columns else None
    if not _has_windows(node):
        return None
    query, nodes = _inside(node)
    return _traced_output(name, query, nodes) if isinstance(query, exp.Select) else None


def _inside(node: Sql) -> tuple[exp.Query, dict[str, Node]]:
    """Return the query of a node with the table of every column, and what it reads by flat name."""
    return node.inlined.qualified, {flat_name(name): below for name, below in node.inputs.items()}


def _traced_output(name: str, select: exp.Select, nodes: Mapping[str, Node]) -> Sql | None:
    if select.args.get("group") is not None or select.args.get("distinct") is not None:
        return None
    item = next((item for item in select.selects if item.alias_or_name.lower() == name.lower()), None)
    return traced_window(item.unalias(), select, nodes) if item is not None else None


def _held(windows: RowWindows, time_column: str, checked: Checked) -> Sql:
    """Return rows with their windows, kept until these are over."""
    assigned = windows.assigned
    rows, keys, window = _rows_to_hold(windows)
    order = exp.Ordered(this=exp.column(exp.to_identifier(assigned.time, quoted=True)), nulls_first=True)
    rows = checked(RowsInOrder((order,), assigned.span), rows, "WINDOW")
    properties = rows.properties
    if time_column == START and assigned.kind == SESSION:
        raise NotSupportedError(
            "over a stream, window_start alone does not identify a session", assigned.span, "use window_end, too"
        )
    assert properties.watermark is not None
    groups = plan_window_groups(_HELD, properties.columns, properties.watermark, keys, window, None, time_column)
    names = [column.name for column in windows.rows.properties.columns]
    selected = [exp.column(exp.to_identifier(name, quoted=True)) for name in [*names, *assigned.columns]]
    query = exp.select(*selected).from_(exp.to_table(_HELD))
    return Sql(query, {_HELD: WindowAggregate(groups, (rows,))})


def _rows_to_hold(windows: RowWindows) -> tuple[Sql, list[str], Window]:
    """Return rows as they are kept, the columns by which they are spread, and their windows."""
    assigned, rows = windows.assigned, windows.rows
    if assigned.kind == SESSION:
        partition = assigned.partition or ()
        names = [f"__key{i}" for i in range(len(partition))]
        keys = [exp.alias_(key.copy(), name) for key, name in zip(partition, names, strict=True)]
        query = exp.select("*", *keys).from_(exp.Subquery(this=rows.query.copy()))
        return Sql(query, rows.inputs), names, SessionWindow(assigned.size.count)
    if fixed := fixed_window(assigned):
        return rows, [assigned.time], fixed
    return _counted_rows(windows), [assigned.time], GivenWindow(START, END, assigned.size.longest)


def with_counted_rows(node: Node) -> Node:
    """Return rows with their windows, where a node gives them, and those without a time, which an operator counts."""
    if not isinstance(node, Sql) or node.windows is None or node.windows.assigned.kind == SESSION:
        return node
    return replace(_counted_rows(node.windows), windows=node.windows)


def _counted_rows(windows: RowWindows) -> Sql:
    """Return rows with their windows, and those without a time."""
    return Sql(windowed_query(windows.rows.query, windows.assigned, counted=True), windows.rows.inputs)


def fixed_window(assigned: AssignedWindows) -> FixedWindow | None:
    """Return windows that an operator can tell itself from the time of a row, None for others."""
    if not assigned.fixed or assigned.kind in (SESSION, CUMULATING):
        return None
    step = assigned.step if assigned.kind == HOPPING else assigned.size
    return FixedWindow(assigned.size.count, step.count, assigned.offset.count)
