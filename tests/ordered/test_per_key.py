"""One number for each key."""

import numpy as np
import pyarrow as pa
import pytest

from cepsql.ordered.per_key import read_numbers, write_numbers


@pytest.mark.parametrize("names", [["k0"], ["k0", "k1"]])
def test_a_later_number_replaces_the_earlier_one(names):
    def keys(*values):
        return [pa.array(values, pa.string())] * len(names)

    stored = write_numbers(None, names, keys("a", None, "b"), np.array([1, 2, 0]), np.array([True, True, False]))
    assert stored["number"].to_pylist() == [1, 2]
    stored = write_numbers(stored, names, keys(None, "c"), np.array([5, 7]), np.array([True, True]))
    assert dict(zip(stored["k0"].to_pylist(), stored["number"].to_pylist(), strict=True)) == {"a": 1, None: 5, "c": 7}
    assert stored.num_rows == 3
    assert read_numbers(stored, names, keys("c", "x", "a", None), 4).tolist() == [7, 0, 1, 5]
    assert read_numbers(stored, names, keys("x"), 1, absent=-1).tolist() == [-1]
    stored = write_numbers(stored, names, keys("a", "c"), np.array([8, 9]), np.array([False, True]))
    assert dict(zip(stored["k0"].to_pylist(), stored["number"].to_pylist(), strict=True)) == {None: 5, "c": 9}


def test_without_keys_there_is_one_number():
    stored = write_numbers(None, [], [], np.array([3]), np.array([True]))
    stored = write_numbers(stored, [], [], np.array([4]), np.array([True]))
    assert read_numbers(stored, [], [], 1).tolist() == [4]
