"""Operations on values of mixed types against Spark: the type of each expression and its value in every row.

An expression is computed as Spark computes it, or refused.
"""

import contextlib
import datetime
import itertools
import math
import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from chance import draws, examples
from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as F
from sessions import in_mode
from sqlglot import exp

from cepsql.analysis.conditions import lower_value
from cepsql.analysis.scope import MatchScope
from cepsql.analysis.traveling import Traveling
from cepsql.errors import DataError, NotSupportedError, ProgrammingError, Span
from cepsql.language.islands import parse_island
from cepsql.language.tokens import Text
from cepsql.pattern.leaf_types import leaf_types
from cepsql.scalar.columns import plain_values, type_of
from cepsql.scalar.python import Source, compile_node
from cepsql.scalar.tree import Session
from cepsql.scalar.types import parse_type
from cepsql.scalar.typing import typed
from cepsql.spark.arrow import to_arrow
from cepsql.spark.zone import session_zone

NAN, INF, D = math.nan, math.inf, Decimal
UTC = datetime.UTC
TYPES = {
    "y": "tinyint", "h": "smallint", "i": "int", "l": "bigint", "f": "float", "d": "double", "m": "decimal(5,2)",
    "w": "decimal(38,0)", "q": "decimal(38,18)", "v": "decimal(18,17)", "s": "string", "b": "boolean", "e": "date",
    "t": "timestamp", "n": "timestamp_ntz",
}  # fmt: skip
CLOCKS = [datetime.datetime(2024, 3, 31, hour, minute, tzinfo=UTC) for hour in (0, 1, 2) for minute in (0, 30)] + [
    datetime.datetime(2024, 10, 27, hour, minute, 0, 7, tzinfo=UTC) for hour in (0, 1) for minute in (0, 59)
]
VALUES = {
    "y": [-128, 127, 0, 1, -1, 5],
    "h": [-(2**15), 2**15 - 1, 0, 3, 1, -2],
    "i": [-(2**31), 2**31 - 1, 0, 1, 7, -3, 16777217],
    "l": [-(2**63), 2**63 - 1, 0, 1, 12, -5, 2**53 + 1, 36028797018963969],
    "f": [0.0, -0.0, 1.5, NAN, INF, 0.10000000149011612, 1.0, 16777216.0],
    "d": [0.0, -0.0, 1.5, NAN, -INF, 0.1, 1.0, 1e300, 5e-324, 2.0**53, 9.3e18],
    "m": [D("0.00"), D("999.99"), D("-1.50"), D("1.00"), D("0.10"), D("0.01")],
    "w": [D(0), D("9" * 38), D("-" + "9" * 38), D(1), D(7), D("12345678901234567890")],
    "q": [D(0), D("99999999999999999999.999999999999999999"), D("1.000000000000000001"), D("-0.333333333333333333")],
    "v": [D(0), D("9.99999999999999999"), D("0.33333333333333333"), D("-1.00000000000000001"), D("1")],
    "s": ["", "1", "1.0", " 7 ", "-3", "x", "true", "2024-03-31", "2024-03-31 02:30:00", "NaN", "1e2", "0.10"],
    "b": [True, False],
    "e": [datetime.date(2024, 3, 31), datetime.date(1970, 1, 1), datetime.date(2024, 10, 27), datetime.date(1, 1, 1)],
    "t": [*CLOCKS, datetime.datetime(1970, 1, 1, tzinfo=UTC), datetime.datetime(2024, 3, 30, 12, tzinfo=UTC)],
    "n": [c.replace(tzinfo=None) + datetime.timedelta(hours=1) for c in CLOCKS] + [datetime.datetime(2024, 3, 31)],
}
CONSTANTS = [
    "1", "0", "-3", "2.5", "0.1", "1e0", "'1'", "NULL", "3000000000", "0.001", "TRUE", "INTERVAL '1' DAY",
    "INTERVAL '25' HOUR", "INTERVAL '1:30' MINUTE TO SECOND",
]  # fmt: skip
OPERATIONS = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}", "pmod({a}, {b})", "{a} DIV {b}", "{a} = {b}",
    "{a} < {b}", "{a} >= {b}", "{a} <=> {b}", "coalesce({a}, {b})", "if(A.b, {a}, {b})", "greatest({a}, {b})",
    "least({b}, {a})", "{a} IN ({b}, {a})", "CASE WHEN B.b THEN {a} WHEN A.b THEN {b} END", "nullif({a}, {b})",
    "nvl2({a}, {b}, {a})", "{a} - B.t < {b}", "round({a} * {b}, 1)", "abs({a} - {b})", "-({a} + {b})",
    "floor({a} - {b})", "({a} + {b}) * {b}", "{a} & {b}", "concat({a}, {b})", "nanvl({a}, {b})", "power({a}, {b})",
    "datediff({a}, {b})", "{a} || '-' || {b}", "A.t - B.t > {b}", "(A.t - B.t) * {b}", "A.n + (A.t - B.t) > {b}",
    "timestampdiff(HOUR, {a}, {b})", "timestampdiff(MONTH, {a}, {b})", "CAST({a} + {b} AS STRING)",
    "CAST({a} - {b} AS INT)", "CAST(coalesce({a}, {b}) AS DATE)", "CAST(coalesce({a}, {b}) AS TIMESTAMP)",
    "CAST(coalesce({a}, {b}) AS DECIMAL(10, 3))", "CAST(coalesce({a}, {b}) AS STRING)", "CAST({a} * {b} AS FLOAT)",
    "bround({a} - {b}, -1)", "ceil({a} * {b})", "A.e + {a} > {b}", "TRY_CAST(coalesce({a}, {b}) AS SMALLINT)",
]  # fmt: skip
ROWS = 60


