"""Rows for the windows of a key in which nothing came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.operators.one_relation import OneRelation
from cepsql.operators.windowing.window_grids import CalendarGrid, FixedGrid, WindowGrid
from cepsql.ordered.operator import NEVER, Keep, OrderedRows, Step
from cepsql.ordered.plain_columns import integers, one_chunk, stack
from cepsql.ordered.row_layout import END_OF_TIME, RowLayout
from cepsql.ordered.sorting import stable_order

_FILLED = "filled"
_MILLISECOND = 1_000


class FillKind(StrEnum):
    """What a column has in the row of an empty window: the key, a bound of the window, or a value."""

    KEY = "key"
    START = "start"
    END = "end"
    TIME = "time"
    CONSTANT = "constant"
    PREVIOUS = "previous"
    LINEAR = "linear"


@dataclass(frozen=True)
class Filler:
    """How a column is filled; `value` is that of a CONSTANT, None for NULL."""

    kind: FillKind
    value: Decimal | str | None = None


@dataclass(frozen=True)
class FillOperator(OneRelation):
    """Give out the groups of windows, and a row for each window of a key between two groups that has none.

    With a limit rows also follow the last group of a key, as the bound passes the ends of their windows. The last group
    of a key is kept until no row can follow it. Rows with a LINEAR column wait for the next group of the key, and a gap
    longer than the limit stays empty.

    layout:  the groups, of which t is the end of the window; the values v0, v1, ... are filled as `fillers` say.
    size:    how long windows are, microseconds; at most, where a calendar measures them.
    step:    how often they begin, or how much later at most.
    most:    how many windows are filled after a group at most; None: all up to the next group, and none after the last.
    calendar: where windows lie that a calendar measures.
    """

    layout: RowLayout
    fillers: tuple[Filler, ...]
    size: int
    step: int
    most: int | None
    calendar: CalendarGrid | None = None

    sections: ClassVar[Mapping[str, int]] = {}
    counters: ClassVar[tuple[str, ...]] = ("filled",)
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({_FILLED: pa.int64()},)

    @property
    def grid(self) -> WindowGrid:
        """Where the windows lie."""
        return FixedGrid(self.size, self.step) if self.calendar is None else self.calendar

    @property
    def waits(self) -> bool:
        """Whether the rows of a gap wait for its end."""
        return self.most is None or any(filler.kind == FillKind.LINEAR for filler in self.fillers)

    @property
    def hold(self) -> int | None:
        if self.most is None:
            return None
        return (self.most + 1) * self.step if self.waits else 0

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        last = held.starts[1:] - 1
        if self.most is None:
            return np.full(len(last), NEVER)
        if self.waits:
            return self.grid.moved(integers(held.rows["t"])[last], self.most + 1)
        return self.grid.moved(integers(held.rows[_FILLED])[last], 1)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        times, size = integers(ordered.rows["t"]), ordered.rows.num_rows
        marks = one_chunk(ordered.rows[_FILLED])
        fresh = marks.is_null().to_numpy(zero_copy_only=False)
        filled = np.where(fresh, times, pc.fill_null(marks, 0).to_numpy())
        is_last = np.zeros(size, bool)
        is_last[ordered.starts[1:] - 1] = True
        following = np.append(times[1:], 0)
        following = np.where(is_last, times, following)
        until = self._until(times, np.where(is_last, END_OF_TIME, self.grid.moved(following, -1)), is_last, new)
        counts = np.maximum(self.grid.between(filled, until), 0)
        before = np.repeat(np.arange(size), counts)
        number = np.arange(len(before)) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = self.grid.moved(filled[before], number + 1)
        names = [column.name for column in self.layout.values]
        made = self._made(ordered.rows, names, before, ends, times)
        fresh_rows = ordered.rows.filter(pa.array(fresh)).select(["t", *names])
        output = stack([fresh_rows, made]) if made.num_rows else fresh_rows
        output = output.take(pa.array(stable_order(integers(output["t"]))))
        filled = self.grid.moved(filled, counts)
        ended = np.zeros(size, bool) if self.most is None else self._reached(times, self.most) <= new
        stays = is_last & ~ended
        pending = np.where(stays[ordered.starts[1:] - 1], ordered.starts[1:] - 1, ordered.starts[1:])
        return Step(output, [Keep(pending, marks={_FILLED: pa.array(filled)})], counts={"filled": made.num_rows})

    def _reached(self, times: np.ndarray, most: int) -> np.ndarray:
        """Return from when on no row can follow a group any more."""
        return self.grid.moved(times, most + (1 if self.waits else 0))

    def _until(self, times: np.ndarray, before_next: np.ndarray, is_last: np.ndarray, bound: int) -> np.ndarray:
        """Return the end of the last window to be filled after each group by now."""
        if self.most is None:
            return np.where(is_last, times, before_next)
        limit = self.grid.moved(times, self.most)
        if not self.waits:
            return np.minimum(np.where(is_last, min(bound, END_OF_TIME), before_next), limit)
        return np.where(is_last | (before_next > limit), times, before_next)

    def _made(
        self, rows: pa.Table, names: Sequence[str], before: np.ndarray, ends: np.ndarray, times: np.ndarray
    ) -> pa.Table:
        """Return the rows of windows that end at `ends`, each after the group at a place `before`."""
        places, after = pa.array(before), np.minimum(before + 1, len(times) - 1)
        share = (ends - times[before]) / np.maximum(times[after] - times[before], 1)
        columns: dict[str, pa.Array] = {"t": pa.array(ends)}
        bounds = {FillKind.END: lambda: ends, FillKind.START: lambda: self.grid.starts(ends),
                  FillKind.TIME: lambda: ends - _MILLISECOND}  # fmt: skip
        for name, filler in zip(names, self.fillers, strict=True):
            column = one_chunk(rows[name])
            if filler.kind in bounds:
                columns[name] = _bound(bounds[filler.kind](), column.type)
            elif filler.kind == FillKind.CONSTANT:
                columns[name] = pa.repeat(constant(filler.value, column.type), len(ends))
            elif filler.kind == FillKind.LINEAR:
                low, high = column.take(places), column.take(pa.array(after))
                columns[name] = pc.add(low, pc.multiply(pc.subtract(high, low), pa.array(share)))
            else:
                columns[name] = column.take(places)
        return pa.table(columns)


def _bound(times: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return bounds of windows as a column of a type."""
    if pa.types.is_date(kind):
        return pa.array((times // DAY).astype(np.int32)).view(kind)
    return pa.array(times.astype(np.int64)).view(kind)


def constant(value: Decimal | str | None, kind: pa.DataType) -> pa.Scalar:
    """Return a constant as a value of a column's type; raises pa.ArrowException or TypeError where it is none."""
    if value is None or isinstance(value, str):
        return pa.scalar(value, kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(value, kind)
    return pa.scalar(float(value), kind) if pa.types.is_floating(kind) else pa.scalar(int(value), kind)
