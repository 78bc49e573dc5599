"""Rows of one view by values of columns: no plan is needed for what the store answers by itself."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from cepsql.catalog.view_store import ViewSource
from cepsql.language.rewriting.file_tables import FILE
from cepsql.language.statements import ParsedQuery
from cepsql.readers.scan.select import given_clauses
from cepsql.scalar.types import INTEGERS, STRING, Type, parse_type
from cepsql.views.reading import constant
from cepsql.views.snapshot import Condition, Wanted, read_rows

_CLAUSES = {"expressions", "from_", "where"}


@dataclass(frozen=True)
class Lookup:
    """A query for columns of a view in which other columns have these values, found by `lookup`."""

    wanted: Wanted
    columns: tuple[tuple[str, str], ...]

    def table(self) -> pa.Table:
        """Return the rows; times with a zone are in UTC. Raises OperationalError as `read_views`."""
        return read_rows(self.wanted)


def lookup(query: ParsedQuery, found: Callable[[str], ViewSource | None]) -> Lookup | None:
    """Return what a query looks up, None for one of another form, which may be wrong, too.

    The store compares integers and texts as Spark does, and a column keeps its name and type.
    found: gives the view of a name, None for other names.
    """
    tree = query.expression
    if not isinstance(tree, exp.Select) or query.operators or query.emit is not None or query.windows:
        return None
    if set(given_clauses(tree)) - _CLAUSES or tree.args.get("from_") is None or tree.args.get("where") is None:
        return None
    table = tree.args["from_"].this
    if (
        not isinstance(table, exp.Table)
        or set(given_clauses(table)) - {"this"}
        or table.this.meta_get(FILE) is not None
    ):
        return None
    view = found(table.name)
    if view is None:
        return None
    types = {column.name: parse_type(column.type) for column in view.columns}
    names = _columns(tree.expressions, view)
    conditions = _conditions(tree.args["where"].this, types)
    if names is None or conditions is None or len(set(names)) != len(names):
        return None
    kinds = {column.name: str(types[column.name]) for column in view.columns}
    return Lookup(Wanted(view, names, conditions), tuple((name, kinds[name]) for name in names))


def _columns(items: list[exp.Expr], view: ViewSource) -> tuple[str, ...] | None:
    known = [column.name for column in view.columns]
    if len(items) == 1 and type(items[0]) is exp.Star and not any(items[0].args.values()):
        return tuple(known)
    names = [_name(item) for item in items]
    return tuple(name for name in names if name is not None) if all(name in known for name in names) else None


def _name(item: exp.Expr) -> str | None:
    """Return the name of a plain column, None for another expression."""
    return item.name if isinstance(item, exp.Column) and len(item.parts) == 1 else None


def _conditions(tree: exp.Expr, types: dict[str, Type]) -> tuple[Condition, ...] | None:
    found = []
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        part = part.unnest()
        name = _name(part.this) if type(part) is exp.EQ else None
        kind = types.get(name or "")
        if name is None or kind is None or not (kind in INTEGERS or kind == STRING):
            return None
        value = constant(part.expression, kind)
        if value is None:
            return None
        found.append(Condition(name, "=", (value,)))
    return tuple(found)
