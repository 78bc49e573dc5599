"""Subqueries beside window functions: their values are columns of the rows that the functions go over."""

from sqlglot import exp

from cepsql.plan.rows.window_functions import named_item
from cepsql.plan.tree.rows_below import RowsBelow


def has_subqueries(select: exp.Select) -> bool:
    """Tell whether a SELECT has subqueries among its columns, or in QUALIFY."""
    parts = (*select.expressions, select.args.get("qualify"))
    return any(part is not None and part.find(exp.Query) is not None for part in parts)


def with_values_below(select: exp.Select, name: str) -> exp.Select:
    """Return a SELECT over a relation, which is called `name`, that has the values of its subqueries as columns."""
    columns = RowsBelow()

    def taken(node: exp.Expr) -> exp.Expr:
        asked = isinstance(node, exp.Subquery | exp.Exists) or (isinstance(node, exp.In) and node.args.get("query"))
        if not asked and (not isinstance(node, exp.Column) or isinstance(node.this, exp.Star)):
            return node
        column = columns.take(node)
        column.set("table", exp.to_identifier(name))
        return column

    outer = exp.select(*(_plain_item(item).transform(taken) for item in select.expressions))
    for part in ("qualify", "distinct"):
        if select.args.get(part):
            outer.set(part, select.args[part].copy().transform(taken))
    if select.args.get("windows"):
        outer.set("windows", [window.copy().transform(taken) for window in select.args["windows"]])
    return outer.from_(columns.select(select).subquery(name))


def _plain_item(item: exp.Expr) -> exp.Expr:
    """Return a copy of an item of a SELECT in which the name of a subquery is not a part of it."""
    copy = named_item(item).copy()
    if not isinstance(copy, exp.Subquery) or not copy.alias:
        return copy
    name = copy.args.pop("alias").this
    return exp.Alias(this=copy, alias=name)
