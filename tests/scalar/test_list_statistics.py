"""Aggregates over lists of values, and maps of lists, in conditions."""

import pytest

from cepsql.errors import DataError
from cepsql.scalar.registry import REGISTRY

CASES = [
    ("mode", ([3, 1, 1, None, 3],), 3), ("mode", ([None],), None), ("mode", (["b", "a", "a"],), "a"),
    ("bit_and", ([6, 3, None],), 2), ("bit_or", ([6, 3],), 7), ("bit_xor", ([6, 3],), 5), ("bit_and", ([],), None),
    ("kurtosis", ([1.0],), None), ("kurtosis", ([],), None), ("skewness", ([1.0, 2.0, 3.0],), 0.0),
    ("map_from_arrays", ((1, 2), ("a", None)), ((1, "a"), (2, None))),
    ("array_equal", ((1, None), (1, None)), True), ("array_equal", ((1,), (1, 2)), False),
    ("array_equal", ((float("nan"),), (float("nan"),)), True), ("array_equal", ((1, None), (1, 2)), False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_value(name, arguments, expected):
    assert REGISTRY[name].python(*arguments) == expected


@pytest.mark.parametrize("arguments", [((1,), (1, 2)), ((None,), (1,)), ((1, 1), (1, 2))])
def test_no_map(arguments):
    with pytest.raises(DataError, match="map"):
        REGISTRY["map_from_arrays"].python(*arguments)
