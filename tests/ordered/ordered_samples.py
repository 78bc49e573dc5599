"""What the tests of the ordered stage share: rows, an operator, and packing without Spark."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from cepsql.ordered.operator import OrderedRows, Step, WholeSections
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout
from cepsql.ordered.stage import Stage, StageInput

SCHEMA = pa.schema(
    [("k0", pa.float64()), ("t", pa.int64()), ("o0", pa.int32()), ("v0", pa.string()), ("m", pa.int64())]
)

INPUT_SCHEMA = SCHEMA.append(pa.field("bucket", pa.int32())).append(pa.field("malformed", pa.bool_()))


BUCKETS = 2
KEYS = [(0.0, 0), (-0.0, 0), (1.0, 0), (float("nan"), 1), (None, 1)]

ORDER = (OrderColumn("o0", "seq", descending=True, nulls_first=False),)
LAYOUT = RowLayout((Column("k0", "key"),), Column("t", "ts"), ORDER, (Column("v0", "price"),), ("price > 0",))


@dataclass(frozen=True)
class PassOn(WholeSections):
    """An operator that gives out the rows as they are released; it keeps and remembers nothing."""

    sides = (LAYOUT,)
    sections: ClassVar = {}
    marks = ({},)
    counters = ("rows",)
    hold = 0
    changing = False

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        raise AssertionError("nothing is held")

    def advance(self, rows, sections, old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        return Step(ordered.rows, [None], counts={"rows": ordered.rows.num_rows})


STAGE = Stage(PassOn(), (StageInput(0),), "query")


@st.composite
def inputs(draw, max_batches: int = 5):
    """Draw micro-batches of tasks of rows; times drift upwards, ties and late rows are frequent."""
    batches = []
    for n in range(draw(st.integers(1, max_batches))):
        tasks = []
        for _ in range(draw(st.integers(1, 2))):
            rows = []
            for _ in range(draw(st.integers(0, 6))):
                key, bucket = draw(st.sampled_from(KEYS))
                row = {"k0": key, "bucket": bucket, "malformed": draw(st.sampled_from([None, False, True]))}
                row["t"] = draw(st.none() | st.integers(3 * n - 3, 3 * n + 4))
                row["o0"] = draw(st.none() | st.integers(0, 1))
                row["v0"] = draw(st.sampled_from([None, "a", "b"]))
                row["m"] = draw(st.integers(0, 1))
                rows.append(row)
            tasks.append(rows)
        batches.append(tasks)
    return batches


def packets(rows: list[dict], buckets: int, **limits) -> dict[int, list[bytes]]:
    """Pack one task's rows, two a batch; return the packets of each bucket."""
    batches = [pa.RecordBatch.from_pylist(rows[i : i + 2], schema=INPUT_SCHEMA) for i in range(0, len(rows), 2)]
    packed: dict[int, list[bytes]] = {}
    for batch in pack(iter(batches), buckets, **limits):
        for row in batch.to_pylist():
            packed.setdefault(row["bucket"], []).append(row["packet"])
    return packed
