"""Operations on values of mixed types against Spark: the type of each expression and its value in every row.

An expression is computed as Spark computes it, or refused.
"""

import contextlib
import itertools
import math
import random
from decimal import Decimal

import pytest
from attempts import spark_types, spark_values
from chance import draws, examples
from scalar_samples import TYPES, VALUES
from sessions import in_mode
from sqlglot import exp

from cepsql.analysis.row_pattern.define_conditions import lower_value
from cepsql.analysis.row_pattern.scope import MatchScope
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.errors import DataError, NotSupportedError, ProgrammingError, Span
from cepsql.language.islands import parse_island
from cepsql.language.tokens import Text
from cepsql.pattern.leaf_types import leaf_types
from cepsql.scalar.arrow.column_values import plain_values, type_of
from cepsql.scalar.expressions import Session
from cepsql.scalar.python import PythonSource, compile_node
from cepsql.scalar.types import parse_type
from cepsql.scalar.typing import typed
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.jvm.session_zone import session_zone

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
    texts = {}
    for operation in itertools.islice(itertools.cycle(OPERATIONS), count):
        a = f"A.{rng.choice([*TYPES])}"
        b = f"B.{rng.choice([*TYPES])}" if rng.random() < 0.75 else rng.choice(CONSTANTS)
        if b in CONSTANTS and rng.random() < 0.5:
            a, b = (b, a) if b[0] != "N" else (a, b)
        texts[operation.format(a=a, b=b)] = None
    return list(texts)


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

    source = PythonSource(read, session)
    name = compile_node(node, source)
    scope = {**source.globals, "plain": plain}
    exec("\n".join(["def run(i):", *source.lines, f"    return {name}"]), scope)
    results = []
    for i in range(ROWS):
        try:
            results.append(scope["run"](i))
        except DataError:
            results.append("error")
    return results


def same(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-15, abs_tol=0)
    if isinstance(a, Decimal):
        return a == b and str(a) == str(b)
    return a == b and type(a) is type(b)


def test_types_and_values_are_those_of_spark(both):
    frame, arrow, session = both
    plain = plain_values(arrow, arrow.column_names)
    count = examples(40)
    accepted, wrong = {}, []
    for sql in expressions(count):
        with contextlib.suppress(NotSupportedError, ProgrammingError):
            accepted[sql] = lowered(sql, arrow, session)
    theirs = {sql: sql.replace("A.", "A_").replace("B.", "B_") for sql in accepted}
    for (sql, node), kind in zip(accepted.items(), spark_types(frame, [*theirs.values()]), strict=True):
        if kind.startswith("refused") or parse_type(kind) != node.type:
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
