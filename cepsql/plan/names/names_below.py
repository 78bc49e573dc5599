"""The names of the columns that a SELECT reads, before anything is resolved."""

from collections.abc import Callable, Iterable

from sqlglot import exp

from cepsql.analysis.sql.resolve import table_name, visible_ctes

Columns = Callable[[exp.Table], Iterable[str]]
"""Returns the names of the columns of a relation, none if it is not known."""


def _sources(select: exp.Select) -> list[exp.Expr]:
    """Return what a SELECT reads: relations and subqueries."""
    source = select.args.get("from_")
    return [*([source.this] if source else []), *(join.this for join in select.args.get("joins") or [])]


def source_names(select: exp.Select) -> list[str]:
    """Return what the relations and subqueries that a SELECT reads are called in it."""
    return [source.alias_or_name for source in _sources(select)]


def names_below(select: exp.Select, columns: Columns) -> set[str]:
    """Return the names, lower case, of the columns of what a SELECT reads, as far as they are known."""
    return {name.lower() for source in _sources(select) for name in _columns_of(source, columns)}


def known_names(select: exp.Select, columns: Columns, laterals: bool = True) -> dict[str, list[str]] | None:
    """Return the names, lower case, of the columns of each relation that a SELECT reads, None if some are not known.

    laterals: columns that LATERAL VIEW makes are none that are known.
    """
    if laterals and select.args.get("laterals"):
        return None
    columns_of: dict[str, list[str]] = {}
    for source in _sources(select):
        names = [name.lower() for name in _columns_of(source, columns)]
        if not names or not all(names) or not _is_closed(source, columns):
            return None
        columns_of[source.alias_or_name.lower()] = names
    return columns_of


def _is_closed(source: exp.Expr, columns: Columns) -> bool:
    """Tell whether all columns of a relation are known."""
    if source.args.get("pivots"):
        return False
    if isinstance(source, exp.Subquery):
        inner = source.this
        while isinstance(inner, exp.SetOperation | exp.Subquery):
            inner = inner.this
        if not isinstance(inner, exp.Select):
            return False
        return not any(item.is_star for item in inner.expressions) or known_names(inner, columns) is not None
    return isinstance(source, exp.Table)


def names_of_laterals(select: exp.Select) -> list[str]:
    """Return the names, lower case, that LATERAL VIEW gives to columns."""
    made = [view.args.get("alias") for view in select.args.get("laterals") or []]
    return [column.name.lower() for alias in made if alias is not None for column in alias.columns]


def _columns_of(source: exp.Expr, columns: Columns) -> Iterable[str]:
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return [column.name for column in alias.columns]
    if isinstance(source, exp.Subquery):
        return names_given(source.this, columns)
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return ()
    cte = _cte(source)
    if cte is None:
        itself = [cte for cte in visible_ctes(source) if cte.alias.lower() == table_name(source)]
        return [column.name for column in itself[-1].args["alias"].columns] if itself else columns(source)
    renamed = cte.args["alias"].columns
    return [column.name for column in renamed] if renamed else names_given(cte.this, columns)


def names_given(query: exp.Expr, columns: Columns) -> list[str]:
    """Return the names of the columns that a query gives, in their order, as far as they are known."""
    select = query
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if not isinstance(select, exp.Select):
        return []
    names: list[str] = []
    for item in select.expressions:
        names += _names_of_star(select, item, columns) if item.is_star else [item.alias_or_name]
    return names


def names_of_stars(select: exp.Select, columns: Columns) -> set[str]:
    """Return the names, lower case, of the columns that stars in SELECT stand for."""
    stars = [item for item in select.expressions if item.is_star]
    return {name.lower() for item in stars for name in _names_of_star(select, item, columns)}


def _names_of_star(select: exp.Select, item: exp.Expr, columns: Columns) -> list[str]:
    star = item.find(exp.Star)
    of = item.table.lower() if isinstance(item, exp.Column) else ""
    sources = [source for source in _sources(select) if not of or source.alias_or_name.lower() == of]
    left_out = (star.args.get("except_") or star.args.get("except") or []) if star is not None else []
    hidden = {part.name.lower() for part in left_out}
    return [name for source in sources for name in _columns_of(source, columns) if name.lower() not in hidden]


def _cte(table: exp.Table) -> exp.CTE | None:
    """Return the CTE that a table's name means."""
    if table.args.get("db") is not None:
        return None
    node = table.parent
    while node is not None:
        ctes = node.args.get("with_")
        for cte in ctes.expressions if ctes is not None else ():
            # A CTE's own query has those before it.
            if cte.alias.lower() == table.name.lower() and table.find_ancestor(exp.CTE) is not cte:
                return cte
        node = node.parent
    return None
