"""Let a hidden column of one relation pass through the plain SQL above it."""

from sqlglot import exp

from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.errors import NotSupportedError


def carry_column(query: exp.Query, name: str, column: str) -> exp.Query:
    """Return a copy of the query that also gives `column` of the relation `name`, which it reads once.

    Projections, filters, joins, subqueries and CTEs may stand between; a star that covers the relation passes the
    column anyway.
    Raises NotSupportedError where the query does not let a column through.
    """
    copy = query.copy()
    source: exp.Expr | None = next(table for table in catalog_tables(copy) if table_name(table) == name)
    while source is not None:
        alias = source.args.get("alias")
        if alias is not None and alias.columns:
            alias.append("columns", exp.to_identifier(column))
        select = _reader(source)
        if not _covered(select, source.alias_or_name):
            select.append("expressions", exp.column(column, table=source.alias_or_name or None))
        source = None if select is copy else _above(select, copy, column)
    return copy


def _reader(source: exp.Expr) -> exp.Select:
    """Return the SELECT in whose FROM or JOIN a relation stands."""
    node = source.parent
    while isinstance(node, exp.From | exp.Join | exp.Paren):
        node = node.parent
    if not isinstance(node, exp.Select):
        raise _impassable()
    return node


def _covered(select: exp.Select, alias: str) -> bool:
    stars = [selected for selected in select.expressions if selected.is_star]
    return any(not isinstance(star, exp.Column) or star.table.lower() == alias.lower() for star in stars)


def _above(select: exp.Select, whole: exp.Query, column: str) -> exp.Expr:
    """Return the subquery that a SELECT is, or the table that names the CTE that it is."""
    parent = select.parent
    if isinstance(parent, exp.Subquery):
        return parent
    if not isinstance(parent, exp.CTE):
        raise _impassable()
    if parent.args["alias"].columns:
        parent.args["alias"].append("columns", exp.to_identifier(column))
    tables = [t for t in whole.find_all(exp.Table) if t.name.lower() == parent.alias.lower() and len(t.parts) == 1]
    if len(tables) != 1:
        raise _impassable()
    return tables[0]


def _impassable() -> NotSupportedError:
    return NotSupportedError(
        "a subquery of this form over a stream with LATE ROWS INTO or WATERMARK ... BY is not supported below "
        "MATCH_RECOGNIZE and other operators that go by event time",
        hint="SELECT ... FROM ... WHERE, joins with tables, subqueries and WITH are",
    )
