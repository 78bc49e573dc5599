"""One micro-batch of one bucket: open its packets, move the bound, release rows to the operator, write the state."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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

    delay: how many microseconds its rows may come after later ones.
    side:  which of the operator's relations its rows belong to; several inputs may make up one.
    chained: its rows come from another stage, whose markers say when it ends. A control row ends all other inputs.
    name:  what its counts are shown under.
    heartbeat: after how many microseconds of the clock without rows its event time goes on with the clock; None: it
           waits for rows.
    by_producer: the slowest producer of its rows says how far it is.
    idle:  after how many microseconds of the clock without rows a producer is not waited for; None: it always is.
    untimed: how far it is says nothing about the bound.
    seen: its rows, which have no event time for the operator, tell how far it is all the same.
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

    identity: of the query; a state that was written under another one is refused.
    endless:  the end of the input leaves the bound where it was, for nothing is decided by it.
    lateness: None: rows come to the operator in the order of time, below the bound. Else they come as soon as they are
              there, and a row is late only so many microseconds behind the bound.
    Until when a row counts its layout says. One that does after its own time comes to the operator though the bound has
    passed that.
    """

    operator: Operator
    inputs: tuple[StageInput, ...]
    identity: str
    lateness: int | None = None
    endless: bool = False

    def late_bound(self, bound: int) -> int:
        """Return the bound for rows that come now: one that counts until then, or less, is late."""
        return bound - (self.lateness or 0)


@dataclass(frozen=True)
class Advanced:
    """What a micro-batch gave.

    output:   the operator's output; a table without columns if there is none.
    changes:  what its rows do, as in `cepsql.ordered.operator.Step`.
    state:    the bucket's new state.
    size:     how many bytes that takes, with its files.
    counts:   this batch's counts.
    bound:    rows at or below this event time were released; BEGINNING: none yet, IDLE: nor does another stage wait for
              one.
    standing: what the bucket holds now.
    rejected: for each input the rows that were not used, as `cepsql.ordered.rejected` has them; None if there are none,
              or if they do not travel whole.
    """

    output: pa.Table
    changes: pa.Array | None
    state: bytes
    size: int
    counts: Tally
    bound: int
    standing: Standing
    rejected: tuple[pa.Table | None, ...]


