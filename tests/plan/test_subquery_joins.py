"""SELECTs with subqueries in any place give the rows that they give as joins: a database says so of both."""

from collections import Counter
from itertools import count

import pytest
from chance import draws, examples
from plan.selects import TABLES, Writer
from sqlglot import exp, parse_one
from sqlglot.optimizer.qualify import qualify

from cepsql.errors import NotSupportedError, Span
from cepsql.plan.changes.composed_aggregates import _COMPOSERS
from cepsql.plan.changes.subquery_joins import LISTS, NUMBERS_OF_NOTHING, SubqueryJoins
from cepsql.plan.joins.semi_joins import with_semi_joins
from cepsql.plan.joins.value_joins import NULL_OF_NOTHING, with_value_joins
from cepsql.plan.tree.join_order import relations

duckdb = pytest.importorskip("duckdb")

SCHEMA = {name: dict.fromkeys(columns, "int") for name, columns in TABLES.items()}


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as opened:
        chance = draws("tables of subqueries")
        for name, columns in TABLES.items():
            opened.execute(f"CREATE TABLE {name} ({', '.join(f'{column} INT' for column in columns)})")
            for _ in range(8):
                row = [chance.choice(["NULL", "0", "1", "2", "3"]) for _ in columns]
                opened.execute(f"INSERT INTO {name} VALUES ({', '.join(row)})")
        opened.execute("CREATE TABLE nothing AS SELECT 1 AS one WHERE false")
        yield opened


def joined(text: str) -> str:
    """Return a SELECT without subqueries but in FROM, as the planner writes it."""
    numbers = count()
    joins = SubqueryJoins(set(TABLES), lambda kind: f"{kind}_{next(numbers)}", lambda *_: False, Span(0, 0))

    def written(query: exp.Expr) -> exp.Expr:
        plain = query.unnest()
        if isinstance(plain, exp.SetOperation):
            copy = plain.copy()
            copy.set("this", written(copy.this))
            copy.set("expression", written(copy.expression))
            return copy
        rewritten = joins.without_subqueries(with_value_joins(with_semi_joins(plain, set(TABLES)), set(TABLES)))
        rewritten = rewritten.copy()
        for item in relations(rewritten):
            if isinstance(item, exp.Subquery):
                item.set("this", written(item.this))
        inside = [query for part in rewritten.args.values() for query in _queries(part)]
        assert not inside, rewritten.sql("spark")
        return rewritten

    query = qualify(parse_one(text, read="spark"), schema=SCHEMA, dialect="spark", quote_identifiers=False)
    return written(query).sql("duckdb").replace("RAISE_ERROR(", "error(")


def _queries(part) -> list[exp.Query]:
    """Return the subqueries in a part of a SELECT, but for its relations."""
    parts = part if isinstance(part, list) else [part]
    all_queries = []
    for one in parts:
        if isinstance(one, exp.From):
            continue
        root = one.args.get("on") if isinstance(one, exp.Join) else one
        all_queries += [] if not isinstance(root, exp.Expr) else list(root.find_all(exp.Query))
    return all_queries


def test_joins_give_the_rows_of_subqueries(database):
    writer, done = Writer(draws("subqueries")), 0
    for _ in range(examples(40)):
        text = writer.select()
        try:
            wanted = database.execute(text).fetchall()
        except duckdb.Error:
            continue
        try:
            written = joined(text)
        except NotSupportedError:
            continue
        rows = database.execute(written).fetchall()
        assert Counter(rows) == Counter(wanted), f"{text}\n{written}"
        done += 1
    assert done > 0


def test_every_aggregate_of_changes_has_a_value_where_no_row_is():
    assert set(_COMPOSERS) <= NULL_OF_NOTHING | set(NUMBERS_OF_NOTHING) | set(LISTS)
