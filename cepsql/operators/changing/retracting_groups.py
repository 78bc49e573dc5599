"""Aggregates of a changing table, by group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.operators.changing.change_rows import IDENTITY, KIND, equal_values, identities, labelled, net_rows, signs
from cepsql.operators.changing.partial_groups import WEIGHT, PartialGroups, added_counts, added_sums
from cepsql.operators.exact_sums import as_integers, limbs
from cepsql.operators.one_relation import OneRelation
from cepsql.operators.running import Remembered, as_decimals, mean_of, unscaled
from cepsql.ordered.keys import find_keys
from cepsql.ordered.operator import Change, KeyedSections, OrderedRows, Step
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import canonical, integers, one_chunk, stack, take_rows
from cepsql.ordered.row_layout import RowLayout

_GROUPS, _VALUES = "groups", "values"
_ROWS, _COUNT = "rows", "n"
_TOTALS = ("count", "sum", "avg")


@dataclass(frozen=True)
class GroupCall:
    """One aggregate of a column: "count", "sum", "avg", "min" or "max"; "list", its values in ascending order; "mode";
    for DOUBLE also "var_samp", "var_pop", "stddev_samp", "stddev_pop" or "percentile".

    name:     the name of the output column.
    distinct: equal values count once.
    fraction: the fraction of the values below a percentile.
    """

    name: str
    function: str
    column: str
    distinct: bool = False
    fraction: float | None = None

    def needs_values(self, kind: pa.DataType, retracting: bool) -> bool:
        """Tell whether it needs all distinct values of a group, for a column of a type, instead of a few numbers.

        retracting: rows are also retracted.
        """
        inexact = pa.types.is_floating(kind) and self.function in ("sum", "avg")
        return self.distinct or (inexact and retracting) or self.function not in _TOTALS


@dataclass(frozen=True)
class RetractingGroupsOperator(KeyedSections, OneRelation):
    """Emits the changed aggregates of each key's rows, as they were before a micro-batch and are after it.

    KIND says whether a row is added or retracted. Its stage must pass rows on at once. Its state has the number of rows
    of each group, and for each aggregate a count and an exact sum, or all distinct values with their counts. A group
    without rows is removed; without keys there is one group, which stays.

    layout:     the rows, with the arguments of aggregates and KIND as values, or the output of `PartialGroups`.
    types:      the type of each call's value.
    retracting: rows are also retracted. Otherwise the state has only the value of MIN and MAX, and sums of DOUBLE.
    Output columns: the keys of the layout, one for each call, and IDENTITY.
    Raises OperationalError if a sum is out of the range of its type.
    """

    layout: RowLayout
    calls: tuple[GroupCall, ...]
    types: tuple[pa.DataType, ...]
    retracting: bool = True

    hold = None
    changing: ClassVar[bool] = True

    @property
    def sections(self) -> dict[str, int]:
        return {_GROUPS: 2, **{f"{_VALUES} {name}": 1 for name in self._columns}}

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(_GROUPS)
        if ordered is None or ordered.rows.num_rows == 0:
            return Step(pa.table({}), [None], sections) if self.layout.keys or stored is not None else self._nothing()
        names, count = self.layout.key_names, len(ordered.starts) - 1
        first = take_rows(ordered.rows, ordered.starts[:-1])
        keys = [one_chunk(first[name]) for name in names]
        before = Remembered(stored, names, keys, count)
        added = self._added(ordered)
        has = before.numbers(_ROWS) + added.rows
        state_columns: dict[str, pa.Array] = {_ROWS: pa.array(has)}
        further: dict[str, pa.Table] = {}
        was, now = [], []
        for name in self._columns:
            column = _Column(name, added, before, self.retracting)
            state_columns |= column.state_columns
            of_values = [call for call in self.calls if call.column == name and self._needs_values(call, column.type)]
            if of_values:
                section = f"{_VALUES} {name}"
                edges = not self.retracting and all(call.function in ("min", "max") for call in of_values)
                column.gather(names, keys, sections.get(section), _Values(name, ordered), edges)
                assert column.stored is not None
                if column.stored.num_rows:
                    further[section] = column.stored
            for call, kind in zip(self.calls, self.types, strict=True):
                if call.column == name:
                    one, other = column.results(call, kind)
                    was.append((call.name, one))
                    now.append((call.name, other))
        existed = before.column(_ROWS, pa.int64()).is_valid().to_numpy(zero_copy_only=False)
        lives = has > 0 if names else np.ones(count, bool)
        output, changes = self._output(keys, dict(was), dict(now), existed, lives)
        table = pa.table({**dict(zip(names, keys, strict=True)), **state_columns})
        merged = before.replaced_by(table)
        if names and not lives.all():
            merged = merged.filter(pa.array(integers(merged[_ROWS]) > 0))
        groups = {_GROUPS: merged} if merged.num_rows else {}
        return Step(output, [None], groups | further, changes=changes)

    def _nothing(self) -> Step:
        """Return the first step of the only group, before its first row: without values and numbers."""
        columns = {
            call.name: pa.array([0], kind) if call.function == "count" else _of_nothing(call, kind)
            for call, kind in zip(self.calls, self.types, strict=True)
        }
        output = pa.table({**columns, IDENTITY: identities([], 1)})
        begun = pa.table({_ROWS: pa.array([0], pa.int64())})
        return Step(output, [None], {_GROUPS: begun}, changes=pa.array([Change.INSERT], pa.int8()))

    @property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(call.column for call in self.calls))

    def _needs_values(self, call: GroupCall, kind: pa.DataType) -> bool:
        return call.needs_values(kind, self.retracting)

    def _added(self, ordered: OrderedRows) -> "_Added":
        """Return what the rows of a batch add to the counts and sums of their groups."""
        rows, starts, reduction = ordered.rows, ordered.starts[:-1], self.layout.reduction
        if isinstance(reduction, PartialGroups):
            return _Added(
                np.add.reduceat(integers(rows[WEIGHT]), starts),
                dict(reduction.types),
                {name: added_counts(rows, name, ordered.starts) for name, _ in reduction.types},
                {name: added_sums(rows, name, ordered.starts) for name in reduction.summed},
            )
        sign = signs(one_chunk(rows[KIND]))
        columns = {name: one_chunk(rows[name]) for name in self._columns}
        valid = {name: column.is_valid().to_numpy(zero_copy_only=False) for name, column in columns.items()}
        summed = [call.column for call in self.calls if call.function in ("sum", "avg")
                  and not self._needs_values(call, columns[call.column].type)]  # fmt: skip
        return _Added(
            np.add.reduceat(sign, starts),
            {name: column.type for name, column in columns.items()},
            {name: np.add.reduceat(sign * there, starts) for name, there in valid.items()},
            {name: _sums(columns[name], sign, starts) for name in summed},
        )

    def _output(
        self,
        keys: list[pa.Array],
        was: Mapping[str, pa.Array],
        now: Mapping[str, pa.Array],
        existed: np.ndarray,
        lives: np.ndarray,
    ) -> tuple[pa.Table, pa.Array]:
        differs = existed != lives
        for name in was:
            differs |= ~equal_values(was[name], now[name])
        out, into = np.flatnonzero(existed & differs), np.flatnonzero(lives & differs)
        owners = np.concatenate([out, into])
        places, changes = labelled(owners, np.repeat([-1, 1], [len(out), len(into)]))
        group, chosen = pa.array(owners[places]), pa.array(places)
        columns = {name: key.take(group) for name, key in zip(self.layout.key_names, keys, strict=True)}
        for call in self.calls:
            both = [was[call.name].take(pa.array(out)), now[call.name].take(pa.array(into))]
            columns[call.name] = pa.concat_arrays(both).take(chosen)
        columns[IDENTITY] = identities([columns[name] for name in self.layout.key_names], len(places))
        return pa.table(columns), changes


@dataclass(frozen=True)
class _Added:
    """What the rows of a batch add to their groups.

    rows:   the number of rows for each group.
    types:  the types of the aggregated columns.
    counts: the number of non-NULL values of a column.
    sums:   the sum of a column: Python integers in units of the last digit, or float64.
    """

    rows: np.ndarray
    types: Mapping[str, pa.DataType]
    counts: Mapping[str, np.ndarray]
    sums: Mapping[str, np.ndarray]


class _Values:
    """The non-NULL values of a column in a batch, with the group and the sign, 1 or -1, of each."""

    def __init__(self, name: str, ordered: OrderedRows):
        column = one_chunk(ordered.rows[name])
        there = np.flatnonzero(column.is_valid())
        self.values = column.take(pa.array(there))
        self.groups = np.repeat(np.arange(len(ordered.starts) - 1), np.diff(ordered.starts))[there]
        self.signs = signs(one_chunk(ordered.rows[KIND]))[there]


class _Column:
    """The totals of a column in the groups of a batch, before and after it.

    state_columns: the columns of the state with the totals of each group, by name.
    stored: the values of all groups for the state; None before `gather`.
    """

    def __init__(self, name: str, added: _Added, before: Remembered, retracting: bool):
        self.type, self._retracting = added.types[name], retracting
        earlier = before.numbers(f"{name}_count")
        self._counts = earlier, earlier + added.counts[name]
        self.state_columns = {f"{name}_count": pa.array(self._counts[1])}
        self._sums: tuple[np.ndarray, np.ndarray] | None = None
        self._sorted: list[tuple[np.ndarray, pa.Array, np.ndarray]] = []
        self.stored: pa.Table | None = None
        more = added.sums.get(name)
        if more is None:
            return
        if pa.types.is_floating(self.type):
            total = before.column(f"{name}_sum", pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
            with np.errstate(invalid="ignore"):
                self._sums = total, total + more
            self.state_columns[f"{name}_sum"] = pa.array(self._sums[1])
        else:
            held = _exact(self.type)
            total = unscaled(before.column(f"{name}_sum", held))
            self._sums = total, total + more
            if _greatest(self._sums[1]) >= 10**38:
                raise _overflow("sum", "DECIMAL(38)")
            self.state_columns[f"{name}_sum"] = as_decimals(self._sums[1], held)

    def gather(
        self, names: list[str], keys: list[pa.Array], stored: pa.Table | None, came: _Values, edges: bool
    ) -> None:
        """Merge the distinct values of the groups with their counts; `edges`: only the least and the greatest."""
        count = len(self._counts[0])
        empty = pa.nulls(0, self.type)
        owner, values, numbers, others = np.zeros(0, np.int64), empty, np.zeros(0, np.int64), None
        if stored is not None and stored.num_rows:
            held = [one_chunk(stored[name]) for name in names]
            owner = find_keys(held, stored.num_rows, keys, count) if names else np.zeros(stored.num_rows, np.int64)
            mine = owner >= 0
            others = stored.filter(pa.array(~mine))
            values, numbers = one_chunk(stored["x"]).filter(pa.array(mine)), integers(stored[_COUNT])[mine]
            owner = owner[mine]
        both = pa.concat_arrays([values, came.values])
        owners = np.concatenate([owner, came.groups])
        weights = np.concatenate([numbers, came.signs])
        first, total, _ = net_rows([pa.array(owners), both], weights)
        there = total > 0
        owners, values_now, numbers_now = owners[first[there]], both.take(pa.array(first[there])), total[there]
        self._sorted = [_in_order(owner, values, numbers), _in_order(owners, values_now, numbers_now)]
        owners, values_now, numbers_now = self._sorted[1]
        if edges:
            changes = np.diff(owners) != 0
            outer = np.flatnonzero(np.append(True, changes) | np.append(changes, True))[: len(owners)]
            owners, values_now, numbers_now = owners[outer], values_now.take(pa.array(outer)), numbers_now[outer]
        columns = {name: key.take(pa.array(owners)) for name, key in zip(names, keys, strict=True)}
        table = pa.table({**columns, "x": values_now, _COUNT: pa.array(numbers_now)})
        self.stored = table if others is None else stack([others, table])

    def results(self, call: GroupCall, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
        """Return the values of an aggregate of the groups, before and after."""
        before, after = (self._result(call, kind, moment) for moment in range(2))
        return before, after

    def _result(self, call: GroupCall, kind: pa.DataType, moment: int) -> pa.Array:
        count = self._counts[moment]
        if call.needs_values(self.type, self._retracting):
            owner, values, numbers = self._sorted[moment]
            if call.distinct:
                # Of the two equal zeros Spark returns the positive one.
                values, numbers = canonical(values), np.ones(len(owner), np.int64)
            if call.function in ("min", "max"):
                every = np.arange(len(count))
                least = call.function == "min"
                place = np.searchsorted(owner, every) if least else np.searchsorted(owner, every, "right") - 1
                return values.take(pa.array(place, mask=count == 0))
            if call.function not in _TOTALS:
                return of_values(call.function, call.fraction, kind, len(count), owner, values, numbers)
            if call.distinct:
                count = np.bincount(owner, minlength=len(count))
            if call.function != "count" and pa.types.is_floating(self.type):
                total = np.zeros(len(count))
                with np.errstate(invalid="ignore"):
                    np.add.at(total, owner, _amounts(values) * numbers)
                return _float_total(call, total, count)
            exact = np.zeros(len(count), object)
            if call.function != "count":
                np.add.at(exact, owner, _numbers(values))
        elif call.function != "count":
            assert self._sums is not None
            exact = self._sums[moment]
            if pa.types.is_floating(self.type):
                return _float_total(call, exact, count)
        if call.function == "count":
            return pa.array(count, pa.int64())
        return _total(call, exact, count, self.type, kind)


def _sums(column: pa.Array, sign: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return what rows add to sums: DOUBLE in their order, others exactly."""
    if pa.types.is_floating(column.type):
        with np.errstate(invalid="ignore"):
            return np.add.reduceat(_amounts(column.fill_null(0.0)), starts)
    return as_integers([np.add.reduceat(limb * sign, starts) for limb in limbs(column)])


