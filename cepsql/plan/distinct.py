"""SELECT DISTINCT over a stream, below an ordered operator, becomes an ordered operator itself."""

from sqlglot import exp

from cepsql.analysis.deduplicate import plan_distinct
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import catalog_tables, table_name
from cepsql.errors import NotSupportedError
from cepsql.plan.markers import inline_ctes
from cepsql.plan.nodes import Deduplicate, Sql


def hoist_distinct(below: Sql) -> Sql:
    """Return plain SQL in which each SELECT DISTINCT over a stream is a table, an input with its rows.

    Raises NotSupportedError where the event time is not among its columns: what was seen would be kept for ever.
    """
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
        inputs[name] = Deduplicate(plan_distinct(name, rows.columns, rows.watermark.column), (whole,))
        table = exp.select("*").from_(exp.Table(this=exp.to_identifier(name)))
        if select is query:
            query = table
        else:
            select.replace(table)
    if len(inputs) == len(below.inputs):
        return below
    return Sql(query, _read(query, inputs), below.view)


def _distinct(query: exp.Query, inputs: dict) -> exp.Select | None:
    """Return an innermost SELECT DISTINCT that reads a stream."""
    found = [
        select
        for select in query.find_all(exp.Select)
        if select.args.get("distinct") is not None
        and not select.args["distinct"].args.get("on")
        and any(node.properties.streaming for node in _read(select, inputs).values())
    ]
    return found[-1] if found else None


def _without_distinct(select: exp.Select) -> exp.Select:
    copy = select.copy()
    copy.set("distinct", None)
    return copy


def _read(query: exp.Query, inputs: dict) -> dict:
    names = dict.fromkeys(table_name(table) for table in catalog_tables(query))
    return {name: inputs[name] for name in names}
