"""SELECTs over streams that ordered operators compute: how one is put in, and the columns that it needs of FROM."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from sqlglot import exp

from cepsql.analysis.sql.inner_stars import refuse_inner_stars
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.errors import Error, ProgrammingError, Span
from cepsql.language.notes import copied
from cepsql.plan.tree.nodes import Node, Sql, sql_over

T = TypeVar("T", bound=exp.Expr)

AROUND = ("distinct", "order", "limit", "offset", "sort", "cluster")
"""The clauses of a SELECT that go over its output, and stay around the operator."""

_LEFT_OUT = {*AROUND, "qualify", "windows", "group", "having", "expressions"}
"""The clauses of a SELECT that go over its rows."""


@dataclass
class RowsBelow:
    """The columns that an operator's rows need: expressions over what a SELECT reads, by the name that they get.

    reserved: names, lower case, that none of them may have.
    """

    reserved: frozenset[str] = frozenset()
    names: dict[exp.Expr, exp.Identifier] = field(default_factory=dict)

    def take(self, expression: exp.Expr) -> exp.Column:
        """Return the column that stands for an expression; raises ProgrammingError for a star, which is none."""
        plain = copied(expression.unalias())
        if plain.is_star:
            raise ProgrammingError(f"{sql_of(plain)} is no single column", span_of(expression))
        if plain not in self.names:
            self.names[plain] = self._name(plain)
        column = exp.column(copied(self.names[plain]), copy=False)
        place = span_of(expression)
        if place is not None:
            column.this.meta.update(start=place.start, end=place.end - 1)
        return column

    def rows_of(self, call: exp.Window) -> tuple[list[exp.Column], list[exp.Ordered]]:
        """Return PARTITION BY and ORDER BY of a call over the columns that stand for what they read."""
        keys = [self.take(key) for key in call.args.get("partition_by") or []]
        order = []
        for item in call.args["order"].expressions if call.args.get("order") else []:
            order.append(copied(item))
            order[-1].set("this", self.take(item.this))
        return keys, order

    def _name(self, expression: exp.Expr) -> exp.Identifier:
        """Return the name of a column itself, unless another one has it."""
        taken = self.reserved | {name.name.lower() for name in self.names.values()}
        if isinstance(expression, exp.Column) and expression.name.lower() not in taken:
            return exp.to_identifier(expression.name, quoted=expression.this.quoted)
        return exp.to_identifier(f"__c{len(self.names)}")

    def replace_in(self, expression: exp.Expr, table: str | None = None) -> exp.Expr:
        """Return an expression in which columns stand for those that it reads."""

        def taken(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or node.table == table:
                return node
            column = self.take(node)
            if table is not None:
                column.set("table", exp.to_identifier(table))
            return column

        return copied(expression).transform(taken, copy=False)

    def select(self, select: exp.Select) -> exp.Select:
        """Return the SELECT of these columns from what `select` reads."""
        read = {part: value for part, value in select.args.items() if value and part not in _LEFT_OUT}
        inner = exp.Select(**{part: _copied(value) for part, value in read.items()})
        inner.set("expressions", [exp.alias_(copied(value), name, copy=False) for value, name in self.names.items()])
        return without_types(inner)


def _copied(part: Any) -> Any:
    """Return a copy of what a tree has under a name."""
    return (
        [_copied(one) for one in part]
        if isinstance(part, list)
        else copied(part)
        if isinstance(part, exp.Expr)
        else part
    )


def rows_read(select: exp.Select, items: Sequence[exp.Expr]) -> exp.Select:
    """Return a SELECT of items from what `select` joins and filters."""
    read = {part: _copied(value) for part in ("from_", "joins", "where") if (value := select.args.get(part))}
    return exp.Select(**read, expressions=list(items))


def without_types(query: T) -> T:
    """Take the types off a tree that is resolved anew, for each copy of it would have copies of them; return it."""
    for part in query.walk():
        part.type = None
    return query


def put_around(
    outer: exp.Select, select: exp.Select, over: Callable[[exp.Expr], exp.Expr], windows: Sequence[exp.Expr]
) -> exp.Select:
    """Give a SELECT over an operator the clauses of a SELECT that come after its window functions; return it.

    over:    returns an expression over the operator. Names without a table in ORDER BY are those of the output.
    windows: what is left of WINDOW.
    """

    def around(node: exp.Expr) -> exp.Expr:
        return over(node) if isinstance(node, exp.Window) or (isinstance(node, exp.Column) and node.table) else node

    if select.args.get("qualify") is not None:
        outer.set("qualify", over(select.args["qualify"]))
    for part in AROUND:
        if select.args.get(part) is not None:
            outer.set(part, copied(select.args[part]).transform(around, copy=False))
    outer.set("windows", [over(window) for window in windows] or None)
    return outer


Hoist = Callable[[exp.Select, dict[str, Node], Span, bool], exp.Select | Error | None]
"""Returns what stands for a SELECT, over operators that it enters among the nodes, None to leave it as it is, or why
it is refused; it is told the place of the SELECT, and whether that is the whole query."""


Wanted = Callable[[exp.Select, Mapping[str, Node]], bool]
"""Tells whether something is to stand for a SELECT over nodes."""


def hoist_selects(below: Sql, wanted: Wanted, hoist: Hoist, place: Span, of_streams: bool = True) -> Sql:
    """Return plain SQL in which something else stands for each wanted SELECT over a stream, outer ones first.

    place:      where the query stands.
    of_streams: else those over tables are wanted, too.
    """
    if below.inlined.projection is not None and not any(isinstance(node, Sql) for node in below.inputs.values()):
        # FILL asks about rows with windows, which plain SQL gives; all else stands in the SELECT.
        return below
    query, nodes = below.inlined.qualified, {flat_name(name): node for name, node in below.inputs.items()}

    left: list[exp.Select] = []

    def find() -> int | None:
        for number, select in enumerate(query.find_all(exp.Select)):
            if any(select is one for one in left) or not wanted(select, nodes):
                continue
            read = read_nodes(select, nodes).values()
            if not of_streams or any(node.properties.streaming for node in read):
                return number
        return None

    number, hoisted_query = find(), False
    if number is None:
        return below
    query = copied(query)
    while number is not None:
        select = next(islice(query.find_all(exp.Select), number, None))
        refuse_inner_stars(select, place)
        outer = hoist(select, nodes, span_of(select, place) or place, select is query)
        if isinstance(outer, Error):
            raise outer
        if outer is None:
            left.append(select)
        elif select is query:
            query, hoisted_query = outer, True
        else:
            select.replace(outer)
            hoisted_query = True
        number = find()
    if not hoisted_query:
        return below
    query = without_types(query)
    return sql_over(query, nodes, below.view)


def in_sql_inputs(below: Sql, hoist: Callable[[Sql], Sql]) -> Sql:
    """Return plain SQL with what `hoist` makes of the plain SQL that it reads: rows with their windows."""
    rows = {name: node for name, node in below.inputs.items() if isinstance(node, Sql)}
    hoisted = {name: hoist(node) for name, node in rows.items()}
    changed = any(hoisted[name] is not node for name, node in rows.items())
    return replace(below, inputs={**below.inputs, **hoisted}) if changed else below


def read_nodes(query: exp.Query, nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Return the nodes that a query reads, in the order in which it names them."""
    names = dict.fromkeys(table_name(table) for table in catalog_tables(query))
    return {name: nodes[name] for name in names}
