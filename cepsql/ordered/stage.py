"""One micro-batch of one bucket: read its packets, move the bound, release rows to the operator, write the state."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.cached_property import cached_property
from cepsql.errors import OperationalError
from cepsql.ordered.arrival import Numbering
from cepsql.ordered.counts import Counts, Tally
from cepsql.ordered.keyed.state_files import StateFolder, put_away
from cepsql.ordered.operator import Operator
from cepsql.ordered.packet import Packet, open_packet
from cepsql.ordered.plain_columns import MANY_ROWS, check_types, compact, integers, marked, stack, stack_freely
from cepsql.ordered.reached import Reached, reached_after
from cepsql.ordered.rejected import WHOLE, rejected_rows
from cepsql.ordered.release import release
from cepsql.ordered.row_layout import BEGINNING, COUNTED, END_OF_TIME, IDLE, REPEATED, ROWS, RowLayout
from cepsql.ordered.stage_status import Standing, standing
from cepsql.ordered.state import State, decode, encode, first_state

_NO_TIMES = np.zeros(0, np.int64)


@dataclass(frozen=True)
class StageInput:
    """One of the inputs of a stage.

    delay: the watermark delay of its rows, in microseconds.
    side:  the side of the operator that its rows belong to; several inputs may share one.
    chained: its rows come from another stage, whose markers signal its end. A control row ends all other inputs.
    name:  the name of its counts.
    heartbeat: the microseconds of the clock without rows after which its event time advances with the clock; None: it
           waits for rows.
    by_producer: its slowest producer determines its event time.
    idle:  the microseconds of the clock without rows after which a producer counts as idle; None: never.
    untimed: its event time does not affect the bound.
    seen: its rows have no event time for the operator, but advance the input's event time.
    """

    delay: int
    side: int = 0
    chained: bool = False
    name: str = ""
    heartbeat: int | None = None
    by_producer: bool = False
    idle: int | None = None
    untimed: bool = False
    seen: bool = False


@dataclass(frozen=True)
class Stage:
    """An operator with its inputs.

    identity: the identity of the query; a state of another identity is refused.
    endless:  the end of the input does not move the bound, because it decides nothing.
    lateness: None: the operator gets rows in the order of time, below the bound. Otherwise it gets them at once, and a
              row is late only so many microseconds behind the bound.
    The layout says until when a row counts. A row that counts beyond its own time reaches the operator although the
    bound has passed its time.
    """

    operator: Operator
    inputs: tuple[StageInput, ...]
    identity: str
    lateness: int | None = None
    endless: bool = False

    def late_bound(self, bound: int) -> int:
        """Return the bound for new rows: a row that counts only until then is late."""
        return bound - (self.lateness or 0)


@dataclass(frozen=True)
class Advanced:
    """The result of a micro-batch.

    output:   the operator's output; a table without columns if it is empty.
    changes:  the changes of its rows, as in `cepsql.ordered.operator.Step`.
    counts:   this batch's counts.
    bound:    rows at or below this event time were released; BEGINNING: none yet, IDLE: other stages do not wait for
              any, either.
    standing: the bucket's status.
    rejected: for each input the rejected rows, in the form of `cepsql.ordered.rejected`; None without any, or if they
              do not travel whole.
    after:    the bucket's new state, which is written when it is first asked for. That raises OperationalError if one
              of its files cannot be written, or if it is larger than Spark stores.
    """

    output: pa.Table
    changes: pa.Array | None
    counts: Tally
    bound: int
    standing: Standing
    rejected: tuple[pa.Table | None, ...]
    after: "NewState"

    @property
    def state(self) -> bytes:
        """The bytes of the new state."""
        return self.after.written[0]

    @property
    def size(self) -> int:
        """The size of the new state in bytes, with its files."""
        return self.after.written[1]


@dataclass(frozen=True)
class NewState:
    """The state of a stage after a micro-batch.

    state:  with the change of its state by key not made yet.
    before: the names of the files of the state before it.
    folder: the folder of its files; None without files.
    """

    stage: Stage
    state: State
    before: Collection[str]
    folder: StateFolder | None

    @cached_property
    def written(self) -> tuple[bytes, int]:
        """The bytes of the state, written once, and its size with its files."""
        after, operator_state = self.state, self.state.operator_state
        if operator_state.keyed is not None:
            change = operator_state.change
            keyed = operator_state.keyed if change is None else operator_state.keyed.changed(change)
            keyed, log = put_away(keyed, self.before, after.log, self.folder)
            after = replace(after, operator_state=replace(operator_state, keyed=keyed, change=None), log=log)
        data = encode(after, self.stage.operator, self.stage.identity)
        return data, len(data) + after.file_bytes


def advance(
    stage: Stage, state: bytes | None, packets: Iterable[bytes | Packet], folder: StateFolder | None = None
) -> Advanced:
    """Process one micro-batch of a bucket.

    state:  the state of the bucket's last call, None at first.
    folder: the folder of the state's files; None without files.
    The bound is the minimum over the inputs of the greatest event time less the delay, BEGINNING while an input has had
    no row. After the first heartbeat without new rows the greatest event time of an input with heartbeats advances with
    the clock; an input without any row does not hold back the bound then. Rows at or below the new bound are released;
    rows at or below the old one are late, counted and dropped; the others wait, unless the stage passes them on at
    once. Without heartbeats, the total output depends only on the rows and on which of them are late, not on how they
    are split into batches and packets.
    Raises OperationalError if the state is not of this query, of these column types, or of this version, or if one of
    its files is gone or damaged.
    """
    operator = stage.operator
    before = (
        first_state(operator, len(stage.inputs)) if state is None else decode(state, operator, stage.identity, folder)
    )
    if len(before.reached) != len(stage.inputs):
        raise OperationalError(
            f"the stored state has {len(before.reached)} inputs, the query {len(stage.inputs)}",
            hint="start the query with a new checkpoint and replay its input",
        )
    numbering = Numbering(before.origins)
    came = _receive(stage, before, packets, numbering)
    bound = max(before.bound, _bound(stage, came.reached))
    _check_types(before, came.rows)
    at_once = stage.lateness is not None
    step, operator_state = release(
        operator, before.operator_state, came.rows, before.bound, bound, at_once, numbering.ranks()
    )
    tally = Tally(came.counts, {name: step.counts.get(name, 0) for name in operator.counters})
    after = State(bound, came.reached, operator_state, numbering.of(operator_state.waiting), before.log)
    holds = standing(operator, operator_state, step.deadlines)
    new_state = NewState(stage, after, before.files, folder)
    idle = bound == BEGINNING and all(one.greatest == IDLE for one in came.reached)
    return Advanced(step.output, step.changes, tally, IDLE if idle else bound, holds, came.rejected, new_state)


@dataclass(frozen=True)
class _Received:
    """The contents of packets: for each side the rows that are not late, for each input the counts of all rows."""

    reached: tuple[Reached, ...]
    rows: list[list[pa.Table]]
    counts: tuple[Counts, ...]
    rejected: tuple[pa.Table | None, ...]


class _Arrived:
    """The packets of an input; many rows are copied out of them, some packets at a time.

    packets:  the packets without their rows.
    rows:     the rows that are not late, after `gathered`.
    rejected: the rejected rows, in pieces.
    """

    def __init__(self, layout: RowLayout, bound: int, numbering: Numbering):
        self.packets: list[Packet] = []
        self.rows: list[pa.Table] = []
        self.rejected: list[pa.Table] = []
        self.counts = Counts()
        self._layout, self._bound, self._numbering = layout, bound, numbering
        self._loose: list[pa.Table] = []
        self._loose_rows = 0

    def take(self, packet: Packet) -> None:
        """Add a packet."""
        rejected = rejected_rows([packet], self._bound, partial(_until, self._layout))
        if rejected is not None:
            self.rejected.append(rejected)
        if packet.rows is not None and packet.runs:
            packet = replace(packet, rows=self._numbering.placed(packet.rows, packet.input, packet.runs))
        rows, counts = _on_time(packet, self._layout, self._bound)
        self.counts += counts
        # Keep no reference to the packet's memory.
        self.packets.append(replace(packet, rows=None, aside=None, dead=_NO_TIMES))
        if rows is None:
            return
        self._loose.append(_joined(rows, self._layout))
        self._loose_rows += self._loose[-1].num_rows
        if self._loose_rows >= MANY_ROWS:
            self.rows.append(stack_freely(self._loose))
            self._loose_rows = 0

    def gathered(self) -> list[pa.Table]:
        """Return the rows after the last packet."""
        self.rows += self._loose
        return self.rows


def _receive(stage: Stage, before: State, packets: Iterable[bytes | Packet], numbering: Numbering) -> _Received:
    late_bound = stage.late_bound(before.bound)
    came = [_Arrived(stage.operator.sides[input.side], late_bound, numbering) for input in stage.inputs]
    for packet in map(open_packet, packets):
        came[packet.input].take(packet)
    rows: list[list[pa.Table]] = [[] for _ in stage.operator.sides]
    for mine, input in zip(came, stage.inputs, strict=True):
        rows[input.side] += mine.gathered()
    return _Received(
        reached_after(stage.inputs, before.reached, [mine.packets for mine in came], stage.endless),
        rows,
        tuple(mine.counts for mine in came),
        tuple(stack(mine.rejected) if mine.rejected else None for mine in came),
    )


def _bound(stage: Stage, reached: tuple[Reached, ...]) -> int:
    """Return the least watermark of the inputs that hold back the bound."""
    times = [
        one.greatest if one.greatest in (BEGINNING, END_OF_TIME) else one.greatest - input.delay
        for one, input in zip(reached, stage.inputs, strict=True)
        if one.greatest != IDLE and not input.untimed
    ]
    return min(times, default=BEGINNING)


def _on_time(packet: Packet, layout: RowLayout, bound: int) -> tuple[pa.Table | None, Counts]:
    """Return the rows of a packet that are not late, or None, and the counts of all its rows."""
    used = int(np.count_nonzero(packet.dead > bound))
    late, rows = len(packet.dead) - used, None
    if packet.rows is not None:
        chosen, records = _until(layout, packet.rows) > bound, _records(packet.rows)
        rows = _chosen(_plain(packet.rows), chosen)
        used += int(records[chosen].sum())
        late += int(records[~chosen].sum())
    return rows if rows is not None and rows.num_rows else None, packet.counts + Counts(used=used, late=late)


def _chosen(rows: pa.Table, chosen: np.ndarray) -> pa.Table:
    # Usually all are chosen, and nothing is copied.
    return rows if chosen.all() else rows.filter(pa.array(chosen))


def _until(layout: RowLayout, rows: pa.Table) -> np.ndarray:
    """Return the event time until which each row counts."""
    return integers(rows["t"]) if layout.until is None or ROWS in rows.column_names else layout.until(rows)


def _records(rows: pa.Table) -> np.ndarray:
    """Return the number of records of each row, including those that a reduction merged."""
    for name in (COUNTED, ROWS):
        if name in rows.column_names:
            return integers(pc.fill_null(rows[name], 0))
    return (~marked(rows, REPEATED)).astype(np.int64)


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without the columns for counts and rejected rows."""
    extra = [name for name in (WHOLE, REPEATED, COUNTED) if name in rows.column_names]
    return rows.drop_columns(extra) if extra else rows


def _joined(rows: pa.Table, layout: RowLayout) -> pa.Table:
    """Apply the reduction to rows that did not go through it before the shuffle."""
    if not layout.joins or layout.reduction is None or ROWS in rows.column_names:
        return rows
    (batch,) = compact(rows).to_batches()
    return pa.Table.from_batches([layout.reduction(batch)[0]])


def _check_types(before: State, arrived: list[list[pa.Table]]) -> None:
    """Raise OperationalError if columns arrive with other types than in the state, or in other tables."""
    for side, tables in enumerate(arrived):
        state = before.operator_state
        tables_before = (state.held[side], state.waiting[side], *state.sections.values())
        stored = [table.schema for table in tables_before if table is not None]
        stored += [] if state.keyed is None else state.keyed.schemas.values()
        for table in tables:
            for schema in stored:
                check_types(schema, table.schema)
