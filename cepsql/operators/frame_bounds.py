"""Where frames of window functions begin and end among the rows of partitions that are in order."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa

from cepsql.cached_property import cached_property
from cepsql.operators.framed import Spans
from cepsql.operators.running import unscaled
from cepsql.ordered.columns import integers
from cepsql.ordered.ordinal import ordinals

_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Frame:
    """Which rows of its partition the frame of a row holds.

    unit:  "rows", "groups" of rows that are equal in the order, or "range": the rows whose value in the order lies
           within a distance.
    first: where it begins, after the row, or before it where it is negative; None: with the partition.
    last:  where it ends; None: with the partition.
    Distances of "range" are numbers, days of DATE, and microseconds of TIMESTAMP.
    """

    unit: str
    first: int | Decimal | None
    last: int | Decimal | None


@dataclass(frozen=True)
class PartitionOrder:
    """Rows of partitions, in order.

    group:      the number of each row's partition, ascending.
    peer:       a number that rows of a partition share which are equal in the order, ascending over all rows.
    value:      the column by which the rows are in order, if that is one.
    descending: they are in descending order.
    """

    group: np.ndarray
    peer: np.ndarray
    value: pa.Array | None = None
    descending: bool = False

    @cached_property
    def starts(self) -> np.ndarray:
        """Of each row, the first row of its partition."""
        return np.searchsorted(self.group, self.group)

    @cached_property
    def ends(self) -> np.ndarray:
        """Of each row, the place after the last row of its partition."""
        return np.searchsorted(self.group, self.group, "right")

    @cached_property
    def first_peer(self) -> np.ndarray:
        """Of each row, the first one that is equal in the order."""
        return np.searchsorted(self.peer, self.peer)

    @cached_property
    def peers_end(self) -> np.ndarray:
        """Of each row, the place after the last one that is equal in the order."""
        return np.searchsorted(self.peer, self.peer, "right")

    @cached_property
    def peer_place(self) -> np.ndarray:
        """Of each row, how many different values of the order its partition has before it."""
        number = np.cumsum(np.append(False, self.peer[1:] != self.peer[:-1]))[: len(self.peer)]
        return number - number[self.starts]

    def spans(self, frame: Frame) -> Spans:
        """Return the rows of the frame of each row."""
        every = np.arange(len(self.group))
        begins, ends = self.starts, self.ends
        match frame.unit:
            case "rows":
                if frame.first is not None:
                    begins = np.clip(every + _moved(frame.first), self.starts, self.ends)
                if frame.last is not None:
                    ends = np.clip(every + 1 + _moved(frame.last), self.starts, self.ends)
            case "groups":
                if frame.first is not None:
                    begins = self._of_peers(_moved(frame.first))[0]
                if frame.last is not None:
                    ends = self._of_peers(_moved(frame.last))[1]
            case _:
                if frame.first is not None:
                    begins = self._at_distance(frame.first)[0] if frame.first else self.first_peer
                if frame.last is not None:
                    ends = self._at_distance(frame.last)[1] if frame.last else self.peers_end
        return Spans(begins, ends)

    def _of_peers(self, away: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where the peers begin and end that are so many groups of peers after those of each row."""
        begin = np.flatnonzero(np.append(True, self.peer[1:] != self.peer[:-1])[: len(self.peer)])
        number = np.searchsorted(begin, np.arange(len(self.peer)), "right") - 1
        low, high = number[self.starts], number[self.ends - 1]
        there = number + away
        place = np.clip(there, low, high)
        begins, ends = begin[place], np.append(begin, len(self.peer))[place + 1]
        begins = np.where(there < low, self.starts, np.where(there > high, self.ends, begins))
        return begins, np.where(there < low, self.starts, np.where(there > high, self.ends, ends))

    def _at_distance(self, distance: int | Decimal) -> tuple[np.ndarray, np.ndarray]:
        """Return the first row from a distance after the value of each row on, and the first one beyond it."""
        assert self.value is not None
        valid = self.value.is_valid().to_numpy(zero_copy_only=False)
        code, target = _codes(self.value, -distance if self.descending else distance)
        if self.descending:
            code, target = ~code, ~target
        group, rows = self.group[valid], np.flatnonzero(valid)
        code, target = code[valid], target[valid]
        found = []
        for side in (0, 2):
            # Each target stands before the first row that is not less, or, with 2, that is greater.
            kind = np.repeat([1, side], [len(group), len(group)])
            order = np.lexsort((kind, np.concatenate([code, target]), np.tile(group, 2)))
            is_row = order < len(group)
            before = np.cumsum(is_row)
            place = np.empty(len(group), np.int64)
            place[order[~is_row] - len(group)] = before[~is_row]
            found.append(place)
        begins, ends = self.first_peer.copy(), self.peers_end.copy()
        if len(rows):
            # Of the rows with a value, those of a partition follow one another.
            first = np.searchsorted(group, group)
            begins[rows] = rows[first] + found[0] - first
            ends[rows] = rows[first] + found[1] - first
        return begins, ends


def _moved(distance: int | Decimal) -> int:
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
    values = integers(column.fill_null(0)).astype(np.int64)
    step = int(distance)
    moved = np.minimum(values, _MOST - step) + step if step >= 0 else np.maximum(values, _LEAST - step) + step
    return values, moved
