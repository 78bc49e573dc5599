"""The nodes of a plan, and what is known of the rows of each: derived from the node and its inputs, never stored."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar, cast

from sqlglot import exp

from cepsql.analysis.clauses.assigned_window_calls import AssignedWindows
from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.sql.properties import CHANGE, IDENTITY, Properties
from cepsql.analysis.sql.resolve import Resolved, catalog_tables, flat_name, resolve, table_name
from cepsql.analysis.sql.written import Written
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition, Registered, Source
from cepsql.errors import Error, NotSupportedError, Span, answer, granted
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.after_match import check_after_matches
from cepsql.plan.tree.clock import Clock
from cepsql.plan.tree.markers import BOUND, without_ctes
from cepsql.readers.scan.choose import Choice
from cepsql.readers.scan.projection import ArrowScan
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.scalar.expressions import Session

_ROWS = "a stream"
"""What messages call rows of no operator."""


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
    def streaming(self) -> bool:
        """Whether any input is a stream, without a look at the names in the query."""
        return any(map(is_stream, self.inputs.values()))

    @cached_property
    def tables(self) -> Sequence[exp.Table]:
        """Where the query names its inputs; see `catalog_tables`."""
        return catalog_tables(self.query)

    @cached_property
    def resolved(self) -> Resolved:
        """The query with its names resolved; raises ProgrammingError for unknown ones."""
        return resolve(self.query, lambda table: self.inputs[table_name(table)].properties, self.tables)

    @cached_property
    def inlined(self) -> Resolved:
        """The same, where subqueries stand in place of the names of CTEs."""
        query = without_ctes(self.query)
        if query is self.query:
            return self.resolved
        return resolve(query, lambda table: self.inputs[table_name(table)].properties)

    @property
    def _reads_ordered(self) -> bool:
        return any(node.properties.ordered for node in self.inputs.values())

    @cached_property
    def _state(self) -> bool | Error:
        """Whether Spark keeps state for the query, or why it is refused."""
        if not self._reads_ordered or self.inlined.projection is not None:
            return False
        flat = {flat_name(name): node.properties for name, node in self.inputs.items()}
        words = {flat_name(name): row_words(node) for name, node in self.inputs.items()}
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
        rows = known_rows(self)
        if rows is not None:
            return not rows.ordered and self._reads_ordered
        return granted(self._state)

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows; raises what `resolved` and `stateful` raise."""
        resolved = self.resolved
        stateful = self.stateful
        return Properties(
            self.view or "",
            resolved.columns,
            resolved.streaming,
            None if stateful else resolved.watermark,
            self._reads_ordered and not stateful,
            resolved.merged or any(node.properties.merged for node in self.inputs.values()),
            any(column.name == CHANGE for column in resolved.columns),
            () if stateful else resolved.others,
        )

    def _missing_time(self, name: str, follower: str, place: Span | None) -> Error:
        input_node = next(node for key, node in self.inputs.items() if flat_name(key) == name)
        return missing_time(input_node, follower, place)


@dataclass(frozen=True)
class RowWindows:
    """Windows of event time, and the rows without them."""

    assigned: AssignedWindows
    rows: Sql


