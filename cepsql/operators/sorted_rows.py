"""All rows in the order of event time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from cepsql.operators.one_relation import OneRelation
from cepsql.ordered.operator import OrderedRows, Step
from cepsql.ordered.row_layout import RowLayout


@dataclass(frozen=True)
class SortedRows(OneRelation):
    """Give out all rows in the order of event time, then of the order columns, then of arrival.

    It remembers nothing: rows wait in the stage until the watermark passes them.

    layout: the rows, without keys, so that all of them are in one partition.
    """

    layout: RowLayout

    sections: ClassVar[Mapping[str, int]] = {}
    hold = 0

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        return Step(pa.table({}) if ordered is None else ordered.rows, [None])
