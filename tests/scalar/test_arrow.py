"""Operations over Arrow columns, where random rows seldom lead."""

from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepsql.errors import DataError
from cepsql.scalar.arrow.arrow_expressions import arrow_obstacle, evaluate
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.expressions import STANDARD_SESSION, Call, Literal, Session
from cepsql.scalar.python import compile_rows
from cepsql.scalar.types import decimal, parse_type
from cepsql.scalar.typing import typed

D = Decimal
TYPES = {"m": "decimal(5,2)", "w": "decimal(38,10)", "v": "decimal(38,10)", "i": "int", "j": "bigint", "s": "string"}
TYPES |= {"d": "double", "e": "date", "n": "timestamp_ntz"}
COLUMNS = {
    "m": [D("1.50"), None, D("-0.01")],
    "w": [D("1234567890123456789012345678.0123456789"), D("1234567890123456789012345678.0123456788"), None],
    "v": [D("1234567890123456789012345678.0123456789"), None, D("1.0000000000")],
    "i": [1, None, -(2**31)],
    "j": [2**63 - 1, 2, -(2**63)],
    "s": ["a%", "b", None],
    "d": [-1.5, None, float("nan")],
    "e": [0, 18_628, None],
    "n": [1_000_000, None, -62_167_219_200_000_000 - 31_536_000_000_000 - 10],
}


def computed(operation: str, *arguments) -> list:
    node = typed(Call(operation, arguments), lambda name: parse_type(TYPES[name]), STANDARD_SESSION)
    assert arrow_obstacle(node, STANDARD_SESSION) is None
    columns = {name: pa.array(values, arrow_type(parse_type(TYPES[name]))) for name, values in COLUMNS.items()}
    return evaluate(node, columns, 3, STANDARD_SESSION).to_pylist()


LONG = Literal(D("1234567890123456789012345678.0123456789"))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("eq", "w", LONG), [True, False, None]),
        (("lt", "w", LONG), [False, True, None]),
        (("ge", LONG, "w"), [True, True, None]),
        (("eq", "w", "v"), [True, None, None]),
        (("gt", "m", "i"), [True, None, True]),
        (("eq", Literal(D("1.5")), Literal(D("1.50"))), [True] * 3),
        (("lt", Literal(1), Literal(D("1.5"))), [True] * 3),
        (("in", "w", "v", Literal(None)), [True, None, None]),
        (("in", "m", "m", Literal(D("9.99"))), [True, None, True]),
        (("mul", "m", Literal(2)), [D("3.00"), None, D("-0.02")]),
        (("add", "m", "j"), [D("9223372036854775808.50"), None, D("-9223372036854775808.01")]),
        (("lt", "i", Literal(D("99999999999.5"))), [True, None, True]),
        (("contains", "s", Literal("%")), [True, False, None]),
        (("floor", "d"), [-2, None, 0]),
        (("ceil", "d"), [-1, None, 0]),
        (("floor", Call("mul", ("d", Literal(1e30)))), [-(2**63), None, 0]),
        (("greatest", "i", Literal(0), Literal(None)), [1, 0, 0]),
        (("floor", Literal(2.5)), [2] * 3),
        (("mod", Literal(-7), Literal(3)), [-1] * 3),
        (("hour", "n"), [0, None, 23]),
        (("weekofyear", "e"), [1, 53, None]),
        (("date_format", "n", Literal("yyyy HH:mm")), ["1970 00:00", None, "-0002 23:59"]),
        (("date_format", "n", Literal("S.ss")), ["0.01", None, "9.59"]),
    ],
)
def test_value(call: tuple, expected: list) -> None:
    assert computed(*call) == expected


@pytest.mark.parametrize(
    ("call", "ansi", "obstacle"),
    [
        (("mul", "w", "v"), False, "(w * v)"),
        (("reverse", "s"), False, "reverse(s)"),
        (("contains", "s", "s"), False, "contains(s, s)"),
        (("eq", "s", "i"), False, "CAST(s AS int)"),
        (("add", "i", "i"), True, None),
        (("add", "m", "i"), True, None),
    ],
)
def test_obstacle(call: tuple, ansi: bool, obstacle: str | None) -> None:
    session = Session(ansi)
    node = typed(Call(call[0], call[1:]), lambda name: parse_type(TYPES[name]), session)
    assert arrow_obstacle(node, session) == obstacle


@given(
    st.tuples(st.integers(1, 38), st.integers(0, 38)),
    st.tuples(st.integers(1, 38), st.integers(0, 38)),
    st.sampled_from([st.integers(1 - 10**38, 10**38 - 1), st.integers(0, 10**9), st.integers(0, 10**21)]).flatmap(
        lambda numbers: st.lists(st.tuples(*[st.none() | numbers] * 2), min_size=1, max_size=5)
    ),
    st.booleans(),
)
def test_products_are_those_of_single_rows(left, right, pairs, ansi):
    sizes = [(max(precision, scale), scale) for precision, scale in (left, right)]
    types = {name: decimal(*size) for name, size in zip("ab", sizes, strict=True)}
    session = Session(ansi)
    node = typed(Call("mul", ("a", "b")), lambda name: types[name], session)
    if arrow_obstacle(node, session) is not None:
        assert sizes[0][0] + sizes[1][0] >= 76
        return
    columns = {}
    for place, (name, (precision, scale)) in enumerate(zip("ab", sizes, strict=True)):
        numbers = [None if pair[place] is None else pair[place] % 10**precision for pair in pairs]
        values = [None if number is None else D(number).scaleb(-scale, Context(prec=80)) for number in numbers]
        columns[name] = pa.array(values, arrow_type(types[name]))
    try:
        one_by_one = compile_rows(node, ("a", "b"), session)(
            [column.to_pylist() for column in columns.values()], len(pairs)
        )
    except DataError:
        assert ansi
        with pytest.raises(DataError):
            evaluate(node, columns, len(pairs), session)
        return
    assert evaluate(node, columns, len(pairs), session).to_pylist() == one_by_one
