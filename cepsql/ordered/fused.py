"""Two operators with equal keys in one stage: what the first gives out is the ordered input of the second."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.columns import compact
from cepsql.ordered.operator import Operator, OrderedRows, Step
from cepsql.ordered.release import Kept, release
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, RowLayout

_FIRST, _SECOND = "first_", "second_"
_HELD, _WAITING = "held", "waiting"
_COUNTS = ("used", "late", "null_time")


@dataclass(frozen=True)
class Fused:
    """Two operators as one, without a shuffle and a state between them.

    first:  has a hold, and gives out inserted rows only.
    second: has one side. Rows with equal keys for it have equal keys for the first.
    adapt:  makes rows of the second's layout from the first's output; rows with t = NULL have no place in its order.
    Sections and counters have the names of the operators' own after "first_" and "second_"; counters are further what
    became of the rows between them, "second_used", "second_late" and "second_null_time".
    """

    first: Operator
    second: Operator
    adapt: Callable[[pa.Table], pa.Table]

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
        first, second = self.first.hold, self.second.hold
        return None if first is None or second is None else first + second

    @property
    def changing(self) -> bool:
        return self.second.changing

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return self.first.deadlines(held, side)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        given = self.first.advance(rows, _own(sections, _first, self.first), old, new)
        between, null_time = self._rows_between(given.output)
        old, new = self._held_back(old), self._held_back(new)
        on_time = between.filter(pc.greater(between["t"], old)) if between.num_columns else between
        kept = Kept(
            (sections.get(_second(_HELD)),),
            (sections.get(_second(_WAITING)),),
            _own(sections, _second, self.second),
        )
        step, kept = release(self.second, kept, [[compact(on_time)] if on_time.num_rows else []], old, new)
        tables = {_first(name): table for name, table in given.sections.items()}
        tables |= {_second(name): table for name, table in kept.sections.items()}
        tables |= {_second(_HELD): kept.held[0], _second(_WAITING): kept.waiting[0]}
        counts = {_first(name): number for name, number in given.counts.items()}
        counts |= {_second(name): number for name, number in step.counts.items()}
        became = (on_time.num_rows, between.num_rows - on_time.num_rows, null_time)
        counts |= {_second(name): number for name, number in zip(_COUNTS, became, strict=True)}
        remembered = {name: table for name, table in tables.items() if table is not None}
        return Step(step.output, given.keep, remembered, counts, step.changes)

    def _rows_between(self, output: pa.Table) -> tuple[pa.Table, int]:
        """Return the rows that the second operator orders, and how many have no time."""
        if not output.num_rows:
            return pa.table({}), 0
        rows = self.adapt(output)
        return rows.filter(pc.is_valid(rows["t"])), rows["t"].null_count

    def _held_back(self, bound: int) -> int:
        """Return the bound of the rows between the operators."""
        hold = self.first.hold
        assert hold is not None
        return bound if bound in (BEGINNING, END_OF_TIME) else bound - hold


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


def _own(sections: Mapping[str, pa.Table], prefixed: Callable[[str], str], operator: Operator) -> dict[str, pa.Table]:
    """Return the sections of one of the operators under their own names."""
    return {name: sections[prefixed(name)] for name in operator.sections if prefixed(name) in sections}
