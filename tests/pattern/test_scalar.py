"""Scalar expressions of conditions against the values that Spark gives."""

import math
from decimal import Decimal

import pytest

from cepsql.errors import NotSupportedError
from cepsql.pattern.program import Call, Literal, Navigation
from cepsql.pattern.scalar import Source, compile_scalar

NAN, INF = math.nan, math.inf
D = Decimal


def value(operation: str, type: str, arguments: tuple):
    """Compile an operation on columns with the arguments as values, and again on constants, and run both."""
    results = []
    columns = {f"v{place}": argument for place, argument in enumerate(arguments)}
    for leaves in ([Navigation(name) for name in columns], [Literal(argument) for argument in arguments]):
        source = Source(lambda _, leaf: f"columns[{leaf.column!r}]", {})
        name = compile_scalar(Call(operation, tuple(leaves), type), source)
        scope = dict(source.globals)
        exec("\n".join(["def run(columns):", *source.lines, f"    return {name}"]), scope)
        results.append(scope["run"](columns))
    assert repr(results[0]) == repr(results[1])
    return results[0]


T, F, N = True, False, None
CASES = [
    *[("and", "boolean", (a, b), result) for a, b, result in [(T, T, T), (T, N, N), (N, T, N), (N, F, F), (F, N, F)]],
    *[("or", "boolean", (a, b), result) for a, b, result in [(F, F, F), (T, N, T), (N, T, T), (N, F, N), (F, N, N)]],
    ("and", "boolean", (T, N, F), F),
    ("or", "boolean", (F, N, T), T),
    ("not", "boolean", (T,), F),
    ("not", "boolean", (N,), N),
    ("eq", "boolean", (1, N), N),
    ("eq", "boolean", (NAN, NAN), T),
    ("eq", "boolean", (0.0, -0.0), T),
    ("ne", "boolean", (NAN, NAN), F),
    ("ne", "boolean", (NAN, 1.0), T),
    ("lt", "boolean", (INF, NAN), T),
    ("lt", "boolean", (NAN, NAN), F),
    ("le", "boolean", (NAN, NAN), T),
    ("le", "boolean", (NAN, 1.0), F),
    ("gt", "boolean", (NAN, INF), T),
    ("gt", "boolean", (1.0, NAN), F),
    ("ge", "boolean", (NAN, NAN), T),
    ("ge", "boolean", (1.0, NAN), F),
    ("lt", "boolean", ("a", "b"), T),
    ("lt", "boolean", (D("1.50"), D("1.6")), T),
    ("nseq", "boolean", (N, N), T),
    ("nseq", "boolean", (N, 1), F),
    ("nseq", "boolean", (NAN, NAN), T),
    ("nseq", "boolean", (2, 2), T),
    ("add", "bigint", (1, 2), 3),
    ("add", "bigint", (1, N), N),
    ("add", "bigint", (2**63 - 1, 1), -(2**63)),
    ("sub", "int", (-(2**31), 1), 2**31 - 1),
    ("mul", "tinyint", (64, 2), -128),
    ("mul", "double", (1e300, 1e300), INF),
    ("add", "float", (0.1, 0.2), 0.30000001192092896),
    ("add", "decimal(4,1)", (D("1.5"), D("2.5")), D("4.0")),
    ("add", "decimal(3,1)", (D("99.9"), D("0.1")), N),
    ("mul", "decimal(6,2)", (D("1.005"), D("1.0")), D("1.01")),
    ("mul", "decimal(6,2)", (D("-1.005"), D("1.0")), D("-1.01")),
    ("mul", "decimal(38,6)", (D("1234567890123456789.123456"), D("2")), D("2469135780246913578.246912")),
    ("mul", "decimal(6,2)", (3, 1.05), D("3.15")),
    ("mul", "decimal", (D("1.25"), D("1.25")), D("1.5625")),
    ("div", "double", (1, 2), 0.5),
    ("div", "double", (1, 0), N),
    ("div", "double", (1.0, 0.0), N),
    ("div", "decimal(10,6)", (D("1"), D("3")), D("0.333333")),
    ("div", "decimal(10,6)", (D("2"), D("3")), D("0.666667")),
    ("div", "decimal(10,6)", (D("2"), D("0.0")), N),
    ("mod", "bigint", (-7, 3), -1),
    ("mod", "bigint", (7, -3), 1),
    ("mod", "bigint", (7, 0), N),
    ("mod", "double", (-7.5, 2.0), -1.5),
    ("mod", "double", (INF, 2.0), NAN),
    ("mod", "decimal(3,1)", (D("-7.5"), D("2.0")), D("-1.5")),
    ("neg", "bigint", (5,), -5),
    ("neg", "bigint", (-(2**63),), -(2**63)),
    ("neg", "decimal(38,0)", (D("1" * 38),), D("-" + "1" * 38)),
    ("abs", "int", (-5,), 5),
    ("abs", "double", (N,), N),
    ("abs", "decimal(38,0)", (D("-" + "1" * 38),), D("1" * 38)),
    ("isnull", "boolean", (N,), T),
    ("isnull", "boolean", (0,), F),
    ("coalesce", "bigint", (N, N, 3), 3),
    ("coalesce", "bigint", (N, N), N),
    ("coalesce", "bigint", (0, 1), 0),
    ("case", "bigint", (F, 1, N, 2, 3), 3),
    ("case", "bigint", (F, 1, T, 2, 3), 2),
    ("case", "bigint", (T, N, 3), N),
    ("greatest", "double", (1.0, NAN, N), NAN),
    ("greatest", "bigint", (N, N), N),
    ("least", "double", (NAN, 2.0, N), 2.0),
    ("least", "string", ("b", "a"), "a"),
    ("cast", "double", (3,), 3.0),
    ("cast", "double", (T,), 1.0),
    ("cast", "float", (0.1,), 0.10000000149011612),
    ("cast", "int", (-2.9,), -2),
    ("cast", "int", (1e10,), 2**31 - 1),
    ("cast", "bigint", (NAN,), 0),
    ("cast", "bigint", (D("-2.9"),), -2),
    ("cast", "bigint", (T,), 1),
    ("cast", "boolean", (0,), F),
    ("cast", "boolean", (0.5,), T),
    ("cast", "decimal(3,1)", (2.25,), D("2.3")),
    ("cast", "decimal(3,1)", (100,), N),
    ("cast", "decimal(3,1)", (INF,), N),
    ("cast", "decimal(1,1)", (D("0.05"),), D("0.1")),
    ("cast", "bigint", (N,), N),
]


@pytest.mark.parametrize(("operation", "type", "arguments", "expected"), CASES)
def test_value(operation: str, type: str, arguments: tuple, expected) -> None:
    assert repr(value(operation, type, arguments)) == repr(expected)


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (Call("soundex", (Literal("a"),), "string"), "soundex"),
        (Call("cast", (Literal("1"),), "timestamp"), "CAST of string to timestamp"),
        (Call("cast", (Literal(1.5),), "string"), "CAST of double to string"),
        (Call("cast", (Navigation("t"),), "date"), "CAST of timestamp to date"),
    ],
)
def test_refused(expression: Call, named: str) -> None:
    with pytest.raises(NotSupportedError, match=named):
        compile_scalar(expression, Source(lambda _, leaf: "0", {"t": "timestamp"}))
