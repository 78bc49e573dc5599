"""Expressions over Arrow columns in ANSI mode: an error where Spark raises one, and only there."""

import pyarrow as pa
import pytest

from cepsql.errors import DataError
from cepsql.readers.scan.row_expressions import compile_expression
from cepsql.readers.scan.select import Columns
from cepsql.scalar.arrow.arrow_expressions import arrow_obstacle, evaluate
from cepsql.scalar.expressions import Session
from cepsql.scalar.types import BIGINT, DOUBLE, INT, TINYINT

ANSI = Session(ansi=True)
LEAST, MOST = -(2**63), 2**63 - 1
TYPES = {"a": BIGINT, "b": BIGINT, "i": INT, "x": DOUBLE, "t": TINYINT}
ROWS = {"a": [1, MOST, None, LEAST], "b": [0, 1, 2, -1], "i": [5, 2**31 - 1, 0, None], "x": [0.5, 1e300, None, -3.9]}


def computed(sql: str, *places: int) -> list:
    """Return the values of an expression in these rows of ROWS, by default in all."""
    names = Columns()
    for name, kind in TYPES.items():
        names.carry(name, kind, str(kind))
    node = compile_expression(sql, names, ANSI)
    assert arrow_obstacle(node, ANSI) is None
    rows = places or range(4)
    columns = {name: pa.array([values[i] for i in rows], kind) for (name, values), kind in zip(
        (ROWS | {"t": [-128, 1, 2, None]}).items(),
        (pa.int64(), pa.int64(), pa.int32(), pa.float64(), pa.int8()), strict=True,
    )}  # fmt: skip
    return evaluate(node, columns, len(rows), ANSI).to_pylist()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CASE WHEN b > 1 OR b < 1 THEN a ELSE a - b END", [1, MOST - 1, None, LEAST]),
        ("CASE WHEN a < 10 THEN a + 1 ELSE a END", [2, MOST, None, LEAST + 1]),
        ("b <> 0 AND x / b > 1", [False, True, None, True]),
        ("IF(b = 0, -1.0D, x / b)", [-1.0, 1e300, None, 3.9]),
        ("COALESCE(x % nullif(b, 0), 0)", [0.0, 0.0, 0.0, pytest.approx(-0.9)]),
        ("IF(x < 100, CAST(x AS INT), 0)", [0, 0, 0, -3]),
        ("x / 2", [0.25, 5e299, None, -1.95]),
    ],
)
def test_only_what_is_computed_may_fail(sql, expected):
    assert computed(sql) == expected


@pytest.mark.parametrize(
    ("sql", "failing"),
    [("a + 1", 1), ("a - 1", 3), ("a * 2", 1), ("-a", 3), ("ABS(a)", 3), ("a DIV b", 3), ("a DIV b", 0), ("x / b", 0),
     ("b % b", 0), ("CAST(x AS INT)", 1), ("CAST(a AS INT)", 1), ("CAST(i AS TINYINT)", 1), ("-t", 0)],
)  # fmt: skip
def test_what_spark_refuses_is_an_error(sql, failing):
    with pytest.raises(DataError):
        computed(sql)
    with pytest.raises(DataError):
        computed(sql, failing)
    assert computed(sql, 2) is not None
