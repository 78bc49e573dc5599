"""TPC-H's queries over tables that change give what a database gives of the tables, after every micro-batch."""

from collections import Counter
from decimal import Decimal

import pytest
from chance import is_night

pytest.importorskip("duckdb")
pytest.importorskip("duckdb_extension_tpch")

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
        for text in tables.queries().values():
            assert engine.query(f"{text} EMIT CHANGES").plan.streaming


@pytest.mark.nightly("each query runs in Spark, for up to minutes")
@pytest.mark.parametrize("number", tables.queries())
def test_changes_add_up_to_what_a_database_gives(spark, number):
    batches, text = tables.drawn(BATCHES if is_night() else 2), tables.queries()[number]
    read = {table.name for table in sqlglot.parse_one(text, read="duckdb").find_all(sqlglot.exp.Table)}
    came = [{name: rows for name, rows in batch.items() if name in read} for batch in batches.changes]
    given = play(f"{batches.definitions}{text} EMIT CHANGES", came, spark=spark)
    found: Counter = Counter()
    with tables.connection() as database:
        for place, rows in enumerate(given[:-1]):
            for *values, operation in sorted(rows, key=lambda row: row.op[0] != "-"):
                found[tuple(map(plain, values))] += -1 if operation.startswith("-") else 1
                assert found[tuple(map(plain, values))] >= 0
            tables.at_rest(database, batches, place)
            wanted = database.execute(text).fetchall()
            assert +found == Counter(tuple(map(plain, row)) for row in wanted), place


def plain(value):
    """Return a value as it is compared: databases divide decimals with other precisions."""
    return f"{float(value):.9g}" if isinstance(value, float | Decimal) else value
