"""Every operation of the registry on random typed arguments: Python, Arrow and its Spark SQL give one result."""

import math
import random
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from attempts import spark_types, spark_values
from chance import draws, everyday, examples
from scalar_samples import INF, NAN, NESTED, NESTED_VALUES, TYPES, VALUES
from sessions import in_mode

from cepsql.errors import DataError, NotSupportedError, OperationalError
from cepsql.scalar.arrow.arrow_expressions import arrow_obstacle, evaluate
from cepsql.scalar.arrow.column_values import plain_values
from cepsql.scalar.expressions import Apply, Call, Constant, Literal, Parameter, Session, nodes
from cepsql.scalar.python import PythonSource, compile_node
from cepsql.scalar.registry import REGISTRY
from cepsql.scalar.typed_sql import spark_sql
from cepsql.scalar.types import BIGINT, parse_type
from cepsql.scalar.typing import typed
from cepsql.scalar.values import is_greater
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.jvm.session_zone import session_zone

ROWS = 40
KINDS = {name: parse_type(type) for name, type in (TYPES | NESTED).items()}
LITERALS = [
    Literal(value) for value in (0, 1, -3, 2, "1", "a", "", "%a_", 2.5, Decimal("2.50"), None, True, 3_000_000_000)
]
PATTERNS = [Literal(pattern) for pattern in ("yyyy-MM-dd HH:mm:ss.SSSSSS", "H:m", "d/M/yyyy")]
REGEXES = [Literal(pattern) for pattern in ("a", "^.b", "([a-z])[^a]*?(1|\\\\d)", "(\\\\w+)$", "[[:x", "(?i)A")]
NEAR = {
    "power", "exp", "expm1", "ln", "log", "log10", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "cot", "radians", "degrees", "hypot", "cbrt",
}  # fmt: skip
"""Of these Java and C round the last bit in different ways."""
OF_ELEMENTS = {name for name, function in REGISTRY.items() if function.of_elements}
CASTS = ["tinyint", "int", "bigint", "float", "double", "decimal(10,2)", "string", "boolean", "date", "timestamp"]
AGGREGATES = {
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
    "percentile",
    "listagg",
    "kurtosis",
    "skewness",
    "mode",
}
AGGREGATES |= {"bit_and", "bit_or", "bit_xor"}
"""Of lists; to Spark they are aggregates."""
GROWING = {"repeat", "lpad", "rpad"}
"""Of these the second argument says how long the result is: two billion characters are too many for a test."""
CONSTANT = {"like": 2, "ilike": 2, "sort_array": 1}
"""Which argument Spark takes as a constant only."""
FAILING = {"like", "ilike", "add_months"}
"""Spark fails for a pattern that ends in its ESCAPE and for days beyond its calendar; here that is false, or a day."""
STUCK = {"map_from_arrays"}
"""After a row whose keys it refuses, Spark makes no map of later rows either, where errors are NULL as here."""
UNWRITTEN = {"lookup"} | AGGREGATES | STUCK
"""What other operations, and aggregates, become; and what cannot be compared."""


def calls(session: Session) -> list:
    """Draw typed calls: some of each operation, on columns of types that it takes."""
    draw = draws(1)
    wanted = examples(2)
    drawn = {}
    for operation in [*REGISTRY, "cast", "try_cast"]:
        if operation in UNWRITTEN:
            continue
        drawn_count = 0
        for _ in range(2000):
            if drawn_count == wanted:
                break
            call = Call(operation, arguments(operation, draw), draw.choice(CASTS) if "cast" in operation else "")
            place = 1 if operation in GROWING else CONSTANT.get(operation)
            if place is not None and not all(isinstance(a, Literal) for a in call.arguments[place : place + 1]):
                continue
            try:
                node = typed(call, KINDS.get, session)
            except NotSupportedError:
                continue
            # Times in maps and arrays are handed over as something else, and NULLs without a type not at all.
            handed = not (node.type.arguments and re.search("timestamp|interval|date|void", str(node.type)))
            # A number that no cast takes in ANSI mode Spark finds before it computes anything.
            too_great = [part for part in nodes(node) if isinstance(part, Apply) and part.operation == "cast"]
            handed = handed and not any(part.arguments[0] == Constant(3_000_000_000, BIGINT) for part in too_great)
            if isinstance(node, Apply) and node.type.name != "unknown" and handed and node not in drawn:
                drawn[node] = operation
                drawn_count += 1
    assert {operation for operation in REGISTRY if operation not in UNWRITTEN} <= {*drawn.values()} | {
        node.operation for node in drawn
    }
    return list(drawn)


