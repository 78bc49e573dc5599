"""Finding keys of one table in another."""

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sort import columns, nullable

from cepsql.ordered.keys import find_keys


@st.composite
def sides(draw):
    sizes = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    both = [draw(columns(sum(sizes))) for _ in range(draw(st.integers(0, 3)))]
    return [c.slice(0, sizes[0]) for c in both], [c.slice(sizes[0]) for c in both], sizes


@settings(max_examples=examples(45))
@given(sides())
def test_find_keys(case):
    left, right, (left_rows, right_rows) = case

    def key(columns: list[pa.Array], row: int):
        return tuple(nullable(c[row].as_py()) for c in columns)

    places = find_keys(left, left_rows, right, right_rows).tolist()
    present = {key(right, j) for j in range(right_rows)}
    for i, place in enumerate(places):
        if place < 0:
            assert key(left, i) not in present
        else:
            assert key(left, i) == key(right, place)
