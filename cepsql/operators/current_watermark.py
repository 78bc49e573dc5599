"""Rows with the watermark that was known when they came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.one_relation import OneRelation
from cepsql.ordered.operator import OrderedRows, Step
from cepsql.ordered.row_layout import IDLE, RowLayout

WATERMARK = "watermark"
"""The BIGINT column that rows get, in microseconds since the epoch: NULL before there is a watermark."""

_LAST = 253_402_300_799_999_999
"""The last microsecond of the year 9999, the watermark after the end of the input."""


@dataclass(frozen=True)
class CurrentWatermarkOperator(OneRelation):
    """Gives out each row at once, with the bound at which its micro-batch began.

    Its stage has to let rows come at once. They come out with the values of the layout. A repeated micro-batch begins
    at the same bound.
    """

    layout: RowLayout

    sections: ClassVar[Mapping[str, int]] = {}
    hold = 0

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        values, size = ordered.rows.select([column.name for column in self.layout.values]), ordered.rows.num_rows
        watermarks = pa.nulls(size, pa.int64()) if old <= IDLE else pa.array(np.full(size, min(old, _LAST)))
        return Step(values.append_column(WATERMARK, watermarks), [None])
