"""SELECT DISTINCT over a stream becomes an ordered operator: below another one, and over rows of operators."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.clauses.deduplication import plan_distinct
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.errors import Error, NotSupportedError, Span, answer
from cepsql.plan.operators.deduplicate import Deduplicate
from cepsql.plan.tree.markers import without_ctes
from cepsql.plan.tree.nodes import Node, Sql
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import in_sql_inputs

_AFTER = ("order", "offset", "sort", "cluster", "distribute")
"""Clauses that go over what DISTINCT leaves."""

_OF_SEVERAL = ("joins", "laterals", "group", "having", "qualify", "limit", "offset")
"""Clauses of a SELECT by which its rows are not those of its relation, one by one."""


def hoist_distinct(below: Sql) -> Sql:
    """Return plain SQL in which each SELECT DISTINCT over a stream, also below its windows, is an input with its rows.

    Raises NotSupportedError where the event time is not among its columns: what was seen would be kept for ever.
    """
    below = in_sql_inputs(below, hoist_distinct)
    query, inputs = without_ctes(below.query), dict(below.inputs)
    if _distinct(query, inputs) is None:
        return below
    query = query.copy()
    while (select := _distinct(query, inputs)) is not None:
        name = f"__distinct_{len(inputs)}"
        whole = Sql(_without_distinct(select), _read(select, inputs))
        time = whole.properties.watermark
        if time is None:
            raise NotSupportedError(
                "DISTINCT on a stream without its event time among the columns is not supported here",
                span_of(select.args["distinct"], span_of(select)),
                "all rows would be kept for ever: select the event time, too, or limit how long they are kept: "
                "FROM stream DEDUPLICATE (PARTITION BY ... ORDER BY ... WITHIN INTERVAL '1' HOUR)",
            )
        inputs[name] = _operator(name, whole, time.column)
        table = _all_of(name)
        if select is query:
            query = table
        else:
            select.replace(table)
    return Sql(query, _read(query, inputs), below.view)


def followed_after_distinct(below: Sql) -> Sql | Error:
    """Return rows as `hoist_distinct` gives them, or why nothing can read them."""
    hoisted = answer(lambda: hoist_distinct(below))
    return hoisted if isinstance(hoisted, Error) else hoisted.refusal or hoisted


def hoist_outer_distinct(root: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query where SELECT DISTINCT over rows of operators with their event time is one, too.

    Filters and computed columns may stand around it.
    """
    query = without_ctes(root.query)
    if _last_distinct(query) is None:
        return root
    query = query.copy()
    select = _last_distinct(query)
    assert select is not None
    limit = select.args.get("limit")
    if limit is not None and select is not query:
        return root
    rows = select.copy()
    rows.set("limit", None)
    first_rows = _first_rows(Sql(rows, _read(rows, root.inputs)), place, checked)
    if first_rows is None:
        return root
    name = f"__distinct_{len(first_rows[0].inputs)}"
    table = _all_of(name)
    table.set("limit", limit)
    operator = _operator(name, *first_rows)
    if select is query:
        return Sql(table, {name: operator})
    select.replace(table)
    nodes: dict[str, Node] = {**root.inputs, name: operator}
    return Sql(query, _read(query, nodes))


def _last_distinct(query: exp.Query) -> exp.Select | None:
    """Return the SELECT DISTINCT that gives the rows of a query, None if there is none."""
    select: exp.Expr | None = query
    while isinstance(select, exp.Select):
        if select.args.get("distinct") is not None:
            return select
        rows = select.args.get("from_")
        if rows is None or not _is_row_by_row(select) or not isinstance(rows.this, exp.Subquery):
            return None
        select = rows.this.this
    return None


def _is_row_by_row(select: exp.Select) -> bool:
    """Tell whether each row of a SELECT comes from one row of its only relation."""
    computed = any(item.find(exp.Window, exp.AggFunc) for item in select.expressions)
    return not computed and not any(select.args.get(clause) for clause in _OF_SEVERAL)


def hoist_inner_distinct(root: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query where SELECT DISTINCT in FROM is an operator, as `hoist_outer_distinct` makes one."""
    query, inputs = without_ctes(root.query), dict(root.inputs)
    if not _distincts(query, inputs):
        return root
    query = query.copy()
    # Inner ones first.
    for select in reversed(_distincts(query, inputs)):
        if not isinstance(select.parent, exp.Subquery) or select.args.get("limit") is not None:
            continue
        first_rows = _first_rows(Sql(select.copy(), _read(select, inputs)), place, checked)
        if first_rows is not None:
            name = f"__distinct_{len(inputs)}"
            inputs[name] = _operator(name, *first_rows)
            select.replace(_all_of(name))
    return root if len(inputs) == len(root.inputs) else Sql(query, _read(query, inputs))


def _first_rows(root: Sql, place: Span, checked: Checked) -> tuple[Sql, str] | None:
    """Return the rows of SELECT DISTINCT over operators, and by which of their columns they are followed; None for
    another query."""
    select = root.query
    if not isinstance(select, exp.Select) or select.args.get("distinct") is None or _given(select, _AFTER):
        return None
    return _followed(replace(root, query=_without_distinct(select), text=None, view=None), place, checked)


def _followed(rows: Sql, place: Span, checked: Checked) -> tuple[Sql, str] | None:
    """Return rows of operators that are followed by one of their columns, and which; None if they are by none."""
    if not rows.resolved.streaming:
        return None
    for column in rows.resolved.columns:
        if column.type.lower() != "timestamp":
            continue
        asked = checked.followed_by(column.name, rows, place, "DISTINCT")
        if asked is not None and asked.properties.ordered:
            return asked, asked.properties.event_time.column
    return None


def _given(select: exp.Select, clauses: Iterable[str]) -> bool:
    return any(select.args.get(clause) for clause in clauses) or bool(select.args["distinct"].args.get("on"))


def _distinct(query: exp.Query, inputs: Mapping[str, Node]) -> exp.Select | None:
    """Return an innermost SELECT DISTINCT that reads a stream."""
    distincts = _distincts(query, inputs)
    return distincts[-1] if distincts else None


def _distincts(query: exp.Query, inputs: Mapping[str, Node]) -> list[exp.Select]:
    """Return each SELECT DISTINCT that reads a stream, inner ones last."""
    return [
        select
        for select in query.find_all(exp.Select)
        if select.args.get("distinct") is not None
        and not select.args["distinct"].args.get("on")
        and any(node.properties.streaming for node in _read(select, inputs).values())
    ]


def _operator(name: str, rows: Sql, time: str) -> Deduplicate:
    return Deduplicate(plan_distinct(name, rows.properties.columns, time), (rows,))


def _all_of(name: str) -> exp.Select:
    return exp.select("*").from_(exp.Table(this=exp.to_identifier(name)))


def _without_distinct(select: exp.Select) -> exp.Select:
    copy = select.copy()
    copy.set("distinct", None)
    return copy


def _read(query: exp.Query, inputs: Mapping[str, Node]) -> dict[str, Node]:
    names = dict.fromkeys(table_name(table) for table in catalog_tables(query))
    return {name: inputs[name] for name in names}
