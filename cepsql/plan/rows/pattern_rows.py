"""The rows that windows with a row pattern go over: what a SELECT reads, as the input of an operator."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.errors import ProgrammingError
from cepsql.language.statements import MatchClause
from cepsql.plan.tree.nodes import Node, sql_over
from cepsql.plan.tree.rows_below import RowsBelow

N = TypeVar("N", bound=exp.Expr)


@dataclass
class PatternRows:
    """The columns that a SELECT can read, and those that the input of operators gets of them.

    values:  what each column is, by its name in lower case.
    unclear: names of several columns, lower case.
    below:   the columns that the input gets.
    """

    values: Mapping[str, exp.Alias]
    unclear: frozenset[str]
    below: RowsBelow = field(default_factory=RowsBelow)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that the input gets."""
        return tuple(identifier.name for identifier in self.below.names.values())

    def named(self, name: str) -> exp.Column | None:
        """Return the column of the input for a name without table; None for what is no column, or several."""
        item = self.values.get(name.lower())
        if item is None:
            return None
        self.below.names.setdefault(item.this, item.args["alias"].copy())
        return exp.column(item.args["alias"].copy())

    def column(self, column: exp.Column) -> exp.Column:
        """Return the column of the input for one of the SELECT, which has a table where that is known."""
        item = self.values.get(column.name.lower())
        itself = item is not None and (not column.table or _parts(item.this) == _parts(column))
        own_name = self.named(column.name) if itself else None
        return _placed(own_name or self.below.take(column), column)

    def over(self, expression: N, table: str | None = None, items: frozenset[str] = frozenset()) -> N:
        """Return an expression of the SELECT over the columns of the input, which go by the name of a table.

        items: names, lower case, that stand for what the SELECT gives.
        """
        held = exp.Paren(this=expression.copy())
        for node in own_nodes(held, exp.Column):
            is_item = not node.table and node.name.lower() in items
            if is_item or isinstance(node.this, exp.Star) or (table is not None and node.table == table):
                continue
            column = self.column(node)
            if table is not None:
                column.set("table", exp.to_identifier(table))
            node.replace(column)
        return held.this

    def written(self, expression: N) -> N:
        """Return a key or an item of ORDER BY of a row pattern over the columns that the SELECT reads."""
        held = exp.Paren(this=expression.copy())
        for node in own_nodes(held, exp.Column):
            meaning = None if isinstance(node.this, exp.Star) else self._meant(node)
            if meaning is not None:
                node.replace(_placed(meaning, node))
        return held.this

    def _meant(self, column: exp.Column) -> exp.Expr | None:
        """Return the column of the SELECT, or its field, that a name in a row pattern means."""
        first, *fields = (part for part in column.parts if isinstance(part, exp.Identifier))
        tables = {_parts(item.this)[0] for item in self.values.values() if isinstance(item.this, exp.Column)}
        if fields and first.name.lower() in tables:
            meaning: exp.Expr = exp.column(fields[0].copy(), table=first.copy())
            fields = fields[1:]
        elif first.name.lower() in self.values:
            meaning = self.values[first.name.lower()].this.copy()
        else:
            return None
        for part in fields:
            meaning = exp.Dot(this=meaning, expression=part.copy())
        return meaning

    def take_named(self, clause: MatchClause) -> None:
        """Let the input have the columns that the conditions and measures of a row pattern name.

        Raises ProgrammingError for names of several columns.
        """
        for expression in (*(m.expression for m in clause.measures), *(condition for _, condition in clause.defines)):
            for column in expression.find_all(exp.Column):
                parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
                named = [part for part in parts if self.named(part.name) is not None]
                unclear = next((part for part in parts if part.name.lower() in self.unclear), None)
                if unclear is not None and not named:
                    raise ProgrammingError(
                        f"it is not clear whose column {unclear.name} is",
                        span_of(unclear, clause.span),
                        "give each a name of its own in a subquery: FROM (SELECT a.x AS ax, b.x AS bx FROM ...)",
                    )
                if not named:
                    # The error that follows tells what names there are.
                    for name in self.values:
                        self.named(name)


def pattern_rows(select: exp.Select, nodes: Mapping[str, Node]) -> PatternRows:
    """Return the columns that a SELECT over nodes, its names resolved, can read."""
    everything = RowsBelow().select(select)
    everything.set("expressions", [exp.Star()])
    readable = sql_over(everything, nodes)
    named = [item for item in readable.resolved.qualified.selects if isinstance(item, exp.Alias)]
    counts = Counter(item.alias.lower() for item in named)
    unclear = frozenset(name for name, count in counts.items() if count > 1)
    values = {item.alias.lower(): item for item in named if item.alias.lower() not in unclear}
    rows = PatternRows(values, unclear, RowsBelow(unclear))
    if readable.resolved.watermark is not None:
        # Rows of a stream come in the order of their event time.
        rows.named(readable.resolved.watermark.column)
    return rows


def own_nodes(expression: exp.Expr, kind: type[N]) -> list[N]:
    """Return the nodes of a kind in an expression, but in no subquery of it."""
    return [node for node in expression.walk(prune=lambda n: isinstance(n, exp.Query)) if isinstance(node, kind)]


def _parts(column: exp.Expr) -> tuple[str, ...]:
    return tuple(part.name.lower() for part in column.parts) if isinstance(column, exp.Column) else ("",)


def _placed(node: N, written: exp.Expr) -> N:
    """Let an expression have the place of another one."""
    place = span_of(written)
    if place is not None:
        target = node.this if isinstance(node, exp.Column) else node
        target.meta.update(start=place.start, end=place.end - 1)
    return node
