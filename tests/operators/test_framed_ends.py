"""Functions over frames at the ends of types, and over long frames; tests/streams/test_framed.py has the rest."""

import pyarrow as pa
import pytest

from cepsql.errors import OperationalError
from cepsql.operators.framing.framed import Framed, FramedCall
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance

LAYOUT = RowLayout((), Column("t", ""), values=(Column("v0", ""),))
LONGEST = 2**63 - 1


def framed(values: list, call: FramedCall, kind: pa.DataType, wraps: bool = True) -> list:
    """Return what a call gives whose frames hold ten rows at most."""
    rows = pa.RecordBatch.from_pylist([{"t": t, "v0": value, "bucket": 0} for t, value in enumerate(values)])
    ended = pa.RecordBatch.from_pylist([{"t": 2**62, "v0": 0, "bucket": 0}])
    blobs = [blob for batch in pack([rows, ended], 1) for blob in batch["packet"].to_pylist()]
    operator = Framed(LAYOUT, 9, calls=(call,), types=(kind,), wraps=wraps)
    return advance(Stage(operator, (StageInput(0),), ""), None, blobs).output["w"].to_pylist()


def test_a_sum_wraps_or_is_an_error():
    call = FramedCall("w", "sum", "v0", -1, 0)
    assert framed([LONGEST, 1, -1], call, pa.int64()) == [LONGEST, -LONGEST - 1, 0]
    with pytest.raises(OperationalError, match="outgrows its type BIGINT"):
        framed([LONGEST, 1, -1], call, pa.int64(), wraps=False)
    assert framed([LONGEST, -LONGEST, LONGEST], call, pa.int64(), wraps=False) == [LONGEST, 0, 0]


def test_a_sum_may_not_outgrow_its_type_on_the_way():
    call = FramedCall("w", "sum", "v0", -2, 0)
    with pytest.raises(OperationalError, match="outgrows"):
        framed([LONGEST, 1, -5], call, pa.int64(), wraps=False)


@pytest.mark.parametrize(("first", "last"), [(-9, 0), (-9, -3), (-2, -2), (-5, -1)])
def test_extremes_are_those_of_a_plain_loop(first, last):
    values = [(i * 7919) % 1000 if i % 11 else None for i in range(500)]
    for function, chosen in (("min", min), ("max", max)):
        frames = [values[max(i + first, 0) : max(i + last + 1, 0)] for i in range(len(values))]
        not_null = [[value for value in frame if value is not None] for frame in frames]
        expected = [chosen(frame) if frame else None for frame in not_null]
        assert framed(values, FramedCall("w", function, "v0", first, last), pa.int64()) == expected
