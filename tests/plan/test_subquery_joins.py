"""SELECTs with subqueries in any place give the rows that they give as joins: a database says so of both."""

from collections import Counter
from itertools import count

import pytest
from chance import draws, examples
from sqlglot import exp, parse_one
from sqlglot.optimizer.qualify import qualify

from cepsql.errors import NotSupportedError, Span
from cepsql.plan.join_order import relations
from cepsql.plan.semi_joins import with_semi_joins
from cepsql.plan.subquery_joins import SubqueryJoins
from cepsql.plan.value_joins import with_value_joins

duckdb = pytest.importorskip("duckdb")

TABLES = {"a": ("id", "x", "v"), "b": ("id", "y", "w"), "c": ("id", "z")}
SCHEMA = {name: dict.fromkeys(columns, "int") for name, columns in TABLES.items()}


class Writer:
    """Writes random SELECTs."""

    def __init__(self, chance):
        self.chance, self.numbers = chance, count()

    def relation(self) -> tuple[str, list[str]]:
        name, alias = self.chance.choice([*TABLES]), f"t{next(self.numbers)}"
        if self.chance.random() < 0.3:
            # Relations of subqueries may have the names of those around them.
            alias = name
        return f"{name} AS {alias}", [f"{alias}.{column}" for column in TABLES[name]]

    def condition(self, own: list[str], outer: list[str], depth: int) -> str:
        one, other = self.chance.choice(own), self.chance.choice([*outer, *own])
        kind = self.chance.randint(0, 11 if depth else 3)
        comparison = self.chance.choice(["=", "<", ">=", "<>", "IS NOT DISTINCT FROM"])
        plain = f"{one} {comparison} {self.chance.choice([other, other, '1'])}"
        match kind:
            case 0 | 1 | 2:
                return plain
            case 3:
                return f"({plain} OR {one} IS NULL)"
            case 4:
                return f"EXISTS ({self.rows([*own, *outer], depth - 1)})"
            case 5:
                return f"NOT EXISTS ({self.rows([*own, *outer], depth - 1)})"
            case 6:
                return f"{one} IN ({self.rows([*own, *outer], depth - 1)})"
            case 7:
                return f"{one} NOT IN ({self.rows([*own, *outer], depth - 1)})"
            case 8 | 9:
                return f"{one} {self.chance.choice(['=', '<', '>'])} ({self.scalar([*own, *outer], depth - 1)})"
            case 10:
                return f"({plain} OR {self.condition(own, outer, depth)})"
        return f"NOT ({self.condition(own, outer, depth)})"

    def where(self, own: list[str], outer: list[str], depth: int) -> str:
        parts = [self.condition(own, outer, depth) for _ in range(self.chance.randint(0, 2))]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def source(self, outer: list[str], depth: int) -> tuple[str, list[str]]:
        text, own = self.relation()
        if self.chance.random() < 0.3:
            more, further = self.relation()
            if not {column.split(".")[0] for column in own} & {column.split(".")[0] for column in further}:
                kind = self.chance.choice(["JOIN", "LEFT JOIN"])
                text += f" {kind} {more} ON {own[0]} = {further[0]}"
                if depth and self.chance.random() < 0.3:
                    text += f" AND {self.condition(further, [], depth - 1)}"
                own = [*own, *further]
        return text, own

    def rows(self, outer: list[str], depth: int) -> str:
        source, own = self.source(outer, depth)
        item, where = self.chance.choice(own), self.where(own, outer, depth)
        kind = self.chance.randint(0, 6)
        if kind == 0:
            return f"SELECT {item} FROM {source}{where} GROUP BY {item} HAVING COUNT(*) > 1"
        if kind == 1:
            return f"SELECT DISTINCT {item} FROM {source}{where}"
        if kind == 2:
            more, other = self.source(outer, depth)
            return f"SELECT {item} FROM {source}{where} UNION ALL SELECT {other[0]} FROM {more}"
        if kind == 3:
            return f"SELECT MAX({item}) FROM {source}{where}"
        return f"SELECT {item} FROM {source}{where}"

    def scalar(self, outer: list[str], depth: int) -> str:
        source, own = self.source(outer, depth)
        item, where = self.chance.choice(own), self.where(own, outer, depth)
        form = self.chance.choice(["MAX({0})", "COUNT(*)", "SUM({0}) + 1", "COUNT({0}) * 2", "MIN({0}) + COUNT(*)"])
        if self.chance.random() < 0.2:
            order = ", ".join(f"{column} NULLS FIRST" for column in own)
            return f"SELECT {item} FROM {source}{where} ORDER BY {order} LIMIT 1"
        having = " HAVING COUNT(*) > 1" if self.chance.random() < 0.2 else ""
        return f"SELECT {form.format(item)} FROM {source}{where}{having}"

    def select(self) -> str:
        source, own = self.source([], 1)
        where = self.where(own, [], 2)
        if self.chance.random() < 0.3:
            key = own[1]
            having = f"COUNT(*) {self.chance.choice(['<', '>', '='])} ({self.scalar([key], 1)})"
            item = self.chance.choice([f"({self.scalar([key], 1)})", f"EXISTS ({self.rows([key], 1)})", "1"])
            return f"SELECT {key} AS k, COUNT(*) AS n, {item} AS i FROM {source}{where} GROUP BY {key} HAVING {having}"
        value = f"({self.scalar(own, 1)})"
        item = self.chance.choice([value, f"({self.condition(own, [], 1)})", f"{own[0]} + {value}"])
        return f"SELECT {own[0]} AS k, {own[1]} AS n, {item} AS i FROM {source}{where}"


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
        found = joins.without_subqueries(with_value_joins(with_semi_joins(plain, set(TABLES)), set(TABLES)))
        found = found.copy()
        for item in relations(found):
            if isinstance(item, exp.Subquery):
                item.set("this", written(item.this))
        inside = [query for part in found.args.values() for query in _queries(part)]
        assert not inside, found.sql("spark")
        return found

    query = qualify(parse_one(text, read="spark"), schema=SCHEMA, dialect="spark", quote_identifiers=False)
    return written(query).sql("duckdb").replace("RAISE_ERROR(", "error(")


def _queries(part) -> list[exp.Query]:
    """Return the subqueries in a part of a SELECT, but for its relations."""
    parts = part if isinstance(part, list) else [part]
    found = []
    for one in parts:
        if isinstance(one, exp.From):
            continue
        root = one.args.get("on") if isinstance(one, exp.Join) else one
        found += [] if not isinstance(root, exp.Expr) else list(root.find_all(exp.Query))
    return found


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
        found = database.execute(written).fetchall()
        assert Counter(found) == Counter(wanted), f"{text}\n{written}"
        done += 1
    assert done > 0