def expressions(count: int) -> list[str]:
    """Draw expressions: each operation once or more, over columns of both rows and constants."""
    rng = draws(1)
    found = {}
    for operation in itertools.islice(itertools.cycle(OPERATIONS), count):
        a = f"A.{rng.choice([*TYPES])}"
        b = f"B.{rng.choice([*TYPES])}" if rng.random() < 0.75 else rng.choice(CONSTANTS)
        if b in CONSTANTS and rng.random() < 0.5:
            a, b = (b, a) if b[0] != "N" else (a, b)
        found[operation.format(a=a, b=b)] = None
    return list(found)


def table(spark, rng: random.Random, side: str):
    rows = [
        (i, *(None if rng.random() < 0.06 else rng.choice(values) for values in VALUES.values())) for i in range(ROWS)
    ]
    schema = ", ".join(f"{side}_{name} {kind}" for name, kind in TYPES.items())
    return spark.createDataFrame(rows, f"id int, {schema}").coalesce(1)


@pytest.fixture(scope="module", params=[False, True], ids=["without ANSI", "ANSI"])
def both(request, spark):
    """Rows of two sides joined, as a frame and as plain values, and the rules of their session."""
    mode = in_mode(spark, request.param)
    mode.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    # What two expressions share is computed outside the attempts that an error must not leave.
    mode.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    rng = draws(5)
    frame = table(mode, rng, "A").join(table(mode, rng, "B"), "id").orderBy("id").cache()
    arrow = to_arrow(frame)
    yield frame, arrow, Session(request.param, session_zone(mode))
    frame.unpersist()


def lowered(sql: str, arrow, session: Session):
    """Return the typed expression, with columns named A_x and B_x."""
    scope = MatchScope({name: (name, kind) for name, kind in TYPES.items()}, ("A", "B"), {}, None, Span(0, 1))

    class Both(Traveling):
        def value(self, sql: str) -> str:
            return sql

    text = Text(sql)
    tree = lower_value(parse_island(text, text.tokens, exp.Condition), 1, scope, Both())
    types = {f"{side}_{name}": type_of(arrow.schema.field(f"{side}_{name}").type) for side in "AB" for name in TYPES}
    columns = leaf_types(types)

    def kind(leaf):
        if leaf.column not in TYPES:
            raise NotSupportedError(f"{leaf.column} is computed by Spark")
        return columns(type(leaf)(f"{'A' if leaf.variables == frozenset([0]) else 'B'}_{leaf.column}"))

    return typed(tree, kind, session)


