"""Frames that leave rows out give what a loop over the rows gives."""

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.operators.framing.excluded_rows import Exclusion
from cepsql.operators.framing.frame_bounds import Frame, PartitionOrder
from cepsql.operators.framing.framed import FRAMED_FUNCTIONS, FramedCall, frame_value

_VALUES = st.none() | st.integers(-3, 3)
_ENDS = st.none() | st.integers(-3, 3)
OF_ROWS = tuple(name for name in FRAMED_FUNCTIONS if name != "row")


@st.composite
def partitions(draw) -> list[tuple[int, int, int | None]]:
    """Rows in order: the number of their partition, their value in the order, and a value."""
    keys = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=14))
    return [(*key, draw(_VALUES)) for key in sorted(keys)]


def inside(rows: list, place: int, other: int, frame: Frame) -> bool:
    """Tell whether a row is in the frame of another one, by its definition."""
    (group, at, _), (of, there, _) = rows[place], rows[other]
    if group != of:
        return False
    before = [row[1] for row in rows if row[0] == group]
    numbers = sorted(set(before))
    distance = {
        "rows": other - place,
        "groups": numbers.index(there) - numbers.index(at),
        "range": there - at,
    }[frame.unit]
    if (frame.first is not None and distance < frame.first) or (frame.last is not None and distance > frame.last):
        return False
    match frame.excluded:
        case Exclusion.CURRENT_ROW:
            return other != place
        case Exclusion.GROUP:
            return there != at
        case Exclusion.TIES:
            return there != at or other == place
    return True


def expected(function: str, values: list[int | None]) -> object:
    """Return the value of a function of the rows of a frame."""
    not_null = [value for value in values if value is not None]
    match function:
        case "count":
            return len(not_null)
        case "first" | "last":
            return None if not values else values[0 if function == "first" else -1]
        case "sum" | "min" | "max":
            return {"sum": sum, "min": min, "max": max}[function](not_null) if not_null else None
        case "avg":
            return sum(not_null) / len(not_null) if not_null else None
    fewest = 2 if function.endswith("samp") else 1
    if len(not_null) < fewest:
        return None
    moment = np.var(not_null, ddof=fewest - 1)
    return float(np.sqrt(moment) if function.startswith("stddev") else moment)


@settings(max_examples=examples(120))
@given(partitions(), st.sampled_from(["rows", "groups", "range"]), _ENDS, _ENDS, st.sampled_from([*Exclusion, None]))
def test_frames_give_what_a_loop_gives(rows, unit, first, last, excluded):
    group, order = (np.array([row[i] for row in rows]) for i in (0, 1))
    peer = np.unique(group * 10 + order, return_inverse=True)[1]
    frame = Frame(unit, first, last, excluded)
    spans = PartitionOrder(group, peer, pa.array(order)).spans(frame)
    places = [[other for other in range(len(rows)) if inside(rows, place, other, frame)] for place in range(len(rows))]
    owner, found_places = spans.places(0, len(rows))
    assert [found_places[owner == place].tolist() for place in range(len(rows))] == places
    assert spans.nth(2, None).tolist() == [frame[1] if len(frame) > 1 else -1 for frame in places]
    column = pa.array([row[2] for row in rows], pa.int32())
    kinds = {"count": pa.int64(), "sum": pa.int64(), "min": pa.int32(), "max": pa.int32(), "first": pa.int32()}
    for function in OF_ROWS:
        kind = kinds.get(function, pa.int32() if function == "last" else pa.float64())
        call = FramedCall("x", function, "v", 0, 0)
        given_values = frame_value(call, kind, spans, column, True).to_pylist()
        wanted = [expected(function, [rows[at][2] for at in frame]) for frame in places]
        assert given_values == [None if w is None else pytest.approx(w) for w in wanted], function
    doubles = frame_value(FramedCall("x", "sum", "v", 0, 0), pa.float64(), spans, column.cast(pa.float64()), True)
    assert doubles.to_pylist() == [expected("sum", [rows[at][2] for at in frame]) for frame in places]
