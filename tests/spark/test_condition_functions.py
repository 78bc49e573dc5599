"""Conditions on several rows against Spark: the same expression over the same values, one from each of two rows."""

import datetime
import math
import random
import re
from decimal import Decimal

import pytest
from chance import draws
from sqlglot import exp

from cepsql.analysis.row_pattern.define_conditions import lower_value
from cepsql.analysis.row_pattern.scope import MatchScope
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.errors import Span
from cepsql.language.islands import parse_island
from cepsql.language.tokens import DIALECT, Text
from cepsql.pattern.leaf_types import leaf_types
from cepsql.scalar.arrow.column_values import plain_values, type_of
from cepsql.scalar.expressions import Session
from cepsql.scalar.python import PythonSource, compile_node
from cepsql.scalar.typing import typed
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.jvm.session_zone import session_zone

TYPES = {
    "y": "tinyint", "i": "int", "l": "bigint", "d": "double", "p": "double", "f": "float", "m": "decimal(10,2)",
    "w": "decimal(20,5)", "n": "int", "s": "string", "u": "string", "z": "boolean", "day": "date", "at": "timestamp",
}  # fmt: skip
EXACT = """
A.i + B.i | A.l - B.i | A.l * B.l | A.y + B.y | A.i / B.i | A.i % B.i | A.d % B.d | A.m + B.m | A.m * B.w | A.m / B.m
A.w % B.m | A.i + B.d | A.m - B.i | -A.i - B.i | abs(A.l - B.l) | A.f + B.f | A.i > B.d | A.m >= B.d | A.i = B.m
A.i < B.l | A.d <=> B.d | A.s <= B.s | A.s <> B.u | A.i IS DISTINCT FROM B.i | A.i IS NOT DISTINCT FROM B.i
A.z AND B.z | A.z OR NOT B.z | NOT (A.z AND B.z) | (A.z OR B.z) IS TRUE | (A.z AND B.z) IS NOT FALSE
CASE WHEN A.i > B.i THEN A.s WHEN B.z THEN B.s ELSE 'none' END | CASE A.n WHEN B.n THEN 1 WHEN 2 THEN 7 END
IF(A.z, A.i, B.i) | COALESCE(A.s, B.s, '?') | NVL(A.i, B.i) | NVL2(A.i, A.s, B.s) | NULLIF(A.n, B.n) | IFNULL(A.d, B.d)
GREATEST(A.d, B.d) | LEAST(A.s, B.s, 'm') | GREATEST(A.i, B.l) | A.n BETWEEN B.n AND B.i | A.n NOT BETWEEN B.n AND 3
A.n IN (B.n, 3, NULL) | A.s NOT IN (B.s, 'a') | A.s LIKE B.u | A.s NOT LIKE B.u | A.s ILIKE B.u
A.s LIKE B.u ESCAPE '/' | A.s || B.s RLIKE '^[a-c]+.?$' | regexp_like(A.s || B.u, 'b|(1)')
A.s || B.s NOT RLIKE 'a' | regexp_extract(A.s || B.s, '([a-z])(.)?', 2) | regexp_extract(A.s || B.s, '(.)')
regexp_replace(A.s || B.s, '[ab]', '-') | A.s || B.s RLIKE '(?i)B|C'
concat(A.s, B.s) | A.s || '-' || B.s | concat(A.s, B.i) | concat_ws('-', A.s, B.s) | upper(concat(A.s, B.s))
lower(A.s || B.s) | length(A.s || B.u) | trim(A.s || B.s) | ltrim(A.s || B.s) | rtrim(A.s || B.s) | btrim(A.s, B.u)
trim(LEADING 'a' FROM A.s || B.s) | substring(A.s, B.n) | substring(A.s, B.n, 2) | substring(A.s || B.s, A.n, B.n)
left(A.s, B.n) | right(A.s, B.n) | startswith(A.s, B.u) | endswith(A.s, B.s) | contains(A.s, B.u) | instr(A.s, B.u)
locate(A.u, B.s) | locate(A.u, B.s, 2) | replace(A.s, B.u, '<>') | replace(A.s, B.u) | reverse(A.s || B.s)
lpad(A.s, B.n, '*-') | rpad(A.s, 5, B.u) | repeat(A.s, B.n) | levenshtein(A.s, B.s) | ascii(A.s || B.s)
translate(A.s, B.u, 'xy') | sqrt(A.p * B.p) | sign(A.d - B.d) | round(A.p * B.p, 2) | round(A.d * B.d)
round(A.i + B.i, -1)
round(A.m * B.m, 1) | bround(A.p * B.p, 1) | floor(A.d * B.d) | ceil(A.d - B.d) | floor(A.m * B.m) | ceil(A.m - B.m)
pmod(A.i, B.i) | pmod(A.d, B.p) | A.i DIV B.i | A.l DIV B.n | A.i & B.i | A.i | B.l | A.i ^ B.i | ~(A.i + B.i)
shiftleft(A.i, B.n) | shiftright(A.l, B.n) | isnan(A.d * B.d) | nanvl(A.d * B.d, 1) | isnull(A.s || B.s)
isnotnull(A.i + B.i) | equal_null(A.i, B.i) | zeroifnull(A.i + B.n) | nullifzero(A.n - B.n) | bit_count(A.i + B.i)
datediff(A.day, B.day) | datediff(A.at, B.at) | date_add(A.day, B.n) | date_sub(A.day, B.n) | add_months(A.day, B.n)
A.at - B.at > INTERVAL '5' DAY | A.at - INTERVAL '3' HOUR < B.at | A.day > B.at | A.day = B.day | A.at <= B.at
timestampdiff(SECOND, A.at, B.at) | timestampdiff(HOUR, A.at, B.at) | timestampdiff(DAY, A.at, B.at)
timestampdiff(MONTH, A.at, B.at) | timestampdiff(YEAR, A.at, B.at) | unix_micros(A.at) - unix_micros(B.at)
year(GREATEST(A.day, B.day)) | quarter(GREATEST(A.at, B.at)) | month(GREATEST(A.at, B.at)) | day(GREATEST(A.at, B.at))
dayofmonth(GREATEST(A.day, B.day)) | dayofyear(GREATEST(A.at, B.at)) | dayofweek(GREATEST(A.day, B.day))
weekday(GREATEST(A.at, B.at)) | weekofyear(GREATEST(A.day, B.day)) | last_day(GREATEST(A.at, B.day))
hour(GREATEST(A.at, B.at)) | minute(GREATEST(A.at, B.day)) | second(GREATEST(A.at, B.at))
to_date(GREATEST(A.at, B.at))
date_format(GREATEST(A.at, B.at), 'yyyy-MM-dd HH:mm:ss.SSS') | date_format(GREATEST(A.day, B.day), 'd.M.yyyy')
year(A.day) - year(B.day) | month(A.at) = month(B.at) | date_trunc('DAY', A.at) = date_trunc('DAY', B.at)
CAST(A.d * B.d AS INT) | CAST(A.d * B.d AS BIGINT) | CAST(A.l + B.l AS INT) | CAST(A.i + B.i AS TINYINT)
CAST(A.d * B.d AS TINYINT) | CAST(A.i + B.n AS STRING) | CAST(A.m + B.m AS STRING) | CAST(A.z AND B.z AS STRING)
CAST(A.s || B.s AS INT) | CAST(A.u || B.u AS DOUBLE) | CAST(A.s || B.s AS BOOLEAN) | CAST(A.i + B.i AS BOOLEAN)
CAST(A.m * B.m AS INT) | CAST(A.w * B.w AS TINYINT) | CAST(A.d * B.d AS DECIMAL(10, 2)) | CAST(A.i + B.i AS FLOAT)
CAST(A.z OR B.z AS INT) | CAST(A.s || B.u AS DECIMAL(8, 3)) | size(array(A.i, A.n)) + B.n
coalesce(size(split(A.s, 'a')), 0) > B.n
A.i + 1 > B.i * 2 - 3 | CAST(GREATEST(A.day, B.day) AS STRING) | CAST(GREATEST(A.at, B.at) AS BIGINT)
A.s > B.n | A.u = B.d
"""
NEAR = """
power(A.p, B.n) | power(A.d, B.d) | exp(A.p - B.p) | ln(A.d * B.d) | log(A.p, B.p) | log10(A.d + B.d) | log2(A.p * B.p)
log1p(A.d - B.d) | expm1(A.p - B.p) | sin(A.p + B.p) | cos(A.p * B.p) | tan(A.p - B.p) | asin(A.p * B.p)
acos(A.d - B.d)
atan(A.d * B.d) | atan2(A.d, B.d) | sinh(A.p + B.p) | cosh(A.p - B.p) | tanh(A.d + B.d) | radians(A.d - B.d)
degrees(A.p - B.p) | hypot(A.p, B.d) | cbrt(A.d - B.d) | cot(A.p + B.p) | rint(A.p * B.p)
2 * 6371 * asin(sqrt(power(sin(radians(A.p - B.p) / 2), 2) + cos(radians(A.p)) * cos(radians(B.p))))
"""
"""Of several functions Java and C round the last bit in different ways."""

