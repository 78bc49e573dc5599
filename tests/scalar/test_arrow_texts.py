"""Functions of texts on Arrow columns beside the same ones in Python, one by one."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from cepsql.scalar.arrow.arrow_expressions import arrow_obstacle, evaluate
from cepsql.scalar.expressions import STANDARD_SESSION, Call, Literal
from cepsql.scalar.strings import STRING_FUNCTIONS
from cepsql.scalar.types import STRING
from cepsql.scalar.typing import typed

LETTERS = some.text("aB/ ßİςΣé€😀\t\n", max_size=8)
NUMBERS = some.integers(-9, 9)
CONSTANTS = {
    "upper": [], "lower": [], "length": [], "left": [NUMBERS], "trim": [LETTERS], "ltrim": [LETTERS], "rtrim": [],
    "substring": [NUMBERS, NUMBERS], "replace": [LETTERS, LETTERS], "split_part": [LETTERS, NUMBERS],
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
@given(texts=some.lists(LETTERS | some.none(), min_size=1), data=some.data())
def test_a_text_and_constants(name, texts, data):
    constants = [data.draw(values) for values in CONSTANTS[name]]
    if name in ("substring", "replace") and data.draw(some.booleans()):
        constants.pop()
    node = typed(Call(name, ("x", *map(Literal, constants))), {"x": STRING}.get, STANDARD_SESSION)
    if arrow_obstacle(node, STANDARD_SESSION) is not None:
        assert constants[0] == "" or 0 in constants or (name == "substring" and constants[0] < 0 and len(constants) > 1)
        return
    # As a part of a longer column.
    column = pa.array(["before", *texts], pa.string()).slice(1)
    results = evaluate(node, {"x": column}, len(texts), STANDARD_SESSION)
    function = STRING_FUNCTIONS[name]
    assert results.to_pylist() == [None if text is None else function(text, *constants) for text in texts]


@given(rows=some.lists(some.tuples(LETTERS | some.none(), LETTERS | some.none()), min_size=1))
def test_concat(rows):
    node = typed(Call("concat", ("x", "y", Literal("-"))), {"x": STRING, "y": STRING}.get, STANDARD_SESSION)
    columns = {name: pa.array(values, pa.string()) for name, values in zip("xy", zip(*rows, strict=True), strict=True)}
    results = evaluate(node, columns, len(rows), STANDARD_SESSION).to_pylist()
    assert results == [None if a is None or b is None else f"{a}{b}-" for a, b in rows]