def arguments(operation: str, draw: random.Random) -> tuple:
    if operation in OF_ELEMENTS:
        element, place = Parameter("p1"), Parameter("p2")
        other = draw.choice([draw.choice(LITERALS), draw.choice(LITERALS), draw.choice([*KINDS]), element])
        operation_of_body = draw.choice(["lt", "eq", "add", "isnull", "coalesce", "div", "concat"])
        body = Call(operation_of_body, (element, other)[: 1 if operation_of_body == "isnull" else 2])
        indexed = operation in ("transform", "filter")
        return (draw.choice(["ai", "as", "ad", "am"]), element, *([place] if indexed else []), body)
    if operation == "date_format":
        return draw.choice(["t", "n", "e", "s"]), draw.choice(PATTERNS)
    if operation in ("rlike", "regexp_extract", "regexp_replace"):
        others = {"regexp_extract": [Literal(draw.choice([0, 1]))], "regexp_replace": [Literal("<>")]}
        return (draw.choice([*KINDS]), draw.choice(REGEXES), *others.get(operation, []))
    count = draw.choice([1, 2, 2, 3, 3, 4]) if operation != "case" else draw.choice([3, 5])
    if "cast" in operation:
        count = 1
    same = draw.choice([*KINDS])
    # Arguments of one type are taken by more operations than mixed ones.
    return tuple(
        draw.choice(LITERALS) if draw.random() < 0.15 else same if draw.random() < 0.5 else draw.choice([*KINDS])
        for _ in range(count)
    )


@pytest.fixture(scope="module", params=everyday([False, True]), ids=lambda ansi: "ANSI" if ansi else "without ANSI")
def both(request, spark):
    """Rows as a frame, as plain values and as Arrow columns, and the rules of their session."""
    mode = in_mode(spark, request.param)
    mode.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    # Few rows: compiling Java for each of hundreds of expressions would take most of the time.
    mode.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    mode.conf.set("spark.sql.codegen.wholeStage", "false")
    draw = draws(5)
    samples = (VALUES | NESTED_VALUES).items()
    rows = [(i, *(None if draw.random() < 0.06 else draw.choice(values) for _, values in samples)) for i in range(ROWS)]
    schema = ", ".join(f"`{name}` {type}" for name, type in (TYPES | NESTED).items())
    frame = mode.createDataFrame(rows, f"id int, {schema}").coalesce(1).cache()
    table = to_arrow(frame.orderBy("id")).combine_chunks()
    yield frame, table, Session(request.param, session_zone(mode))
    frame.unpersist()


def test_all_back_ends_agree(both):
    frame, table, session = both
    plain = {name: [as_tuples(v) for v in values] for name, values in plain_values(table, table.column_names).items()}
    columns = {name: in_utc(table[name].chunk(0)) for name in table.column_names}
    drawn = calls(session)
    results = [run(node, plain, session) for node in drawn]
    wrong = differing_types(frame, drawn)
    assert not wrong, "\n".join(map(str, wrong[:60])) + f"\n{len(wrong)} of {len(drawn)}"
    answers = [[as_tuples(v) for v in values] for values in spark_values(frame, [written(node) for node in drawn])]
    in_arrow = 0
    for node, ours, theirs in zip(drawn, results, answers, strict=True):
        sql = spark_sql(node)
        if node.operation == "map" and "error" in theirs:
            # Of an attempt at a map that failed Spark keeps the pairs for the next one.
            continue
        near = any(isinstance(part, Apply) and part.operation in NEAR for part in nodes(node))
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            excused = b == "error" and any(
                isinstance(part, Apply) and part.operation in FAILING for part in nodes(node)
            )
            if not excused and not same(a, b, near):
                wrong.append((sql, {c: plain[c][i] for c in KINDS if reads(node, c)}, "Spark", b, "Python", a))
                break
        if arrow_obstacle(node, session) is None:
            good = [i for i, value in enumerate(ours) if value != "error"]
            if len(good) < ROWS:
                with pytest.raises((DataError, OperationalError)):
                    evaluate(node, columns, ROWS, session)
            rows = {name: column.take(pa.array(good, pa.int64())) for name, column in columns.items()}
            vector = evaluate(node, rows, len(good), session)
            values = list(plain_values(table.from_arrays([vector], ["x"]), ["x"])["x"])
            in_arrow += 1
            for i, a in zip(good, values, strict=True):
                b = theirs[i]
                if b != "error" and not same(a, b, near):
                    wrong.append((sql, {c: plain[c][i] for c in KINDS if reads(node, c)}, "Spark", b, "Arrow", a))
                    break
    assert not wrong, "\n".join(map(str, wrong[:60])) + f"\n{len(wrong)} of {len(drawn)}"
    assert in_arrow > 30


