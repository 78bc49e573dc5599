"""Functions that give rows of several columns, such as posexplode(x) AS (n, y), in SELECTs whose columns are read."""

from sqlglot import exp


def with_generated_columns(query: exp.Query) -> exp.Query:
    """Return a query in which such an item of a SELECT in FROM is a lateral view, where something reads its columns.

    The query itself is returned if nothing is replaced.
    """
    if query.find(exp.Aliases) is None:
        return query
    copy, changed = query.copy(), False
    for select in list(copy.find_all(exp.Select)):
        reader = _reader(select.parent)
        if not isinstance(reader, exp.Select) or select.args.get("from_") is None:
            continue
        for item in [one for one in select.expressions if isinstance(one, exp.Aliases)]:
            if _reads(reader, {name.name.lower() for name in item.expressions}):
                _spread(select, item, f"__generated_{len(select.args.get('laterals') or [])}")
                changed = True
    return copy if changed else query


def _reader(part: exp.Expr | None) -> exp.Expr | None:
    """Return the SELECT that reads a subquery or a CTE, None for other parts of a query."""
    if isinstance(part, exp.CTE) and part.parent is not None:
        return part.parent.parent
    return part.parent_select if isinstance(part, exp.Subquery) else None


def _reads(select: exp.Select, names: set[str]) -> bool:
    """Tell whether a SELECT has a star, or reads a column of one of the names."""
    columns = select.find_all(exp.Column)
    return select.is_star or any(column.name.lower() in names or column.is_star for column in columns)


def _spread(select: exp.Select, item: exp.Aliases, name: str) -> None:
    """Put a lateral view with the rows of an item behind FROM, and its columns in the place of the item."""
    alias = exp.TableAlias(this=exp.to_identifier(name), columns=[column.copy() for column in item.expressions])
    lateral = exp.Lateral(this=item.this.copy(), view=True, outer=False, alias=alias)
    select.set("laterals", [*(select.args.get("laterals") or []), lateral])
    items = [
        [exp.alias_(exp.column(column.copy(), table=name), column.copy()) for column in item.expressions]
        if one is item
        else [one]
        for one in select.expressions
    ]
    select.set("expressions", [one for part in items for one in part])
