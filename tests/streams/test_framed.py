"""Frames that an operator computes give what Spark computes of them over a table, to the last bit."""

import datetime
import decimal
import math
import random

import pytest
from chance import draws, examples

import cepsql
from cepsql.testing import play

COLUMNS = {
    "small": ("SMALLINT", [None, -3, 0, 5, 7]),
    "whole": ("INT", [None, -9, 0, 2**31 - 1, 4]),
    "long": ("BIGINT", [None, 2**53 + 1, -(2**53), 1, 3]),
    "single": ("FLOAT", [None, 0.5, -0.0, 0.0, math.inf, 3.25]),
    "number": ("DOUBLE", [None, 0.1, 0.7, 0.2, -0.0, 0.0, math.nan, 1e16, -1e16]),
    "money": (
        "DECIMAL(9, 2)",
        [None, *map(decimal.Decimal, ["0.01", "-7.35", "1234567.89"])],
    ),
    "text": ("STRING", [None, "a", "b", "", "ä"]),
    "day": ("DATE", [None, datetime.date(2026, 1, 1), datetime.date(1969, 3, 2)]),
    "yes": ("BOOLEAN", [None, True, False]),
}
NUMBERS = [name for name, (kind, _) in COLUMNS.items() if kind not in ("STRING", "DATE", "BOOLEAN")]
ONLY_NUMBERS = ("SUM", "AVG", "STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP")
FUNCTIONS = (*ONLY_NUMBERS, "COUNT", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD")
TYPES = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
STREAM = f"""CREATE STREAM events (
  k STRING, ts TIMESTAMP, n INT, {TYPES}, WATERMARK FOR ts AS ts - INTERVAL '6' SECONDS
) USING parquet;
"""
ORDER = "PARTITION BY k ORDER BY ts, n"
EXACT = [("COUNT", name) for name in COLUMNS] + [
    (function, name) for function in ("SUM", "AVG", "MIN", "MAX") for name in ("small", "whole", "money")
]
"""Functions that give the same whatever the order of rows is."""


def drawn_call(chance: random.Random, ties: bool) -> str:
    """Draw a call of a window function; `ties`: some rows have the same time."""
    function = chance.choice(FUNCTIONS)
    column = chance.choice(NUMBERS if function in ONLY_NUMBERS else list(COLUMNS))
    if function in ("LAG", "LEAD"):
        return f"{function}({column}, {chance.choice([0, 1, 2])}) OVER ({ORDER})"
    nulls = chance.choice(["", " IGNORE NULLS"]) if function.endswith("VALUE") else ""
    argument = chance.choice([column, "*"]) if function == "COUNT" else column
    if ties and chance.random() < 0.5:
        function, argument = chance.choice(EXACT)
        nulls = ""
    elif ties or chance.random() < 0.5:
        first, last = sorted(chance.choices(range(-4, 4), k=2))
        return f"{function}({argument}){nulls} OVER ({ORDER} ROWS BETWEEN {frame_end(first)} AND {frame_end(last)})"
    first, last = sorted(chance.choices(range(-7, 5), k=2))
    bounds = f"{frame_end(first, time=True)} AND {frame_end(last, time=True)}"
    return f"{function}({argument}){nulls} OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN {bounds})"


def frame_end(bound: int, time: bool = False) -> str:
    """Say where a frame begins or ends."""
    if bound == 0:
        return "CURRENT ROW"
    far = f"INTERVAL '{abs(bound)}' SECONDS" if time else f"({abs(bound)})"
    return f"{far} {'PRECEDING' if bound < 0 else 'FOLLOWING'}"


def drawn_rows(chance: random.Random, ties: bool) -> list[tuple]:
    """Draw rows in order of time; their numbers tell those of equal times apart."""
    half_seconds, rows = 0, []
    for number in range(chance.randint(1, 50)):
        half_seconds += chance.choice([0, 0, 1, 2, 4, 9] if ties else [1, 1, 2, 4, 9])
        at = datetime.datetime(2026, 1, 1) + datetime.timedelta(milliseconds=500 * half_seconds)
        values = [chance.choice(choices) for _, choices in COLUMNS.values()]
        rows.append((chance.choice(["p", "q", None]), at, number, *values))
    return rows


def arrivals(rows: list[tuple], chance: random.Random) -> list[list[tuple]]:
    """Cut rows into micro-batches; they come less than 6 seconds after later ones."""
    moved = sorted(rows, key=lambda row: row[1] + datetime.timedelta(seconds=chance.uniform(0, 5.9)))
    cuts = sorted(chance.choices(range(len(rows) + 1), k=chance.choice([0, 1, 2])))
    return [batch for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True) if (batch := moved[begin:end])]


@pytest.mark.parametrize("number", range(examples(1)))
def test_stream_equals_table(number, spark):
    chance = draws(f"framed {number}")
    ties = number % 2 == 0
    calls = [drawn_call(chance, ties) for _ in range(8)]
    query = "SELECT *, " + ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls)) + " FROM events"
    rows = drawn_rows(chance, ties)
    engine = cepsql.connect(spark)
    engine.register("events", spark.createDataFrame(rows, f"k STRING, ts TIMESTAMP, n INT, {TYPES}"))
    expected = sorted(map(repr, engine.sql(query).collect()))
    played = play(STREAM + query, arrivals(rows, chance), restart=True, spark=spark)
    assert sorted(repr(row) for batch in played for row in batch) == expected, calls
