"""Typed operations on plain values against the values that Spark gives."""

import math
from decimal import Decimal

import pytest

from cepsql.errors import DataError, NotSupportedError
from cepsql.scalar.expressions import Call, Literal, Session
from cepsql.scalar.python import PythonSource, compile_node
from cepsql.scalar.types import STRING, parse_type
from cepsql.scalar.typing import typed

NAN, INF = math.nan, math.inf
D = Decimal


def value(operation: str, types: str, arguments: tuple, target: str = "", ansi: bool = False) -> tuple[str, object]:
    """Return type and value of an operation on arguments of these types; the last one holds for all that follow."""
    return computed(Call(operation, tuple(range(len(arguments))), target), types, arguments, ansi)


def computed(call: Call, types: str, arguments: tuple, ansi: bool = False) -> tuple[str, object]:
    """Return type and value of a call whose leaves are places of arguments of these types, as of `value`."""
    kinds = [parse_type(part) for part in types.split(" | ")]
    session = Session(ansi)
    node = typed(call, lambda i: kinds[min(i, len(kinds) - 1)], session)
    source = PythonSource(lambda _, node: f"arguments[{node.leaf}]", session)
    name = compile_node(node, source)
    scope = dict(source.globals)
    exec("\n".join(["def run(arguments):", *source.lines, f"    return {name}"]), scope)
    return str(node.type), scope["run"](arguments)


T, F, N = True, False, None
CASES = [
    *[("and", "boolean", (a, b), "boolean", r) for a, b, r in [(T, T, T), (T, N, N), (N, T, N), (N, F, F), (F, N, F)]],
    *[("or", "boolean", (a, b), "boolean", r) for a, b, r in [(F, F, F), (T, N, T), (N, T, T), (N, F, N), (F, N, N)]],
    ("and", "boolean", (T, N, F), "boolean", F),
    ("or", "boolean", (F, N, T), "boolean", T),
    ("not", "boolean", (T,), "boolean", F),
    ("not", "boolean", (N,), "boolean", N),
    ("eq", "int", (1, N), "boolean", N),
    ("eq", "double", (NAN, NAN), "boolean", T),
    ("eq", "double", (0.0, -0.0), "boolean", T),
    ("ne", "double", (NAN, NAN), "boolean", F),
    ("lt", "double", (INF, NAN), "boolean", T),
    ("le", "double", (NAN, 1.0), "boolean", F),
    ("gt", "double", (NAN, INF), "boolean", T),
    ("ge", "double", (1.0, NAN), "boolean", F),
    ("eq", "int | float", (16777217, 16777216.0), "boolean", T),
    ("eq", "int | double", (16777217, 16777216.0), "boolean", F),
    ("eq", "decimal(38,0) | decimal(10,5)", (D("9" * 38), D("1.5")), "boolean", F),
    ("eq", "decimal(38,0) | decimal(10,5)", (D("1"), D("1.4")), "boolean", T),
    ("eq", "string | int", ("1.9", 1), "boolean", T),
    ("eq", "string | decimal(3,1)", ("1.50", D("1.5")), "boolean", T),
    ("eq", "string | boolean", ("yes", T), "boolean", T),
    ("nseq", "double", (N, N), "boolean", T),
    ("nseq", "double", (NAN, NAN), "boolean", T),
    ("in", "int", (1, 2, N), "boolean", N),
    ("in", "int", (1, N, 1), "boolean", T),
    ("in", "int", (1, 2, 3), "boolean", F),
    ("in", "int | string", (1, "1.0", "a"), "boolean", F),
    ("add", "bigint", (2**63 - 1, 1), "bigint", -(2**63)),
    ("sub", "int", (-(2**31), 1), "int", 2**31 - 1),
    ("mul", "tinyint", (64, 2), "tinyint", -128),
    ("add", "float", (0.10000000149011612, 0.20000000298023224), "float", 0.30000001192092896),
    ("add", "int | float", (1, 0.5), "float", 1.5),
    ("add", "string | int", ("1.5", 1), "double", 2.5),
    ("add", "decimal(3,1)", (D("99.9"), D("0.1")), "decimal(4,1)", D("100.0")),
    ("add", "decimal(38,0)", (D("9" * 38), D("1")), "decimal(38,0)", N),
    ("mul", "decimal(38,18)", (D("1.000000000000000001"),) * 2, "decimal(38,6)", D("1.000000")),
    ("mul", "decimal(5,2) | double", (D("1.50"), NAN), "double", NAN),
    ("div", "int", (1, 2), "double", 0.5),
    ("div", "int", (1, 0), "double", N),
    ("div", "decimal(5,2) | bigint", (D("1.10"), 2), "decimal(26,23)", D("0.55000000000000000000000")),
    ("mod", "bigint", (-7, 3), "bigint", -1),
    ("mod", "double", (INF, 2.0), "double", NAN),
    ("mod", "decimal(3,1)", (D("-7.5"), D("2.0")), "decimal(3,1)", D("-1.5")),
    ("pmod", "decimal(5,2) | decimal(3,1)", (D("-7.50"), D("2.0")), "decimal(4,2)", D("0.50")),
    ("pmod", "int", (-7, 3), "int", 2),
    (
        "pmod",
        "bigint | decimal(38,18)",
        (-(2**63), D("99999999999999999999.999999999999999999")),
        "decimal(38,18)",
        D("90776627963145224191.999999999999999999"),
    ),
    ("neg", "bigint", (-(2**63),), "bigint", -(2**63)),
    ("neg", "decimal(3,1)", (D("0.0"),), "decimal(3,1)", D("0.0")),
    (
        "neg",
        "decimal(38,18)",
        (D("12345678901234567890.123456789012345678"),),
        "decimal(38,18)",
        D("-12345678901234567890.123456789012350000"),
    ),
    (
        "abs",
        "decimal(38,18)",
        (D("-12345678901234567890.123456789012345678"),),
        "decimal(38,18)",
        D("12345678901234567890.123456789012350000"),
    ),
    ("abs", "int", (-5,), "int", 5),
    ("round", "decimal(5,3) | int", (D("2.567"),), "decimal(3,0)", D("3")),
    ("floor", "decimal(4,2)", (D("-1.01"),), "decimal(3,0)", D("-2")),
    ("isnull", "int", (N,), "boolean", T),
    ("coalesce", "bigint", (N, N, 3), "bigint", 3),
    ("coalesce", "decimal(5,2) | double", (N, 2.5), "double", 2.5),
    ("coalesce", "int | string", (7, "a"), "string", "7"),
    ("coalesce", "date | timestamp", (1, N), "timestamp", 86_400_000_000),
    ("case", "boolean | int | decimal(3,1)", (T, 1, D("2.5")), "decimal(11,1)", D("1.0")),
    ("case", "boolean | int | boolean | int", (F, 1, N, 2, 3), "int", 3),
    ("greatest", "double", (1.0, NAN, N), "double", NAN),
    ("least", "string", ("b", "a"), "string", "a"),
    ("add", "date | smallint", (10, 5), "date", 15),
    ("sub", "date", (10, 5), "interval day", 432_000_000_000),
    ("sub", "timestamp", (10, 5), "interval day to second", 5),
    ("sub", "timestamp | date", (86_400_000_001, 1), "interval day to second", 1),
    ("mul", "interval day | decimal(2,1)", (86_400_000_000, D("1.5")), "interval day to second", 129_600_000_000),
]


