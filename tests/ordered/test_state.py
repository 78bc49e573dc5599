"""The bytes of a bucket's state."""

import pyarrow as pa
import pytest

from cepsql.errors import OperationalError
from cepsql.ordered.counts import Counts
from cepsql.ordered.state import State, decode, encode

FINGERPRINT = "0123456789abcdef"
TABLE = pa.table({"k0": ["a", None], "t": [1, 2], "v0": pa.array([[1], None])})
STATE = State(7, Counts(5, 4, 1), TABLE, TABLE.slice(1), pa.table({"number": [3]}))


@pytest.mark.parametrize("state", [STATE, State(), State(-9, Counts(1), None, TABLE), State(0, Counts(), TABLE)])
def test_round_trip(state):
    assert decode(encode(state, FINGERPRINT), FINGERPRINT) == state


def test_a_state_without_rows_is_small():
    assert len(encode(State(2**62, Counts(2**40), TABLE.slice(0, 0)), FINGERPRINT)) < 200


@pytest.mark.parametrize("data", [b"\x80\x04pickle", encode(STATE, FINGERPRINT).replace(b"CEPS\x03", b"CEPS\x01")])
def test_another_format_is_refused(data):
    with pytest.raises(OperationalError, match="format") as caught:
        decode(data, FINGERPRINT)
    assert "new checkpoint" in caught.value.hint


def test_another_program_is_refused():
    with pytest.raises(OperationalError, match="another text of the query") as caught:
        decode(encode(STATE, FINGERPRINT), "f" * 16)
    assert "replay" in caught.value.hint
