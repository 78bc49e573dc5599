"""Two operators with equal keys in one stage: the output of the first is the ordered input of the second."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.arrival import POSITION, has_positions, in_their_order
from cepsql.ordered.held import open_held
from cepsql.ordered.operator import NEVER, Operator, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import compact
from cepsql.ordered.release import OperatorState, release
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, RowLayout
from cepsql.ordered.state import State

_FIRST, _SECOND = "first_", "second_"
_HELD, _WAITING = "held", "waiting"
_COUNTS = ("used", "late", "null_time")


@dataclass(frozen=True)
class Fused(WholeSections):
    """Two operators as one, without a shuffle and a state between them.

    first:  emits inserted rows only.
    second: has one side. Rows with equal keys for it have equal keys for the first.
    adapt:  converts the first's output to the second's layout; rows with t = NULL have no place in its order.
    delay:  how many microseconds the event time of a row between them may lie behind the first's bound.
    in_order: the first emits the rows of each key in their order, which is their order of arrival then.
    Sections and counters have the names of the operators' own after "first_" and "second_"; further counters are those
    of the rows between them, "second_used", "second_late" and "second_null_time".
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
        of_first, second_state = self._sections(sections)
        first_step = self.first.advance(rows, of_first, old, new)
        between, null_time = self._rows_between(first_step.output)
        old, new = self._held_back(old), self._held_back(new)
        on_time = between.filter(pc.greater(between["t"], old)) if between.num_columns else between
        if self.in_order and self.second.sides[0].by_arrival:
            second_state, on_time = _after_each_other(second_state, on_time)
        step, second_state = release(
            self.second, second_state, [[compact(on_time)] if on_time.num_rows else []], old, new
        )
        second_state = _without_positions(second_state)
        tables = {_first(name): table for name, table in first_step.sections.items()}
        seconds = {_HELD: second_state.held[0], _WAITING: second_state.waiting[0], **second_state.sections}
        # Columns of one name may have another type in each operator.
        tables |= {_second(name): _renamed(table, _second) for name, table in seconds.items() if table is not None}
        counts = {_first(name): number for name, number in first_step.counts.items()}
        counts |= {_second(name): number for name, number in step.counts.items()}
        became = (on_time.num_rows, between.num_rows - on_time.num_rows, null_time)
        counts |= {_second(name): number for name, number in zip(_COUNTS, became, strict=True)}
        deadlines = [
            *self._deadlines(step, second_state),
            *([] if first_step.deadlines is None else [first_step.deadlines]),
        ]
        return Step(step.output, first_step.keep, tables, counts, step.changes, np.concatenate(deadlines))

    def _sections(self, sections: Mapping[str, pa.Table]) -> tuple[Mapping[str, pa.Table], OperatorState]:
        """Return the sections of the first, and the state of the second."""
        mine = {name: _renamed(table, _of_second) for name, table in sections.items() if name.startswith(_SECOND)}
        second_state = OperatorState(
            (mine.get(_second(_HELD)),), (mine.get(_second(_WAITING)),), _own(mine, _second, self.second)
        )
        return _own(sections, _first, self.first), second_state

    def _deadlines(self, step: Step, state: OperatorState) -> Iterator[np.ndarray]:
        """Yield the bounds at which the second's rows and its other state are due."""
        if step.deadlines is not None:
            yield self._of_first(step.deadlines)
        (held,), (waiting,) = state.held, state.waiting
        rows = 0 if waiting is None else waiting.num_rows
        if held is not None:
            deadlines = self.second.deadlines(open_held(held), 0)
            rows += held.num_rows - len(deadlines)
            yield self._of_first(deadlines)
        yield np.full(rows, NEVER)

    def _rows_between(self, output: pa.Table) -> tuple[pa.Table, int]:
        """Return the input rows of the second operator, and how many rows have no event time."""
        if not output.num_rows:
            return pa.table({}), 0
        rows = self.adapt(output)
        return rows.filter(pc.is_valid(rows["t"])), rows["t"].null_count

    def _held_back(self, bound: int) -> int:
        """Return the bound of the rows between the operators."""
        return bound if bound in (BEGINNING, END_OF_TIME) else bound - self.delay

    def _of_first(self, bounds: np.ndarray) -> np.ndarray:
        """Return the bounds of the first at which the bound of the rows between reaches these."""
        return np.where(bounds < END_OF_TIME, bounds + self.delay, bounds)


def _after_each_other(state: OperatorState, new: pa.Table) -> tuple[OperatorState, pa.Table]:
    """Return the state and new rows with positions: waiting rows first, and all in their order."""
    (waiting,) = state.waiting
    places = pa.array(np.arange(new.num_rows))
    return (
        replace(state, waiting=(None if waiting is None else in_their_order(waiting),)),
        new.append_column(POSITION, places) if new.num_columns else new,
    )


def _without_positions(state: OperatorState) -> OperatorState:
    """Return the state without positions: its waiting rows are in order."""
    (waiting,) = state.waiting
    if waiting is None or not has_positions(waiting):
        return state
    return replace(state, waiting=(waiting.drop_columns([POSITION]),))


def state_of(operator: Operator, state: State, place: int) -> State:
    """Return the state of one of a stage's operators, as if it had a stage of its own.

    place: the number of the operator in the stage, from 0, in the order in which rows go through them.
    """
    if not isinstance(operator, Fused):
        return state
    of_first, second = operator._sections(state.operator_state.sections)
    if place == _count(operator) - 1:
        return replace(state, bound=operator._held_back(state.bound), operator_state=second)
    return state_of(
        operator.first, replace(state, operator_state=replace(state.operator_state, sections=of_first)), place
    )


def _count(operator: Operator) -> int:
    return _count(operator.first) + 1 if isinstance(operator, Fused) else 1


def own_name(name: str) -> str:
    """Return the name of a counter in its own operator, without the prefixes of fused operators.

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
