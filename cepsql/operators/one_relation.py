"""What operators have in common that read one relation and keep none of its rows: they remember values."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.ordered.operator import NEVER, OrderedRows, WholeSections
from cepsql.ordered.row_layout import RowLayout


class OneRelation(WholeSections):
    """A part of an operator: `layout` is that of its rows. Where `counters` and `changing` differ, it has its own."""

    layout: RowLayout

    counters: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({},)
    changing: ClassVar[bool] = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.layout,)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return np.full(len(held.pending), NEVER)
