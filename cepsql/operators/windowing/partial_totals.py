"""What aggregates need to go on, of one row or of many: totals of some rows of a group are added to those of others.

Totals are columns of a table. Of the call number i they are, where it needs them:

    c{i}_count         how many values that are not NULL
    c{i}_sum           their sum, of floating point; in the order of the rows
    c{i}_limb0, ...    their sum, of integers and decimals, as of `cepsql.operators.exact_sums`
    c{i}_value         the value that it chooses
    c{i}_t, c{i}_tie0, ...  what tells the first and the last row: the event time, then the columns that break ties

and beside them `ROWS`, how many rows there are, and `COUNTED` where some of them are `REPEATED`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.operators.exact_sums import as_doubles, as_integers, as_longs, carried, is_added_exactly, limbs
from cepsql.operators.running import RunningCall, as_decimals, mean_of
from cepsql.operators.segments import Segments
from cepsql.operators.windowing.window_kinds import OwnWindows
from cepsql.ordered.keys import first_places, key_codes
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import canonical, compact, integers, marked, one_chunk
from cepsql.ordered.row_layout import COUNTED, REPEATED, ROWS
from cepsql.ordered.sorting import stable_order

PANE = "pane"
"""The BIGINT column of totals that tells in which windows their rows lie, as an event time that lies in them, too."""

WORTHWHILE = 0.75
"""How many rows may be left of one for it to be worth while to add them up."""

_NO_TIMES = np.zeros(0, np.int64)


@dataclass(frozen=True)
class PartialTotals:
    """A reduction before the shuffle (`cepsql.ordered.row_layout`): the totals of rows that lie in the same windows.

    calls: none of which adds in order.
    ties:  the columns that tell rows of one time apart.
    Returns the columns `bucket`, k*, t (until when the rows count), PANE, the totals, and those of which a call takes
    each value once. There the distinct values of rows have rows of their own, whose ROWS are 0.
    """

    windows: OwnWindows
    calls: tuple[RunningCall, ...]
    ties: tuple[str, ...]

    def __call__(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        keys = {name: canonical(rows[name]) for name in rows.schema.names if name.startswith("k")}
        around = {"bucket": rows["bucket"]} if "bucket" in rows.schema.names else {}
        around |= keys | {"t": pa.array(self.windows.until(rows)), PANE: pa.array(self.windows.panes(rows))}
        codes, _ = key_codes([column for name, column in around.items() if name != "t"], rows.num_rows)
        order = stable_order(codes)
        codes = codes[order]
        starts = np.append(np.flatnonzero(np.diff(codes, prepend=-1)), len(codes))
        values = {name: rows[name] for name in distinct_columns(self.calls)}
        firsts = {name: order[self._firsts(column.take(pa.array(order)), codes)] for name, column in values.items()}
        totals = totals_of(rows, self.calls, self.ties)
        if len(starts) - 1 + sum(map(len, firsts.values())) > rows.num_rows * WORTHWHILE:
            return pa.RecordBatch.from_pydict(around | totals | values), _NO_TIMES
        joined = joined_totals(_taken(totals, order), starts, self.calls)
        parts = [pa.table(_taken(around, order[starts[:-1]]) | joined)]
        for name, places in firsts.items():
            none = {ROWS: pa.array(np.zeros(len(places), np.int64))}
            parts.append(pa.table(_taken(around, places) | none | _taken({name: values[name]}, places)))
        # What a part does not have is NULL there.
        whole = pa.concat_tables(parts, promote_options="default").select([*around, *totals, *values])
        (batch,) = compact(whole).to_batches()
        return batch, _NO_TIMES

    def _firsts(self, values: pa.Array, codes: np.ndarray) -> np.ndarray:
        """Return the places where a value that is not NULL stands first in its group; groups lie together."""
        first = first_places(key_codes([pa.array(codes), values], len(values))[0])
        return first[np.asarray(values.is_valid())[first]]


def _taken(columns: Mapping[str, pa.Array], places: np.ndarray) -> dict[str, pa.Array]:
    chosen = pa.array(places)
    return {name: column.take(chosen) for name, column in columns.items()}


def distinct_columns(calls: Sequence[RunningCall]) -> list[str]:
    """Return the columns of which calls take each value once."""
    return list(dict.fromkeys(call.column for call in calls if call.distinct and call.column is not None))


def totals_of(
    rows: pa.Table | pa.RecordBatch, calls: Sequence[RunningCall], ties: Sequence[str]
) -> dict[str, pa.Array]:
    """Return the totals of each row, but for calls that take each value once."""
    totals = {ROWS: pa.array(np.ones(rows.num_rows, np.int64))}
    if REPEATED in rows.schema.names:
        totals[COUNTED] = pa.array((~marked(rows, REPEATED)).astype(np.int64))
    for number, call in enumerate(calls):
        if call.column is None or call.distinct:
            continue
        column = _array(rows[call.column])
        totals |= {f"c{number}_{name}": part for name, part in value_totals(call, column).items()}
        if call.function in ("first", "last"):
            chosen = column.is_valid() if call.ignore_nulls else pa.array(np.ones(len(column), bool))
            totals[f"c{number}_t"] = pc.if_else(chosen, _array(rows["t"]), pa.scalar(None, pa.int64()))
            totals |= {f"c{number}_tie{place}": _array(rows[name]) for place, name in enumerate(ties)}
    return totals


def value_totals(call: RunningCall, column: pa.Array) -> dict[str, pa.Array]:
    """Return the totals of each value for a call, without the number that stands before their names."""
    totals: dict[str, pa.Array] = {}
    if call.function in ("count", "sum", "avg"):
        totals["count"] = pa.array(np.asarray(column.is_valid()).astype(np.int64))
    if call.function in ("sum", "avg"):
        if is_added_exactly(column.type):
            totals |= {f"limb{place}": pa.array(limb) for place, limb in enumerate(limbs(column))}
        else:
            totals["sum"] = column.fill_null(0).cast(pa.float64())
    if call.function in ("min", "max", "first", "last"):
        totals["value"] = column
    return totals


def joined_totals(
    totals: Mapping[str, pa.Array], starts: np.ndarray, calls: Sequence[RunningCall]
) -> dict[str, pa.Array]:
    """Return the totals of groups.

    totals: of their parts, those of a group one after another, in the order in which floating point is added.
    starts: where the parts of each group begin, none of which is empty, and how many parts there are.
    """
    merged: dict[str, pa.Array] = {}
    for name, column in totals.items():
        kind = name.rpartition("_")[2]
        if name in (ROWS, COUNTED) or kind == "count" or kind.startswith("limb"):
            merged[name] = pa.array(np.add.reduceat(integers(column.fill_null(0)), starts[:-1]))
        elif kind == "sum":
            added = Segments(starts).sums(column.fill_null(0).to_numpy(zero_copy_only=False))
            merged[name] = pa.array(added[starts[1:] - 1])
    for number, call in enumerate(calls):
        # What goes on for months must not fill its limbs.
        places = [name for name in totals if name.startswith(f"c{number}_limb")]
        merged |= zip(places, map(pa.array, carried([integers(merged[name]) for name in places])), strict=True)
        if f"c{number}_value" not in totals:
            continue
        there, orders = _choice(totals, f"c{number}", call)
        place = greatest_places(orders, there, starts)
        chosen = pa.array(np.maximum(place, 0), mask=place < 0)
        mine = [name for name in totals if name.startswith(f"c{number}_")]
        merged |= {name: totals[name].take(chosen) for name in mine}
    return {name: merged[name] for name in totals}


def total_values(
    calls: Sequence[RunningCall], types: Sequence[pa.DataType], totals: pa.Table, wraps: bool
) -> dict[str, pa.Array]:
    """Return the value of each call.

    types: of the values, Spark's.
    wraps: a sum of integers that outgrows BIGINT begins anew at the other end, in place of an error.
    Raises OperationalError where a sum outgrows its type.
    """
    values = {}
    for number, (call, kind) in enumerate(zip(calls, types, strict=True)):
        name = f"c{number}"
        if call.column is None:
            value = one_chunk(totals[ROWS])
        elif call.function == "count":
            value = one_chunk(totals[f"{name}_count"])
        elif call.function in ("sum", "avg"):
            count = integers(totals[f"{name}_count"])
            value = _sum_or_mean(call, kind, totals, name, count, wraps)
            value = pc.if_else(pa.array(count > 0), value, pa.nulls(len(count), value.type))
        else:
            value = one_chunk(totals[f"{name}_value"])
        values[call.name] = value.cast(kind)
    return values


def _sum_or_mean(
    call: RunningCall, kind: pa.DataType, totals: pa.Table, name: str, count: np.ndarray, wraps: bool
) -> pa.Array:
    if f"{name}_sum" in totals.column_names:
        total = one_chunk(totals[f"{name}_sum"])
        return total if call.function == "sum" else mean_of(total, count, kind)
    names = [column for column in totals.column_names if column.startswith(f"{name}_limb")]
    parts = [integers(totals[column]) for column in names]
    if pa.types.is_decimal(kind):
        return _decimals(call, kind, as_integers(parts), count)
    if call.function == "avg":
        return pa.array(as_doubles(parts) / np.maximum(count, 1))
    longs, outgrown = as_longs(parts)
    if outgrown.any() and not wraps:
        raise _overflow(call, "BIGINT")
    return pa.array(longs)


def _decimals(call: RunningCall, kind: pa.Decimal128Type, sums: np.ndarray, count: np.ndarray) -> pa.Array:
    """Return SUM or AVG of decimals, of which these are the sums in units of the last digit."""
    # Before the point a sum has ten digits more than its values; a mean has four more behind it.
    mean = call.function == "avg"
    precision, scale = (kind.precision + 6, kind.scale - 4) if mean else (kind.precision, kind.scale)
    if len(sums) and max(abs(sums.min()), abs(sums.max())) >= 10**precision:
        raise _overflow(call, "DECIMAL")
    total = as_decimals(sums, pa.decimal128(38, scale))
    return mean_of(total, count, kind) if mean else total


def _choice(totals: Mapping[str, pa.Array], name: str, call: RunningCall) -> tuple[np.ndarray, Iterator[np.ndarray]]:
    """Return where there is a value to choose, and by which numbers, one after another, the greatest is chosen."""
    timed = call.function in ("first", "last")
    values = totals[f"{name}_t" if timed else f"{name}_value"]
    numbers = _place_numbers(totals, name) if timed else iter([ordinals(values, equal_zeros=False)])
    downwards = call.function in ("min", "first")
    return np.asarray(values.is_valid()), (~one if downwards else one for one in numbers)


def _place_numbers(totals: Mapping[str, pa.Array], name: str) -> Iterator[np.ndarray]:
    """Yield what rows are ordered by: the event time, then the ties, NULL before all values."""
    yield integers(totals[f"{name}_t"].fill_null(0))
    place = 0
    while (tie := f"{name}_tie{place}") in totals:
        valid = np.asarray(totals[tie].is_valid())
        yield valid.astype(np.int64)
        yield np.where(valid, ordinals(totals[tie], equal_zeros=False), 0)
        place += 1


def greatest_places(orders: Iterator[np.ndarray], there: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the place in each group that is greatest in the first numbers, among equal ones in the second, and so on;
    -1 for groups with nothing there."""
    segment = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    groups = int(np.count_nonzero(np.logical_or.reduceat(there, starts[:-1])))
    left = there
    for numbers in orders:
        best = np.maximum.reduceat(np.where(left, numbers, np.iinfo(np.int64).min), starts[:-1])
        left = left & (numbers == best[segment])
        if np.count_nonzero(left) == groups:
            break
    places = np.flatnonzero(left)
    first = np.diff(segment[places], prepend=-1) != 0
    chosen_place = np.full(len(starts) - 1, -1, np.int64)
    chosen_place[segment[places[first]]] = places[first]
    return chosen_place


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return one_chunk(column) if isinstance(column, pa.ChunkedArray) else column


def _overflow(call: RunningCall, kind: str) -> OperationalError:
    return OperationalError(f"a {call.function.upper()} outgrows its type {kind}", hint="CAST its argument to DOUBLE")
