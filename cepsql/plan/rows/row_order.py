"""ORDER BY the event time at the end of a query over a stream becomes an ordered operator."""

from sqlglot import exp

from cepsql.analysis.clauses.order_by import plan_order
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import flat_name
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.plan.operators.sort import Sort
from cepsql.plan.rows.top_rows import order_of_selected, place_of_selected, spread_order
from cepsql.plan.rows.window_functions import named_item
from cepsql.plan.tree.nodes import Sql, sql_over
from cepsql.plan.tree.reader import Checked, RowsInOrder

_SORTED = "__sorted"


def hoist_order(root: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query over a stream with its ORDER BY as an operator; a LIMIT stays around it.

    Raises NotSupportedError and ProgrammingError for an order that does not begin with the event time, ascending.
    """
    if root.query.args.get("order") is None or not root.resolved.streaming:
        return root
    query = root.inlined.qualified.copy()
    nodes = {flat_name(name): node for name, node in root.inputs.items()}
    around = {clause: query.args.pop(clause, None) for clause in ("limit", "offset")}
    order = spread_order(query.args.pop("order"), len(query.selects))
    extended = isinstance(query, exp.Select) and query.args.get("distinct") is None
    if isinstance(query, exp.SetOperation):
        query = exp.select(*(_named(name) for name in query.named_selects)).from_(query.subquery("__rows"))
    assert isinstance(query, exp.Select)
    written = query.selects
    place = span_of(root.query.args["order"], place) or place
    query.set("expressions", [named_item(item) for item in written])
    names = [item.alias_or_name for item in query.selects]
    items = [_column_of(item, query, written, extended, place) for item in order.expressions]
    rows = sql_over(query, nodes, root.view)
    rows, time = _followed(items[0], query, rows, checked, place)
    further = [replaced for replaced, _ in items[1:]]
    sort = Sort(plan_order(_SORTED, rows.properties.columns, time, further), (rows,))
    outer = exp.select(*map(_named, names)).from_(_SORTED)
    for clause, part in around.items():
        outer.set(clause, part)
    return Sql(outer, {_SORTED: sort}, root.view)


def _column_of(
    item: exp.Expr, query: exp.Select, written: list[exp.Expr], extended: bool, place: Span
) -> tuple[exp.Ordered, Span]:
    """Return an item of ORDER BY that names a column of the rows, and its place.

    written:  the items of the SELECT as ORDER BY names them.
    extended: the rows may get a missing column.
    """
    at = span_of(item, place) or place
    selected = place_of_selected(item.this, written)
    copy = item.copy()
    assert isinstance(copy, exp.Ordered)
    if selected is None:
        if not extended:
            raise NotSupportedError(
                f"ORDER BY {sql_of(without_tables(item.this))} over a stream names no column of the result",
                at,
                "select it, too",
            )
        value = order_of_selected(item, written).this
        name = _free_name(value, query)
        query.append("expressions", exp.alias_(value.copy(), name, quoted=True))
    else:
        name = query.selects[selected].alias_or_name
    copy.set("this", _named(name))
    return copy, at


def _free_name(value: exp.Expr, query: exp.Select) -> str:
    """Return the name of a further column: its own, unless another one has it."""
    taken = {name.lower() for name in query.named_selects}
    own = isinstance(value, exp.Column) and value.name.lower() not in taken
    return value.name if own else f"__o{len(query.expressions)}"


def _named(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _followed(
    first: tuple[exp.Ordered, Span], query: exp.Select, rows: Sql, checked: Checked, place: Span
) -> tuple[Sql, str]:
    """Return rows followed by the first column of the order as their event time, and its name."""
    item, at = first
    if item.args.get("desc"):
        raise NotSupportedError(
            "ORDER BY ... DESC over a stream is not supported: its latest rows are still to come",
            at,
            "ORDER BY the event time, ascending; ORDER BY ... DESC LIMIT 3 EMIT CHANGES gives the latest rows so far",
        )
    same = next(one.unalias() for one in query.selects if one.alias_or_name == item.this.name)
    for name in [item.this.name, *(one.alias_or_name for one in query.selects if one.unalias() == same)]:
        asked = checked.followed_by(name, rows, place, "ORDER BY")
        if asked is not None:
            return asked, asked.properties.event_time.column
    raise _unordered(item, at, rows, checked)


def _unordered(item: exp.Ordered, at: Span, rows: Sql, checked: Checked) -> Error:
    """Return why rows cannot leave in an order."""
    asked = checked.answer(RowsInOrder((item,), at), rows, "ORDER BY")
    if isinstance(asked, Error):
        return asked
    streams = [node.properties for node in rows.inputs.values() if node.properties.streaming]
    # Of rows that keep no event time those of the streams are named, which can be kept.
    offers = [offer.column for offer in asked.properties.offers if not offer.column.startswith("__")]
    times = offers or [stream.watermark.column for stream in streams if stream.watermark is not None]
    if not times:
        return ProgrammingError(
            f"ORDER BY over a stream needs its event time, and {streams[0].name} has none",
            at,
            "declare it in CREATE STREAM: WATERMARK FOR ts AS ts - INTERVAL '10' SECONDS",
        )
    return ProgrammingError(
        "ORDER BY over a stream begins with the event time of its rows",
        at,
        f"ORDER BY {' or '.join(dict.fromkeys(times))} first; ORDER BY ... LIMIT 3 EMIT CHANGES gives the first rows "
        "so far of any order",
    )
