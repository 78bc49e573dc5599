"""Windows of event time whose groups come out before they are over, and again when they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.windowing.window_kinds import Gaps, Places, Windows
from cepsql.operators.windowing.windows import windowed_rows
from cepsql.ordered.operator import NEVER, Change, Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import count_flags, flags, integers
from cepsql.ordered.row_layout import END_OF_TIME, RowLayout

CHANGE = "change"
"""The TINYINT column of the output with the `Change` that a row's group is."""

_PUBLISHED, _DUE = "published", "due"


@dataclass(frozen=True)
class ChangingWindows(WholeSections):
    """Gives out the rows of a group whenever it changed: those that it had when it came out last, and those it has now.

    Its stage has to let rows come at once. A row may come until `lateness` microseconds after the last of its windows
    is over; then the row is forgotten.

    every: groups come out when the bound passes a multiple of so many microseconds, and when they are over; None: as
           soon as they change.
    once:  groups come out when no row may come for them any more, and no sooner.
    Output columns: those of the layout, and START, END, FIRST, PLACE of `windows.py`, and CHANGE. A group
    with an UPDATE_AFTER has an UPDATE_BEFORE beside it; a session that another one has taken in, or that goes on, is
    deleted.
    """

    layout: RowLayout
    windows: Windows
    lateness: int
    every: int | None = None
    once: bool = False

    sections: ClassVar[dict[str, int]] = {}
    counters: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({_PUBLISHED: pa.bool_(), _DUE: pa.int64()},)
    hold = None
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.layout,)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return np.minimum.reduceat(integers(held.rows[_DUE]), held.starts[:-1])

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None or ordered.rows.num_rows == 0:
            return Step(pa.table({}), [None])
        published = flags(ordered.rows[_PUBLISHED])
        plain = replace(ordered, rows=ordered.rows.drop_columns([_PUBLISHED, _DUE]))
        after = self._open(self.windows.of(ordered, np.arange(len(published))), old)
        over = after.over + self.lateness <= new if new != END_OF_TIME else np.ones(len(after.over), bool)
        if self.once:
            came = over & (after.over + self.lateness > old)
            output = _output([(plain, after, came, np.full(len(came), Change.INSERT))])
        else:
            output, published = self._changed(plain, after, over, published, old, new)
        due = self._due(after, published, new)
        stays = due > new if new != END_OF_TIME else np.zeros(len(due), bool)
        first = ordered.starts[:-1] + count_flags(~stays, ordered.starts)
        marks = {_PUBLISHED: pa.array(published), _DUE: pa.array(due)}
        return Step(output, [Keep(first, marks=marks)])

    def _open(self, places: Places, old: int) -> Places:
        """Return the places in windows for which a row could still come; those of sessions hang on one another."""
        return places if isinstance(self.windows, Gaps) else places.where(places.over + self.lateness > old)

    def _changed(
        self, ordered: OrderedRows, after: Places, over: np.ndarray, published: np.ndarray, old: int, new: int
    ) -> tuple[pa.Table, np.ndarray]:
        """Return the rows of the groups that changed, and which rows have come out then."""
        before = self._open(self.windows.of(ordered, np.flatnonzero(published)), old)
        count = len(after.place)
        group = _numbered(ordered, after, before)
        of_after, of_before = group[:count], group[count:]
        groups = int(group.max(initial=-1)) + 1
        fresh = ~published[after.place]
        partition = np.searchsorted(ordered.starts, after.place, "right") - 1
        open_now = self._opened(partition, over & fresh, len(ordered.starts) - 1, old, new)
        had, has, changed = (np.zeros(groups, bool) for _ in range(3))
        had[of_before], has[of_after] = True, True
        changed[of_after[fresh & open_now[partition]]] = True
        came = changed[of_after]
        shown = published.copy()
        shown[after.place[came]] = True
        # What a group of former rows has become is where any of its rows is now.
        now = np.zeros(len(published), np.int64)
        now[after.place] = of_after
        taken_in = ~has[of_before] & changed[now[before.place]]
        left = (changed & has)[of_before] | taken_in
        kinds_before = np.where(taken_in, Change.DELETE, Change.UPDATE_BEFORE)
        kinds_after = np.where(had[of_after], Change.UPDATE_AFTER, Change.INSERT)
        return _output([(ordered, before, left, kinds_before), (ordered, after, came, kinds_after)]), shown

    def _opened(self, partition: np.ndarray, ending: np.ndarray, count: int, old: int, new: int) -> np.ndarray:
        """Tell for each partition whether its groups may come out now."""
        if self.every is None or new == END_OF_TIME or new // self.every > old // self.every:
            return np.ones(count, bool)
        publishes = np.zeros(count, bool)
        publishes[partition[ending]] = True
        return publishes

    def _due(self, after: Places, published: np.ndarray, new: int) -> np.ndarray:
        """Return the bound at which each row must be seen again, `new` at most where it need not."""
        last, following = np.full(len(published), -NEVER), np.full(len(published), NEVER)
        ends = after.over + self.lateness
        np.maximum.at(last, after.place, ends)
        coming = ends > new
        np.minimum.at(following, after.place[coming], ends[coming])
        if self.once:
            return np.where(last > new, following, last)
        if self.every is None:
            return last
        next_time = (new // self.every + 1) * self.every
        return np.where((last > new) & ~published, np.minimum(following, next_time), last)


def _numbered(ordered: OrderedRows, *rows: Places) -> np.ndarray:
    """Return the number of the group of each row, those of several sets of rows one after another."""
    place = np.concatenate([one.place for one in rows])
    begin, end = (np.concatenate([getattr(one, name) for one in rows]) for name in ("begin", "end"))
    partition = np.searchsorted(ordered.starts, place, "right")
    order = np.lexsort((end, begin, partition))
    keys = [key[order] for key in (partition, begin, end)]
    rises = np.zeros(len(order), np.int64)
    if len(order):
        rises[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(rises)
    return number


def _output(parts: Sequence[tuple[OrderedRows, Places, np.ndarray, np.ndarray]]) -> pa.Table:
    """Return the chosen rows of each part with their windows, and the kind of change of each."""
    tables = []
    for ordered, rows, chosen, kinds in parts:
        if not chosen.any():
            continue
        table = windowed_rows(ordered, None, rows.place[chosen], rows.begin[chosen], rows.end[chosen])
        # All rows of a group have one kind, and come in the order in which `windowed_rows` lays them.
        partition = np.searchsorted(ordered.starts, rows.place[chosen], "right")
        order = np.lexsort((rows.place[chosen], rows.begin[chosen], partition))
        tables.append(table.append_column(CHANGE, pa.array(kinds[chosen][order].astype(np.int8))))
    return pa.concat_tables(tables) if tables else pa.table({})
