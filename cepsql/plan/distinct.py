"""SELECT DISTINCT over a stream becomes an ordered operator: below another one, and over rows of operators."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.deduplicate import plan_distinct
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import catalog_tables, table_name
from cepsql.errors import Error, NotSupportedError, Span
from cepsql.plan.markers import inline_ctes
from cepsql.plan.nodes import Deduplicate, Sql
from cepsql.plan.reader import Checked, RowsInOrder
from cepsql.plan.rows_below import in_views

_AFTER = ("order", "offset", "sort", "cluster", "distribute")
"""Clauses that go over what DISTINCT leaves."""


def hoist_distinct(below: Sql) -> Sql:
    """Return plain SQL in which each SELECT DISTINCT over a stream is a table, an input with its rows.

    So it is in the views that it reads.

    Raises NotSupportedError where the event time is not among its columns: what was seen would be kept for ever.
    """
    below = in_views(below, hoist_distinct)
    query, inputs = inline_ctes(below.query), dict(below.inputs)
    while (select := _distinct(query, inputs)) is not None:
        name = f"__distinct_{len(inputs)}"
        whole = Sql(_without_distinct(select), _read(select, inputs))
        rows = whole.properties
        if rows.watermark is None:
            raise NotSupportedError(
                "DISTINCT on a stream without its event time among the columns is not supported here",
                span_of(select.args["distinct"], span_of(select)),
                "what was seen would be kept for ever: select the event time, too, or say for how long: "
                "FROM stream DEDUPLICATE (PARTITION BY ... ORDER BY ... WITHIN INTERVAL '1' HOUR)",
            )
        inputs[name] = _operator(name, whole, rows.watermark.column)
        table = _all_of(name)
        if select is query:
            query = table
        else:
            select.replace(table)
    if len(inputs) == len(below.inputs):
        return below
    return Sql(query, _read(query, inputs), below.view)


def time_after_distinct(below: Sql) -> str | None:
    """Return the event time, lower case, that rows are followed by when DISTINCT is an operator, None if by none.

    Raises as `hoist_distinct` does.
    """
    mark = hoist_distinct(below).properties.watermark
    return None if mark is None else mark.column.lower()


def hoist_outer_distinct(root: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query where SELECT DISTINCT over rows of operators with their event time is one, too.

    So it is in the views that it reads.
    """
    root = in_views(root, lambda view: hoist_outer_distinct(view, place, checked))
    found = _first_rows(root, place, checked)
    if found is None:
        return root
    name = f"__distinct_{len(found[0].inputs)}"
    query = _all_of(name)
    query.set("limit", root.query.args.get("limit"))
    return Sql(query, {name: _operator(name, *found)}, root.view)


def hoist_inner_distinct(root: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query where SELECT DISTINCT in FROM is an operator, as `hoist_outer_distinct` makes one."""
    query, inputs = inline_ctes(root.query), dict(root.inputs)
    # Inner ones first.
    for select in reversed(_distincts(query, inputs)):
        if not isinstance(select.parent, exp.Subquery) or select.args.get("limit") is not None:
            continue
        found = _first_rows(Sql(select.copy(), _read(select, inputs)), place, checked)
        if found is not None:
            name = f"__distinct_{len(inputs)}"
            inputs[name] = _operator(name, *found)
            select.replace(_all_of(name))
    return root if len(inputs) == len(root.inputs) else Sql(query, _read(query, inputs), root.view)


def _first_rows(root: Sql, place: Span, checked: Checked) -> tuple[Sql, str] | None:
    """Return the rows of SELECT DISTINCT over operators, and by which of their columns they are followed; None for
    another query."""
    select = root.query
    if not isinstance(select, exp.Select) or select.args.get("distinct") is None or _given(select, _AFTER):
        return None
    rows = _without_distinct(select)
    rows.set("limit", None)
    return _followed(replace(root, query=rows, text=None, view=None), place, checked)


def _followed(rows: Sql, place: Span, checked: Checked) -> tuple[Sql, str] | None:
    """Return rows of operators that are followed by one of their columns, and which; None if they are by none."""
    if not rows.resolved.streaming:
        return None
    for column in rows.resolved.columns:
        if column.type.lower() != "timestamp":
            continue
        order = exp.Ordered(this=exp.column(exp.to_identifier(column.name, quoted=True)), nulls_first=True)
        with suppress(Error):
            asked = checked(RowsInOrder((order,), place), rows, "DISTINCT")
            mark = asked.properties.watermark
            if asked.properties.ordered and mark is not None and mark.column.lower() == column.name.lower():
                return asked, mark.column
    return None


def _given(select: exp.Select, clauses: Iterable[str]) -> bool:
    return any(select.args.get(clause) for clause in clauses) or bool(select.args["distinct"].args.get("on"))


def _distinct(query: exp.Query, inputs: dict) -> exp.Select | None:
    """Return an innermost SELECT DISTINCT that reads a stream."""
    found = _distincts(query, inputs)
    return found[-1] if found else None


def _distincts(query: exp.Query, inputs: dict) -> list[exp.Select]:
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


def _read(query: exp.Query, inputs: dict) -> dict:
    names = dict.fromkeys(table_name(table) for table in catalog_tables(query))
    return {name: inputs[name] for name in names}
