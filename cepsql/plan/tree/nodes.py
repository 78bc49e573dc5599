"""The nodes of a plan, and what is known of the rows of each: derived from the node and its inputs, never stored."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from sqlglot import exp

from cepsql.analysis.match.match import MatchPlan
from cepsql.analysis.operators.assigned_windows import AssignedWindows
from cepsql.analysis.operators.deduplicate import FirstRows
from cepsql.analysis.operators.emission import OPERATION
from cepsql.analysis.operators.fill import FilledGroups
from cepsql.analysis.operators.group_changes import GroupChanges
from cepsql.analysis.operators.over import Frames
from cepsql.analysis.operators.row_order import RowOrder
from cepsql.analysis.operators.window_groups import WindowGroups
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import CHANGE, IDENTITY, Properties
from cepsql.analysis.sql.resolve import Resolved, flat_name, resolve, table_name
from cepsql.analysis.sql.written import Written
from cepsql.cached_property import cached_property
from cepsql.catalog import ColumnDefinition, Registered, Source, Watermark
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span, answer, granted
from cepsql.operators.excluded_rows import Exclusion
from cepsql.operators.interval_join import JoinKind, time_hold, time_holds
from cepsql.operators.pair_rows import LEFT, RIGHT
from cepsql.operators.ranked_rows import Ranking
from cepsql.operators.retracting_groups import GroupCall
from cepsql.plan.tree.after_match import JOINED, check_after_matches
from cepsql.plan.tree.event_time import match_event_time, missing_event_time
from cepsql.plan.tree.markers import BOUND, inline_ctes
from cepsql.plan.tree.time_bound import TimeUpTo


@dataclass(frozen=True)
class Read:
    """The rows of a stream or table of the catalog."""

    relation: Source | Registered

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows."""
        relation = self.relation
        return Properties(relation.name, relation.columns, relation.streaming, relation.watermark)


@dataclass(frozen=True)
class Sql:
    """Plain SQL, which Spark runs.

    inputs:  the nodes that the query reads, by lower-case name as written.
    view:    the view at rest whose query it is, if it is one's.
    markers: the query lets the markers of its ordered inputs pass, in the column `cepsql.plan.tree.markers.BOUND`.
    text:    how it was written, as far as `query` is what it says; see `written`.
    windows: the windows of event time that it gives the rows of a stream, row by row; see `RowWindows`.
    """

    query: exp.Query
    inputs: Mapping[str, "Node"]
    view: str | None = None
    markers: bool = False
    text: Written | None = field(default=None, compare=False, repr=False)
    windows: "RowWindows | None" = field(default=None, compare=False, repr=False)

    @property
    def written(self) -> Written | None:
        """The query's text, None if a rewriting has changed the query."""
        return self.text if self.text is not None and self.text.tree is self.query else None

    @cached_property
    def resolved(self) -> Resolved:
        """The query with its names resolved; raises ProgrammingError for unknown ones."""
        return resolve(self.query, lambda table: self.inputs[table_name(table)].properties)

    @cached_property
    def inlined(self) -> Resolved:
        """The same, where subqueries stand in place of the names of CTEs."""
        if self.query.find(exp.With) is None:
            return self.resolved
        return resolve(inline_ctes(self.query), lambda table: self.inputs[table_name(table)].properties)

    @cached_property
    def _state(self) -> bool | Error:
        """Whether Spark keeps state for the query, or why it is refused."""
        if not any(node.properties.ordered for node in self.inputs.values()):
            return False
        flat = {flat_name(name): node.properties for name, node in self.inputs.items()}
        words = {flat_name(name): _spoken_rows(node) for name, node in self.inputs.items()}
        qualified = self.inlined.qualified
        return answer(lambda: check_after_matches(qualified, flat, words, self._missing_time))

    @property
    def refusal(self) -> Error | None:
        """Why the query cannot stand over rows of ordered operators, such as a window that is not of the event time by
        which they are followed; None if it can. Raises ProgrammingError for unknown names."""
        return self._state if isinstance(self._state, Error) else None

    @property
    def stateful(self) -> bool:
        """Whether Spark keeps state for the query, over rows of ordered operators.

        Raises NotSupportedError and ProgrammingError for what would never be decided, lose rows, or cannot be run.
        """
        return granted(self._state)

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows; raises what `resolved` and `stateful` raise."""
        resolved = self.resolved
        ordered = any(node.properties.ordered for node in self.inputs.values())
        return Properties(
            self.view or "",
            resolved.columns,
            resolved.streaming,
            None if self.stateful else resolved.watermark,
            ordered and not self.stateful,
            resolved.merged or any(node.properties.merged for node in self.inputs.values()),
            any(column.name == CHANGE for column in resolved.columns),
            () if self.stateful else resolved.others,
        )

    def _missing_time(self, name: str, follower: str, place: Span | None) -> Error:
        found = next(node for key, node in self.inputs.items() if flat_name(key) == name)
        return missing_time(found, follower, place)


@dataclass(frozen=True)
class RowWindows:
    """Windows of event time, and the rows without them."""

    assigned: AssignedWindows
    rows: Sql


class _Operator:
    """What all ordered operators have."""

    inputs: tuple["Node", ...]

    @property
    def chained(self) -> bool:
        """Whether it reads rows of ordered operators."""
        return any(node.properties.ordered for node in self.inputs)


@dataclass(frozen=True)
class Match(_Operator):
    """An ordered operator: the matches of a row pattern.

    inputs:  one, or several streams of the same columns whose rows are merged in the order of event time.
    markers: it gives markers beside its matches.
    """

    match: MatchPlan
    inputs: tuple["Node", ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the matches."""
        match = self.match
        columns = tuple(ColumnDefinition(column.name, column.type) for column in match.output)
        if self.markers:
            columns = (*columns, ColumnDefinition(BOUND, "bigint"))
        mark = match_event_time(match.program, match.output, match.time) if match.streaming else None
        return Properties(match.clause.name, columns, match.streaming, mark, match.streaming)


