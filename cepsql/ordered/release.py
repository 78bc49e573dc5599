"""One move of the bound: release rows in order, pass them to the operator, keep those that it must see again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.arrival import NO_RANKS, POSITION, has_positions, in_their_order, with_positions
from cepsql.ordered.held import CONTEXT, FIRST, context_sizes, divide, has_key, is_due, open_held, retain
from cepsql.ordered.keyed.keyed_rows import KeyedChange, KeyedRows, touched_hashes
from cepsql.ordered.operator import Operator, OrderedRows, Step, is_keyed
from cepsql.ordered.plain_columns import stack, stack_freely
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.ordered.sorting import partition_rows, partition_sides


@dataclass(frozen=True)
class OperatorState:
    """The state of an operator between two moves of the bound; `held` and `waiting` have one entry a side.

    held:     released rows that the operator must see again, partition by partition and in order, or None. Beside the
              columns of the layout they have the operator's marks and those of `cepsql.ordered.held`.
    waiting:  rows above the bound in no order, or None; with POSITION if the layout orders by arrival.
    sections: the operator's other state, if it is not by key.
    keyed:    the operator's other state by key; None without keys.
    change:   the change of `keyed` that is to be made, which takes time and whose result the operator's output does not
              need; None without one.
    """

    held: tuple[pa.Table | None, ...]
    waiting: tuple[pa.Table | None, ...]
    sections: Mapping[str, pa.Table] = field(default_factory=dict)
    keyed: KeyedRows | None = None
    change: KeyedChange | None = None


def empty_state(operator: Operator) -> OperatorState:
    """Return the state before the first row."""
    nothing = (None,) * len(operator.sides)
    keyed = KeyedRows(tuple(operator.sides[0].key_names)) if is_keyed(operator) else None
    return OperatorState(nothing, nothing, keyed=keyed)


def release(
    operator: Operator,
    state: OperatorState,
    arrived: Sequence[list[pa.Table]],
    old: int,
    new: int,
    at_once: bool = False,
    ranks: np.ndarray = NO_RANKS,
) -> tuple[Step, OperatorState]:
    """Move the bound from `old` to `new`; return the operator's step, and its new state.

    arrived: for each side its new rows, all with t > old. The lists are emptied, to hold no row twice in memory.
    at_once: new rows do not wait for the bound, and may have any time.
    ranks:   the rank of each origin in POSITION by number; see `cepsql.ordered.arrival.ranked`.
    """
    reached = END_OF_TIME if at_once else new
    ready, waiting = [], []
    for tables, before in zip(arrived, state.waiting, strict=True):
        candidates = with_positions([table for table in (before, *tables) if table is not None and table.num_rows])
        ready.append(where_time(candidates, lambda t: pc.less_equal(t, reached)))
        rest = where_time(candidates, lambda t: pc.greater(t, reached))
        waiting.append(stack(rest) if rest else None)
        tables.clear()
    again, resting = _divided(operator, state.held, ready, old, new)
    del candidates, rest
    ordered = _ordered(operator, again, ready, ranks)
    hashes = np.zeros(0, np.uint32) if state.keyed is None else touched_hashes(state.keyed.names, ordered)
    sections = state.sections if state.keyed is None else state.keyed.of(hashes)
    step = operator.advance(ordered, sections, old, new)
    if new == END_OF_TIME:
        return step, empty_state(operator)
    if state.keyed is None:
        sections, change = step.sections, None
    else:
        sections, change = {}, KeyedChange(hashes, step.sections, partial(operator.forgets, bound=new))
    held = []
    for rows, keep, left in zip(ordered, step.keep, resting, strict=True):
        seen_again = None if rows is None or keep is None else retain(rows, keep)
        tables = [table for table in (left, seen_again) if table is not None]
        held.append(stack(tables) if tables else None)
    return step, OperatorState(tuple(held), tuple(waiting), sections, state.keyed, change)


def where_time(tables: Sequence[pa.Table], test: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> list[pa.Table]:
    """Return the rows of the tables whose time passes the test, without empty tables."""
    passing = []
    for table in tables:
        passes = test(table["t"])
        if pc.all(passes).as_py():
            passing.append(table)
        elif pc.any(passes).as_py():
            passing.append(table.filter(passes))
    return passing


def _divided(
    operator: Operator, held: Sequence[pa.Table | None], ready: Sequence[Sequence[pa.Table]], old: int, new: int
) -> tuple[list[pa.Table | None], list[pa.Table | None]]:
    """Split the held rows of each side into those that the operator sees again now, and the others.

    It sees again partitions with new rows and those whose deadline passes, all sides of a key together.
    """
    opened = [None if table is None else open_held(table) for table in held]
    due = [
        None if rows is None else is_due(operator.deadlines(rows, side), old, new) for side, rows in enumerate(opened)
    ]
    names = operator.sides[0].key_names
    there = any(rows is not None for rows in opened)
    # With t, the table has a column even without keys.
    woken = [stack([table.select([*names, "t"]) for table in tables]) for tables in ready if tables and there]
    if len(held) > 1:
        woken += [
            _keys_of(rows, chosen, names)
            for rows, chosen in zip(opened, due, strict=True)
            if rows is not None and chosen is not None
        ]
    pairs = []
    for rows, chosen in zip(opened, due, strict=True):
        if rows is None or chosen is None:
            pairs.append((None, None))
        else:
            pairs.append(divide(rows, chosen | has_key(rows, names, woken) if woken else chosen))
    return [again for again, _ in pairs], [resting for _, resting in pairs]


def _keys_of(held: OrderedRows, chosen: np.ndarray, names: list[str]) -> pa.Table:
    """Return the rows that begin the chosen partitions."""
    places = pa.array(held.starts[:-1][chosen])
    columns = [held.rows[name].chunk(0).take(places) for name in names]
    # Without keys FIRST stands for the only partition.
    return pa.table(columns, names) if names else held.rows.select([FIRST]).take(places)


def _ordered(
    operator: Operator, again: Sequence[pa.Table | None], ready: Sequence[list[pa.Table]], ranks: np.ndarray
) -> list[OrderedRows | None]:
    """Sort the rows of each side; empties the lists in `ready`."""
    tables = []
    for layout, old, new, marks in zip(operator.sides, again, ready, operator.marks, strict=True):
        parts = [_marked(table, marks) for table in new]
        if old is not None:
            # Held rows precede new ones, and are in order.
            parts.insert(0, in_their_order(old) if layout.by_arrival else old)
            parts = with_positions(parts)
        new.clear()
        tables.append(stack_freely(parts) if parts else None)
    if len(tables) == 1:
        (layout,) = operator.sides
        if tables[0] is None:
            return [None]
        # Only the sort references the rows then.
        return [_open(*partition_rows(tables.pop(), layout.key_names, "t", layout.order, layout.ties, ranks))]
    breakers = [(layout.order, layout.ties) for layout in operator.sides]
    sorted_sides = partition_sides(tables, operator.sides[0].key_names, "t", breakers, ranks)
    return [None if side is None else _open(*side) for side in sorted_sides]


def _marked(rows: pa.Table, marks: Mapping[str, pa.DataType]) -> pa.Table:
    """Return new rows with the columns of held ones."""
    for name, kind in marks.items():
        rows = rows.append_column(name, pa.nulls(rows.num_rows, kind))
    rows = rows.append_column(CONTEXT, pa.repeat(False, rows.num_rows))
    return rows.select([*(n for n in rows.column_names if n != POSITION), POSITION]) if has_positions(rows) else rows


def _open(rows: pa.Table, starts: np.ndarray) -> OrderedRows:
    pending = starts[:-1] + context_sizes(rows, starts)
    return OrderedRows(rows.drop_columns([CONTEXT]), starts, pending)