def advance(
    stage: Stage, state: bytes | None, packets: Iterable[bytes | Packet], folder: StateFolder | None = None
) -> Advanced:
    """Take one micro-batch of a bucket.

    state:  what the bucket's last call returned, None at first.
    folder: where files of the state are; None: it has none.
    The bound is the least over the inputs of the greatest event time less the delay, BEGINNING while one has shown no
    row. After the first heartbeat without new rows the greatest event time of an input that has heartbeats grows as the
    clock does; an input that has shown no row is not waited for then. Rows at or below the new bound are released; rows
    at or below the old one are late, counted and dropped; the others wait, unless the stage lets them come at once.
    Without heartbeats, what comes out in all depends on the rows and on which of them are late only, not on how they
    were split into batches and packets.
    Raises OperationalError if the state is not of this query, of these column types, or of this version, or if one of
    its files is gone or damaged, or cannot be written.
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
    step, kept = release(operator, before.kept, came.rows, before.bound, bound, at_once, numbering.ranks())
    tally = Tally(came.counts, {name: step.counts.get(name, 0) for name in operator.counters})
    after = State(bound, came.reached, kept, numbering.of(kept.waiting), before.log)
    if kept.keyed is not None:
        keyed, log = put_away(kept.keyed, before.files, before.log, folder)
        after = replace(after, kept=replace(kept, keyed=keyed), log=log)
    written = encode(after, operator, stage.identity)
    holds = standing(operator, kept, step.deadlines)
    size = len(written) + after.file_bytes
    idle = bound == BEGINNING and all(one.greatest == IDLE for one in came.reached)
    return Advanced(step.output, step.changes, written, size, tally, IDLE if idle else bound, holds, came.rejected)


@dataclass(frozen=True)
class _Received:
    """What packets brought: of each side the rows that are not late, of each input what became of all its rows."""

    reached: tuple[Reached, ...]
    rows: list[list[pa.Table]]
    counts: tuple[Counts, ...]
    rejected: tuple[pa.Table | None, ...]


class _Arrived:
    """What the packets of an input bring; of many rows those of some packets at a time are copied out of these.

    told:     the packets without their rows.
    rows:     those that are not late, after `gathered`.
    rejected: those that were not used, in pieces.
    """

    def __init__(self, layout: RowLayout, bound: int, numbering: Numbering):
        self.told: list[Packet] = []
        self.rows: list[pa.Table] = []
        self.rejected: list[pa.Table] = []
        self.counts = Counts()
        self._layout, self._bound, self._numbering = layout, bound, numbering
        self._loose: list[pa.Table] = []
        self._loose_rows = 0

    def take(self, packet: Packet) -> None:
        """Take the next packet."""
        rejected = rejected_rows([packet], self._bound, partial(_until, self._layout))
        if rejected is not None:
            self.rejected.append(rejected)
        if packet.rows is not None and packet.runs:
            packet = replace(packet, rows=self._numbering.placed(packet.rows, packet.input, packet.runs))
        rows, counts = _on_time(packet, self._layout, self._bound)
        self.counts += counts
        # Nothing that shares the memory of the packet stays.
        self.told.append(replace(packet, rows=None, aside=None, dead=_NO_TIMES))
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
    came = [_Arrived(stage.operator.sides[given.side], late_bound, numbering) for given in stage.inputs]
    for packet in map(open_packet, packets):
        came[packet.input].take(packet)
    rows: list[list[pa.Table]] = [[] for _ in stage.operator.sides]
    for mine, given in zip(came, stage.inputs, strict=True):
        rows[given.side] += mine.gathered()
    return _Received(
        reached_after(stage.inputs, before.reached, [mine.told for mine in came], stage.endless),
        rows,
        tuple(mine.counts for mine in came),
        tuple(stack(mine.rejected) if mine.rejected else None for mine in came),
    )


def _bound(stage: Stage, reached: tuple[Reached, ...]) -> int:
    """Return the event time up to which all inputs that are waited for have come."""
    times = [
        one.greatest if one.greatest in (BEGINNING, END_OF_TIME) else one.greatest - given.delay
        for one, given in zip(reached, stage.inputs, strict=True)
        if one.greatest != IDLE and not given.untimed
    ]
    return min(times, default=BEGINNING)


def _on_time(packet: Packet, layout: RowLayout, bound: int) -> tuple[pa.Table | None, Counts]:
    """Return the rows of a packet that are not late, None if there are none, and what becomes of all."""
    used = int(np.count_nonzero(packet.dead > bound))
    late, rows = len(packet.dead) - used, None
    if packet.rows is not None:
        chosen, records = _until(layout, packet.rows) > bound, _records(packet.rows)
        rows = _chosen(_plain(packet.rows), chosen)
        used += int(records[chosen].sum())
        late += int(records[~chosen].sum())
    return rows if rows is not None and rows.num_rows else None, packet.counts + Counts(used=used, late=late)


def _chosen(rows: pa.Table, chosen: np.ndarray) -> pa.Table:
    # Mostly all are, and nothing is copied.
    return rows if chosen.all() else rows.filter(pa.array(chosen))


def _until(layout: RowLayout, rows: pa.Table) -> np.ndarray:
    """Return the event time until which each row counts."""
    return integers(rows["t"]) if layout.until is None or ROWS in rows.column_names else layout.until(rows)


def _records(rows: pa.Table) -> np.ndarray:
    """Return how many records each row counts for, those among them that a reduction joined."""
    for name in (COUNTED, ROWS):
        if name in rows.column_names:
            return integers(pc.fill_null(rows[name], 0))
    return (~marked(rows, REPEATED)).astype(np.int64)


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without the columns that only counting them, and rejected ones, need."""
    extra = [name for name in (WHOLE, REPEATED, COUNTED) if name in rows.column_names]
    return rows.drop_columns(extra) if extra else rows


def _joined(rows: pa.Table, layout: RowLayout) -> pa.Table:
    """Return rows as the reduction joins them, also those that did not go through it before the shuffle."""
    if not layout.joins or layout.reduction is None or ROWS in rows.column_names:
        return rows
    (batch,) = compact(rows).to_batches()
    return pa.Table.from_batches([layout.reduction(batch)[0]])


def _check_types(before: State, arrived: list[list[pa.Table]]) -> None:
    """Raise OperationalError if columns came with other types than they are stored with, or than elsewhere."""
    for side, tables in enumerate(arrived):
        kept = before.kept
        tables_before = (kept.held[side], kept.waiting[side], *kept.sections.values())
        stored = [table.schema for table in tables_before if table is not None]
        stored += [] if kept.keyed is None else kept.keyed.schemas.values()
        for table in tables:
            for schema in stored:
                check_types(schema, table.schema)
