"""TPC-H's queries over tables that change give what a database gives of the tables, after every micro-batch."""

import math
from collections import Counter
from decimal import Decimal

import pytest
from chance import is_night

pytest.importorskip("duckdb")
pytest.importorskip("duckdb_extension_tpch")

import generator
import sqlglot
import tables

import cepsql
from cepsql.testing import play

BATCHES = 3


def test_all_queries_are_planned():
    with cepsql.connect(catalog="") as engine:
        for statement in tables.drawn(1).definitions.split(";\n"):
            if statement:
                engine.sql(statement)
        for text in generator.queries().values():
            assert engine.query(f"{text} EMIT CHANGES").plan.streaming


@pytest.mark.nightly("each query runs in Spark, for up to minutes")
@pytest.mark.parametrize("number", generator.queries())
def test_changes_add_up_to_what_a_database_gives(spark, number):
    batches, text = tables.drawn(BATCHES if is_night() else 2), generator.queries()[number]
    read = {table.name for table in sqlglot.parse_one(text, read="duckdb").find_all(sqlglot.exp.Table)}
    came = [{name: rows for name, rows in batch.items() if name in read} for batch in batches.changes]
    played = play(f"{batches.definitions}{text} EMIT CHANGES", came, spark=spark)
    totals: Counter = Counter()
    with generator.connection() as database:
        for place, rows in enumerate(played[:-1]):
            # The first ones may be of two micro-batches: an aggregate of nothing comes before its first rows.
            for *values, operation in rows:
                totals[tuple(values)] += -1 if operation.startswith("-") else 1
                assert totals[tuple(values)] >= 0, (place, values, rows[:9])
            tables.at_rest(database, batches, place)
            wanted = database.execute(text).fetchall()
            for one, other in zip(in_order(totals.elements()), in_order(wanted), strict=True):
                assert all(map(alike, one, other)), (place, one, other)


def alike(one, other) -> bool:
    numbers = isinstance(one, float) and isinstance(other, float)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6) if numbers else one == other


def in_order(rows):
    """Return rows as they are compared, in order: texts first, for databases divide decimals otherwise."""
    plain = [[float(value) if isinstance(value, float | Decimal) else value for value in row] for row in rows]
    return sorted(plain, key=lambda row: sorted((isinstance(value, float), repr(value)) for value in row))
