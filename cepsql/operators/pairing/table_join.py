"""The join of two changing tables by equal keys, as changes of the joined table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.operators.changing.change_rows import (
    IDENTITY,
    KIND,
    labelled,
    net_owned_rows,
    numbered_owners,
    signs,
)
from cepsql.operators.pairing.interval_join import JoinKind
from cepsql.operators.pairing.null_keys import null_keys
from cepsql.operators.pairing.pair_condition import PairCondition, chosen_pairs
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.ordered.keyed.sorted_hashes import ranges
from cepsql.ordered.keys import find_keys, key_codes, numbered_among, partition_keys
from cepsql.ordered.operator import NEVER, KeyedSections, OrderedRows, Step
from cepsql.ordered.plain_columns import integers, one_chunk, stack, take_rows
from cepsql.ordered.row_layout import RowLayout
from cepsql.ordered.sorting import stable_order

_SECTIONS = ("left", "right")
_NUMBER, _MET = "n", "met"
_SAMPLE, _MOST_SAMPLED, _MOST_DIFFERENT = 500, 20_000, 0.8
"""How many rows select the partitions that are sampled for repeated rows, how many rows of these are sampled, and the
greatest fraction of distinct rows at which rows count as repeated."""


@dataclass(frozen=True)
class TableJoinOperator(KeyedSections):
    """Emits the changes of the join of two tables when either of them changes.

    KIND says whether a row is added or retracted. Its stage must pass rows on at once. Its state has the rows of both
    tables. A key with NULL matches nothing, except for the `null_safe` ones.

    left, right: the layouts of the two sides, with IDENTITY and KIND among the values.
    schemas:     the output columns of each side.
    condition:   the condition of a match beside equal keys; with one, the state has the number of matches of each row.
    asked:       the columns of each side that only the condition reads.
    null_safe:   the numbers of the keys whose NULLs are equal.
    identified:  something reads IDENTITY of its output, which is NULL otherwise.
    Output columns: those of the left with the prefix LEFT, of the right with RIGHT, and IDENTITY. For a row without a
    match those of the other side are NULL; SEMI and ANTI have only the left.
    """

    left: RowLayout
    right: RowLayout
    kind: JoinKind
    schemas: tuple[pa.Schema, pa.Schema]
    condition: PairCondition | None = None
    asked: tuple[pa.Schema, pa.Schema] = (pa.schema([]), pa.schema([]))
    null_safe: frozenset[int] = frozenset()
    identified: bool = True

    sections: ClassVar[dict[str, int]] = dict.fromkeys(_SECTIONS, 1)
    counters: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({}, {})
    hold = None
    changing = True

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.left, self.right)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return np.full(len(held.pending), NEVER)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        if all(side is None for side in rows):
            return Step(pa.table({}), [None, None], sections)
        keys, null = self._keys(rows)
        left, right = (
            _SideRows(rows[side], sections.get(name), side, self, keys) for side, name in enumerate(_SECTIONS)
        )
        parts = []
        if self.kind not in (JoinKind.SEMI, JoinKind.ANTI) or self.condition is not None:
            pairs = self._pairs(left, right, null)
            if self.kind not in (JoinKind.SEMI, JoinKind.ANTI):
                parts.append(pairs)
            if self.condition is not None:
                left.meet(pairs[0], pairs[1], right)
                right.meet(pairs[1], pairs[0], left)
        if self.kind != JoinKind.INNER:
            parts.append(_alone(left, right, null, self.kind == JoinKind.SEMI))
        if self.kind == JoinKind.FULL:
            parts.append(_alone(right, left, null)[[1, 0, 2]])
        changed = np.concatenate(parts, axis=1)
        output, changes = self._output(left, right, changed[:, changed[2] != 0])
        stored = {name: side.remembered(keys) for name, side in zip(_SECTIONS, (left, right), strict=True)}
        return Step(output, [None, None], {n: t for n, t in stored.items() if t.num_rows}, changes=changes)

    def _keys(self, rows: Sequence[OrderedRows | None]) -> tuple[list[pa.Array], np.ndarray]:
        """Return the key of each partition, and whether it has a NULL."""
        names = self.left.key_names
        there = [side for side in rows if side is not None and side.rows.num_rows]
        count = len(there[0].starts) - 1
        plain = [name for number, name in enumerate(names) if number not in self.null_safe]
        null = np.any([null_keys(side, plain) for side in there], axis=0) if plain else np.zeros(count, bool)
        return partition_keys(names, there), null

    def _pairs(self, left: "_SideRows", right: "_SideRows", null: np.ndarray) -> np.ndarray:
        """Return the pairs with a row whose count changes: the place of the left, of the right, and the change."""
        moved = left.was != left.now
        one, other = _meeting(left, np.flatnonzero(moved & ~null[left.group]), right, np.arange(len(right.group)))
        stays = np.flatnonzero(~moved & ~null[left.group])
        more, others = _meeting(left, stays, right, np.flatnonzero(right.was != right.now))
        one, other = np.concatenate([one, more]), np.concatenate([other, others])
        one, other = chosen_pairs(self.condition, left.rows, one, right.rows, other)
        change = left.now[one] * right.now[other] - left.was[one] * right.was[other]
        return np.stack([one, other, change])

    def _output(self, left: "_SideRows", right: "_SideRows", changed: np.ndarray) -> tuple[pa.Table, pa.Array]:
        """Return output rows and changes from the places in both sides, -1 for no row, and the weights."""
        one, other, weights = changed
        columns = {LEFT + name: values for name, values in left.taken(one).items()}
        if self.kind not in (JoinKind.SEMI, JoinKind.ANTI):
            columns |= {RIGHT + name: values for name, values in right.taken(other).items()}
        identity = self._identity(left, right, one, other)
        places, changes = labelled(numbered_owners(identity, weights), weights)
        return take_rows(pa.table({**columns, IDENTITY: identity}), places), changes

    def _identity(self, left: "_SideRows", right: "_SideRows", one: np.ndarray, other: np.ndarray) -> pa.Array:
        """Return the identities of the output rows."""
        if not self.identified:
            return pa.nulls(len(one), pa.string())
        paired = self.kind not in (JoinKind.SEMI, JoinKind.ANTI)
        if paired and all(side.identity.null_count == len(side.identity) for side in (left, right)):
            # What the texts below come to.
            return pa.repeat("--", len(one))
        mine = left.identity.take(_places(one))
        if not paired:
            return mine
        size = pc.utf8_length(mine).cast(pa.string())
        both = pc.binary_join_element_wise(size, mine, ":").fill_null("-")
        return pc.binary_join_element_wise(both, right.identity.take(_places(other)).fill_null("-"), "")


class _SideRows:
    """The distinct rows of one side in the partitions of a batch.

    group:    the partition of each row.
    was, now: its count before and after the batch.
    met, meets: the number of rows of the other side with which it fulfils the condition of the join, before the batch,
              and, once `meet` was called, after it; None: all of its partition.
    """

    def __init__(
        self,
        ordered: OrderedRows | None,
        stored: pa.Table | None,
        side: int,
        join: TableJoinOperator,
        keys: list[pa.Array],
    ):
        # Columns with equal names in the state have equal types.
        names, prefix = join.left.key_names, (LEFT, RIGHT)[side]
        self._names, self._output_names, self._prefix = names, join.schemas[side].names, prefix
        fields = [*join.schemas[side], *join.asked[side], pa.field(IDENTITY, pa.string())]
        tables, groups, weights, numbers, meetings = [], [], [], [], []
        self._others: pa.Table | None = None
        count = len(ordered.starts) - 1 if ordered is not None else len(keys[0]) if keys else 1
        if stored is not None:
            held = [one_chunk(stored[name]) for name in names]
            group = find_keys(held, stored.num_rows, keys, count) if names else np.zeros(stored.num_rows, np.int64)
            mine = group >= 0
            self._others = stored.filter(pa.array(~mine))
            old = stored.filter(pa.array(mine))
            columns = [field.name for field in fields]
            tables.append(old.select([prefix + name for name in columns]).rename_columns(columns))
            groups.append(group[mine])
            weights.append(np.zeros(old.num_rows, np.int64))
            numbers.append(integers(old[_NUMBER]) if old.num_rows else np.zeros(0, np.int64))
            if join.condition is not None:
                meetings.append(integers(old[_MET]) if old.num_rows else np.zeros(0, np.int64))
        if ordered is not None and ordered.rows.num_rows:
            tables.append(ordered.rows.select([field.name for field in fields]))
            groups.append(np.repeat(np.arange(count), np.diff(ordered.starts)))
            weights.append(signs(one_chunk(ordered.rows[KIND])))
            numbers.append(np.zeros(ordered.rows.num_rows, np.int64))
            meetings.append(np.zeros(ordered.rows.num_rows, np.int64))
        rows = stack(tables) if tables else pa.schema(fields).empty_table()
        group = np.concatenate([*groups, np.zeros(0, np.int64)])
        first, change, codes = _netted(rows, group, np.concatenate([*weights, np.zeros(0, np.int64)]), count)
        was = np.zeros(len(first), np.int64)
        met = None if join.condition is None else np.zeros(len(first), np.int64)
        if stored is not None:
            np.add.at(was, codes, np.concatenate(numbers))
            if met is not None:
                np.add.at(met, codes, np.concatenate(meetings))
        order = stable_order(group[first])
        self.rows = take_rows(rows, first[order])
        self.group, self.was = group[first[order]], was[order]
        self.now = self.was + change[order]
        self.met = None if met is None else met[order]
        self.meets = self.met
        self.count = count

    @property
    def identity(self) -> pa.Array:
        """The identity of each row."""
        return one_chunk(self.rows[IDENTITY])

    def meet(self, mine: np.ndarray, theirs: np.ndarray, other: "_SideRows") -> None:
        """Count the pairs that fulfil the condition: those of each row that changes, and those whose other row does."""
        assert self.met is not None
        moved = self.was != self.now
        was, change = np.zeros(len(self.was), np.int64), np.zeros(len(self.was), np.int64)
        np.add.at(was, mine, other.was[theirs])
        np.add.at(change, mine, other.now[theirs] - other.was[theirs])
        self.met = np.where(moved, was, self.met)
        self.meets = self.met + change

    def totals(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sum over the rows of each partition."""
        sums = np.zeros(self.count, np.int64)
        np.add.at(sums, self.group, numbers)
        return sums

    def taken(self, places: np.ndarray) -> dict[str, pa.Array]:
        """Return the output columns of the rows at places, NULL for -1."""
        selected = self.rows.select(self._output_names)
        if (places >= 0).all():
            return {name: one_chunk(column) for name, column in _columns(take_rows(selected, places))}
        chosen = _places(places)
        return {name: one_chunk(column).take(chosen) for name, column in _columns(selected)}

    def remembered(self, keys: list[pa.Array]) -> pa.Table:
        """Return the rows for the state after the batch, including those of other partitions."""
        there = np.flatnonzero(self.now)
        group = pa.array(self.group[there])
        columns = {name: key.take(group) for name, key in zip(self._names, keys, strict=True)}
        columns |= {self._prefix + name: one_chunk(column) for name, column in _columns(take_rows(self.rows, there))}
        columns |= {} if self.meets is None else {_MET: pa.array(self.meets[there])}
        mine = pa.table({**columns, _NUMBER: pa.array(self.now[there])})
        return mine if self._others is None else stack([self._others, mine])


