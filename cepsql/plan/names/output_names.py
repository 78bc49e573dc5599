"""Names in HAVING, QUALIFY and ORDER BY, which come after SELECT: of its items, or of the rows below.

The rules are Spark's, and hold for tables, streams and changes alike: where they say that a name is an item's, it is
replaced by what the item computes, so that nothing behind asks again.
"""

from collections.abc import Iterator

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.errors import ProgrammingError
from cepsql.language.notes import copied
from cepsql.plan.names.names_below import Columns, names_below, names_of_stars, source_names


def with_output_names(columns: Columns, query: exp.Query) -> exp.Query:
    """Return a query whose HAVING and QUALIFY name no items of SELECT; the query itself if they name none.

    Raises ProgrammingError for a name that may be one or the other.
    """
    for select in query.find_all(exp.Select):
        _refuse_order(select)
    if query.find(exp.Having, exp.Qualify) is None:
        return query
    copy = copied(query)
    changed = False
    for select in list(copy.find_all(exp.Select)):
        grouped = select.args.get("group") is not None or any(
            call.find_ancestor(exp.Window, exp.Query) is select for call in select.find_all(exp.AggFunc)
        )
        if grouped and select.args.get("having") is not None:
            changed |= _having(select)
        if not grouped and select.args.get("qualify") is not None:
            changed |= _qualify(select, columns)
    return copy if changed else query


def _having(select: exp.Select) -> bool:
    """Replace names of items, but those of keys and those that an aggregate reads; tell whether there were any."""
    group = select.args.get("group")
    keys = {column.name.lower() for key in (group.expressions if group else ()) for column in _columns_of(key)}
    changed = False
    for column in _own(select, "having"):
        if column.name.lower() in keys or column.find_ancestor(exp.AggFunc, exp.Having).__class__ is not exp.Having:
            continue
        items = _items(select, column)
        if len(items) > 1:
            raise _ambiguous(column, "two items of SELECT have that name")
        changed |= _replace(column, items)
    return changed


def _qualify(select: exp.Select, columns: Columns) -> bool:
    """Replace names of items, and give names of rows' columns that are items', too, their relation; tell whether there
    were any.

    A SELECT with window functions has them before its rows' columns, of which only those are left that the functions
    read; any other one has them after.
    """
    computed = [item for item in select.expressions if item.find(exp.Window) is not None]
    read = {_root(column, select) for item in computed for column in _columns_of(item)}
    changed = False
    for column in _own(select, "qualify"):
        name = column.name.lower()
        items = _items(select, column)
        if not items:
            continue
        if not computed:
            clash = name in names_below(select, columns) and not all(_is_plain(item, name) for item in items)
            if clash and len(tables := source_names(select)) == 1:
                column.set("table", exp.to_identifier(tables[0]))
                changed = True
            continue
        if len(items) > 1 or name in names_of_stars(select, columns):
            raise _ambiguous(column, "two items of SELECT have that name")
        if name in read and not _is_plain(items[0], name):
            raise _ambiguous(column, "it may be an item of SELECT or the column that a window function there reads")
        changed |= _replace(column, items)
    return changed


def _refuse_order(select: exp.Select) -> None:
    """Refuse a name in ORDER BY that two different items have."""
    for column in _own(select, "order") if select.args.get("order") is not None else ():
        if len(_items(select, column)) > 1:
            raise _ambiguous(column, "two items of SELECT have that name")


def _own(select: exp.Select, clause: str) -> list[exp.Column]:
    """Return the names without a relation in a clause of a SELECT's own."""
    named = select.args[clause].find_all(exp.Column)
    return [column for column in named if not column.table and column.parent_select is select]


def _items(select: exp.Select, column: exp.Column) -> list[exp.Expr]:
    """Return what the items compute that have the name of a column; the column itself once."""
    name = column.name.lower()
    named = [item for item in select.expressions if not item.is_star and item.alias_or_name.lower() == name]
    return (
        list(dict.fromkeys(named))
        if all(_is_plain(item, name) for item in named)
        else [item.unalias() for item in named]
    )


def _replace(column: exp.Column, items: list[exp.Expr]) -> bool:
    if not items or _is_plain(items[0], column.name.lower()):
        return False
    value = items[0].copy()
    simple = isinstance(value, exp.Column | exp.Window | exp.Func | exp.Literal)
    column.replace(value if simple else exp.paren(value, copy=False))
    return True


def _is_plain(item: exp.Expr, name: str) -> bool:
    """Tell whether an item is the column of that name itself."""
    return isinstance(item, exp.Column) and item.name.lower() == name


def _columns_of(part: exp.Expr) -> Iterator[exp.Column]:
    return (column for column in part.find_all(exp.Column) if not column.is_star)


def _root(column: exp.Column, select: exp.Select) -> str:
    """Return the name of the column that is read, for a field of one, too."""
    parts = [part.name.lower() for part in column.parts]
    return parts[1] if len(parts) > 1 and parts[0] in map(str.lower, source_names(select)) else parts[0]


def _ambiguous(column: exp.Column, why: str) -> ProgrammingError:
    return ProgrammingError(
        f"{column.name} is ambiguous: {why}",
        span_of(column),
        "give the item another name, or write the name of the relation before that of its column",
    )
