"""Values of named parameters: they become literals that Spark reads as the same values."""

import datetime
import decimal
import enum
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from catalog import engine

from cepsql.analysis.sql.parameters import literal
from cepsql.errors import InterfaceError, ProgrammingError
from cepsql.language.tokens import DIALECT


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-3, "-3"),
        (2**62, str(2**62)),
        (0.1, "CAST('0.1' AS DOUBLE)"),
        (float("inf"), "CAST('inf' AS DOUBLE)"),
        ('it\'s \\ "x"', "'it\\'s \\\\ \"x\"'"),
        (decimal.Decimal("1.50"), "CAST('1.50' AS DECIMAL(3, 2))"),
        (decimal.Decimal("1E+3"), "CAST('1000' AS DECIMAL(4, 0))"),
        (decimal.Decimal("0.001"), "CAST('0.001' AS DECIMAL(3, 3))"),
        (datetime.date(2024, 2, 29), "CAST('2024-02-29' AS DATE)"),
        (datetime.datetime(2024, 2, 29, 12, 0, 0, 5), "CAST('2024-02-29 12:00:00.000005' AS TIMESTAMP_NTZ)"),
        (
            datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
            "CAST('2024-02-29 12:00:00+00:00' AS TIMESTAMP)",
        ),
        (datetime.timedelta(minutes=5), "INTERVAL '300000000' MICROSECONDS"),
        ([1, "a", None], "ARRAY(1, 'a', NULL)"),
        (b"a\xff", "X'61FF'"),
        (bytearray(), "X''"),
        (memoryview(b"\x0a"), "X'0A'"),
    ],
)
def test_literal(value, sql):
    assert literal(value).sql(dialect=DIALECT) == sql


class Percent(float):
    """A number that writes itself in its own way, as NumPy's do."""

    def __repr__(self):
        return f"Percent({float(self)})"


class Side(str):
    """A text whose str() is another one."""

    def __str__(self):
        return "a side"


class Rank(int, enum.Enum):
    FIRST = 1


class Way(enum.Enum):
    BUY = 1


class Money(decimal.Decimal):
    def __format__(self, form):
        return "money"


class Day(datetime.date):
    def isoformat(self):
        return "a day"


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (Percent(2.5), 2.5),
        (Side("buy"), "buy"),
        (Rank.FIRST, 1),
        (Money("1.5"), decimal.Decimal("1.5")),
        (Day(2024, 2, 29), datetime.date(2024, 2, 29)),
        (np.float64(2.5), 2.5),
        (np.float32(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        ([np.float64(2.5), (np.int8(3),)], [2.5, [3]]),
        (np.datetime64("2024-02-29"), datetime.date(2024, 2, 29)),
        (np.datetime64("2024-02-29T12:00:01"), datetime.datetime(2024, 2, 29, 12, 0, 1)),
        (np.datetime64("2024-02-29T12:00:01.000005900", "ns"), datetime.datetime(2024, 2, 29, 12, 0, 1, 5)),
        (np.datetime64("NaT", "ns"), None),
        (np.timedelta64(5_000, "ns"), datetime.timedelta(microseconds=5)),
        (np.timedelta64(2, "h"), datetime.timedelta(hours=2)),
        (pd.Timestamp("2024-02-29 12:00:00.000005900"), datetime.datetime(2024, 2, 29, 12, 0, 0, 5)),
        (pd.Timestamp("2024-02-29 12:00", tz="UTC"), datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)),
        (pd.Timedelta("5s"), datetime.timedelta(seconds=5)),
        (pd.NaT, None),
        (pd.NA, None),
        (np.array([[1.5, np.nan], [0, 1]]), [[1.5, float("nan")], [0.0, 1.0]]),
        (np.array(["2024-02-29", "NaT"], "M8[ns]"), [datetime.datetime(2024, 2, 29), None]),
        (np.array(3), 3),
    ],
)
def test_a_value_of_a_class_of_its_own_is_that_of_pythons(value, same):
    assert literal(value) == literal(same)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({1}, "a parameter cannot be a set"),
        (decimal.Decimal("NaN"), r"a parameter cannot be Decimal\('NaN'\)"),
        (np.timedelta64(5, "M"), "a parameter cannot be a timedelta64"),
        (np.datetime64("20000-01-01"), "a parameter cannot be a datetime64"),
        ("a\ud800", r"a parameter cannot have \\ud800, which is half a character"),
        (Way.BUY, "a parameter cannot be Way.BUY"),
        (uuid.UUID(int=1), "a parameter cannot be a UUID"),
        (np.complex128(1), "a parameter cannot be a complex128"),
        ([decimal.Decimal("-Infinity")], r"a parameter cannot be Decimal\('-Infinity'\)"),
    ],
)
def test_a_value_without_literal(value, said):
    with pytest.raises(InterfaceError, match=said) as raised:
        literal(value)
    assert raised.value.hint is not None


def test_parameters_everywhere():
    query = engine().sql(
        "SELECT sym, :label AS label FROM (SELECT * FROM ticks WHERE qty > :least) MATCH_RECOGNIZE ("
        "PARTITION BY sym ORDER BY ts MEASURES LAST(B.price) * :factor AS m PATTERN (A B) WITHIN :within "
        "DEFINE A AS price > :low, B AS B.price > A.price + :step)",
        {"label": "x", "least": 1, "factor": 2, "within": datetime.timedelta(hours=1), "low": 3, "step": 4, "more": 5},
    )
    (match,) = query.plan.matches
    assert match.program.within == 3_600_000_000
    assert match.program.predicates == ("price > 3",)
    assert match.output[-1].sql == "a0 * 2"
    assert match.clause.input.sql(dialect=DIALECT) == "SELECT * FROM (SELECT * FROM ticks WHERE qty > 1)"
    assert query.plan.logical.query.sql(dialect=DIALECT) == "SELECT sym, 'x' AS label FROM __match_0"


def test_a_parameter_without_value():
    with pytest.raises(ProgrammingError) as raised:
        engine().sql("SELECT * FROM ticks WHERE price > :prise", {"price": 3})
    assert raised.value.message == "no value was given for :prise"
    assert raised.value.hint == "did you mean price? given: price"
    with pytest.raises(ProgrammingError, match="no value was given for :prise") as raised:
        engine().sql("SELECT * FROM ticks WHERE price > :prise AND qty > ?", [3])
    assert raised.value.hint.startswith("values for ? are given as a list")


@pytest.mark.parametrize(
    ("args", "said", "hint"),
    [
        (5, "args are the values of parameters, not int", "as a list"),
        ("a", "args are the values of parameters, not str", "as a list"),
        ((n for n in [1]), "args are the values of parameters, not generator", "as a list"),
        ({1: 1}, "the names of parameters are texts, not 1", "as a mapping"),
        ({":a": 1}, "the name of a parameter is given without its colon, not ':a'", "as a mapping"),
        (pd.DataFrame({"a": [1]}), "args are the values of parameters, not DataFrame", "cannot be called args"),
        (pa.table({"a": [1]}), "args are the values of parameters, not Table", "cannot be called args"),
    ],
)
def test_what_is_no_values_of_parameters(args, said, hint):
    with pytest.raises(InterfaceError) as raised:
        engine().query("SELECT * FROM args WHERE a = ?", args=args)
    assert raised.value.message == said
    assert hint in raised.value.hint