def _netted(
    rows: pa.Table, group: np.ndarray, weights: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the weights of equal rows of a partition, as `net_owned_rows` does, where it pays: in partitions that lose a
    row, and in all if many rows are repeated."""
    lose = np.bincount(group[weights < 0], minlength=count) > 0
    mine = np.arange(len(group)) if _repeats(rows, group, count) else np.flatnonzero(lose[group])
    owners = numbered_among(mine, [pa.array(group), one_chunk(rows[IDENTITY])], len(group))
    return net_owned_rows(owners, [one_chunk(column) for column in rows.columns], weights)


def _repeats(rows: pa.Table, group: np.ndarray, count: int) -> bool:
    """Tell from a sample whether many rows equal others of their partition; the last rows are the new ones."""
    at = max(0, len(group) - _SAMPLE)
    sampled = np.zeros(count, bool)
    sampled[group[at : at + _SAMPLE]] = True
    mine = np.flatnonzero(sampled[group])[-_MOST_SAMPLED:]
    owner, chosen = pa.array(group[mine]), pa.array(mine)
    # Usually the identities differ, and no other column is compared.
    for names in ([IDENTITY], rows.column_names):
        _, different = key_codes([owner, *(one_chunk(rows[name]).take(chosen) for name in names)], len(mine))
        if different >= len(mine) * _MOST_DIFFERENT:
            return False
    return True


def _meeting(left: _SideRows, mine: np.ndarray, right: _SideRows, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of rows at these places, ascending, with the same partition."""
    sizes, group = np.bincount(right.group[theirs], minlength=right.count), left.group[mine]
    size = sizes[group]
    begin = np.cumsum(sizes)[group] - size
    return np.repeat(mine, size), theirs[ranges(begin, size)]


def _alone(side: _SideRows, other: _SideRows, null: np.ndarray, met: bool = False) -> np.ndarray:
    """Return the rows of a side without a match, or those with one (`met`), whose count changes."""
    if side.met is not None and side.meets is not None:
        was, now = side.met > 0, side.meets > 0
    else:
        was, now = (((other.totals(numbers) > 0) & ~null)[side.group] for numbers in (other.was, other.now))
    change = side.now * (now == met) - side.was * (was == met)
    places = np.flatnonzero(change)
    return np.stack([places, np.full(len(places), -1), change[places]])


def _columns(rows: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    return zip(rows.column_names, rows.columns, strict=True)


def _places(places: np.ndarray) -> pa.Array:
    return pa.array(np.maximum(places, 0), mask=places < 0)