class Ordered:
    """A plan operator, which remembers rows between micro-batches: one file of `cepsql.plan.operators` each.

    inputs:    what it reads.
    markers:   it gives markers beside its rows.
    once:      it is one thing however often it is read, as a clause is.
    united:    several inputs are streams of the same columns, whose rows are merged in the order of event time.
    timed:     it goes by the event time of its rows.
    compares:  rows of its sides meet by keys, which have a type in common.
    hosts:     an operator over it may run in its stage.
    keeps_order: it gives out the rows of each of its keys in their order.
    arrival:   rows of one time of its inputs come in the order in which their source has them.
    windowed:  it gives windows of event time, or the groups in them.
    sorts:     it gives out all rows in one order.
    fills:     it gives rows for windows in which nothing came.
    counts_at_once: it takes plain rows whenever they come, and needs no event time.
    row_words: what messages call its rows.
    """

    inputs: tuple["Node", ...]
    markers: bool
    once: ClassVar[bool] = False
    united: ClassVar[bool] = True
    compares: ClassVar[bool] = False
    hosts: ClassVar[bool] = False
    keeps_order: ClassVar[bool] = False
    arrival: ClassVar[bool] = False
    windowed: ClassVar[bool] = False
    sorts: ClassVar[bool] = False
    fills: ClassVar[bool] = False
    counts_at_once: ClassVar[bool] = False
    row_words: ClassVar[str] = _ROWS

    @property
    def properties(self) -> Properties:
        """What is known of the rows."""
        raise NotImplementedError

    @cached_property
    def scan_choices(self) -> dict[Session, list[Choice[ArrowScan] | None]]:
        """How its inputs are read, by the rules of a session, where `cepsql.plan.tree.scans` was asked for that."""
        return {}

    @property
    def chained(self) -> bool:
        """Whether it reads rows of ordered operators, and waits for their markers."""
        return any(node.properties.ordered for node in self.inputs)

    @property
    def timed(self) -> bool:
        """Whether it goes by the event time of its rows."""
        return True

    @property
    def retracts(self) -> bool:
        """Whether its rows may take back earlier ones."""
        return False

    @property
    def only_adds(self) -> bool:
        """Whether no row is taken away of what it gives out, if none is of what it reads."""
        return not self.retracts

    def asks_identities(self, asked: bool) -> bool:
        """Tell whether it reads what tells the rows of its inputs from one another; `asked`: something reads that of
        its own rows."""
        return True

    def without_identities(self) -> Self:
        """Return the operator where nothing reads what tells its rows from one another."""
        return self

    @property
    def identity_columns(self) -> tuple[str, ...]:
        """The columns that tell one row of a result that changes from another."""
        raise NotImplementedError

    @property
    def pattern_match(self) -> MatchPlan | None:
        """The search for a row pattern that it is; None if it is another operator."""
        return None

    @property
    def expires(self) -> Clock | None:
        """What time lets its rows leave by; None: they don't leave by time."""
        return None

    @property
    def only_tells_time(self) -> bool:
        """Whether it gives all its rows as they are, and only tells how far they are."""
        return False

    @property
    def times_of_input(self) -> bool:
        """Whether its event time is that of its input, so that to follow it by another one is to read other rows."""
        return False

    @property
    def match_id(self) -> str | None:
        """The column that tells its rows, each a match, apart; None if there is none."""
        return None

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        raise NotImplementedError

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        raise NotImplementedError

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel; raises Unlike where only Spark can read them."""
        raise Unlike(f"{type(self).__name__} is read by Spark only")

    def layouts(self, session: Session) -> list[RowLayout]:
        """Return the columns that travel, of each input; raises Unlike where only Spark can read them."""
        return [self.layout()] * len(self.inputs)

    def side_of(self, number: int) -> int:
        """Return which side an input belongs to."""
        return 0

    def goes_by_time(self, number: int) -> bool:
        """Tell whether what an input says of event time counts."""
        return True

    def by_arrival(self, number: int) -> bool:
        """Tell whether rows of one time of an input come in the order in which their source has them."""
        return self.arrival

    def reads_versions(self, number: int) -> bool:
        """Tell whether the rows of an input are the versions of a table, some of which end others."""
        return False

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over its rows, which have no event time."""
        return NotSupportedError(f"{follower} over {self.row_words} is not supported: it gives no event time", place)

    def followed_by(self, time: str) -> "Ordered":
        """Return the operator followed by another one of its event times; itself where its rows don't have that one."""
        return self

    def searches(self, match: MatchPlan) -> bool:
        """Tell whether it is the search for a row pattern of this clause."""
        return self.pattern_match is not None and self.pattern_match.clause == match.clause

    def called(self, name: str) -> "Ordered":
        """Return the operator as SQL over it calls it; itself if it has had its name from the beginning."""
        return self

    def with_branches(self, branches: Sequence[Sequence["Node"]]) -> "Ordered":
        """Return the operator over the branches of each input side by side."""
        return self.changed(inputs=tuple(branch for parts in branches for branch in parts))

    def with_bound(self, columns: Iterable[ColumnDefinition]) -> tuple[ColumnDefinition, ...]:
        """Return the columns of its rows, and BOUND if it gives markers."""
        return (*columns, ColumnDefinition(BOUND, "bigint")) if self.markers else tuple(columns)

    def changed(self, **parts: Any) -> Self:
        """Return the operator with other parts."""
        return replace(cast(Any, self), **parts)


