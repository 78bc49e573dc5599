"""The rows of one partition key in a stage: released, waiting for the watermark, or late."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.operators.matching.match_operator import NUMBERS, MatchOperator
from cepsql.operators.matching.match_rows import Scanned
from cepsql.ordered.arrival import Numbering
from cepsql.ordered.held import CONTEXT, FIRST
from cepsql.ordered.keys import find_keys
from cepsql.ordered.packet import open_packet
from cepsql.ordered.per_key import read_numbers
from cepsql.ordered.plain_columns import stack, take_rows
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME
from cepsql.ordered.sorting import partition_rows
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import State, decode, first_state
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.output import COVERED
from cepsql.pattern.program import MatchProgram


@dataclass(frozen=True)
class KeyRows:
    """The rows of one key, in order.

    released: the rows that may be matched.
    waiting:  the rows above the bound, or None.
    late:     the late rows, or None.
    bound:    the event time up to which rows were released; END_OF_TIME for a bounded relation.
    timeless: the number of rows without event time.
    scan:     how many of the released rows are there only for PREV.
    number:   the number of earlier matches.
    """

    released: pa.Table
    waiting: pa.Table | None = None
    late: pa.Table | None = None
    bound: int = END_OF_TIME
    timeless: int = 0
    scan: int = 0
    number: int = 0

    def partition(self) -> Partitions:
        """Return the released rows as input of the matcher."""
        scan, end, number = (np.array([n], np.int64) for n in (self.scan, self.released.num_rows, self.number))
        return Partitions(self.released, np.append([0], end), scan, end, number, self.bound)


def sort_batches(
    program: MatchProgram, inputs: tuple[StageInput, ...], batches: Iterable[Sequence[bytes]], ties: Sequence[str]
) -> KeyRows | None:
    """Process the packets of one key, micro-batch by micro-batch, as the stage of a standing query does.

    ties: the columns that break the last ties.
    Returns None if the key has no row.
    """
    stage = Stage(MatchOperator(program, _keep_all), inputs, "")
    state, bound, late, timeless = None, BEGINNING, [], 0
    for packets in batches:
        late += [rows.filter(pc.less_equal(rows["t"], bound)) for rows in _rows(packets)]
        advanced = advance(stage, state, packets)
        state, bound, timeless = advanced.state, advanced.bound, timeless + advanced.counts.rows.null_time
    last = first_state(stage.operator, len(inputs)) if state is None else decode(state, stage.operator, stage.identity)
    (held,), (waiting,) = last.operator_state.held, last.operator_state.waiting
    ranks = Numbering(last.origins).ranks()
    held = None if held is None else _without_marks(held)
    late = [table for table in late if table.num_rows]
    tables = [table for table in (held, waiting, *late) if table is not None]
    if not tables:
        return None

    def ordered(table: pa.Table) -> pa.Table:
        return partition_rows(table, [], "t", program.order, ties, ranks)[0]

    # Held rows are in order.
    released = ordered(tables[0].schema.empty_table()) if held is None else held
    waiting = None if waiting is None else ordered(waiting)
    return KeyRows(released, waiting, ordered(stack(late)) if late else None, bound, timeless)


def state_of_key(program: MatchProgram, state: State, key: list[pa.Array]) -> State | None:
    """Return the state of a bucket with the rows of one key only; None without such rows.

    key: for each PARTITION BY column an array of one value.
    """
    (held,), (waiting,) = state.operator_state.held, state.operator_state.waiting
    held, waiting = _of_key(program, held, key), _of_key(program, waiting, key)
    if held is None and waiting is None:
        return None
    return replace(state, operator_state=replace(state.operator_state, held=(held,), waiting=(waiting,)))


def held_rows(program: MatchProgram, state: State, key: list[pa.Array], ties: Sequence[str]) -> KeyRows:
    """Return the rows of a state that has one key only; see `state_of_key`."""
    (held,), (waiting,) = state.operator_state.held, state.operator_state.waiting
    if waiting is not None:
        waiting = partition_rows(waiting, [], "t", program.order, ties, Numbering(state.origins).ranks())[0]
    context = 0 if held is None else pc.sum(held[CONTEXT]).as_py()
    if held is not None:
        released = _without_marks(held)
    else:
        # At least one of the two is not None.
        assert waiting is not None
        released = waiting.schema.empty_table()
    number = int(
        read_numbers(state.operator_state.sections.get(NUMBERS), [column.name for column in program.keys], key, 1)[0]
    )
    return KeyRows(released, waiting, None, state.bound, scan=context, number=number)


def _of_key(program: MatchProgram, table: pa.Table | None, key: list[pa.Array]) -> pa.Table | None:
    if table is None:
        return None
    table = stack([table])
    if not key:
        return table
    columns = [table[column.name].chunk(0) for column in program.keys]
    places = np.flatnonzero(find_keys(columns, table.num_rows, key, 1) >= 0)
    return take_rows(table, places) if len(places) else None


def _without_marks(held: pa.Table) -> pa.Table:
    """Return held rows without the columns that the stage adds."""
    marks = (FIRST, CONTEXT, COVERED)
    return held.drop_columns([name for name in marks if name in held.column_names])


def _rows(packets: Sequence[bytes]) -> list[pa.Table]:
    return [packet.rows for packet in map(open_packet, packets) if packet.rows is not None]


def _keep_all(program: MatchProgram, partitions: Partitions) -> Scanned:
    """Decide no row, so that the stage holds every released row."""
    return Scanned(pa.table({}), partitions.scan, partitions.numbers, 0, 0)
