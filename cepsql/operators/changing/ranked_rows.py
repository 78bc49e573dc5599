"""The rows with the first ranks of each key, whenever they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from cepsql.operators.changing.change_rows import IDENTITY, KIND, identities, labelled, net_rows, signs
from cepsql.operators.changing.table_rows import CHANGE, GROUP, ROWS, WAS, TableRows, columns_of, netted, peers
from cepsql.ordered.operator import OrderedRows, Step
from cepsql.ordered.plain_columns import integers, one_chunk, stack, take_rows
from cepsql.ordered.row_layout import RowLayout

RANK = "rank"
"""The INT column with the rank of an output row, counted from 1."""

_DENSE = 16
"""Numbers are counted in a dense table if it is at most so many times as long as the list of numbers."""


class Ranking(StrEnum):
    """The rank function; rows that are equal in the order are peers."""

    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"


@dataclass(frozen=True)
class RankedRowsOperator(TableRows):
    """Emits the changes of the rows with the first ranks of each key.

    KIND says whether a row is added or retracted. Its stage must pass rows on at once. Peers of a ROW_NUMBER are
    ordered by their values, ascending with NULL first, so that no rank depends on the order of arrival. Its state has
    all rows of each key; without retractions, only those of the result.

    layout:     the rows, ranked by its order columns; IDENTITY and KIND are among the values if rows are retracted.
    limit:      the last rank of the result; None: all ranks.
    numbered:   the rank is part of the result, and identifies a row of it. Otherwise the row itself does, or its key
                alone if a key has only one row.
    retracting: rows are also retracted.
    Output columns: the keys, order columns and values of the layout without KIND, RANK if `numbered`, and IDENTITY.
    """

    layout: RowLayout
    ranking: Ranking
    limit: int | None
    numbered: bool
    retracting: bool

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(ROWS)
        if ordered is None or ordered.rows.num_rows == 0:
            return Step(pa.table({}), [None], sections)
        first = take_rows(ordered.rows, ordered.starts[:-1])
        keys = [one_chunk(first[name]) for name in self.layout.key_names]
        came = self._candidates(ordered)
        rows_before, others = self.rows_of_keys(stored, keys, len(ordered.starts) - 1)
        ranked = _Ranked(came if rows_before is None else stack([rows_before, came]), self)
        before, after = ranked.ranks(ranked.was), ranked.ranks(ranked.now)
        output, changes = self._output(keys, ranked, before, after)
        # A row with a later rank can only move up if rows are retracted.
        comes_out = np.bincount(after[0], minlength=len(ranked.now))
        numbers = ranked.now if self.retracting else comes_out
        return Step(output, [None], self.remembered(keys, ranked.rows, numbers, others), changes=changes)

    def _candidates(self, ordered: OrderedRows) -> pa.Table:
        """Return the new rows that may have one of the ranks, with their group and weight."""
        rows, starts = ordered.rows, ordered.starts
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        if self.retracting:
            return self.came(rows.select(self.columns), group, signs(one_chunk(rows[KIND])))
        places, _ = _first_ranks(self, np.arange(rows.num_rows), group, peers(rows, self.order, group))
        return self.came(take_rows(rows.select(self.columns), places), group[places], np.ones(len(places), int))

    def _output(
        self,
        keys: list[pa.Array],
        ranked: "_Ranked",
        before: tuple[np.ndarray, np.ndarray],
        after: tuple[np.ndarray, np.ndarray],
    ) -> tuple[pa.Table, pa.Array]:
        """Return the changes between the rows with the first ranks, as places and ranks, before and after the batch."""
        place = np.concatenate([before[0], after[0]])
        rank = np.concatenate([before[1], after[1]]) if self.numbered else np.zeros(len(place), np.int64)
        weights = np.repeat([-1, 1], [len(before[0]), len(after[0])])
        place, rank, total = _net_places(place, rank, weights)
        rows, group = take_rows(ranked.rows.select(self.columns), place), ranked.group[place]
        columns = self.keys_of(keys, group) | columns_of(rows)
        identity = columns.pop(IDENTITY, None)
        if self.numbered:
            columns[RANK] = pa.array(rank, pa.int32())
        columns[IDENTITY] = self._identities(columns, identity, len(place))
        places, changes = labelled(self._owners(group, rank, columns[IDENTITY]), total)
        return take_rows(pa.table(columns), places), changes

    def _identities(self, columns: Mapping[str, pa.Array], identity: pa.Array | None, count: int) -> pa.Array:
        """Return the identities of output rows; `identity` is that of the input row, None if its values identify it."""
        parts = [columns[name] for name in self.layout.key_names]
        if self.numbered:
            parts.append(columns[RANK])
        elif not self._one_each:
            parts += [columns[name] for name in self.columns] if identity is None else [identity]
        return identities(parts, count)

    def _owners(self, group: np.ndarray, rank: np.ndarray, identity: pa.Array) -> np.ndarray:
        """Return a number for the identity of each row of a group with a rank."""
        if self.numbered or self._one_each:
            return group * (int(rank.max(initial=0)) + 1) + rank
        return integers(identity.dictionary_encode().indices).astype(np.int64)

    @property
    def _one_each(self) -> bool:
        """Whether each key has one row at most."""
        return self.ranking == Ranking.ROW_NUMBER and self.limit == 1


class _Ranked:
    """Distinct rows, by group and in order.

    group:    the group of each row.
    was, now: its count before and after the batch.
    """

    def __init__(self, rows: pa.Table, operator: RankedRowsOperator):
        self._operator = operator
        if operator.retracting:
            rows = netted(rows, operator.columns)
        self.rows = operator.in_order(rows)
        self.group, self.was = integers(self.rows[GROUP]), integers(self.rows[WAS])
        self.now = self.was + integers(self.rows[CHANGE])
        self._peer = peers(self.rows, operator.order, self.group)

    def ranks(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of the rows with the first ranks, and the ranks, for rows with these counts."""
        places = np.repeat(np.arange(len(numbers)), np.maximum(numbers, 0))
        return _first_ranks(self._operator, places, self.group, self._peer)


def _net_places(place: np.ndarray, rank: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the weights of equal places with equal ranks; return those with a net weight."""
    width = int(rank.max(initial=0)) + 1
    size = (int(place.max(initial=0)) + 1) * width
    if size <= _DENSE * len(place):
        total = np.bincount(place * width + rank, weights, size).astype(np.int64)
        ranked = np.flatnonzero(total)
        return ranked // width, ranked % width, total[ranked]
    first, total, _ = net_rows([pa.array(place), pa.array(rank)], weights)
    first, total = first[total != 0], total[total != 0]
    return place[first], rank[first], total


def _first_ranks(
    operator: RankedRowsOperator, places: np.ndarray, group: np.ndarray, peer: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of rows with the first ranks of their group, and these ranks."""
    group, peer = group[places], peer[places]
    begins = np.flatnonzero(np.concatenate([[True], np.diff(group) != 0])[: len(group)])
    begin = np.repeat(begins, np.diff(np.append(begins, len(group))))
    every = np.arange(len(places))
    match operator.ranking:
        case Ranking.ROW_NUMBER:
            rank = every - begin + 1
        case Ranking.RANK:
            rank = np.searchsorted(peer, peer) - begin + 1
        case Ranking.DENSE_RANK:
            distinct = np.cumsum(np.concatenate([[True], np.diff(peer) != 0])[: len(peer)])
            rank = distinct - distinct[begin] + 1
    if operator.limit is None:
        return places, rank
    within = rank <= operator.limit
    return places[within], rank[within]
