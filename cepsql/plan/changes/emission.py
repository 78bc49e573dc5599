"""EMIT at the end of a query: when its groups come out, and the column that says what each row does to the result."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.match.aggregate_calls import aggregates_of, own_aggregates
from cepsql.analysis.operators.emission import CHANGES, CLOSE, INSERT, OPERATION, plan_emission
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span, answer, granted
from cepsql.language.statements import EmitClause
from cepsql.language.temporal_joins import temporal_call
from cepsql.plan.changes.composed_aggregates import is_of_one_row, is_total
from cepsql.plan.changes.different_groups import is_distinct_of_groups
from cepsql.plan.changes.emitted_rows import NEEDS_WINDOW, SPOKEN, with_emitted_branches
from cepsql.plan.changes.filtered_changes import with_whole_updates
from cepsql.plan.changes.group_changes import hoist_changing_groups
from cepsql.plan.changes.ranked_rows import call_that_changes
from cepsql.plan.changes.table_changes import is_union_all, over_table_changes
from cepsql.plan.changes.temporal_filters import asks_now
from cepsql.plan.groups.window_groups import hoist_emitted_groups, window_call
from cepsql.plan.joins.stream_join import joined_events, joins_streams
from cepsql.plan.rows.top_rows import asks_first_rows
from cepsql.plan.tree.arrival import keeps_arrival
from cepsql.plan.tree.changelogs import changelog_read, emitted_read
from cepsql.plan.tree.markers import without_ctes
from cepsql.plan.tree.nodes import Ordered, Read, Sql, walk
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import RowsBelow


def with_emission(root: Sql, clause: EmitClause, checked: Checked) -> Sql:
    """Return a whole query whose groups come out as EMIT says.

    Rows that never change, those of tables among them, are inserted.
    Raises NotSupportedError and ProgrammingError for groups that cannot come out so.
    """
    emission, spoken = plan_emission(clause), SPOKEN[clause.kind]
    if emission.changing:
        _refuse_operation(root, clause.span)
    if emission.kind == CHANGES and root.resolved.streaming and _changing(root, checked, clause.span):
        if emission.lateness:
            hint = "changes of a table may come at any time"
            raise ProgrammingError("ALLOWED LATENESS needs windows", clause.span, hint)
        return over_table_changes(root, clause.span, checked)
    grouped = _grouping(root)
    if emission.kind == CHANGES and not emission.lateness and (grouped is None or not root.resolved.streaming):
        return _inserting(root)
    if not _has_window(root) and emission.kind == CHANGES and root.resolved.streaming:
        if emission.lateness:
            hint = "rows of groups without a window may come at any time"
            raise ProgrammingError("ALLOWED LATENESS needs windows", clause.span, hint)
        changing = hoist_changing_groups(root, clause.span, checked)
        # Groups that are not those of the outermost SELECT are groups of tables.
        return _inserting(root) if changing is root else with_whole_updates(changing)
    if not _has_window(root):
        hint = NEEDS_WINDOW
        if grouped is None and root.query.find(exp.Window) and emission.kind == CLOSE:
            hint = "leave it out: rows of window functions come out once the watermark has passed them"
        raise ProgrammingError(
            f"{spoken} needs a window in GROUP BY", span_of(grouped, clause.span) if grouped else clause.span, hint
        )
    if not root.resolved.streaming:
        return _inserting(root) if emission.changing else root
    if isinstance(root.query, exp.SetOperation) and emission.changing:
        branched = with_emitted_branches(root, clause, checked)
        if branched is not root:
            return over_table_changes(branched, clause.span, checked)
    emitted = hoist_emitted_groups(root, emission, clause.span, checked)
    if emitted is root and (emission.changing or emission.lateness) and _is_filled(root):
        hint = "a window is known to be empty when it is complete: leave out EMIT, or FILL"
        raise NotSupportedError(f"{spoken} of windows with FILL is not supported", clause.span, hint)
    if emitted is root and emission.kind == CHANGES and not emission.lateness:
        if _needs_values(root):
            return over_table_changes(root, clause.span, checked)
        # The windows below are over when their groups are counted.
        groups = answer(lambda: hoist_changing_groups(root, clause.span, checked))
        if groups is root or isinstance(groups, NotSupportedError):
            return over_table_changes(root, clause.span, checked)
        emitted = granted(groups)
    if emitted is root and (emission.changing or emission.lateness):
        hint = "write it behind the GROUP BY of the subquery, within the brackets, and EMIT CHANGES at the end"
        raise NotSupportedError(f"{spoken} of windows in a subquery is not supported", clause.span, hint)
    return with_whole_updates(emitted) if emission.changing and emitted is not root else emitted


def _is_filled(root: Sql) -> bool:
    """Tell whether the outermost SELECT gives windows with FILL."""
    source = root.query.args.get("from_")
    table = source.this if source is not None else None
    below = root.inputs.get(table_name(table)) if isinstance(table, exp.Table) else None
    return isinstance(below, Ordered) and below.fills


def _changing(root: Sql, checked: Checked, place: Span) -> bool:
    """Tell whether a query over streams is one over tables that change."""
    if changelog_read(root) is not None or emitted_read(root) or _groups_below(root):
        return True
    if call_that_changes(root, checked, place) is not None:
        return True
    if isinstance(root.query, exp.SetOperation) and not is_union_all(root.query):
        return True
    if _joins_for_ever(root, checked, place) or (asks_now(root) and not _has_window(root)):
        return True
    if any(asks_first_rows(query) and _reads_stream(query, root) for query in root.query.find_all(exp.Query)):
        return True
    return _needs_values(root) and not _has_window(root)


def _joins_for_ever(root: Sql, checked: Checked, place: Span) -> bool:
    """Tell whether a query joins streams and no bound says until when their rows meet."""
    streams = {flat_name(name): node for name, node in root.inputs.items() if node.properties.streaming}
    if _has_window(root) or any(not isinstance(node, Read | Sql) for node in walk(root)):
        return False
    selects = [one for one in without_ctes(root.query).find_all(exp.Select) if joins_streams(one, set(streams))]
    if all(any(map(temporal_call, select.walk())) for select in selects):
        return False
    if any(node.properties.watermark is None for node in streams.values()):
        return True
    one = [exp.Literal.number(1)]
    return any(isinstance(joined_events(select, one, root.inputs, checked, place), Error) for select in selects)


def _groups_below(root: Sql) -> bool:
    """Tell whether groups of a stream without a window stand elsewhere than in the outermost SELECT."""
    if _has_window(root):
        return False
    for node in walk(root):
        if not isinstance(node, Sql):
            continue
        query = without_ctes(node.query)
        for part in query.find_all(exp.Group, exp.AggFunc, exp.Distinct, exp.SetOperation):
            select = part.find_ancestor(exp.Select)
            outermost = node is root and select is query and not isinstance(part, exp.SetOperation)
            if select is None or outermost or part.find_ancestor(exp.Window) or is_union_all(part):
                continue
            if _reads_stream(select, node):
                return True
    return False


def _reads_stream(query: exp.Expr, root: Sql) -> bool:
    return any(root.inputs[table_name(table)].properties.streaming for table in catalog_tables(query))


def _needs_values(root: Sql) -> bool:
    """Tell whether an aggregate of the outermost SELECT needs more than a few values of a group to go on."""
    if not isinstance(root.query, exp.Select):
        return False
    if is_distinct_of_groups(root.query):
        return True
    (read, *others) = root.inputs.values()
    # The rows of a stream without event time are in the order in which they come.
    came = not others and isinstance(read, Read) and read.relation.watermark is None and keeps_arrival(_rows_of(root))
    return not all(is_total(call) or (came and is_of_one_row(call)) for call in own_aggregates(root.query))


def _rows_of(root: Sql) -> exp.Query:
    """Return the rows that the outermost SELECT groups."""
    assert isinstance(root.query, exp.Select)
    return RowsBelow().select(root.query)


def groups_joined_streams(root: Sql) -> bool:
    """Tell whether a query makes groups without a window of a join of streams: they can only be read as changes."""
    if not isinstance(root.query, exp.Select) or not root.resolved.streaming or _has_window(root):
        return False
    streams = {flat_name(name) for name, node in root.inputs.items() if node.properties.streaming}
    selects = without_ctes(root.query).find_all(exp.Select)
    return any(
        (select.args.get("group") or aggregates_of(select)) and joins_streams(select, streams) for select in selects
    )


def _grouping(root: Sql) -> exp.Expr | None:
    """Return an aggregation in a query or its views, None if there is none."""
    for node in walk(root):
        if isinstance(node, Sql):
            found = (part for part in node.query.find_all(exp.Group, exp.AggFunc, exp.Distinct))
            if (one := next((part for part in found if not part.find_ancestor(exp.Window)), None)) is not None:
                return one
    return None


def _refuse_operation(root: Sql, place: Span) -> None:
    named = next((c.name for c in root.resolved.columns if c.name.lower() == OPERATION), None)
    if named is not None:
        raise ProgrammingError(
            f"EMIT gives a column {OPERATION}, and the query has one already",
            place,
            f"{named} AS x gives it another name, * EXCEPT ({named}) leaves it out",
        )


def _has_window(root: Sql) -> bool:
    """Tell whether there are windows in a query or its views."""
    for node in walk(root):
        if (isinstance(node, Ordered) and node.windowed) or (isinstance(node, Sql) and node.windows is not None):
            return True
        if isinstance(node, Sql) and any(window_call(call) is not None for call in node.query.find_all(exp.Anonymous)):
            return True
    return False


def _inserting(root: Sql) -> Sql:
    """Return the rows of a query with OPERATION, as inserted ones."""
    query = root.query.copy()
    operation = exp.alias_(exp.Literal.string(INSERT), OPERATION)
    if isinstance(query, exp.Select):
        query.append("expressions", operation)
    else:
        query = exp.select("*", operation).from_(query.subquery("__all"))
    return replace(root, query=query)
