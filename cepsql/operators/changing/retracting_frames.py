"""Window functions over the partitions of a changing table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.operators.changing.change_rows import IDENTITY, KIND, equal_values, identities, labelled, signs
from cepsql.operators.changing.retracting_groups import of_values
from cepsql.operators.changing.table_rows import CHANGE, GROUP, ROWS, WAS, TableRows, columns_of, netted, peers
from cepsql.operators.framing.frame_bounds import Frame, PartitionOrder
from cepsql.operators.framing.framed import FramedCall, frame_value
from cepsql.operators.framing.spans import Spans
from cepsql.ordered.operator import OrderedRows, Step
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import integers, one_chunk, stack, take_rows
from cepsql.ordered.row_layout import RowLayout

OF_ORDER = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
"""Functions of the place of a row in its partition."""

OF_VALUES = ("list", "mode", "percentile")
"""Functions of all values of a frame."""

_GATHERED = 2_000_000


@dataclass(frozen=True)
class WindowFunction:
    """A window function.

    name:         the name of the output column.
    function:     one of OF_ORDER, OF_VALUES or `operators.framing.framed.FRAMED_FUNCTIONS`, "nth", or "neighbour": the
                  value of the row `number` rows after the row, or before it if that is negative.
    column:       its argument; None for "count" of rows, and OF_ORDER.
    frame:        its frame; OF_ORDER and "neighbour" need none.
    number:       the number of parts for "ntile", the number of the row for "nth", from 1.
    default:      the column with the value of "neighbour" if there is no such row.
    ignore_nulls: "first", "last", "nth" and "neighbour" skip NULL.
    distinct:     with OF_VALUES, equal values count once.
    fraction:     the fraction of the values below a percentile.
    """

    name: str
    function: str
    column: str | None
    frame: Frame
    number: int = 1
    default: str | None = None
    ignore_nulls: bool = False
    distinct: bool = False
    fraction: float | None = None


@dataclass(frozen=True)
class RetractingFramesOperator(TableRows):
    """Emits the changes of a table's rows with the values of window functions over their partitions.

    KIND says whether a row is added or retracted. Its stage must pass rows on at once. Rows that are equal in the order
    are ordered by their values, ascending with NULL first, so that nothing depends on the order of arrival. Its state
    has all rows; a micro-batch recomputes the partitions of its rows, and emits the rows that differ.

    layout:     the rows, in the order of its order columns; IDENTITY and KIND are among the values if rows are
                retracted.
    selected:   the output columns beside the keys.
    types:      the type of each call's output column.
    wraps:      sums of integers beyond BIGINT wrap around; otherwise they raise OperationalError.
    retracting: rows are also retracted.
    Output columns: the keys, the selected columns, one for each call, and IDENTITY.
    """

    layout: RowLayout
    calls: tuple[WindowFunction, ...]
    selected: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    wraps: bool
    retracting: bool

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(ROWS)
        if ordered is None or ordered.rows.num_rows == 0:
            return Step(pa.table({}), [None], sections)
        first = take_rows(ordered.rows, ordered.starts[:-1])
        keys = [one_chunk(first[name]) for name in self.layout.key_names]
        rows_before, others = self.rows_of_keys(stored, keys, len(ordered.starts) - 1)
        group = np.repeat(np.arange(len(ordered.starts) - 1), np.diff(ordered.starts))
        change = signs(one_chunk(ordered.rows[KIND])) if self.retracting else np.ones(len(group), np.int64)
        came = self.came(ordered.rows.select(self.columns), group, change)
        whole = self.in_order(netted(came if rows_before is None else stack([rows_before, came]), self.columns))
        was = integers(whole[WAS])
        now = was + integers(whole[CHANGE])
        output, changes = self._output(keys, whole, was, now)
        return Step(output, [None], self.remembered(keys, whole, now, others), changes=changes)

    def _output(
        self, keys: list[pa.Array], rows: pa.Table, was: np.ndarray, now: np.ndarray
    ) -> tuple[pa.Table, pa.Array]:
        """Return the changes between the rows and their values before and after the batch."""
        groups, moments = integers(rows[GROUP]), []
        alike = peers(rows, self.order, groups)
        for numbers in (was, now):
            places = np.repeat(np.arange(len(numbers)), np.maximum(numbers, 0))
            moments.append((places, self._values(keys, rows, groups, alike, places)))
        (before, old), (after, new) = moments
        changed = [np.ones(len(before), bool), np.ones(len(after), bool)]
        same = was == now
        stays = np.flatnonzero(same[before]), np.flatnonzero(same[after])
        differs = np.zeros(len(stays[0]), bool)
        for one, other in zip(old, new, strict=True):
            differs |= ~equal_values(one.take(pa.array(stays[0])), other.take(pa.array(stays[1])))
        for marks, chosen in zip(changed, stays, strict=True):
            marks[chosen[~differs]] = False
        out, into = map(np.flatnonzero, changed)
        place = np.concatenate([before[out], after[into]])
        columns = self.keys_of(keys, groups[place]) | columns_of(take_rows(rows.select(self.columns), place))
        for call, one, other in zip(self.calls, old, new, strict=True):
            columns[call.name] = pa.concat_arrays([one.take(pa.array(out)), other.take(pa.array(into))])
        named = [*self.layout.key_names, *self.selected, *(call.name for call in self.calls)]
        if self.retracting:
            identity = columns[IDENTITY]
        else:
            identity = identities([columns[name] for name in (*self.layout.key_names, *self.columns)], len(place))
        owners = integers(identity.dictionary_encode().indices).astype(np.int64)
        weights = np.repeat([-1, 1], [len(out), len(into)])
        places, changes = labelled(owners, weights)
        table = pa.table({name: columns[name] for name in named} | {IDENTITY: identity})
        return take_rows(table, places), changes

    def _values(
        self, keys: list[pa.Array], rows: pa.Table, group: np.ndarray, alike: np.ndarray, places: np.ndarray
    ) -> list[pa.Array]:
        """Return the values of each call for the rows at these ordered places; `alike` numbers the peers."""
        of_keys = dict(zip(self.layout.key_names, keys, strict=True))
        taken: dict[str, pa.Array] = {}

        def column(name: str | None) -> pa.Array | None:
            if name is None:
                return None
            if name not in taken:
                of_key = name in of_keys
                values = of_keys[name] if of_key else one_chunk(rows[name])
                taken[name] = values.take(pa.array(group[places] if of_key else places))
            return taken[name]

        order = self.layout.order
        value = column(order[0].name) if len(order) == 1 else None
        # Partitions are in order of first appearance.
        partition = np.cumsum(np.append(False, np.diff(group[places]) != 0))[: len(places)]
        named = {end for call in self.calls for end in (call.frame.first, call.frame.last) if isinstance(end, str)}
        edges = {name: edge for name in named if (edge := column(name)) is not None}
        ordered = PartitionOrder(partition, alike[places], value, bool(order) and order[0].descending, edges)
        spans: dict[Frame, Spans] = {}
        results = []
        for call, kind in zip(self.calls, self.types, strict=True):
            columns = column(call.column), column(call.default)
            if call.function in OF_ORDER:
                results.append(_of_order(call, ordered).cast(kind))
                continue
            if call.function == "neighbour":
                assert columns[0] is not None
                results.append(_neighbour(call, ordered, columns[0].cast(kind), columns[1]))
                continue
            if call.frame not in spans:
                spans[call.frame] = ordered.spans(call.frame)
            results.append(self._framed(call, kind, spans[call.frame], columns[0]))
        return results

    def _framed(self, call: WindowFunction, kind: pa.DataType, spans: Spans, column: pa.Array | None) -> pa.Array:
        if call.function in OF_VALUES:
            assert column is not None
            return _gathered(call, kind, spans, column)
        if call.function == "nth":
            assert column is not None
            return _nth(call, spans, column).cast(kind)
        plain = FramedCall(call.name, call.function, call.column, 0, 0, ignore_nulls=call.ignore_nulls)
        return frame_value(plain, kind, spans, column, self.wraps)


def _of_order(call: WindowFunction, rows: PartitionOrder) -> pa.Array:
    """Return the values of a function in OF_ORDER."""
    begins, size = rows.partitions.begins, rows.partitions.sizes
    place = np.arange(len(rows.group)) - begins
    match call.function:
        case "row_number":
            return pa.array(place + 1)
        case "rank":
            return pa.array(rows.peers.begins - begins + 1)
        case "dense_rank":
            return pa.array(rows.peer_place + 1)
        case "percent_rank":
            return pa.array((rows.peers.begins - begins) / np.maximum(size - 1, 1))
        case "cume_dist":
            return pa.array((rows.peers.ends - begins) / size)
    # If the rows do not divide evenly, the first parts have one more row.
    each, more = size // call.number, size % call.number
    longer = more * (each + 1)
    part = np.where(place < longer, place // (each + 1), more + (place - longer) // np.maximum(each, 1))
    return pa.array(part + 1)


def _neighbour(call: WindowFunction, rows: PartitionOrder, column: pa.Array, default: pa.Array | None) -> pa.Array:
    """Return the value of the row a number of rows after each row, or before it."""
    every = np.arange(len(rows.group))
    if call.ignore_nulls and call.number:
        places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        if call.number > 0:
            number = np.searchsorted(places, every, "right") + call.number - 1
        else:
            number = np.searchsorted(places, every) + call.number
        inside = (number >= 0) & (number < len(places))
        place = np.where(inside, np.append(places, 0)[np.clip(number, 0, len(places))], -1)
    else:
        place = every + call.number
    there = (place >= rows.partitions.begins) & (place < rows.partitions.ends)
    if default is None:
        return column.take(pa.array(np.where(there, place, 0), mask=~there))
    both = pa.concat_arrays([column, default])
    return both.take(pa.array(np.where(there, place, every + len(column))))


def _nth(call: WindowFunction, spans: Spans, column: pa.Array) -> pa.Array:
    """Return the value of the n-th row of each frame."""
    valid = column.is_valid().to_numpy(zero_copy_only=False) if call.ignore_nulls else None
    place = spans.nth(call.number, valid)
    return column.take(pa.array(np.maximum(place, 0), mask=place < 0))


def _gathered(call: WindowFunction, kind: pa.DataType, spans: Spans, column: pa.Array) -> pa.Array:
    """Return a function of all values of each frame, some frames at a time to limit memory.

    A list is in the order of the rows, a list of distinct values in the order of the values.
    """
    parts = [pa.array([], kind)]
    total = np.cumsum(spans.sizes)
    begin = 0
    while begin < len(spans.sizes):
        passed = total[begin - 1] if begin else 0
        end = max(int(np.searchsorted(total, passed + _GATHERED, "right")), begin + 1)
        owner, places = spans.places(begin, end)
        values = column.take(pa.array(places))
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        values, owner = values.filter(pa.array(valid)), owner[valid]
        if call.function != "list" or call.distinct:
            order = np.lexsort((ordinals(values, equal_zeros=True), owner))
            values, owner = values.take(pa.array(order)), owner[order]
        if call.distinct:
            code = ordinals(values, equal_zeros=True)
            alone = np.append(True, (code[1:] != code[:-1]) | (owner[1:] != owner[:-1]))[: len(owner)]
            values, owner = values.filter(pa.array(alone)), owner[alone]
        ones = np.ones(len(owner), np.int64)
        parts.append(of_values(call.function, call.fraction, kind, end - begin, owner, values, ones))
        begin = end
    return pa.concat_arrays(parts)
