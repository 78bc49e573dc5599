"""Joins in brackets, such as `a JOIN (b LEFT JOIN c ON ...) ON ...`, as subqueries of FROM."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, Span
from cepsql.plan.tree.join_order import own_columns, relations


def with_plain_joins(select: exp.Select, name: Callable[[str], str], place: Span) -> exp.Select:
    """Return a SELECT none of whose relations is a join in brackets; the same one if none is.

    select: with the table of every column.
    name:   returns a new name for a relation.
    Raises NotSupportedError for LATERAL with a subquery.
    """
    for item in relations(select):
        if isinstance(item, exp.Lateral) and item.this.find(exp.Query) is not None:
            raise NotSupportedError(
                "LATERAL with a subquery over a table that changes is not supported",
                span_of(item, place),
                "(SELECT MAX(x) FROM t WHERE t.k = s.k) in SELECT is a value of it; QUALIFY ROW_NUMBER() OVER "
                "(PARTITION BY k ORDER BY x) <= 3 keeps the first rows of a key, to be joined",
            )
    if not any(map(_in_brackets, relations(select))):
        return select
    copy = select.copy()
    for item in [one for one in relations(copy) if _in_brackets(one)]:
        _put_below(copy, item, name("__joined"))
    return copy


def _in_brackets(item: exp.Expr) -> bool:
    return isinstance(item, exp.Subquery) and not isinstance(_within(item), exp.Query)


def _within(item: exp.Expr) -> exp.Expr:
    while isinstance(item, exp.Subquery | exp.Paren):
        item = item.this
    return item


def _put_below(select: exp.Select, item: exp.Expr, alias: str) -> None:
    """Put a SELECT of the columns that are read in place of a join in brackets."""
    first = _within(item).copy()
    joins = first.args.pop("joins", None) or []
    inner = exp.Select(from_=exp.From(this=first), joins=joins)
    own = {one.alias_or_name.lower() for one in relations(inner)}
    columns = [column for column in own_columns(select) if column.table.lower() in own]
    names: dict[tuple[str, str], str] = {}
    for column in columns:
        key = column.table.lower(), column.name.lower()
        names.setdefault(key, f"__n{len(names)}")
        column.set("this", exp.to_identifier(names[key], quoted=True))
        column.set("table", exp.to_identifier(alias))
    items = [exp.alias_(exp.column(column, table=table, quoted=True), made) for (table, column), made in names.items()]
    inner.set("expressions", items or [exp.alias_(exp.Literal.number(1), "__one")])
    item.replace(inner.subquery(alias))
