"""The join of a stream with the nearest row of another one, in a plan."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import CAME, DELETED, Properties
from cepsql.base.cached_property import cached_property
from cepsql.errors import Error, NotSupportedError, Span
from cepsql.language.tokens import quoted
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.ordered.row_layout import OrderColumn, RowLayout
from cepsql.plan.operators.stream_join import (
    LATER,
    JoinLayout,
    StreamJoin,
    TakenValues,
    needed_columns,
    side_layout,
    spoken_sides,
)
from cepsql.plan.tree.nodes import Node
from cepsql.plan.tree.scans import NESTED, key_types
from cepsql.plan.tree.spoken_times import spoken_hold, spoken_length
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.scalar.expressions import Session

DELETION = "o0"
"""The column of the right of an as-of join that tells whether a row deletes."""

DELETION_BEHIND = "o1"
"""The same column where rows of one time follow one another by CAME."""


@dataclass(frozen=True)
class AsOfJoin(StreamJoin):
    """An ordered operator: each row of a stream with the nearest row of another one, of equal keys.

    forward:  the nearest at or after its time, not the nearest at or before it.
    strict:   not one with an equal time.
    outer:    a row of the left that finds none comes out, too.
    deletion: a condition over the columns of the right; such a row ends what its key has, from its time on.
    tolerance: how many microseconds the times may lie apart; None for any.
    conditions: what must hold of a pair. The nearest row is taken among those for which it holds; with `versions` the
              nearest row of all is taken, and left out if it does not hold.
    null_safe: the places of the keys of which NULL equals NULL.
    numbered: rows of the right of one time follow one another by CAME; else one that deletes comes before others.
    The others as of `IntervalJoin`.
    """

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    time: str
    forward: bool = False
    strict: bool = False
    outer: bool = False
    deletion: exp.Expr | None = None
    sides: tuple[int, ...] = (0, 1)
    markers: bool = False
    tolerance: int | None = None
    conditions: tuple[exp.Expr, ...] = ()
    versions: bool = False
    null_safe: tuple[int, ...] = ()
    numbered: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out with the later of the two; those that wait in vain in the end."""
        waits = self.forward and self.outer
        return self._followed({} if waits else {LATER: 0, RIGHT if self.forward else LEFT: 0})

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        keys = [[canonical_sql(one), canonical_sql(other)] for one, other in self.keys]
        asked = [name for name in ("forward", "strict", "outer") if getattr(self, name)]
        described = {"as of join": keys, "how": asked, "columns": [list(names) for names in self.columns]}
        if self.deletion is not None:
            described["delete when"] = canonical_sql(self.deletion)
        if self.tolerance is not None:
            described["tolerance"] = self.tolerance
        if self.conditions:
            described["conditions"] = [canonical_sql(part) for part in self.conditions]
            described["versions"] = self.versions
        if self.null_safe:
            described["null safe"] = list(self.null_safe)
        if self.numbered:
            described["order"] = CAME
        return described

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        left, right = (self.side(side).properties.event_time for side in range(2))
        equal = ["IS NOT DISTINCT FROM" if i in self.null_safe else "=" for i in range(len(self.keys))]
        pairs = zip(equal, self.keys, strict=True)
        keys = " AND ".join(f"left.({sql_of(one)}) {sign} right.({sql_of(other)})" for sign, (one, other) in pairs)
        sign = ("<" if self.forward else ">") + ("" if self.strict else "=")
        state = "rows of the left that wait for a later one" if self.forward else "one row of the right for each key"
        if self.tolerance is not None:
            within = f" for at most {spoken_length(self.tolerance)}"
            state = (state if self.forward or not self.conditions or self.versions else "rows of the right") + within
        time = self.properties.watermark
        asked = "condition on the version" if self.versions else "among those where"
        lines = [
            f"{'Left' if self.outer else ''}AsOfJoin {self.name}  {keys}".rstrip(),
            f"  nearest: left.{left.column} {sign} right.{right.column}",
            *([] if self.tolerance is None else [f"  at most apart: {spoken_length(self.tolerance)}"]),
            *(f"  {asked}: {sql_of(spoken_sides(part))}" for part in self.conditions),
            *([f"  delete when: {self._spoken_deletion(self.deletion)}"] if self.deletion is not None else []),
            f"  watermark: {left.column} - {spoken_length(left.delay)}, {right.column} - {spoken_length(right.delay)}",
            f"  state: rows not yet released by the watermark; {state}",
        ]
        return lines if time is None else [*lines, f"  event time: {time.column}, {spoken_hold(time.delay)}"]

    def _spoken_deletion(self, condition: exp.Expr) -> str:
        """Return when a version ends; what a record without a value says is no column of the user's."""
        return sql_of(condition).replace(DELETED, "it leaves the view" if self.numbered else "the record has no value")

    def joined_layouts(self, session: Session) -> tuple[RowLayout, RowLayout]:
        """Return the columns that travel, of each side; raises Unlike."""
        kinds = {column.name.lower(): column.type for column in self.side(1).properties.columns}
        if "unknown" in kinds.values():
            raise Unlike("only Spark knows the types of the columns of a join")
        plain = {name for name, kind in kinds.items() if not kind.startswith(NESTED)}
        return as_of_join_layout(
            self, key_types(self.keys, self.inputs, self.sides, session), plain.__contains__
        ).layouts

    @property
    def deletion_column(self) -> str | None:
        """The column of the right that tells whether a row deletes, None if none does."""
        return None if self.deletion is None else DELETION_BEHIND if self.numbered else DELETION

    def by_arrival(self, number: int) -> bool:
        """Tell whether rows of one time of an input come in the order in which their source has them."""
        return self.sides[number] == 1

    def reads_versions(self, number: int) -> bool:
        """Tell whether the rows of an input are the versions of a table, some of which end others."""
        return self.deletion is not None and self.sides[number] == 1

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over the join without event time."""
        if not self.forward:
            return super().missing_time(follower, place)
        return NotSupportedError(
            f"{follower} over an ASOF JOIN that waits for later rows needs to know how late they come out",
            place,
            "keep the event time of the right in the subquery, of a JOIN that is no LEFT JOIN",
        )


def as_of_join_layout(node: AsOfJoin, kinds: Sequence[str], comparable: Callable[[str], bool]) -> JoinLayout:
    """Return the layout of a join with the nearest row.

    kinds:      the type in which each key is compared.
    comparable: whether values of a column of the right, by its lower-case name, pass through a join.
    All columns of the right travel that do, so that it does not matter for which of several rows of one time is taken
    which columns a query reads.
    """
    time, needed = node.side(1).properties.event_time.column.lower(), needed_columns(node, 1)
    declared = [column.name.lower() for column in node.side(1).properties.columns]
    plain = [name for name in declared if name != time and (name in needed or comparable(name))]
    # A row that deletes comes before one of the same time that sets values.
    # If it is not known whether a row deletes, it sets values.
    gone = None if node.deletion is None else f"coalesce(({sql_of(node.deletion)}), false)"
    order: tuple[OrderColumn, ...] = () if gone is None else (OrderColumn(DELETION, gone, descending=True),)
    if gone is not None and node.numbered:
        order = (OrderColumn("o0", quoted(CAME)), OrderColumn(DELETION_BEHIND, gone))
    names = needed_columns(node, 0), plain
    taken = TakenValues(node, names)
    condition = taken.lowered()
    left = side_layout(node, 0, kinds, names[0], taken.values[0])
    right = side_layout(node, 1, kinds, names[1], taken.values[1], order, by_arrival=True)
    return JoinLayout(names, (left, right), condition)