NAN, INF = math.nan, math.inf
STRINGS = [
    "",
    "a",
    "ab",
    "Ab%",
    " a_b ",
    "aaab",
    "ÄÖ",
    "straße",
    "漢字😀",
    "12",
    " -7 ",
    "3.9",
    "1e2",
    "true",
    "N",
    "\\%",
    "/_",
]


def calls(text: str) -> list[str]:
    """Split at | that stand alone, but for the one that is an operator."""
    return [
        c.strip() for line in text.strip().splitlines() for c in line.replace("A.i | B.l", "A.i \0 B.l").split(" | ")
    ]


def values(rng: random.Random) -> dict:
    chosen = {
        "y": rng.choice([-128, 127, 0, rng.randint(-128, 127)]),
        "i": rng.choice([-(2**31), 2**31 - 1, 0, -1, rng.randint(-20, 20), rng.randint(-(2**31), 2**31 - 1)]),
        "l": rng.choice([-(2**63), 2**63 - 1, 0, 1, rng.randint(-20, 20), rng.randint(-(2**63), 2**63 - 1)]),
        "d": rng.choice([NAN, INF, -INF, 0.0, -0.0, 1.0, 0.5, 2.5, 1e308, 5e-324, 1e10, -3e18, rng.gauss(0, 100)]),
        "p": rng.choice([0.0, 1.0, -1.5, 0.125, 2.675, rng.uniform(-3, 3), rng.uniform(0, 1)]),
        "f": rng.choice([0.0, 1.5, -0.25, 3.5, 1024.0]),
        "m": rng.choice([Decimal(0), Decimal("99999999.99"), Decimal("-2.50"), rng.randint(-999, 999) / Decimal(100)]),
        "w": rng.choice([Decimal("0.00001"), Decimal("-999999999999999.99999"), rng.randint(-999, 999) / Decimal(100)]),
        "n": rng.randint(-3, 4),
        "s": rng.choice(STRINGS),
        "u": rng.choice([*STRINGS, "%", "_%", "a%", "%b", "a/_b", "1", "-2.5", "1d", "Infinity", "nan", ".", "+"]),
        "z": rng.random() < 0.5,
        "day": datetime.date(2024, 1, 1) + datetime.timedelta(days=rng.choice([0, 30, 59, 60, rng.randint(-400, 400)])),
        "at": datetime.datetime(2024, 3, 9) + datetime.timedelta(
            seconds=rng.choice([0, 3600 * 26, 86400, rng.randint(-(10**7), 10**7)]),
            microseconds=rng.choice([0, 1, 999_999]),
        ),
    }  # fmt: skip
    return {name: None if rng.random() < 0.08 else value for name, value in chosen.items()}