@pytest.mark.parametrize(("operation", "types", "arguments", "type", "expected"), CASES)
def test_value(operation: str, types: str, arguments: tuple, type: str, expected) -> None:
    assert repr(value(operation, types, arguments)) == repr((type, expected))


CASTS = [
    ("boolean", T, "double", 1.0),
    ("double", 0.1, "float", 0.10000000149011612),
    ("double", 1e10, "int", 2**31 - 1),
    ("double", NAN, "bigint", 0),
    ("bigint", 36028797018963969, "float", 36028797018963968.0),
    ("decimal(5,2)", D("-2.90"), "bigint", -2),
    ("double", 2.25, "decimal(3,1)", D("2.3")),
    ("int", 100, "decimal(3,1)", N),
    ("decimal(10,9)", D("0.000000001"), "string", "1E-9"),
    ("date", 2_932_897, "string", "+10000-01-01"),
    ("timestamp_ntz", 1_500_000, "string", "1970-01-01 00:00:01.5"),
    ("string", " 1.9 ", "int", 1),
    ("string", "9" * 5000, "bigint", N),
    ("string", "2024-02-30", "date", N),
    ("string", "1970-01-01 01:00:01 Europe/Berlin", "timestamp", 1_000_000),
    ("string", "1970-01-01 01:00:01 Europe/Berlin", "timestamp_ntz", 3_601_000_000),
    ("string", "1970-01-01 01:00:01+5", "timestamp_ntz", 3_601_000_000),
    ("string", "294247-01-10 04:00:54.775807+01:00", "timestamp_ntz", 2**63 - 1),
    ("string", "294247-01-10 04:00:54.775808+01:00", "timestamp_ntz", N),
    *[("string", f"1970-01-01 01:00:01{zone}", "timestamp_ntz", N) for zone in (" Nowhere", "+19:00")],
    *[("string", text, "timestamp_ntz", N) for text in ("12:30", "T12:30", "12:30:00 Europe/Berlin")],
]


@pytest.mark.parametrize(("source_type", "argument", "target", "expected"), CASTS)
def test_cast(source_type: str, argument, target: str, expected) -> None:
    assert repr(value("cast", source_type, (argument,), target)) == repr((target, expected))


REFUSED_IN_ANSI_MODE = [
    ("add", "int", (2**31 - 1, 1), ""),
    ("neg", "bigint", (-(2**63),), ""),
    ("div", "int", (1, 0), ""),
    ("mod", "double", (1.0, 0.0), ""),
    ("pmod", "int", (1, 0), ""),
    ("intdiv", "int", (1, 0), ""),
    ("add", "decimal(38,0)", (D("9" * 38), D(1)), ""),
    ("cast", "string", ("1.5",), "int"),
    ("cast", "double", (1e10,), "int"),
    ("cast", "int", (300,), "tinyint"),
    ("cast", "string", ("x",), "date"),
    ("cast", "string", ("12:30",), "timestamp_ntz"),
    ("eq", "string | int", ("x", 1), ""),
]


