"""A plain SELECT as typed expressions over Arrow columns, or the reason why Arrow can't compute them."""

from typing import Any

from sqlglot import exp

from cepsql.base.calendar import DAY
from cepsql.language.given_clauses import given_clauses
from cepsql.language.tokens import DIALECT
from cepsql.ordered.row_layout import RowLayout
from cepsql.readers.scan.layout import is_read
from cepsql.readers.scan.projection import ROW_IDENTITY, Projection, row_identity
from cepsql.readers.scan.row_expressions import Unlike, cast, compile_expression, compile_tree
from cepsql.scalar.expressions import Apply, Constant, Input, Node, Session
from cepsql.scalar.types import BIGINT, BOOLEAN, DATE, INT, INTEGERS, TIMESTAMP, Type, parse_type


class Columns(dict[str, Any]):
    """The expressions of columns by lower-case name; access to a column that did not compile raises the reason."""

    def carry(self, name: str, type: Type | None, type_name: str) -> None:
        """Add a column that is read unchanged; type: None if Arrow does not read the type called `type_name`."""
        self[name.lower()] = Unlike(f"{name} of type {type_name.upper()}") if type is None else Input(name, type)

    def compute(self, name: str, sql: str, type: str, session: Session) -> None:
        """Add a column of a type that is computed from the columns before it."""
        try:
            self[name.lower()] = cast(compile_expression(sql, self, session), parse_type(type), session)
        except Unlike as unlike:
            self[name.lower()] = unlike

    def __getitem__(self, name: str) -> Node:
        node = super().__getitem__(name)
        if isinstance(node, Unlike):
            raise node
        return node


def plain_table(query: exp.Query) -> exp.Table:
    """Return the only table of a query that only filters rows and computes columns, in any number of steps.

    Raises Unlike for another query.
    """
    if not isinstance(query, exp.Select):
        raise Unlike("the input is no plain SELECT")
    others = given_clauses(query) - {"expressions", "from_", "where"}
    table = query.args["from_"].this if query.args.get("from_") else None
    if others or not isinstance(table, exp.Table | exp.Subquery) or given_clauses(table) - {"this", "alias", "db"}:
        raise Unlike("the input is more than columns of one stream and a WHERE")
    check_alias(table)
    return plain_table(table.this) if isinstance(table, exp.Subquery) else table


def check_alias(relation: exp.Expr) -> None:
    """Raise Unlike for an alias that renames the columns of a relation."""
    alias = relation.args.get("alias")
    if alias is not None and alias.columns:
        raise Unlike("the input's columns are renamed by an alias")


def projected(query: exp.Query, columns: Columns, session: Session) -> tuple[Node | None, Columns]:
    """Return the condition and the columns of such a query as expressions; columns: those of its table."""
    below, condition = query.args["from_"].this, None
    if isinstance(below, exp.Subquery):
        condition, columns = projected(below.this, columns, session)
    where = query.args.get("where")
    for part in [*query.expressions, *([] if where is None else [where])]:
        for column in part.find_all(exp.Column):
            if column.table and column.table.lower() != below.alias_or_name.lower():
                raise Unlike(column.sql(dialect=DIALECT))
    if where is not None:
        condition = both(condition, _condition(compile_tree(where.this, columns, session)))
    selected = Columns()
    for item in query.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            star = item.this if isinstance(item, exp.Column) else item
            if any(star.args.get(name) for name in ("replace", "rename")):
                raise Unlike("a star that replaces or renames columns")
            left_out = {column.name.lower() for column in star.args.get("except_") or []}
            selected.update({name: columns.get(name) for name in columns if name not in left_out})
            continue
        try:
            selected[item.alias_or_name.lower()] = _compiled(item, columns, session)
        except Unlike as unlike:
            selected[item.alias_or_name.lower()] = unlike
    return condition, selected


def _compiled(item: exp.Expr, columns: Columns, session: Session) -> Node:
    """Return the expression of a SELECT item."""
    value = item.unalias()
    if isinstance(value, exp.Anonymous) and value.name == ROW_IDENTITY:
        return row_identity([compile_tree(column, columns, session) for column in value.expressions])
    return compile_tree(value, columns, session)


def both(left: Node | None, right: Node | None) -> Node | None:
    """Return the conjunction of two conditions; None is always true."""
    if left is None or right is None:
        return right if left is None else left
    return Apply("and", (left, right), BOOLEAN)


def projection(layout: RowLayout, where: Node | None, columns: Columns, session: Session) -> Projection:
    """Return how the rows of a layout are computed from columns; raises Unlike if Arrow can't compute them."""
    values = [(column.name, _value(column.sql, columns, session)) for column in layout.keys]
    if layout.time is not None:
        values.append((layout.time.name, micros(compile_expression(layout.time.sql, columns, session), session)))
    values += [(column.name, _value(column.sql, columns, session)) for column in (*layout.order, *layout.values)]
    predicates = tuple(_condition(compile_expression(sql, columns, session)) for sql in layout.predicates)
    return Projection(session, where, tuple(values), predicates)


def _value(sql: str, columns: Columns, session: Session) -> Node:
    node = compile_expression(sql, columns, session)
    if not is_read(node.type):
        raise Unlike(f"{sql} of type {str(node.type).upper()}")
    return node


def micros(node: Node, session: Session) -> Node:
    """Return an event time as a BIGINT: its microseconds, or the number itself."""
    if node.type in INTEGERS:
        return cast(node, BIGINT, session)
    if node.type == TIMESTAMP:
        return Apply("unix_micros", (node,), BIGINT)
    if node.type == DATE:
        days = Apply("cast", (Apply("unix_date", (node,), INT),), BIGINT)
        return Apply("mul", (days, Constant(DAY, BIGINT)), BIGINT)
    raise Unlike(f"ORDER BY a {str(node.type).upper()}")


def _condition(node: Node) -> Node:
    if node.type != BOOLEAN:
        raise Unlike(f"a {str(node.type).upper()} as condition")
    return node
