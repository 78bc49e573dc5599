"""Which values were there before: whatever the batches, none forgotten too soon, and as rarely wrong as asked."""

import numpy as np
import pyarrow as pa
import pytest

from cepsql.operators.seen_values import SeenValues

NOTHING = pa.nulls(1, pa.large_binary())


def asked(values: SeenValues, hashes: np.ndarray, newer=NOTHING, older=NOTHING) -> tuple[list, pa.Array, pa.Array]:
    valid, starts = np.ones(len(hashes), bool), np.array([0, len(hashes)])
    seen, newer, older = values.asked(hashes, valid, starts, newer, older)
    return seen.to_pylist(), newer, older


def hashes(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, count)


@pytest.mark.parametrize(("expected", "error"), [(100, 0.1), (1_000, 0.01), (2_000, 0.001)])
def test_the_error_rate_is_what_was_asked_for(expected, error):
    seen, newer, older = asked(SeenValues(expected, error), hashes(20 * expected))
    assert sum(seen) <= 1.5 * error * len(seen)
    # Ten values need no more room than one.
    assert {len(text.as_py()) for text in (newer[0], older[0])} == {SeenValues(expected, error).bits // 8 + 9}


def test_batches_make_no_difference():
    values, rows = SeenValues(300, 0.01), np.concatenate([hashes(900), hashes(200), hashes(2_000, 2)])
    whole = asked(values, rows)
    output, newer, older = [], NOTHING, NOTHING
    for part in np.array_split(rows, 41):
        seen, newer, older = asked(values, part, newer, older)
        output += seen
    assert (output, newer, older) == whole


def test_the_last_values_are_remembered():
    values = SeenValues(300, 0.01)
    _, newer, older = asked(values, hashes(5_000))
    assert all(asked(values, hashes(5_000)[-300:], newer, older)[0])
    forgotten = asked(values, hashes(5_000)[:300], newer, older)[0]
    assert sum(forgotten) < 30


def test_few_values_take_little_room():
    _, newer, older = asked(SeenValues(100_000, 0.01), hashes(5))
    assert (len(newer[0].as_py()), len(older[0].as_py())) == (41, 1)


def test_keys_are_apart_and_null_is_never_there():
    values, rows = SeenValues(10, 0.01), np.array([1, 1, 1, 2, 1])
    none = pa.nulls(2, pa.large_binary())
    seen, *_ = values.asked(rows, np.array([True, True, True, True, False]), np.array([0, 2, 5]), none, none)
    assert seen.to_pylist() == [False, True, False, False, None]
