"""Columns of whole numbers in fewer bytes."""

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.ordered.row_bytes import narrow, read_rows, widen, write_rows

EDGES = [-(2**63), -(2**31), 0, 254, 255, 256, 65_535, 65_536, 2**31 - 1, 2**32 - 1, 2**32, 2**62, 2**63 - 1]
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | st.sampled_from(EDGES)
INTS = st.integers(-(2**31), 2**31 - 1) | st.integers(250, 260)


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.none() | LONGS, st.none() | INTS, st.none() | st.text(max_size=2)), max_size=6))
def test_every_row_comes_back(rows):
    types = {"long": pa.int64(), "int": pa.int32(), "text": pa.string()}
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types.values(), strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(types.items()))
    narrowed = narrow(batch)
    assert narrowed.nbytes <= batch.nbytes
    expected = pa.Table.from_batches([batch])
    assert widen(pa.Table.from_batches([narrowed])).equals(expected, check_metadata=True)
    read_back = read_rows(write_rows(batch))
    assert read_back.equals(expected, check_metadata=True) if rows else read_back is None


@pytest.mark.parametrize(
    "values, type_",
    [
        ([7], pa.uint8()),
        ([1_000, 1_255], pa.uint8()),
        ([1_000, None, 1_256], pa.uint16()),
        ([-(2**62), 65_536 - 2**62], pa.uint32()),
        ([0, 2**32], pa.int64()),
        ([-(2**63), 2**63 - 1], pa.int64()),
        ([None], pa.int64()),
    ],
)
def test_the_range_decides_how_many_bytes(values, type_):
    batch = pa.record_batch({"n": pa.array(values, pa.int64())})
    assert narrow(batch)["n"].type == type_