@pytest.fixture(scope="module")
def compared(spark):
    """For each expression: values of Spark and of the matcher, and the rows that they are from."""
    rng = draws(7)
    count = 250
    schema = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    rows = {side: [values(rng) for _ in range(count)] for side in "AB"}
    for side in "AB":
        data = [(i, *row.values()) for i, row in enumerate(rows[side])]
        spark.createDataFrame(data, f"id int, {schema}").coalesce(1).createOrReplaceTempView(f"rows_{side}")
    scope = MatchScope({name: (name, kind) for name, kind in TYPES.items()}, ("A", "B"), {}, None, Span(0, 1))
    expressions = [c.replace("\0", "|") for c in [*calls(EXACT), *calls(NEAR)]]
    traveling = Traveling()
    programs, selected = [], []
    for number, sql in enumerate(expressions):
        text = Text(sql)
        tree = parse_island(text, text.tokens, exp.Condition)
        programs.append(lower_value(tree, 1, scope, traveling))
        selected.append(f"{sql} AS e{number}")
    for column in traveling.values:
        for side in "AB":
            qualified = parse_island(Text(column.sql), Text(column.sql).tokens, exp.Condition)
            for reference in list(qualified.find_all(exp.Column)):
                reference.set("table", exp.to_identifier(side))
            selected.append(f"{qualified.sql(dialect=DIALECT)} AS {side}_{column.name}")
    table = to_arrow(
        spark.sql(f"SELECT {', '.join(selected)} FROM rows_A AS A JOIN rows_B AS B USING (id) ORDER BY id")
    )
    plain = plain_values(table, table.column_names)
    types = {column.name: type_of(table.schema.field(f"B_{column.name}").type) for column in traveling.values}
    session = Session(zone=session_zone(spark))
    return {
        sql: (plain[f"e{number}"], evaluate(program, plain, types, count, session), rows)
        for number, (sql, program) in enumerate(zip(expressions, programs, strict=True))
    }


def evaluate(program, plain: dict, types: dict, count: int, session: Session) -> list:
    def read(_, node) -> str:
        side = "A" if node.leaf.variables == frozenset({0}) else "B"
        return f"plain['{side}_{node.leaf.column}'][i]"

    source = PythonSource(read, session)
    name = compile_node(typed(program, leaf_types(types), session), source)
    scope = {**source.globals, "plain": plain}
    exec("\n".join(["def run(i):", *source.lines, f"    return {name}"]), scope)
    return [scope["run"](i) for i in range(count)]


def alike(a, b, near: bool) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or (near and math.isclose(a, b, rel_tol=1e-13, abs_tol=1e-300))
    return a == b


@pytest.mark.parametrize("sql", [c.replace("\0", "|") for c in [*calls(EXACT), *calls(NEAR)]])
def test_equal_to_spark(compared, sql):
    expected, ours, rows = compared[sql]
    near = sql in calls(NEAR)
    read = re.findall(r"\b([AB])\.(\w+)", sql)
    wrong = [
        ({f"{side}.{name}": rows[side][i][name] for side, name in read}, "spark", e, "found", f)
        for i, (e, f) in enumerate(zip(expected, ours, strict=True))
        if not alike(e, f, near)
    ]
    assert wrong == []