class ChangeOperator(Ordered):
    """What operators that give out changes of a table have; nothing but each other and plain SQL stands over them.

    name:    what SQL over it calls it.
    markers: it tells how far its inputs are, for rows that leave by time.
    """

    name: str
    markers: bool
    united = False

    @property
    def chained(self) -> bool:
        """Whether it waits for the markers of ordered operators; changes come whenever they come."""
        return self.markers

    @property
    def retracts(self) -> bool:
        """Whether its rows may take back earlier ones."""
        return self.properties.changes

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel; raises Unlike where only Spark can read them."""
        raise Unlike("tables that change are read by it")

    def goes_by_time(self, number: int) -> bool:
        """Tell whether what an input says of event time counts."""
        return self.inputs[number].properties.ordered or not self.markers

    def with_branches(self, branches: Sequence[Sequence["Node"]]) -> "Ordered":
        """Return the operator itself: changes of a UNION ALL are those of its rows."""
        return self

    def _changing(self, columns: Iterable[ColumnDefinition]) -> Properties:
        hidden = ColumnDefinition(IDENTITY, "string"), ColumnDefinition(CHANGE, "tinyint")
        return Properties(self.name, self.with_bound((*columns, *hidden)), True, None, True, changes=True)


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


Node = Read | Sql | Ordered | SparkWatermark | LabelledChanges | AddedRows

N = TypeVar("N", bound=Node)


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
            changed: Node = replace(node, inputs=dict(zip(node.inputs, after, strict=True)))
            if "tables" in node.__dict__:
                changed.__dict__["tables"] = node.tables
        case SparkWatermark() | LabelledChanges() | AddedRows():
            return replace(node, input=after[0])
        case Read():
            return node
        case _:
            changed = node.changed(inputs=after)
    if all(a is b or known_rows(a) == known_rows(b) is not None for a, b in zip(before, after, strict=True)):
        return with_known(changed, known_rows(node))
    if isinstance(changed, Ordered) and None not in map(known_rows, (node, *after)):
        # It takes no time, and tells the nodes above whether the rows are the same; whoever reads an error raises it.
        operator = changed
        answer(lambda: operator.properties)
    return changed


def with_known(node: N, rows: Properties | None) -> N:
    """Let what is known of other rows be known of a node that gives just these; return the node."""
    if rows is not None:
        node.__dict__["properties"] = rows
    return node


def sql_over(query: exp.Query, nodes: Mapping[str, Node], view: str | None = None) -> Sql:
    """Return plain SQL over those of the nodes that a query reads, in the order in which it names them."""
    tables = catalog_tables(query)
    made = Sql(query, {name: nodes[name] for name in dict.fromkeys(map(table_name, tables))}, view)
    made.__dict__["tables"] = tables
    return made


def known_rows(node: Node) -> Properties | None:
    """Return the `properties` of a node if somebody has asked for them, None if they are still to be found."""
    return node.__dict__.get("properties")


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
        if isinstance(node, Read) or (isinstance(node, Ordered) and node.once) or (isinstance(node, Sql) and node.view):
            return node
        if id(node) in seen:
            # What is known of a node stays known of its copy.
            node = copy.copy(node)
        seen.add(id(node))
        return with_inputs(node, own)

    copied = own(root)
    assert isinstance(copied, Sql)
    return copied


def walk(node: Node) -> Iterator[Node]:
    """Yield the nodes below a node, inner ones first, then the node; each once."""
    return iter(_gather(node, {}).values())


def reads(node: Node) -> list[Source | Registered]:
    """Return the relations that are read below a node, each once."""
    relations = {part.relation.name.lower(): part.relation for part in walk(node) if isinstance(part, Read)}
    return list(relations.values())


def matches_of(node: Node) -> list[MatchPlan]:
    """Return the searches for row patterns up to a node, inner ones first."""
    matches = (part.pattern_match for part in walk(node) if isinstance(part, Ordered))
    return [match for match in matches if match is not None]


def is_stream(node: Node) -> bool:
    """Tell whether the rows of a node never end, without a look at its columns."""
    match node:
        case Read():
            return node.relation.streaming
        case Sql():
            return node.streaming
        case ChangeOperator():
            return any(map(is_stream, node.inputs))
        case AddedRows():
            return True
    return node.properties.streaming


def takes_rows_away(node: Node) -> bool:
    """Tell whether changes are taken to take rows away from a table, as checkpoints know it: those of each operator
    over changes are, also of one that `only_adds`."""
    return any(isinstance(below, Ordered) and below.retracts for below in walk(node))


def only_adds(node: Node) -> bool:
    """Tell whether no row of a node is ever taken away."""
    return all(below.only_adds for below in walk(node) if isinstance(below, Ordered))


def missing_time(node: Node, follower: str, place: Span | None) -> Error:
    """Make the error that says why `follower` cannot stand over rows of a stream that have no event time."""
    if isinstance(node, Ordered):
        return node.missing_time(follower, place)
    return NotSupportedError(f"{follower} over {row_words(node)} is not supported: it gives no event time", place)


def row_words(node: Node) -> str:
    """Return in words what the rows of a stream are that a node gives."""
    return node.row_words if isinstance(node, Ordered) else _ROWS


def _gather(node: Node, nodes: dict[int, Node]) -> dict[int, Node]:
    if id(node) not in nodes:
        for below in inputs(node):
            _gather(below, nodes)
        nodes[id(node)] = node
    return nodes
