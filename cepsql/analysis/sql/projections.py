"""Queries of columns of one relation: what their names mean needs no look by sqlglot, which takes milliseconds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import declared_type
from cepsql.analysis.sql.window_calls import WINDOW_CALLS
from cepsql.catalog import ColumnDefinition
from cepsql.language.given_clauses import given_clauses

SPOKEN = "spoken"
"""Under which an identifier of a resolved query remembers how it was written."""

_CLAUSES = {"expressions", "from_", "where"}

_CONDITIONS = (
    exp.Where, exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Not, exp.And, exp.Or,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Between, exp.In, exp.Like,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg,
)  # fmt: skip
"""What WHERE may be made of."""


@dataclass(frozen=True)
class Projected:
    """A column that a query takes of its relation.

    column:  as the query gives it.
    source:  its name in the relation, lower case.
    written: as the query calls it; None if stars stand for it.
    """

    column: ColumnDefinition
    source: str
    written: str | None = None


_Column = tuple[str, str, str | None]
"""The type of a column, and `source` and `written` of `Projected`."""


def projected(query: exp.Query, relations: Sequence[Sequence[ColumnDefinition]]) -> list[Projected] | None:
    """Return the columns of a query that takes columns of its only relation, perhaps through subqueries in FROM, and
    filters its rows; None for any other query, and for one with names to be refused. Nothing in such a query remembers
    rows.

    relations: the columns of each relation that it reads.
    """
    if len(relations) != 1:
        return None
    names = {column.name.lower() for column in relations[0]}
    if not names or len(names) < len(relations[0]) or "*" in names:
        return None
    return _projected(query, relations[0])


def _projected(query: exp.Expr, relation: Sequence[ColumnDefinition]) -> list[Projected] | None:
    if not isinstance(query, exp.Select) or not given_clauses(query) <= _CLAUSES or query.args.get("from_") is None:
        return None
    source = query.args["from_"].this
    name, columns = _name(source), _columns(source, relation)
    items, where = query.expressions, query.args.get("where")
    conditions = list(where.walk()) if where is not None else []
    if name is None or columns is None or not all(isinstance(node, _CONDITIONS) for node in conditions):
        return None
    read = [node for node in conditions if isinstance(node, exp.Column)]
    every = len(items) == 1 and isinstance(items[0], exp.Star) and not given_clauses(items[0])
    read += [] if every else [item.unalias() for item in items]
    # A name alone may be that of an item.
    named = [(item.alias.lower(), item.this.name.lower()) for item in items if isinstance(item, exp.Alias)]
    renamed = {alias for alias, column in named if alias != column}
    if not all(_is_column(column, name, renamed) and column.name.lower() in columns for column in read):
        return None
    if not all(isinstance(item.args["alias"], exp.Identifier) for item in items if isinstance(item, exp.Alias)):
        return None
    if every:
        taken = ((ColumnDefinition(name, kind), source, written) for name, (kind, source, written) in columns.items())
        return [Projected(*parts) for parts in taken]
    return [_taken(item, columns) for item in items]


def _name(source: exp.Expr) -> str | None:
    """Return what a relation that stands alone in FROM is called, lower case; None if more than that is said of it."""
    alias = source.args.get("alias")
    if not given_clauses(source) <= {"this", "alias"} or (alias is not None and not given_clauses(alias) <= {"this"}):
        return None
    name = source.alias_or_name.lower()
    return None if name in WINDOW_CALLS else name


def _columns(source: exp.Expr, relation: Sequence[ColumnDefinition]) -> dict[str, _Column] | None:
    """Return the columns of what stands in FROM, by lower-case name; None if they are no columns of the relation."""
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        return {(name := column.name.lower()): (declared_type(column.type), name, None) for column in relation}
    items = _projected(source.this, relation) if isinstance(source, exp.Subquery) else None
    columns = {item.column.name: (item.column.type, item.source, item.written) for item in items or ()}
    return columns if items is not None and len(columns) == len(items) else None


def _taken(item: exp.Expr, columns: Mapping[str, _Column]) -> Projected:
    kind, source, _ = columns[item.unalias().name.lower()]
    name = item.args["alias"] if isinstance(item, exp.Alias) else item.this
    return Projected(ColumnDefinition(name.name.lower(), kind), source, name.meta_get(SPOKEN, name.name))


def _is_column(node: exp.Expr, table: str, renamed: Collection[str]) -> bool:
    """Tell whether a node is a column of the table: after its name, or alone if no item that is `renamed` is meant."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return False
    parts = given_clauses(node)
    own = node.table.lower() == table if "table" in parts else node.name.lower() not in renamed
    return own and parts <= {"this", "table"}
