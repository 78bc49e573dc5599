"""Where frames of window functions begin and end among the rows of partitions that are in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa

from cepsql.base.cached_property import cached_property
from cepsql.operators.framing.excluded_rows import Exclusion, without
from cepsql.operators.framing.spans import Spans
from cepsql.operators.running import unscaled
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import integers

_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Frame:
    """Which rows of its partition the frame of a row holds.

    unit:     "rows", "groups" of rows that are equal in the order, or "range": the rows whose value in the order lies
              within a distance.
    first:    where it begins, after the row, or before it where it is negative; None: with the partition.
    last:     where it ends; None: with the partition.
    excluded: what it leaves out of these rows.
    Distances of "range" are numbers, days of DATE, and microseconds of TIMESTAMP; a text is the name of the column that
    has, of each row, the value in the order at which the frame begins or ends, such as that a month before.
    """

    unit: str
    first: int | Decimal | str | None
    last: int | Decimal | str | None
    excluded: Exclusion | None = None


@dataclass(frozen=True)
class PartitionOrder:
    """Rows of partitions, in order.

    group:      the number of each row's partition, ascending.
    peer:       a number that rows of a partition share which are equal in the order, ascending over all rows.
    value:      the column by which the rows are in order, if that is one.
    descending: they are in descending order.
    edges:      columns that `Frame` names.
    """

    group: np.ndarray
    peer: np.ndarray
    value: pa.Array | None = None
    descending: bool = False
    edges: Mapping[str, pa.Array] = field(default_factory=dict)

    @cached_property
    def partitions(self) -> Spans:
        """Of each row, the rows of its partition."""
        return _runs(self.group)

    @cached_property
    def peers(self) -> Spans:
        """Of each row, the rows that are equal in the order."""
        return _runs(self.peer)

    @cached_property
    def peer_place(self) -> np.ndarray:
        """Of each row, how many different values of the order its partition has before it."""
        return self._peer_number - self._peer_number[self.partitions.begins]

    @cached_property
    def _peer_number(self) -> np.ndarray:
        """Of each row, how many groups of peers come before its own, in all partitions."""
        return np.cumsum(np.append(False, self.peer[1:] != self.peer[:-1]))[: len(self.peer)]

    @cached_property
    def _peer_edges(self) -> np.ndarray:
        """Where the groups of peers begin, and the end of the last one."""
        return np.append(np.unique(self.peers.begins), len(self.peer))

    def spans(self, frame: Frame) -> Spans:
        """Return the rows of the frame of each row."""
        every = np.arange(len(self.group))
        begins, ends = self.partitions.begins, self.partitions.ends
        match frame.unit:
            case "rows":
                if frame.first is not None:
                    begins = self._within(every + _moved(frame.first))
                if frame.last is not None:
                    ends = self._within(every + 1 + _moved(frame.last))
            case "groups":
                if frame.first is not None:
                    begins = self._peers_away(_moved(frame.first))
                if frame.last is not None:
                    ends = self._peers_away(_moved(frame.last) + 1)
            case _:
                if frame.first is not None:
                    begins = self._at_distance(frame.first, False) if frame.first else self.peers.begins
                if frame.last is not None:
                    ends = self._at_distance(frame.last, True) if frame.last else self.peers.ends
        whole = Spans(begins, ends)
        return whole if frame.excluded is None else without(whole, frame.excluded, every, self.peers)

    def _within(self, places: np.ndarray) -> np.ndarray:
        return np.clip(places, self.partitions.begins, self.partitions.ends)

    def _peers_away(self, away: int) -> np.ndarray:
        """Return where the peers begin that are so many groups of peers after those of each row."""
        return self._within(self._peer_edges[np.clip(self._peer_number + away, 0, len(self._peer_edges) - 1)])

    def _at_distance(self, distance: int | Decimal | str, beyond: bool) -> np.ndarray:
        """Return the first row from a distance after the value of each row on, or `beyond` it."""
        assert self.value is not None
        valid = self.value.is_valid().to_numpy(zero_copy_only=False)
        if isinstance(distance, str):
            code, target = _whole_numbers(self.value), _whole_numbers(self.edges[distance])
        else:
            code, target = _codes(self.value, -distance if self.descending else distance)
        if self.descending:
            code, target = ~code, ~target
        group, rows = self.group[valid], np.flatnonzero(valid)
        code, target = code[valid], target[valid]
        # Each target stands before the first row that is not less, or, with 2, that is greater.
        kind = np.repeat([1, 2 if beyond else 0], [len(group), len(group)])
        order = np.lexsort((kind, np.concatenate([code, target]), np.tile(group, 2)))
        is_row = order < len(group)
        place = np.empty(len(group), np.int64)
        place[order[~is_row] - len(group)] = np.cumsum(is_row)[~is_row]
        bounds = (self.peers.ends if beyond else self.peers.begins).copy()
        if len(rows):
            # Of the rows with a value, those of a partition follow one another.
            first = np.searchsorted(group, group)
            bounds[rows] = rows[first] + place - first
        return bounds


def _runs(numbers: np.ndarray) -> Spans:
    """Return for each of ascending numbers the places of those that are equal."""
    return Spans(np.searchsorted(numbers, numbers), np.searchsorted(numbers, numbers, "right"))


def _moved(distance: int | Decimal | str) -> int:
    return max(min(int(distance), 2**40), -(2**40))


def _codes(column: pa.Array, distance: int | Decimal) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers that sort as the values do, and those of the values at a distance after them."""
    if pa.types.is_floating(column.type):
        values = column.fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)
        both = np.concatenate([values, values + float(distance)])
        codes = ordinals(pa.array(both), equal_zeros=True)
        return codes[: len(values)], codes[len(values) :]
    if pa.types.is_decimal(column.type):
        scale = max(column.type.scale, -int(Decimal(distance).as_tuple().exponent))
        exact = unscaled(column) * 10 ** (scale - column.type.scale)
        both = np.concatenate([exact, exact + int(Decimal(distance).scaleb(scale))])
        codes = np.unique(both, return_inverse=True)[1]
        return codes[: len(exact)], codes[len(exact) :]
    values = _whole_numbers(column)
    step = int(distance)
    moved = np.minimum(values, _MOST - step) + step if step >= 0 else np.maximum(values, _LEAST - step) + step
    return values, moved


def _whole_numbers(column: pa.Array) -> np.ndarray:
    return integers(column.fill_null(0)).astype(np.int64)