@pytest.mark.parametrize(("operation", "types", "arguments", "target"), REFUSED_IN_ANSI_MODE)
def test_what_has_no_value_is_an_error_in_ansi_mode(operation: str, types: str, arguments: tuple, target: str) -> None:
    with pytest.raises(DataError):
        value(operation, types, arguments, target, ansi=True)
    value(operation, types, arguments, target)
    assert value(operation, types, (None, *arguments[1:]), target, ansi=True)[1] is None


FAILS = [
    (Call("add", (0, Call("mul", (1, 2)))), "timestamp | interval day | bigint", (N, 2**62, 4)),
    (Call("add", (Call("neg", (0,)), Call("add", (1, 2)))), "interval day", (N, 2**62, 2**62)),
    (Call("eq", (0, Call("element_at", (1, 2)))), "int | array<int> | int", (N, (1,), 0)),
    (Call("left", (0, Call("element_at", (1, 2)))), "string | array<int> | int", (N, (1,), 0)),
    (Call("mod", (Call("element_at", (1, 2)), 0)), "int | array<int> | int", (N, (1,), 0)),
]
"""What fails, with and without ANSI mode, where the NULL is another value."""


@pytest.mark.parametrize("ansi", [F, T])
@pytest.mark.parametrize(("call", "types", "arguments"), FAILS)
def test_what_stands_behind_a_null_is_not_computed(call: Call, types: str, arguments: tuple, ansi: bool) -> None:
    assert computed(call, types, arguments, ansi)[1] is None
    with pytest.raises(DataError):
        computed(call, types, ("1" if types.startswith("string") else 1, *arguments[1:]), ansi)


def test_what_is_divided_by_zero_is_not_computed_without_ansi_mode() -> None:
    call = Call("mod", (Call("element_at", (1, 2)), 0))
    assert computed(call, "int | array<int> | int", (0, (1,), 0))[1] is None


MANY = range(150)
LONG = [
    (Call("or", tuple(Call("eq", (0, Literal(i))) for i in MANY)), F),
    (Call("and", tuple(Call("ne", (0, Literal(i))) for i in MANY)), T),
    (Call("coalesce", (*(Call("case", (Literal(F), 0, Literal(N))) for _ in MANY), 0)), -1),
    (Call("case", (*(part for i in MANY for part in (Call("eq", (0, Literal(i))), Literal(i))), Call("neg", (0,)))), 1),
    (Call("concat", tuple(Call("cast", (0,), "string") for _ in MANY)), "-1" * len(MANY)),
]


@pytest.mark.parametrize("ansi", [F, T])
@pytest.mark.parametrize(("call", "expected"), LONG)
def test_many_operands(call: Call, expected: object, ansi: bool) -> None:
    assert computed(call, "int", (-1,), ansi)[1] == expected


@pytest.mark.parametrize(
    ("operation", "types", "count", "target", "named"),
    [
        ("soundex", "string", 1, "", "soundex"),
        ("cast", "double", 1, "string", "CAST of DOUBLE to STRING"),
        ("cast", "int", 1, "struct<a:int>", "CAST to STRUCT"),
        ("add", "boolean", 2, "", "\\+ of BOOLEAN and BOOLEAN"),
        ("add", "date | bigint", 2, "", "\\+ of DATE and BIGINT"),
        ("gt", "boolean | int", 2, "", "> of BOOLEAN and INT"),
        ("case", "boolean | boolean | int", 3, "", "CASE of BOOLEAN and INT"),
        ("sqrt", "boolean", 1, "", "SQRT of BOOLEAN"),
        ("unix_date", "timestamp", 1, "", "UNIX_DATE of TIMESTAMP"),
        ("unix_micros", "string", 1, "", "UNIX_MICROS of STRING"),
        ("bit_count", "double", 1, "", "BIT_COUNT of DOUBLE"),
        ("array_union", "array<int> | array<string>", 2, "", "ARRAY_UNION of INT and STRING"),
        ("array_except", "array<int> | array<decimal(2,1)>", 2, "", "ARRAY_EXCEPT of ARRAY<INT> and ARRAY<DECIMAL"),
        ("arrays_overlap", "array<string> | array<int>", 2, "", "ARRAYS_OVERLAP of STRING and INT"),
    ],
)
def test_refused(operation: str, types: str, count: int, target: str, named: str) -> None:
    with pytest.raises(NotSupportedError, match=named):
        value(operation, types, (None,) * count, target)


@pytest.mark.parametrize("operation", ["cast", "try_cast"])
@pytest.mark.parametrize("target", ["date", "timestamp", "timestamp_ntz"])
def test_a_name_of_a_time_is_refused_as_a_constant(operation: str, target: str) -> None:
    assert value(operation, "string", ("Today",), target) == (target, None)
    with pytest.raises(NotSupportedError, match="'Today' as a"):
        typed(Call(operation, (Literal("Today"),), target), lambda _: STRING, Session())
