"""One micro-batch of one bucket: release rows in event-time order, scan them, keep what is undecided."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.columns import check_types, stack
from cepsql.ordered.counts import Counts
from cepsql.ordered.held import context_sizes, divide, open_held, retain, to_scan
from cepsql.ordered.match_numbers import asks_for_number, read_numbers, write_numbers
from cepsql.ordered.match_rows import OrderedFunction, Scanned, match_rows
from cepsql.ordered.packet import BEGINNING, Packet, open_packet
from cepsql.ordered.reach import reach
from cepsql.ordered.rejected import rejected_rows, without_whole
from cepsql.ordered.row_ids import with_row_ids
from cepsql.ordered.sort import partition_rows
from cepsql.ordered.state import State, decode, encode
from cepsql.pattern.output import asks_for_unmatched
from cepsql.pattern.program import END_OF_TIME, MatchProgram
from cepsql.pattern.rows import Partitions


@dataclass(frozen=True)
class Advanced:
    """What a micro-batch gave.

    output: the function's output; a table without columns if there was nothing to scan.
    state:  the bucket's new state.
    counts: this batch's counts.
    bound:  rows at or below this event time were released (BEGINNING: none yet).
    total:  the counts since the query began.
    rejected: the rows that were not used, as `cepsql.ordered.rejected` has them; None if there are none, or if they
            do not travel whole.
    """

    output: pa.Table
    state: bytes
    counts: Counts
    bound: int
    total: Counts
    rejected: pa.Table | None


def advance(
    program: MatchProgram,
    delay: int,
    state: bytes | None,
    packets: Iterable[bytes],
    function: OrderedFunction = match_rows,
) -> Advanced:
    """Take one micro-batch of a bucket.

    delay: how many microseconds rows may come after later ones; the bound is the greatest event time less the delay.
    state: what the bucket's last call returned, None at first.
    Rows at or below the new bound are released and scanned at once; rows at or below the old one are late, counted
    and dropped; the others wait. The output depends only on the rows and on which of them are late, not on how they
    were split into batches and packets.
    Raises OperationalError if the state is not of this program, of these column types, or of this version.
    """
    fingerprint = program.state_id
    before = State() if state is None else decode(state, fingerprint)
    opened = [open_packet(packet) for packet in packets]
    bound = max(before.bound, _bound(opened, delay))
    rejected = rejected_rows(opened, before.bound)
    arrived = [without_whole(packet.rows) for packet in opened if packet.rows is not None]
    for stored in (before.held, before.waiting, before.numbers):
        if stored is not None and arrived:
            check_types(stored.schema, arrived[0].schema)
    on_time = _where_time(arrived, lambda t: pc.greater(t, before.bound))
    candidates = ([] if before.waiting is None else [before.waiting]) + on_time
    ready = _where_time(candidates, lambda t: pc.less_equal(t, bound))
    waiting = _where_time(candidates, lambda t: pc.greater(t, bound))
    counts = sum((packet.counts for packet in opened), Counts())
    arrivals = sum(table.num_rows for table in arrived) + sum(len(packet.dead) for packet in opened)
    dead_used = sum(int(np.count_nonzero(packet.dead > before.bound)) for packet in opened)
    used = sum(table.num_rows for table in on_time) + dead_used
    counts += Counts(used=used, late=arrivals - used)

    scanned, held, numbers = _scan(program, before, stack(ready) if ready else None, bound, function)
    if scanned is not None:
        counts += Counts(
            matches=scanned.matches,
            timeouts=scanned.timeouts,
            misplaced=scanned.misplaced,
            given_up=scanned.given_up,
        )
    after = State(bound, before.counts + counts, held, stack(waiting) if waiting else None, numbers)
    output = scanned.output if scanned else pa.table({})
    return Advanced(output, encode(after, fingerprint), counts, bound, after.counts, rejected)


def _bound(packets: list[Packet], delay: int) -> int:
    greatest = max((packet.greatest for packet in packets), default=BEGINNING)
    return greatest if greatest == END_OF_TIME else greatest - delay


def _where_time(tables: list[pa.Table], test: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> list[pa.Table]:
    """Return the tables with only the rows whose time passes the test, without those that become empty."""
    kept = []
    for table in tables:
        passes = test(table["t"])
        if pc.all(passes).as_py():
            kept.append(table)
        elif pc.any(passes).as_py():
            kept.append(table.filter(passes))
    return kept


def _scan(
    program: MatchProgram, before: State, ready: pa.Table | None, bound: int, function: OrderedFunction
) -> tuple[Scanned | None, pa.Table | None, pa.Table | None]:
    """Scan the released rows with the held rows of the partitions concerned; return what is held afterwards, too."""
    keys = [column.name for column in program.keys]
    again, resting = None, None
    if before.held is not None:
        held = open_held(before.held)
        again, resting = divide(held, to_scan(held, keys, ready, program.within, before.bound, bound))
    parts = [] if again is None else [again]
    if ready is not None:
        ready = with_row_ids(program, ready)
        if asks_for_unmatched(program):
            ready = ready.append_column("covered", pa.repeat(False, ready.num_rows))
        parts.append(ready.append_column("context", pa.repeat(False, ready.num_rows)))
    if not parts:
        return (None, None, None) if bound == END_OF_TIME else (None, resting, before.numbers)

    rows, starts = partition_rows(stack(parts), keys, "t", program.order, _rest(program))
    pending = starts[:-1] + context_sizes(rows, starts)
    rows = rows.drop_columns(["context"])
    distinct = [rows[key].chunk(0).take(pa.array(starts[:-1])) for key in keys]
    numbers = read_numbers(before.numbers, keys, distinct, len(pending))
    scanned = function(program, Partitions(rows, starts, pending, starts[1:], numbers, bound))
    if bound == END_OF_TIME:
        return scanned, None, None
    stored = write_numbers(before.numbers, keys, distinct, scanned.numbers) if asks_for_number(program) else None
    if scanned.covered is not None:
        rows = rows.drop_columns(["covered"]).append_column("covered", pa.array(scanned.covered))
    kept = retain(rows, starts, scanned.scan, reach(program))
    tables = [table for table in (resting, kept) if table is not None]
    return scanned, stack(tables) if tables else None, stored


def _rest(program: MatchProgram) -> list[str]:
    return [column.name for column in program.values] + (["m"] if program.predicates else [])