def test_aggregates_of_lists(spark):
    draw = draws(3)
    values = [0.1, 0.7, 0.2, -0.0, 1e308, -1e308, 1e-200, 3.5, 2.0**53, 1.0, 1.0, NAN, INF]
    lists = [[draw.choice([*values[: draw.randint(1, len(values))], None]) for _ in range(n % 9)] for n in range(120)]
    rows = [(i, place, value) for i, values_of_list in enumerate(lists) for place, value in enumerate(values_of_list)]
    spark.createDataFrame(rows, "id int, place int, x double").createOrReplaceTempView("listed")
    calls = {
        "var_samp": (), "var_pop": (), "stddev_samp": (), "stddev_pop": (), "percentile(x, 0.5)": (0.5,),
        "percentile(x, 0.9)": (0.9,), "percentile(x, 0)": (0.0,), "listagg(string(x > 1), '-')": ("-",),
        "kurtosis": (), "skewness": (),
    }  # fmt: skip
    over = "OVER (PARTITION BY id ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    texts = [f"{call if '(' in call else f'{call}(x)'} {over}" for call in calls]
    by_id = {row[0]: row[1:] for row in spark.sql(f"SELECT id, {', '.join(texts)} FROM listed").collect()}
    for i, values_of_list in enumerate(lists):
        for (call, constants), theirs in zip(calls.items(), by_id.get(i, ()), strict=bool(values_of_list)):
            operation = call.split("(")[0]
            listed = [None if v is None else str(is_greater(v, 1.0)).lower() for v in values_of_list]
            ours = REGISTRY[operation].python(listed if operation == "listagg" else values_of_list, *constants)
            assert same(ours, theirs, near=False), (call, values_of_list)


def in_utc(column: pa.Array) -> pa.Array:
    """Return a column as the scan has it."""
    return column.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) and column.type.tz else column


def reads(node, column: str) -> bool:
    return any(getattr(part, "leaf", None) == column for part in nodes(node))


def run(node, plain: dict, session: Session) -> list:
    """Return the values that the generated Python gives, "error" where it fails."""
    source = PythonSource(lambda _, node: f"plain[{node.leaf!r}][i]", session)
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


def differing_types(frame, drawn: list) -> list[tuple]:
    """Return the calls, and what they are made of, whose type in Spark is another one."""
    # What stands in a function has no type by itself.
    whole = [nodes(node) if node.operation not in OF_ELEMENTS else [node] for node in drawn]
    parts = [part for nested in whole for part in nested if isinstance(part, Apply)]
    typed = zip(parts, spark_types(frame, [written(part) for part in parts]), strict=True)
    return [
        (written(part), str(part.type), "Spark types it", kind)
        for part, kind in typed
        if kind.startswith("refused") or parse_type(kind) != part.type
    ]


def written(node) -> str:
    return spark_sql(node, lambda leaf: f"`{leaf.leaf}`")


def as_tuples(value):
    return tuple(as_tuples(v) for v in value) if isinstance(value, list | tuple) else value


def same(a, b, near: bool) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y, near) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        equal = a == b or (a != a and b != b)
        return equal or (near and math.isclose(a, b, rel_tol=1e-13, abs_tol=1e-300))
    if isinstance(a, Decimal):
        return a == b and str(a) == str(b)
    return a == b and type(a) is type(b)
