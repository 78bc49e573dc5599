"""Names of items of a SELECT in its other items, and fields of columns that have the name of a relation.

The rules are Spark's, and hold for tables, streams and changes alike. A name is a column of the rows before it is an
item that stands before it.
"""

from collections.abc import Iterator

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.window_calls import WINDOW_CALLS
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.plan.names.names_below import Columns, known_names, names_of_laterals


def with_item_names(columns: Columns, query: exp.Query) -> exp.Query:
    """Return a query in which a name before a point is that of a relation; the query itself if all are.

    Raises ProgrammingError for names that mean two things, and NotSupportedError for an item in a window function.
    """
    wanted = False
    for select in query.find_all(exp.Select):
        columns_of = known_names(select, columns)
        if columns_of is None:
            _refuse_made_twice(select, columns)
            continue
        if not _is_value(select):
            _refuse_items(select, {name for names in columns_of.values() for name in names})
        wanted = wanted or any(_field(column, select, columns_of) for column in _own(select))
    return _with_fields(columns, query.copy()) if wanted else query


def _with_fields(columns: Columns, query: exp.Query) -> exp.Query:
    """Put fields in the place of what looks like columns of relations, in the tree itself."""
    for select in list(query.find_all(exp.Select)):
        columns_of = known_names(select, columns)
        for column in list(_own(select)) if columns_of is not None else ():
            field = _field(column, select, columns_of or {})
            if field is not None:
                column.replace(exp.alias_(field, column.name, quoted=True) if column.parent is select else field)
    return query


def _refuse_items(select: exp.Select, below: set[str]) -> None:
    """Refuse names of earlier items that may be one of two, or that a window function reads."""
    earlier: list[str] = []
    for item in select.expressions:
        for column in _bare(item, select):
            name = column.name.lower()
            if name in below or name not in earlier:
                continue
            if earlier.count(name) > 1:
                raise ProgrammingError(
                    f"{column.name} is ambiguous: two items of SELECT have that name",
                    span_of(column),
                    "give one of them another name",
                )
            window = column.find_ancestor(exp.Window, exp.Select)
            if isinstance(window, exp.Window):
                raise NotSupportedError(
                    f"{column.name}, an item of SELECT, in a window function beside it is not supported",
                    span_of(column),
                    "write what it computes, or the window function in a SELECT around",
                )
        if item.alias:
            earlier.append(item.alias.lower())


def _refuse_made_twice(select: exp.Select, columns: Columns) -> None:
    """Refuse names of columns that LATERAL VIEW makes and that are there already."""
    made, below = names_of_laterals(select), known_names(select, columns, laterals=False)
    if not made or below is None:
        return
    twice = {name for name in made if made.count(name) > 1 or any(name in names for names in below.values())}
    parts = [*select.expressions, *filter(None, (select.args.get("where"), select.args.get("group")))]
    for column in (column for part in parts for column in _bare(part, select)):
        if column.name.lower() in twice:
            raise ProgrammingError(
                f"it is not clear whose column {column.name} is",
                span_of(column),
                "LATERAL VIEW makes one of that name: write the name of its relation before it",
            )


def _field(column: exp.Column, select: exp.Select, columns_of: dict[str, list[str]]) -> exp.Expr | None:
    """Return the field of a column, or of an earlier item, that looks like a column of a relation; None for others."""
    table, name = column.table.lower(), column.name.lower()
    if not table or isinstance(column.this, exp.Star) or len(column.parts) > 2 or name in columns_of.get(table, ()):
        return None
    owners = [relation for relation, names in columns_of.items() if table in names]
    if len(owners) == 1 and table in columns_of:
        whole: exp.Expr = exp.column(column.args["table"].copy(), table=exp.to_identifier(owners[0], quoted=True))
    elif (
        not owners
        and table not in columns_of
        # Of those the fields are the bounds of the windows in GROUP BY.
        and table not in WINDOW_CALLS
        and (item := _earlier(column, select, table)) is not None
    ):
        whole = exp.paren(item.unalias().copy(), copy=False)
    else:
        return None
    return exp.Dot(this=whole, expression=column.this.copy())


def _earlier(column: exp.Column, select: exp.Select, name: str) -> exp.Expr | None:
    """Return the item of a name that stands before the one in which a column is, None if there is none, or two."""
    earlier: list[exp.Expr] = []
    for item in select.expressions:
        if any(part is column for part in item.find_all(exp.Column)):
            return earlier[0] if len(earlier) == 1 else None
        if item.alias.lower() == name:
            earlier.append(item)
    return None


def _own(select: exp.Select) -> Iterator[exp.Column]:
    return (column for column in select.find_all(exp.Column) if column.parent_select is select)


def _bare(part: exp.Expr, select: exp.Select) -> Iterator[exp.Column]:
    """Yield the names without a relation in a part of a SELECT's own."""
    arguments = {name.name.lower() for call in part.find_all(exp.Lambda) for name in call.expressions}
    for column in part.find_all(exp.Column):
        if not column.table and column.parent_select is select and column.name.lower() not in arguments:
            yield column


def _is_value(select: exp.Select) -> bool:
    """Tell whether a SELECT stands in an expression, whose names may be those around it."""
    node = select.parent
    while isinstance(node, exp.Subquery | exp.SetOperation | exp.Paren):
        node = node.parent
    return node is not None and not isinstance(node, exp.From | exp.Join | exp.CTE | exp.With)
