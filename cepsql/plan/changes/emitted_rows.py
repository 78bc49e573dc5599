"""Subqueries and views with EMIT of their own: their groups of windows come out as changes, for what reads them."""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import ON_CLOSE, Emission, plan_emission
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.errors import Error, ProgrammingError, Span
from cepsql.language.statements import EmitClause
from cepsql.plan.changes.filtered_changes import as_changes
from cepsql.plan.groups.window_groups import groups_windows, hoist_emitted_groups
from cepsql.plan.names.expand import put_in_place
from cepsql.plan.tree.changelogs import changelog_read
from cepsql.plan.tree.nodes import Node, Sql
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import read_nodes, without_types

SPOKEN = {"close": "EMIT ON WINDOW CLOSE", "changes": "EMIT CHANGES", "every": "EMIT EVERY"}
"""What messages call each kind of EMIT."""

NEEDS_WINDOW = "GROUP BY k, window(ts, '1 minute'), or WINDOW TUMBLING (SIZE 1 MINUTE)"


def emitted_rows(rows: Sql, clause: EmitClause, checked: Checked) -> Sql:
    """Return the rows of a subquery with EMIT: those of windows as changes, with IDENTITY and CHANGE.

    The same ones if they come out as the whole query says: rows without windows, and those of tables at rest.
    Raises NotSupportedError and ProgrammingError for groups that cannot come out so.
    """
    emission = plan_emission(clause)
    if not rows.resolved.streaming or emission == ON_CLOSE or changelog_read(rows) is not None:
        return rows
    emitted = hoist_emitted_groups(rows, emission, clause.span, checked)
    if emitted is not rows:
        return as_changes(emitted) if emission.changing else emitted
    if emission != Emission("changes", None, 0):
        raise needs_window(clause, clause.span)
    return rows


def with_emitted_branches(root: Sql, clause: EmitClause, checked: Checked) -> Sql:
    """Return a UNION, or another set operation, whose groups of windows come out as an EMIT at its end says; the same
    one if it has none."""
    query, nodes = root.inlined.qualified.copy(), {flat_name(name): node for name, node in root.inputs.items()}
    replaced = False
    for branch in [select for select in query.find_all(exp.Select) if _is_branch(select, query)]:
        rows = Sql(branch.copy(), read_nodes(branch, nodes))
        changes = emitted_rows(rows, clause, checked) if groups_windows(branch, nodes) else rows
        if changes is rows:
            continue
        name, replaced = f"__emitted_{len(nodes)}", True
        nodes[name] = changes
        branch.replace(_plain_select(changes, exp.to_table(name)))
    return Sql(without_types(query), read_nodes(query, nodes)) if replaced else root


def _is_branch(select: exp.Expr, query: exp.Expr) -> bool:
    """Tell whether a SELECT is one whose rows a set operation puts together, and no subquery of one."""
    around = select.parent
    while isinstance(around, exp.SetOperation | exp.Subquery | exp.Paren) and around is not query:
        around = around.parent
    return around is query


def _plain_select(changes: Sql, table: exp.Table) -> exp.Select:
    """Return the SELECT of the columns of changes, without the hidden ones."""
    names = [column.name for column in changes.properties.columns if column.name not in (IDENTITY, CHANGE)]
    return exp.select(*(exp.column(name, quoted=True) for name in names)).from_(table)


def needs_window(clause: EmitClause, place: Span) -> Error:
    """Make the error for EMIT of groups without a window."""
    return ProgrammingError(f"{SPOKEN[clause.kind]} needs a window in GROUP BY", place, NEEDS_WINDOW)


def with_emitted_rows(query: exp.Query, nodes: Mapping[str, Node]) -> tuple[exp.Query, Mapping[str, Node]]:
    """Return a query and what it reads, in which the rows of subqueries with EMIT are plain subqueries, but for those
    that change, which have no star over their hidden columns."""
    emitted = {name: node for name, node in nodes.items() if name.startswith("__emitted_")}
    if not emitted:
        return query, nodes
    query, nodes = query.copy(), dict(nodes)
    for table in catalog_tables(query):
        node = emitted.get(table_name(table))
        if not isinstance(node, Sql):
            continue
        if not node.properties.changes:
            put_in_place(table, node.query.copy(), [])
            nodes.pop(table_name(table), None)
            nodes.update(node.inputs)
            continue
        select = table.parent_select
        assert select is not None
        select.replace(_plain_select(node, table.copy()))
    return query, nodes
