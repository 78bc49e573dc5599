"""Two operators with equal keys in one stage: what the first gives out is the ordered input of the second."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.arrival import POSITION, has_positions, in_their_order
from cepsql.ordered.held import open_held
from cepsql.ordered.operator import NEVER, Operator, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import compact
from cepsql.ordered.release import Kept, release
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, RowLayout
from cepsql.ordered.state import State

_FIRST, _SECOND = "first_", "second_"
_HELD, _WAITING = "held", "waiting"
_COUNTS = ("used", "late", "null_time")


@dataclass(frozen=True)
class Fused(WholeSections):
    """Two operators as one, without a shuffle and a state between them.

    first:  gives out inserted rows only.
    second: has one side. Rows with equal keys for it have equal keys for the first.
    adapt:  makes rows of the second's layout from the first's output; rows with t = NULL have no place in its order.
    delay:  how many microseconds the event time of a row between them may lie behind the first's bound.
    in_order: the first gives out the rows of each of its keys in their order, which is that of their arrival then.
    Sections and counters have the names of the operators' own after "first_" and "second_"; counters are further what
    became of the rows between them, "second_used", "second_late" and "second_null_time".
    """

    first: Operator
    second: Operator
    adapt: Callable[[pa.Table], pa.Table]
    delay: int
    in_order: bool = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return self.first.sides

    @property
    def marks(self) -> tuple[Mapping[str, pa.DataType], ...]:
        return self.first.marks

    @property
    def sections(self) -> Mapping[str, int]:
        own = {_second(_HELD): 1, _second(_WAITING): 1}
        first = {_first(name): version for name, version in self.first.sections.items()}
        return own | first | {_second(name): version for name, version in self.second.sections.items()}

    @property
    def counters(self) -> tuple[str, ...]:
        return (*map(_first, self.first.counters), *map(_second, (*_COUNTS, *self.second.counters)))

    @property
    def hold(self) -> int | None:
        return None if self.second.hold is None else self.delay + self.second.hold

    @property
    def changing(self) -> bool:
        return self.second.changing

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return self.first.deadlines(held, side)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        of_first, kept = self._sections(sections)
        first_step = self.first.advance(rows, of_first, old, new)
        between, null_time = self._rows_between(first_step.output)
        old, new = self._held_back(old), self._held_back(new)
        on_time = between.filter(pc.greater(between["t"], old)) if between.num_columns else between
        if self.in_order and self.second.sides[0].by_arrival:
            kept, on_time = _after_each_other(kept, on_time)
        step, kept = release(self.second, kept, [[compact(on_time)] if on_time.num_rows else []], old, new)
        kept = _without_positions(kept)
        tables = {_first(name): table for name, table in first_step.sections.items()}
        seconds = {_HELD: kept.held[0], _WAITING: kept.waiting[0], **kept.sections}
        # Columns of one name may have another type in each operator.
        tables |= {_second(name): _renamed(table, _second) for name, table in seconds.items() if table is not None}
        counts = {_first(name): number for name, number in first_step.counts.items()}
        counts |= {_second(name): number for name, number in step.counts.items()}
        became = (on_time.num_rows, between.num_rows - on_time.num_rows, null_time)
        counts |= {_second(name): number for name, number in zip(_COUNTS, became, strict=True)}
        deadlines = [*self._deadlines(step, kept), *([] if first_step.deadlines is None else [first_step.deadlines])]
        return Step(step.output, first_step.keep, tables, counts, step.changes, np.concatenate(deadlines))

    def _sections(self, sections: Mapping[str, pa.Table]) -> tuple[Mapping[str, pa.Table], Kept]:
        """Return the sections of the first, and what is kept of the second."""
        mine = {name: _renamed(table, _of_second) for name, table in sections.items() if name.startswith(_SECOND)}
        kept = Kept((mine.get(_second(_HELD)),), (mine.get(_second(_WAITING)),), _own(mine, _second, self.second))
        return _own(sections, _first, self.first), kept

    def _deadlines(self, step: Step, kept: Kept) -> Iterator[np.ndarray]:
        """Yield the bounds at which what the second keeps comes out: one for each row, and what it remembers."""
        if step.deadlines is not None:
            yield self._of_first(step.deadlines)
        (held,), (waiting,) = kept.held, kept.waiting
        rows = 0 if waiting is None else waiting.num_rows
        if held is not None:
            deadlines = self.second.deadlines(open_held(held), 0)
            rows += held.num_rows - len(deadlines)
            yield self._of_first(deadlines)
        yield np.full(rows, NEVER)

    def _rows_between(self, output: pa.Table) -> tuple[pa.Table, int]:
        """Return the rows that the second operator orders, and how many have no time."""
        if not output.num_rows:
            return pa.table({}), 0
        rows = self.adapt(output)
        return rows.filter(pc.is_valid(rows["t"])), rows["t"].null_count

    def _held_back(self, bound: int) -> int:
        """Return the bound of the rows between the operators."""
        return bound if bound in (BEGINNING, END_OF_TIME) else bound - self.delay

    def _of_first(self, bounds: np.ndarray) -> np.ndarray:
        """Return the bounds of the first at which those of the rows between reach these."""
        return np.where(bounds < END_OF_TIME, bounds + self.delay, bounds)


def _after_each_other(kept: Kept, new: pa.Table) -> tuple[Kept, pa.Table]:
    """Return what is kept and new rows with positions, by which those that wait come first and all stay in order."""
    (waiting,) = kept.waiting
    places = pa.array(np.arange(new.num_rows))
    return (
        replace(kept, waiting=(None if waiting is None else in_their_order(waiting),)),
        new.append_column(POSITION, places) if new.num_columns else new,
    )


def _without_positions(kept: Kept) -> Kept:
    """Return what is kept as it is stored: rows that wait are in order."""
    (waiting,) = kept.waiting
    if waiting is None or not has_positions(waiting):
        return kept
    return replace(kept, waiting=(waiting.drop_columns([POSITION]),))


def state_of(operator: Operator, state: State, place: int) -> State:
    """Return what the state of a stage says of one of its operators, as if that had a stage of its own.

    place: of the operator among those of the stage, from 0, in the order in which rows go through them.
    """
    if not isinstance(operator, Fused):
        return state
    of_first, second = operator._sections(state.kept.sections)
    if place == _count(operator) - 1:
        return replace(state, bound=operator._held_back(state.bound), kept=second)
    return state_of(operator.first, replace(state, kept=replace(state.kept, sections=of_first)), place)


def _count(operator: Operator) -> int:
    return _count(operator.first) + 1 if isinstance(operator, Fused) else 1


def own_name(name: str) -> str:
    """Return the name that a counter has in the operator that counts, however often that is fused.

    >>> own_name("second_first_matches")
    'matches'
    """
    while name.startswith((_FIRST, _SECOND)):
        name = name.removeprefix(_FIRST if name.startswith(_FIRST) else _SECOND)
    return name


def _first(name: str) -> str:
    return _FIRST + name


def _second(name: str) -> str:
    return _SECOND + name


def _of_second(name: str) -> str:
    return name.removeprefix(_SECOND)


def _renamed(table: pa.Table, name: Callable[[str], str]) -> pa.Table:
    return table.rename_columns([name(column) for column in table.column_names])


def _own(sections: Mapping[str, pa.Table], prefixed: Callable[[str], str], operator: Operator) -> dict[str, pa.Table]:
    """Return the sections of one of the operators under their own names."""
    return {name: sections[prefixed(name)] for name in operator.sections if prefixed(name) in sections}
