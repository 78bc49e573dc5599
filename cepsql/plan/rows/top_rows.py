"""The first rows of a result that changes: ORDER BY ... LIMIT n is a rank."""

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import own_aggregates
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, Span
from cepsql.language.notes import copied
from cepsql.plan.rows.window_functions import window_calls

_TOP = "__top"


def asks_first_rows(query: exp.Expr) -> bool:
    """Tell whether a query takes so many rows of an order."""
    return isinstance(query, exp.Query) and bool(query.args.get("order")) and whole_number(query, "limit") is not None


def with_first_rows_ranked(query: exp.Query, place: Span) -> exp.Query:
    """Return a query without ORDER BY and LIMIT that gives the same rows; the query itself if it has none.

    query: with the table of every column.
    Raises NotSupportedError for an order by what is no column of groups.
    """
    if not asks_first_rows(query):
        return query
    copy = copied(query)
    order, limit = spread_order(copy.args.pop("order"), len(copy.selects)), whole_number(copy, "limit")
    offset = whole_number(copy, "offset") or 0
    copy.args.pop("limit")
    copy.args.pop("offset", None)
    assert limit is not None
    # No rank stands beside a subquery.
    plain = isinstance(copy, exp.Select) and not (
        any(item.find(exp.Query) for item in copy.expressions)
        or copy.args.get("group")
        or copy.args.get("distinct")
        or own_aggregates(copy)
        or window_calls(copy)
    )
    if not plain:
        copy = _around(copy, order, place)
        order = copy.args.pop("order")
    else:
        order.set("expressions", [order_of_selected(item, copy.selects) for item in order.expressions])
    assert isinstance(copy, exp.Select)
    rank = exp.Window(this=exp.RowNumber(), order=order)
    asked: exp.Expr = exp.LTE(this=rank, expression=exp.Literal.number(limit + offset))
    if offset:
        asked = exp.and_(asked, exp.GT(this=rank.copy(), expression=exp.Literal.number(offset)))
    copy.set("qualify", exp.Qualify(this=asked))
    return copy


def order_by_items(query: exp.Query) -> list[exp.Expr]:
    """Return the items of a query's ORDER BY, which name what they go by, not columns of the result."""
    order = spread_order(query.args["order"], len(query.selects))
    return [order_of_selected(item, query.selects) for item in order.expressions]


def spread_order(order: exp.Order, columns: int) -> exp.Order:
    """Return an ORDER BY with the columns of the result for which ALL stands, by their numbers."""
    item, *others = order.expressions
    if others or not isinstance(item.this, exp.Var) or item.this.name.upper() != "ALL":
        return order
    items = [item.copy() for _ in range(columns)]
    for number, one in enumerate(items, 1):
        one.set("this", exp.Literal.number(number))
    return exp.Order(expressions=items)


def order_of_selected(item: exp.Expr, selected: list[exp.Expr]) -> exp.Expr:
    """Return an item of ORDER BY that names what it goes by, not columns of the result."""
    selected_place = place_of_selected(item.this, selected)
    if selected_place is not None:
        copy = copied(item)
        copy.set("this", copied(selected[selected_place].unalias()))
        return copy

    def named(node: exp.Expr) -> exp.Expr:
        place = place_of_selected(node, selected) if isinstance(node, exp.Column) and not node.table else None
        return node if place is None else copied(selected[place].unalias())

    return copied(item).transform(named, copy=False)


def place_of_selected(key: exp.Expr, selected: list[exp.Expr]) -> int | None:
    """Return the place of the column of a result that ORDER BY names: by its number, its name, or what it is."""
    if isinstance(key, exp.Literal) and not key.is_string:
        return int(key.this) - 1 if key.this.isdigit() and 0 < int(key.this) <= len(selected) else None
    if isinstance(key, exp.Column) and not key.table:
        names = [item.alias_or_name.lower() for item in selected]
        return names.index(key.name.lower()) if key.name.lower() in names else None
    return next((place for place, item in enumerate(selected) if item.unalias() == key), None)


def _around(query: exp.Query, order: exp.Order, place: Span) -> exp.Select:
    """Return a SELECT over a query with an order by columns of its result."""
    selected = query.selects
    items = []
    for item in order.expressions:
        selected_place = place_of_selected(item.this, selected)
        if selected_place is None:
            raise NotSupportedError(
                f"ORDER BY {sql_of(without_tables(item.this))} of groups that change is not supported: the result has "
                "no such column",
                span_of(item, place) or place,
                "select it, too",
            )
        items.append(copied(item))
        items[-1].set("this", exp.column(f"__{selected_place}", table=_TOP))
    names = [item.alias_or_name for item in selected]
    inner = query
    while isinstance(inner, exp.SetOperation):
        inner = inner.this.unnest()
    numbered = [exp.alias_(item.unalias(), f"__{i}", copy=False) for i, item in enumerate(inner.selects)]
    inner.set("expressions", numbered)
    columns = [exp.alias_(exp.column(f"__{i}", table=_TOP), name, quoted=True) for i, name in enumerate(names)]
    outer = exp.select(*columns).from_(query.subquery(_TOP, copy=False), copy=False)
    outer.set("order", exp.Order(expressions=items))
    return outer


def whole_number(query: exp.Query, clause: str) -> int | None:
    """Return the number of rows that LIMIT or OFFSET says, None if it says none that is constant."""
    clause_node = query.args.get(clause)
    value = clause_node.expression if clause_node is not None else None
    return int(value.this) if isinstance(value, exp.Literal) and value.this.isdigit() else None
