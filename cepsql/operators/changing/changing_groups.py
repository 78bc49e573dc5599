"""Groups of all rows with a key so far, which come out whenever they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.changing.change_rows import equal_values
from cepsql.operators.changing.partial_groups import WEIGHT, PartialGroups, added_choice, added_counts, added_limbs
from cepsql.operators.one_relation import OneRelation
from cepsql.operators.running import (
    ROWS,
    Remembered,
    RunningBatch,
    RunningCall,
    better_values,
    stored_sum_type,
    sum_with,
    total_value,
)
from cepsql.operators.windowing.changing_windows import CHANGE
from cepsql.ordered.operator import Change, KeyedSections, OrderedRows, Step
from cepsql.ordered.plain_columns import integers
from cepsql.ordered.row_layout import RowLayout
from cepsql.ordered.sorting import stable_order

EVER = 2**61
"""The lateness of a stage whose rows may come at any time, microseconds."""

_KEPT = "groups"


@dataclass(frozen=True)
class ChangingGroupsOperator(KeyedSections, OneRelation):
    """Gives out what aggregates were and are, of each key whose rows of a micro-batch change one.

    Its stage has to let rows come at once. It remembers for each key, for ever, what each aggregate needs to go on.

    layout: the rows, with the arguments of aggregates as values, or what `PartialGroups` makes of them.
    calls:  aggregates that read a column: "count", "sum", "avg", "min" or "max".
    types:  of their values.
    Output columns: the keys of the layout, one for each call, and CHANGE.
    Raises OperationalError where a sum outgrows its type.
    """

    layout: RowLayout
    calls: tuple[RunningCall, ...]
    types: tuple[pa.DataType, ...]

    sections: ClassVar[dict[str, int]] = {_KEPT: 1}
    hold = None

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(_KEPT)
        names = self.layout.key_names
        if ordered is None or ordered.rows.num_rows == 0:
            sections = {} if stored is None else {_KEPT: stored}
            return Step(pa.table({}), [None], sections) if names or stored is not None else self._nothing()
        keys = [ordered.rows[name].chunk(0).take(pa.array(ordered.starts[:-1])) for name in names]
        remembered = Remembered(stored, names, keys, len(ordered.pending))
        if isinstance(self.layout.reduction, PartialGroups):
            before, after, had, stored_columns = self._edges(ordered, remembered, self.layout.reduction)
        else:
            before, after, had, stored_columns = RunningBatch(
                self.layout, self.calls, self.types, ordered, remembered
            ).edges()
        # Without keys the group is there before its first row.
        fresh = had == 0 if names or stored is None else np.zeros(len(had), bool)
        changed = np.zeros(len(had), bool)
        for left, right in zip(before, after, strict=True):
            changed |= ~equal_values(left, right)
        updated = changed & ~fresh
        parts = [
            self._rows(keys, before, updated, np.full(len(had), Change.UPDATE_BEFORE)),
            self._rows(keys, after, updated | fresh, np.where(fresh, Change.INSERT, Change.UPDATE_AFTER)),
        ]
        groups = np.concatenate([np.flatnonzero(updated), np.flatnonzero(updated | fresh)])
        # What a group was stands before what it is.
        output = pa.concat_tables(parts).take(pa.array(stable_order(groups)))
        table = pa.table({**dict(zip(names, keys, strict=True)), **stored_columns})
        return Step(output, [None], {_KEPT: remembered.replaced_by(table)})

    def _edges(
        self, ordered: OrderedRows, remembered: Remembered, reduction: PartialGroups
    ) -> tuple[list[pa.Array], list[pa.Array], np.ndarray, dict[str, pa.Array]]:
        """Return what `RunningBatch.edges` does, of rows that are added up already."""
        rows, starts, types = ordered.rows, ordered.starts, dict(reduction.types)
        had = remembered.numbers(ROWS)
        stored_columns = {ROWS: pa.array(had + np.add.reduceat(integers(rows[WEIGHT]), starts[:-1]))}
        before, after = [], []
        for number, (call, kind) in enumerate(zip(self.calls, self.types, strict=True)):
            assert call.column is not None
            name, column = f"c{number}", types[call.column]
            earlier = remembered.numbers(f"{name}_count")
            counts = earlier, earlier + added_counts(rows, call.column, starts)
            stored_columns[f"{name}_count"] = pa.array(counts[1])
            if call.function == "count":
                values = [pa.array(count) for count in counts]
            elif call.function in ("sum", "avg"):
                held = stored_sum_type(call, column)
                sum_before = remembered.column(f"{name}_sum", held).fill_null(pa.scalar(0).cast(held))
                sums = [sum_before, sum_with(call, sum_before, added_limbs(rows, call.column, starts), column)]
                stored_columns[f"{name}_sum"] = sums[1]
                values = [total_value(call, kind, total, count) for total, count in zip(sums, counts, strict=True)]
            else:
                choice_before = remembered.column(f"{name}_value", column)
                more = added_choice(rows, call.column, starts, call.function == "min")
                values = [choice_before, better_values(choice_before, more, call.function == "min")]
                stored_columns[f"{name}_value"] = values[1]
            before.append(values[0].cast(kind))
            after.append(values[1].cast(kind))
        return before, after, had, stored_columns

    def _nothing(self) -> Step:
        """Begin the group of all rows before the first one: it has no values, and no numbers."""
        columns = {
            call.name: pa.array([0], kind) if call.function == "count" else pa.nulls(1, kind)
            for call, kind in zip(self.calls, self.types, strict=True)
        }
        output = pa.table({**columns, CHANGE: pa.array([Change.INSERT], pa.int8())})
        return Step(output, [None], {_KEPT: pa.table({ROWS: pa.array([0], pa.int64())})})

    def _rows(self, keys: list[pa.Array], values: list[pa.Array], chosen: np.ndarray, kinds: np.ndarray) -> pa.Table:
        columns = dict(zip(self.layout.key_names, keys, strict=True))
        columns |= {call.name: value for call, value in zip(self.calls, values, strict=True)}
        columns[CHANGE] = pa.array(kinds.astype(np.int8))
        return pa.table(columns).filter(pa.array(chosen))