def _of_nothing(call: GroupCall, kind: pa.DataType) -> pa.Array:
    return pa.array([[]], kind) if call.function == "list" else pa.nulls(1, kind)


def of_values(
    function: str,
    fraction: float | None,
    kind: pa.DataType,
    groups: int,
    owner: np.ndarray,
    values: pa.Array,
    numbers: np.ndarray,
) -> pa.Array:
    """Return an aggregate of the values of groups: distinct and in order, each with its count in `numbers`.

    function, fraction: as in `GroupCall`.
    """
    size = np.bincount(owner, numbers, groups).astype(np.int64)
    if function == "list":
        offsets = np.concatenate([[0], np.cumsum(size)]).astype(np.int32)
        every = values.take(pa.array(np.repeat(np.arange(len(owner)), numbers)))
        return pa.ListArray.from_arrays(pa.array(offsets), every.cast(kind.value_type)).cast(kind)
    if function == "mode":
        order = np.lexsort((np.arange(len(owner)), -numbers, owner))
        place = np.searchsorted(owner, np.arange(groups))
        return values.take(pa.array(np.append(order, 0)[place], mask=size == 0))
    amounts = _amounts(values)
    if function == "percentile":
        assert fraction is not None
        return _percentile(amounts, np.cumsum(numbers), size, fraction)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(owner, amounts * numbers, groups) / size
        squares = np.bincount(owner, (amounts - mean[owner]) ** 2 * numbers, groups)
        divisor = size - 1 if function.endswith("samp") else size
        variance = squares / divisor
    statistic = np.sqrt(variance) if function.startswith("stddev") else variance
    return pa.array(statistic, pa.float64(), mask=divisor <= 0)


