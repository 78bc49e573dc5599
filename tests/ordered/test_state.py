"""The bytes of a bucket's state."""

import struct
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
import pytest
from ordered_samples import PassOn

from cepsql.errors import OperationalError
from cepsql.ordered.arrival import Origin
from cepsql.ordered.reached import ProducerTime, Reached
from cepsql.ordered.release import OperatorState
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.ordered.state import State, decode, encode, first_state


@dataclass(frozen=True)
class Remembering(PassOn):
    """An operator with two sides and two sections."""

    sides = PassOn.sides * 2
    marks = PassOn.marks * 2
    counters = ("found", "expired")
    sections: ClassVar = {"seen": 1, "sums": 7}


OPERATOR, IDENTITY = Remembering(), "a hash of the query"
TABLE = pa.table({"k0": ["a", None], "t": [1, 2], "v0": pa.array([[1], None])})
STATE = State(
    bound=7,
    reached=(Reached(9), Reached(END_OF_TIME, 5), Reached(-3, None, {"a": ProducerTime(9), None: ProducerTime(-3, 4)})),
    operator_state=OperatorState((TABLE, None), (TABLE.slice(1), TABLE), {"sums": pa.table({"number": [3, 2**40]})}),
    origins={0: (1, Origin(5, "/folder/file", 0)), 7: (0, Origin(0, "topic", 3))},
)


@pytest.mark.parametrize("state", [STATE, first_state(OPERATOR, 2)])
def test_round_trip(state):
    assert decode(encode(state, OPERATOR, IDENTITY), OPERATOR, IDENTITY) == state


@pytest.mark.parametrize("version", [b"\x05", b"\x06"])
def test_a_state_of_a_version_before_is_read(version):
    written = encode(replace(STATE, origins={}), OPERATOR, IDENTITY).replace(b"CEPS\x07", b"CEPS" + version)
    assert decode(written, OPERATOR, IDENTITY) == replace(STATE, origins={})


@pytest.mark.parametrize("identity", ["x" * n for n in range(9)])
def test_columns_lie_aligned(identity):
    state = decode(encode(STATE, OPERATOR, identity), OPERATOR, identity)
    numbers = state.operator_state.sections["sums"]["number"].chunk(0)
    assert all(buffer.address % 8 == 0 for buffer in numbers.buffers() if buffer is not None)


def test_a_state_without_rows_is_small():
    empty = TABLE.slice(0, 0)
    state = replace(STATE, operator_state=OperatorState((empty, empty), (empty, None), {"seen": empty}))
    assert len(encode(state, OPERATOR, IDENTITY)) < 500


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04pickle",
        encode(STATE, OPERATOR, IDENTITY).replace(b"CEPS\x07", b"CEPS\x08"),
        # As version 0.1 wrote it.
        struct.pack("<4sHxx16sq10q3q", b"CEPS", 3, b"0123456789abcdef", 7, *range(10), 0, 0, 0),
    ],
)
def test_another_format_is_refused(data):
    with pytest.raises(OperationalError, match="format") as caught:
        decode(data, OPERATOR, IDENTITY)
    assert "new checkpoint" in caught.value.hint


def test_another_query_is_refused():
    with pytest.raises(OperationalError, match="another text of the query") as caught:
        decode(encode(STATE, OPERATOR, IDENTITY), OPERATOR, "another hash")
    assert "replay" in caught.value.hint


@pytest.mark.parametrize("sections, expected", [({"seen": 1, "sums": 8}, "version 8"), ({"seen": 1}, "none")])
def test_another_version_of_a_section_is_refused(sections, expected):
    other = type("Other", (Remembering,), {"sections": sections})()
    with pytest.raises(OperationalError, match=f"version 7 of section 'sums', but {expected} is expected") as caught:
        decode(encode(STATE, OPERATOR, IDENTITY), other, IDENTITY)
    assert "new checkpoint" in caught.value.hint
