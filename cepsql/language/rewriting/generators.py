"""Functions in SELECT that give a row for each element: UNNEST, and several of them, whose elements meet by place."""

from sqlglot import exp

from cepsql.language.tree_nodes import TreeNodes

_ROWS = "__elements"


def spread_generators(nodes: TreeNodes) -> bool:
    """Turn UNNEST in SELECT into explode, and several generators into one relation beside it, in place.

    Of lists that are not as long as others the missing elements are NULL, as in DuckDB, PostgreSQL and ksqlDB.
    Tell whether there were any.
    """
    changed = False
    for select in nodes.of(exp.Select):
        items = [item for item in select.expressions if _list(item) is not None]
        if len(items) > 1:
            _meet(select, items)
            changed = True
        elif items and isinstance(items[0].unalias(), exp.Unnest):
            items[0].unalias().replace(exp.Explode(this=_list(items[0])))
            changed = True
    return changed


def _list(item: exp.Expr) -> exp.Expr | None:
    """Return the list whose elements an item of SELECT gives, None for other items."""
    value = item.unalias()
    if type(value) is exp.Explode:
        return value.this
    if isinstance(value, exp.Unnest) and len(value.expressions) == 1 and not value.args.get("alias"):
        return value.expressions[0]
    return None


def _meet(select: exp.Select, items: list[exp.Expr]) -> None:
    """Put one relation with the elements of all lists behind FROM."""
    names = [f"__{number}" for number in range(len(items))]
    empty = exp.Array(expressions=[])
    lists = [exp.Coalesce(this=_list(item), expressions=[empty.copy()]) for item in items]
    elements = exp.Inline(this=exp.ArraysZip(expressions=lists))
    for item, name in zip(items, names, strict=True):
        item.replace(exp.alias_(exp.column(name, table=_ROWS), item.alias or "col"))
    alias = exp.TableAlias(this=exp.to_identifier(_ROWS), columns=[exp.to_identifier(name) for name in names])
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=exp.Table(this=elements, alias=alias)))
        return
    lateral = exp.Lateral(this=elements, view=True, outer=False, alias=alias)
    select.set("laterals", [*(select.args.get("laterals") or []), lateral])