def _percentile(amounts: np.ndarray, reached: np.ndarray, size: np.ndarray, fraction: float) -> pa.Array:
    """Return the value below which a fraction of the values of each group lies, interpolated between two of them.

    reached: the number of values up to and including each one.
    """
    position = np.maximum(size - 1, 0) * fraction
    floor, ceiling = np.floor(position), np.ceil(position)
    if not len(amounts):
        return pa.nulls(len(size), pa.float64())
    before = np.cumsum(size) - size
    low, high = (amounts[_places(reached, before + edge.astype(np.int64))] for edge in (floor, ceiling))
    with np.errstate(invalid="ignore"):
        # In this order of operations, to round as Spark does.
        between = low + (position - floor) * (high - low)
    return pa.array(np.where((low == high) | (floor == ceiling), low, between), mask=size == 0)


def _places(reached: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.minimum(np.searchsorted(reached, wanted, "right"), len(reached) - 1)


def _total(call: GroupCall, exact: np.ndarray, count: np.ndarray, column: pa.DataType, kind: pa.DataType) -> pa.Array:
    """Return sums, or means, from exact sums in units of the last digit; NULL for a count of 0."""
    there = pa.array(count > 0)
    if not count.any():
        return pa.nulls(len(count), kind)
    if pa.types.is_integer(column):
        if call.function == "avg":
            return pa.array([float(one) for one in exact] / np.maximum(count, 1), mask=count == 0)
        if exact.min() < -(2**63) or exact.max() >= 2**63:
            raise _overflow(call.function, "BIGINT")
        return pa.array(exact.astype(np.int64), mask=count == 0)
    limit = 10 ** min(column.precision + 10, 38)
    if _greatest(exact) >= limit:
        raise _overflow(call.function, "DECIMAL")
    total = as_decimals(exact, pa.decimal128(38, column.scale))
    value = mean_of(total, count, kind) if call.function == "avg" else total.cast(kind)
    return pa.compute.if_else(there, value, pa.nulls(len(count), value.type))


def _greatest(exact: np.ndarray) -> int:
    """Return the greatest absolute value of Python integers."""
    return max(exact.max(), -exact.min()) if len(exact) else 0


def _float_total(call: GroupCall, total: np.ndarray, count: np.ndarray) -> pa.Array:
    return pa.array(total / np.maximum(count, 1) if call.function == "avg" else total, mask=count == 0)


def _amounts(column: pa.Array) -> np.ndarray:
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _in_order(owner: np.ndarray, values: pa.Array, numbers: np.ndarray) -> tuple[np.ndarray, pa.Array, np.ndarray]:
    order = np.lexsort((ordinals(values, equal_zeros=True), owner))
    return owner[order], values.take(pa.array(order)), numbers[order]


def _exact(kind: pa.DataType) -> pa.DataType:
    """Return the type of sums in the state."""
    return pa.decimal128(38, kind.scale if pa.types.is_decimal(kind) else 0)


def _numbers(column: pa.Array) -> np.ndarray:
    """Return integers or decimals as Python integers, in units of their last digit; 0 for NULL."""
    if pa.types.is_decimal(column.type):
        return unscaled(column)
    return integers(column.fill_null(0)).astype(object)


def _overflow(function: str, kind: str) -> OperationalError:
    return OperationalError(
        f"the {function.upper()} of a group outgrows its type {kind}", hint="CAST its argument to DOUBLE"
    )