@dataclass(frozen=True)
class Deduplicate(_Operator):
    """An ordered operator: the first row of each key within a time. `inputs` and `markers` as of `Match`."""

    rows: FirstRows
    inputs: tuple["Node", ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out as soon as they are released."""
        rows, streaming = self.rows, any(node.properties.streaming for node in self.inputs)
        columns = (*rows.columns, ColumnDefinition(BOUND, "bigint")) if self.markers else rows.columns
        return Properties(rows.name, columns, streaming, Watermark(rows.time, 0) if streaming else None, streaming)


@dataclass(frozen=True)
class Sort(_Operator):
    """An ordered operator: all rows in the order of event time. `inputs` and `markers` as of `Match`; it stands over
    streams only."""

    rows: RowOrder
    inputs: tuple["Node", ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out as soon as they are released."""
        rows = self.rows
        columns = (*rows.columns, ColumnDefinition(BOUND, "bigint")) if self.markers else rows.columns
        return Properties(rows.name, columns, True, Watermark(rows.time, 0), True)


@dataclass(frozen=True)
class Over(_Operator):
    """An ordered operator: window functions, each over a frame of the rows around a row. `inputs` and `markers` as of
    `Match`."""

    frames: Frames
    inputs: tuple["Node", ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out when the rows after them that their frames read are there."""
        frames, reach = self.frames, self.frames.reach
        columns = (*frames.columns, *(call.column for call in frames.calls))
        if self.markers:
            columns = (*columns, ColumnDefinition(BOUND, "bigint"))
        streaming = any(node.properties.streaming for node in self.inputs)
        time = None if reach.waits or not streaming else Watermark(frames.time, reach.micros_after)
        return Properties(frames.name, columns, streaming, time, streaming)


@dataclass(frozen=True)
class WindowAggregate(_Operator):
    """An ordered operator: the groups of rows with equal keys in the same window of event time, or their rows. `inputs`
    and `markers` as of `Match`; it stands over streams only."""

    groups: WindowGroups
    inputs: tuple["Node", ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the groups: they come out as soon as their window is over."""
        groups = self.groups
        columns = (*groups.output, ColumnDefinition(BOUND, "bigint")) if self.markers else groups.output
        others = () if groups.watermark is None else groups.others
        return Properties(groups.name, columns, True, groups.watermark, True, others=others)


@dataclass(frozen=True)
class Fill(_Operator):
    """An ordered operator: groups of windows, with rows for those in which nothing came. `inputs` and `markers` as of
    `Match`."""

    groups: FilledGroups
    inputs: tuple["Node", ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: those of a gap may wait for its end."""
        groups, streaming = self.groups, any(node.properties.streaming for node in self.inputs)
        columns = (*groups.columns, ColumnDefinition(BOUND, "bigint")) if self.markers else groups.columns
        return Properties(groups.name, columns, streaming, groups.watermark if streaming else None, streaming)


@dataclass(frozen=True)
class ChangingGroups(_Operator):
    """An ordered operator: groups of all rows with equal keys so far, whenever they change. `inputs` as of `Match`; it
    stands over streams only, and nothing but plain SQL stands over it."""

    groups: GroupChanges
    inputs: tuple["Node", ...]
    markers: bool = False

    @property
    def chained(self) -> bool:
        """Whether it waits for the markers of ordered operators; rows are taken whenever they come."""
        return False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return Properties(self.groups.name, self.groups.output, True, None, True)


class ChangeOperator(_Operator):
    """What operators that give out changes of a table have; nothing but each other and plain SQL stands over them.

    name:    what SQL over it calls it.
    markers: it tells how far its inputs are, for rows that leave by time.
    """

    name: str
    markers: bool

    @property
    def chained(self) -> bool:
        """Whether it waits for the markers of ordered operators; changes come whenever they come."""
        return self.markers

    def _changing(self, columns: Iterable[ColumnDefinition]) -> Properties:
        hidden = [ColumnDefinition(IDENTITY, "string"), ColumnDefinition(CHANGE, "tinyint")]
        if self.markers:
            hidden.append(ColumnDefinition(BOUND, "bigint"))
        return Properties(self.name, (*columns, *hidden), True, None, True, changes=True)


@dataclass(frozen=True)
class Upserts(ChangeOperator):
    """An ordered operator: the table that a stream with a PRIMARY KEY makes, as changes.

    inputs: the stream.
    needed: its columns that come out, lower case.
    """

    name: str
    inputs: tuple["Node", ...]
    needed: frozenset[str]
    markers: bool = False

    @property
    def stream(self) -> Source:
        """The stream."""
        (read,) = self.inputs
        assert isinstance(read, Read) and isinstance(read.relation, Source)
        return read.relation

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return self._changing(column for column in self.stream.columns if column.name.lower() in self.needed)


@dataclass(frozen=True)
class RetractingGroups(ChangeOperator):
    """An ordered operator: the groups of the rows that a table has.

    inputs: changes of the table.
    keys:   the columns of the rows that are the keys, which come out.
    calls:  the columns that come out beside them, and the aggregates of a column that they are.
    spoken: the aggregates as SQL.
    """

    name: str
    inputs: tuple["Node", ...]
    keys: tuple[ColumnDefinition, ...]
    calls: tuple[tuple[ColumnDefinition, GroupCall], ...]
    spoken: tuple[str, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return self._changing((*self.keys, *(column for column, _ in self.calls)))


@dataclass(frozen=True)
class TableJoin(ChangeOperator):
    """An ordered operator: the join of two tables by equal keys.

    inputs:  changes of the left one and of the right one.
    keys:    pairs of expressions over the columns of the left and of the right that must be equal.
    columns: the columns of the left and of the right that come out, after LEFT or RIGHT.
    condition: what a pair must fulfil beside, over the columns of `left` and `right`; None for nothing.
    null_safe: the numbers of the keys whose NULLs are equal.
    """

    name: str
    inputs: tuple["Node", ...]
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    kind: JoinKind
    condition: exp.Expr | None = None
    null_safe: frozenset[int] = frozenset()
    markers: bool = False
    sides: ClassVar[tuple[int, ...]] = (0, 1)

    @property
    def single(self) -> bool:
        """Whether only the left side comes out."""
        return self.kind in (JoinKind.SEMI, JoinKind.ANTI)

    def key_sql(self, number: int, side: int) -> str:
        """Return the SQL of a key, over the columns of a side."""
        return sql_of(self.keys[number][side])

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return self._changing(
            ColumnDefinition(prefix + column.name.lower(), column.type)
            for side, prefix in enumerate((LEFT,) if self.single else (LEFT, RIGHT))
            for column in self.inputs[side].properties.columns
            if column.name.lower() in self.columns[side]
        )


@dataclass(frozen=True)
class RankedRows(ChangeOperator):
    """An ordered operator: the rows of a table with the first ranks of each key.

    inputs:  changes of the table.
    keys:    PARTITION BY: names of columns.
    order:   ORDER BY: names of columns with their direction.
    limit:   the last rank that comes out; None: all do.
    rank:    the column with the rank, None if it does not come out.
    columns: the columns that come out.
    """

    name: str
    inputs: tuple["Node", ...]
    keys: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    ranking: Ranking
    limit: int | None
    rank: str | None
    columns: tuple[str, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        wanted = {name.lower() for name in self.columns}
        given = [column for column in self.inputs[0].properties.columns if column.name.lower() in wanted]
        ranks = [] if self.rank is None else [ColumnDefinition(self.rank, "int")]
        return self._changing([*given, *ranks])


class Clock(StrEnum):
    """What the time of now is where rows leave by time.

    EVENT_TIME: the watermark of the streams that the rows come from.
    ARRIVAL:    the system clock, which the checkpoint records.
    """

    EVENT_TIME = "event time"
    ARRIVAL = "arrival"


ENTER, LEAVE = "__enter", "__leave"
"""Columns of rows that are there for a time only, of the type of the clock: from when on, and until when."""


FrameEnd = tuple[int, exp.Expr | None]
"""How far after a row: so many rows or groups, or a direction, -1 or 1, and a distance in it."""


@dataclass(frozen=True)
class FrameEnds:
    """Where the frame of a window function begins and ends.

    unit:        "rows", "groups" of rows that are equal in the order, or "range".
    first, last: 0 is the row itself, for "range" and "groups" with those that are equal; None: with the partition.
    excluded:    what it leaves out.
    """

    unit: str
    first: FrameEnd | None
    last: FrameEnd | None
    excluded: Exclusion | None = None


@dataclass(frozen=True)
class PlannedWindow:
    """A window function over the rows of a table.

    column:   what comes out.
    spoken:   the call as SQL.
    function, number, default, ignore_nulls, distinct, fraction: as of `WindowCall`; `default` is a column of the rows.
    argument: the column of the rows that it reads, None for "count" of rows and functions of places.
    """

    column: ColumnDefinition
    spoken: str
    function: str
    argument: str | None
    frame: FrameEnds
    number: int = 1
    default: str | None = None
    ignore_nulls: bool = False
    distinct: bool = False
    fraction: float | None = None


@dataclass(frozen=True)
class RetractingFrames(ChangeOperator):
    """An ordered operator: the rows of a table with window functions over their partitions.

    inputs:  changes of the table, or its rows if it is at rest, and then rows come out.
    keys:    PARTITION BY: names of columns.
    order:   ORDER BY: names of columns with their direction.
    columns: the columns of the rows that come out.
    """

    name: str
    inputs: tuple["Node", ...]
    keys: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    calls: tuple[PlannedWindow, ...]
    columns: tuple[str, ...]
    markers: bool = False

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the rows that come out or that a call reads."""
        named = (name for call in self.calls for name in (call.argument, call.default) if name is not None)
        return tuple({name.lower(): name for name in (*self.columns, *named)}.values())

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        wanted = {name.lower() for name in self.columns}
        given = [column for column in self.inputs[0].properties.columns if column.name.lower() in wanted]
        columns = [*given, *(call.column for call in self.calls)]
        if not self.inputs[0].properties.streaming:
            return Properties(self.name, tuple(columns), False, None, False)
        return self._changing(columns)


@dataclass(frozen=True)
class TemporalFilter(ChangeOperator):
    """An ordered operator: the rows of a table from the time in their column ENTER on until that in LEAVE.

    inputs: changes of the table, or the rows of a stream, with these columns.
    enters, leaves: whether there are these columns; without either it only tells how far the rows are.
    clock:  what goes on.
    spoken: the conditions as SQL.
    """

    name: str
    inputs: tuple["Node", ...]
    enters: bool
    leaves: bool
    clock: Clock
    spoken: tuple[str, ...] = ()
    markers: bool = False

    @property
    def chained(self) -> bool:
        """Whether it goes by the markers of ordered operators."""
        return self.clock == Clock.EVENT_TIME

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        hidden = (IDENTITY, CHANGE, BOUND, ENTER, LEAVE)
        return self._changing(column for column in self.inputs[0].properties.columns if column.name not in hidden)


class StreamJoin(_Operator):
    """What joins of two streams have; see `IntervalJoin`."""

    name: str
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    time: str
    sides: tuple[int, ...]
    markers: bool

    @property
    def properties(self) -> Properties:
        """What is known of the rows."""
        raise NotImplementedError

    def side(self, number: int) -> "Node":
        """Return an input of the left side, 0, or of the right one, 1."""
        return self.inputs[self.sides.index(number)]

    @property
    def time_type(self) -> str:
        """The type of the event times."""
        return self.side(0).properties.event_time_type

    @property
    def time_column(self) -> str:
        """The column of the event time that the rows are followed by."""
        return self._time_column(self.time)

    def _time_column(self, time: str) -> str:
        if time == LATER:
            return LATER
        return time + self.side(int(time == RIGHT)).properties.event_time.column.lower()

    def _given(self) -> tuple[ColumnDefinition, ...]:
        """Return the columns of its rows."""
        given = [
            ColumnDefinition(prefix + column.name.lower(), column.type)
            for side, (prefix, names) in enumerate(zip((LEFT, RIGHT), self.columns, strict=True))
            for column in self.side(side).properties.columns
            if column.name.lower() in names
        ]
        given.append(ColumnDefinition(LATER, self.time_type))
        return (*given, ColumnDefinition(BOUND, "bigint")) if self.markers else tuple(given)

    def _followed(self, holds: Mapping[str, int | None]) -> Properties:
        """Return what is known of its rows; `holds`: how long a row can lie behind each event time, microseconds, None
        for any time."""
        columns = self._given()
        known = {column.name for column in columns}
        offers = {
            time: Watermark(self._time_column(time), hold)
            for time, hold in holds.items()
            if hold is not None and self._time_column(time) in known
        }
        watermark = offers.pop(self.time, None)
        return Properties(self.name, columns, True, watermark, True, others=tuple(offers.values()))


@dataclass(frozen=True)
class IntervalJoin(StreamJoin):
    """An ordered operator: rows of two streams with equal keys whose event times lie close to each other.

    name:       what SQL over it calls it.
    inputs:     the streams, those of the left first.
    keys:       pairs of expressions over the columns of the left and of the right that must be equal.
    low, high:  right time - left time lies between them, microseconds; UNBOUNDED where `limits` alone say it.
    columns:    the columns of the left and of the right that come out; each is one of its columns, after LEFT or RIGHT.
    time:       which event time the rows are followed by: LEFT's, RIGHT's, or the later one, LATER.
    kind:       what comes out: pairs, rows without a partner.
    conditions: what must hold of a pair beside, with LEFT and RIGHT as tables of the columns.
    sides:      which side each input belongs to, 0 or 1.
    markers:    it gives markers beside its rows.
    limits:     for each side up to which time rows of the other side meet a row of it, None if it does not say.
    """

    name: str
    inputs: tuple["Node", ...]
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    low: int
    high: int
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    time: str
    kind: JoinKind = JoinKind.INNER
    conditions: tuple[exp.Expr, ...] = ()
    sides: tuple[int, ...] = (0, 1)
    markers: bool = False
    limits: tuple[TimeUpTo | None, TimeUpTo | None] = (None, None)

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows; an event time is not offered if it is not among the columns, or a row may come any
        time after it."""
        left, right = time_holds(self.low, self.high)
        return self._followed({LEFT: left, RIGHT: right, LATER: time_hold(self.kind, self.low, self.high)})


@dataclass(frozen=True)
class AsOfJoin(StreamJoin):
    """An ordered operator: each row of a stream with the nearest row of another one, of equal keys.

    forward:  the nearest at or after its time, not the nearest at or before it.
    strict:   not one with an equal time.
    outer:    a row of the left that finds none comes out, too.
    deletion: a condition over the columns of the right: from the time of such a row on there is none of its key.
    tolerance: how many microseconds the times may lie apart; None for any.
    conditions: what must hold of a pair. The nearest row is taken among those for which it holds; with `versions` the
              nearest one is taken, and is none where it does not hold.
    null_safe: the places of the keys of which NULL equals NULL.
    The others as of `IntervalJoin`.
    """

    name: str
    inputs: tuple["Node", ...]
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

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out with the later of the two; those that wait in vain in the end."""
        waits = self.forward and self.outer
        return self._followed({} if waits else {LATER: 0, RIGHT if self.forward else LEFT: 0})


@dataclass(frozen=True)
class SparkWatermark:
    """The rows of an ordered operator under Spark's own watermark, which their markers move."""

    input: "Node"

    @property
    def properties(self) -> Properties:
        """What is known of the rows."""
        rows = self.input.properties
        return replace(rows, columns=tuple(column for column in rows.columns if column.name != BOUND))


@dataclass(frozen=True)
class LabelledChanges:
    """Changes of a table as the user sees them, with OPERATION: an update of which SQL has left out one half is an
    insertion or a deletion, and one that changes nothing that is seen is not there."""

    name: str
    input: "Node"

    @property
    def properties(self) -> Properties:
        """What is known of the rows."""
        rows = self.input.properties
        columns = tuple(column for column in rows.columns if column.name not in (CHANGE, IDENTITY))
        operation = ColumnDefinition(OPERATION, "string")
        return replace(rows, name=self.name, columns=(*columns, operation), changes=False)


@dataclass(frozen=True)
class AddedRows:
    """The rows of a table at rest, as ones that a stream adds with the first micro-batch."""

    name: str
    input: "Node"

    @property
    def properties(self) -> Properties:
        """What is known of the rows."""
        return replace(self.input.properties, name=self.name, streaming=True)


Ordered = (
    Match
    | Deduplicate
    | Sort
    | Over
    | WindowAggregate
    | Fill
    | ChangingGroups
    | IntervalJoin
    | AsOfJoin
    | Upserts
    | RetractingGroups
    | TableJoin
    | RankedRows
    | RetractingFrames
    | TemporalFilter
)
Node = Read | Sql | Ordered | SparkWatermark | LabelledChanges | AddedRows

LATER = "later"
"""The column of an interval join with the later one of the two event times."""


def inputs(node: Node) -> tuple[Node, ...]:
    """Return the nodes that a node reads."""
    match node:
        case Sql():
            return tuple(node.inputs.values())
        case SparkWatermark() | LabelledChanges() | AddedRows():
            return (node.input,)
        case Read():
            return ()
    return node.inputs


def with_inputs(node: Node, new: Callable[[Node], Node]) -> Node:
    """Return the node over changed inputs; the node itself where none changes."""
    before = inputs(node)
    after = tuple(map(new, before))
    if all(a is b for a, b in zip(before, after, strict=True)):
        return node
    match node:
        case Sql():
            return replace(node, inputs=dict(zip(node.inputs, after, strict=True)))
        case SparkWatermark() | LabelledChanges() | AddedRows():
            return replace(node, input=after[0])
        case Read():
            return node
    return replace(node, inputs=after)


def transform(root: Node, change: Callable[[Node], Node]) -> Node:
    """Return the plan with every node changed, inner ones first; a node that several read is changed once."""
    done: dict[int, Node] = {}

    def changed(node: Node) -> Node:
        if id(node) not in done:
            done[id(node)] = change(with_inputs(node, changed))
        return done[id(node)]

    return changed(root)


def unshared(root: Sql) -> Sql:
    """Return a plan in which operators that stand for a SELECT, and plain SQL that is no view, are read in one place.

    A clause or a view is one thing however often it is read.
    """
    seen: set[int] = set()

    def own(node: Node) -> Node:
        if isinstance(node, Read | Match | Deduplicate) or (isinstance(node, Sql) and node.view):
            return node
        if id(node) in seen:
            # What is known of a node stays known of its copy.
            node = copy.copy(node)
        seen.add(id(node))
        return with_inputs(node, own)

    found = own(root)
    assert isinstance(found, Sql)
    return found


def walk(node: Node) -> Iterator[Node]:
    """Yield the nodes below a node, inner ones first, then the node; each once."""
    return iter(_gather(node, {}).values())


def reads(node: Node) -> list[Source | Registered]:
    """Return the relations that are read below a node, each once."""
    found = {part.relation.name.lower(): part.relation for part in walk(node) if isinstance(part, Read)}
    return list(found.values())


def takes_rows_away(node: Node) -> bool:
    """Tell whether changes take rows away from a table; else they only add rows."""
    return any(isinstance(below, ChangeOperator) and below.properties.changes for below in walk(node))


def goes_by_time(node: ChangeOperator, number: int) -> bool:
    """Tell whether what an input says of event time counts for an operator over changes."""
    if isinstance(node, TemporalFilter):
        return node.clock == Clock.EVENT_TIME
    return isinstance(node, Upserts) or node.inputs[number].properties.ordered or not node.markers


def missing_time(node: Node, follower: str, place: Span | None) -> Error:
    """Make the error that says why `follower` cannot stand over rows of a stream that have no event time."""
    if isinstance(node, Match):
        return missing_event_time(node.match.program, follower, place)
    if isinstance(node, AsOfJoin) and node.forward:
        return NotSupportedError(
            f"{follower} over an ASOF JOIN that waits for later rows needs to know how late they come out",
            place,
            "keep the event time of the right in the subquery, of a JOIN that is no LEFT JOIN",
        )
    if isinstance(node, IntervalJoin | AsOfJoin):
        hint = "keep the event time of one of the two streams, as it is, in the subquery"
        return ProgrammingError(f"{follower} over a join of streams needs their event time", place, hint)
    if isinstance(node, Fill):
        return NotSupportedError(
            f"{follower} over FILL needs to know how late its rows come out",
            place,
            "FILL (... FOR AT MOST INTERVAL '1' HOUR) bounds it; keep the end of the window, as it is, in the subquery",
        )
    if isinstance(node, WindowAggregate):
        hint = "keep the end of the window, as it is, in the subquery"
        if follower == "ORDER BY":
            hint = "ORDER BY window_end first, or window.end"
        return ProgrammingError(f"{follower} over windows of a stream needs their event time", place, hint)
    if isinstance(node, Over):
        return _missing_time_of_frames(node, follower, place)
    rows = _spoken_rows(node)
    return NotSupportedError(f"{follower} over {rows} is not supported: it gives no event time", place)


def _spoken_rows(node: Node) -> str:
    """Return in words what the rows of a stream are that a node gives."""
    match node:
        case Match():
            return "the matches of a stream"
        case StreamJoin():
            return JOINED
        case WindowAggregate() | Fill():
            return "windows of a stream"
        case Over():
            return "window functions of a stream"
        case Deduplicate():
            return "the first rows of a stream"
    return "a stream"


def _missing_time_of_frames(node: Over, follower: str, place: Span | None) -> Error:
    if node.frames.reach.waits:
        return NotSupportedError(
            f"{follower} over window functions of a stream needs to know how late their rows come out",
            place,
            "a row can wait for ever for the rows after it: RANGE BETWEEN ... AND INTERVAL '1' MINUTE FOLLOWING waits "
            "for a time",
        )
    hint = "keep the event time of the stream, as it is, in the subquery"
    return ProgrammingError(f"{follower} over window functions of a stream needs their event time", place, hint)


def _gather(node: Node, found: dict[int, Node]) -> dict[int, Node]:
    if id(node) not in found:
        for below in inputs(node):
            _gather(below, found)
        found[id(node)] = node
    return found