def run(node, plain, session: Session) -> list:
    def read(_, node):
        return f"plain['{'A' if node.leaf.variables == frozenset([0]) else 'B'}_{node.leaf.column}'][i]"

    source = Source(read, session)
    name = compile_node(node, source)
    scope = {**source.globals, "plain": plain}
    exec("\n".join(["def run(i):", *source.lines, f"    return {name}"]), scope)
    found = []
    for i in range(ROWS):
        try:
            found.append(scope["run"](i))
        except DataError:
            found.append("error")
    return found


def same(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-15, abs_tol=0)
    if isinstance(a, Decimal):
        return a == b and str(a) == str(b)
    return a == b and type(a) is type(b)


def spark_types(frame, expressions: list[str]) -> list[str]:
    """Return the type of each expression in Spark, and what Spark says where it refuses one."""
    try:
        return [f.dataType.simpleString() for f in frame.select(*map(F.expr, expressions)).schema.fields]
    except AnalysisException as refusal:
        if len(expressions) == 1:
            return [f"refused: {str(refusal)[:80]}"]
    return [kind for sql in expressions for kind in spark_types(frame, [sql])]


def spark_values(frame, expressions: list[str]) -> list[list]:
    """Return Spark's values of each expression, "error" in the rows where it ends in one."""
    jvm = frame.sparkSession._jvm.org.apache.spark.sql
    utils, attempt = jvm.classic.ExpressionUtils, jvm.catalyst.expressions.TryEval
    found = []
    for some in (expressions[at : at + 40] for at in range(0, len(expressions), 40)):
        # An attempt that fails is NULL, so its value stands in a struct.
        tried = [Column(utils.column(attempt(utils.expression(F.struct(F.expr(sql))._jc)))) for sql in some]
        names = [f"x{i}" for i in range(len(some))]
        columns = [column.alias(name) for column, name in zip(tried, names, strict=True)]
        table = to_arrow(frame.select("id", *columns).orderBy("id"))
        structs = [table[name].combine_chunks() for name in names]
        plain = plain_values(pa.table([pc.struct_field(struct, 0) for struct in structs], names), names)
        for name, struct in zip(names, structs, strict=True):
            valid = struct.is_valid().to_pylist()
            found.append([value if ok else "error" for value, ok in zip(plain[name], valid, strict=True)])
    return found


def test_types_and_values_are_those_of_spark(both):
    frame, arrow, session = both
    plain = plain_values(arrow, arrow.column_names)
    count = examples(280)
    accepted, wrong = {}, []
    for sql in expressions(count):
        with contextlib.suppress(NotSupportedError, ProgrammingError):
            accepted[sql] = lowered(sql, arrow, session)
    theirs = {sql: sql.replace("A.", "A_").replace("B.", "B_") for sql in accepted}
    for (sql, node), kind in zip(accepted.items(), spark_types(frame, [*theirs.values()]), strict=True):
        if kind.startswith("refused") or (node.type.name != "interval" and parse_type(kind) != node.type):
            wrong.append((sql, str(node.type), "Spark types it", kind))
    assert not wrong, "\n".join(map(str, wrong[:40]))
    for (sql, node), expected in zip(accepted.items(), spark_values(frame, [*theirs.values()]), strict=True):
        for row, (e, f) in enumerate(zip(expected, run(node, plain, session), strict=True)):
            if not same(e, f):
                read = {c: plain[c][row] for c in plain if c in theirs[sql]}
                wrong.append((sql, read, "Spark", e, "found", f))
                break
    assert not wrong, "\n".join(map(str, wrong[:40])) + f"\n{len(wrong)} of {len(accepted)}"
    assert len(accepted) > count / 4
