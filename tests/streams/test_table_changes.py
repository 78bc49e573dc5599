"""Random changes of two tables, in random micro-batches with restarts, add up to what a plain loop gives."""

from collections import Counter

import pytest
from chance import draws, everyday

from cepsql.testing import play

TABLES = """
    CREATE STREAM people (id INT, city STRING, age INT, kind STRING, at TIMESTAMP,
      WATERMARK FOR at AS at - INTERVAL '20' SECONDS, PRIMARY KEY (id) DELETE WHEN kind = 'd') USING csv;
    CREATE STREAM towns (name STRING, land STRING, kind STRING, at TIMESTAMP,
      WATERMARK FOR at AS at - INTERVAL '20' SECONDS, PRIMARY KEY (name) DELETE WHEN kind = 'd') USING csv;
"""
JOIN = "SELECT p.id, p.age, t.land FROM people AS p FULL JOIN towns AS t ON t.name = p.city EMIT CHANGES"
GROUPS = """
    SELECT t.land, COUNT(*) AS n, SUM(g.n) AS people, MAX(g.most) AS most
    FROM (SELECT city, COUNT(*) AS n, MAX(age) AS most FROM people WHERE age > 1 GROUP BY city) AS g
    LEFT JOIN towns AS t ON t.name = g.city
    GROUP BY t.land EMIT CHANGES
"""
RANKS = """
    SELECT city, age, place FROM (
      SELECT city, age, DENSE_RANK() OVER (PARTITION BY city ORDER BY age DESC) AS place FROM people WHERE age > 0
    ) WHERE place < 3 EMIT CHANGES
"""


def drawn(seed: str) -> list[dict[str, list[tuple]]]:
    """Return micro-batches of changes, in any order within the delay; a repeated one does no harm."""
    draw = draws(seed)
    batches: list[dict[str, list[tuple]]] = []
    for number in range(5):
        sides: dict[str, list[tuple]] = {"people": [], "towns": []}
        for _ in range(draw.randint(0, 8)):
            at = f"2026-01-01 00:00:{draw.randint(3 * number, 3 * number + 5):02}"
            kind, town = draw.choice("uud"), draw.choice([None, "Rome", "Oslo", "Bari"])
            sides["people"].append((draw.randint(1, 5), town, draw.choice([None, 1, 2, 3]), kind, at))
        for _ in range(draw.randint(0, 3)):
            at = f"2026-01-01 00:00:{draw.randint(3 * number, 3 * number + 5):02}"
            town = draw.choice(["Rome", "Oslo", "Bari"])
            sides["towns"].append((town, draw.choice(["it", "no", None]), draw.choice("uud"), at))
        if batches and sides["people"]:
            sides["people"].insert(0, draw.choice(batches[-1]["people"] or sides["people"]))
        batches.append(sides)
    return batches


def contents(batches, name: str) -> list[tuple]:
    table: dict = {}
    rows = [(place, row) for place, row in enumerate(row for batch in batches for row in batch[name])]
    for _, row in sorted(rows, key=lambda item: (item[1][-1], item[0])):
        table[row[0]] = row
    return [row for row in table.values() if row[-2] != "d"]


def joined(people, towns) -> Counter:
    pairs = [(p, t) for p in people for t in towns if p[1] == t[0]]
    counts = Counter((p[0], p[2], t[1]) for p, t in pairs)
    counts.update((p[0], p[2], None) for p in people if p[1] not in {t[0] for t in towns})
    counts.update((None, None, t[1]) for t in towns if t[0] not in {p[1] for p in people})
    return counts


def grouped(people, towns) -> Counter:
    land, ages = {t[0]: t[1] for t in towns}, {}
    for _, city, age, *_ in people:
        if age is not None and age > 1:
            ages.setdefault(city, []).append(age)
    groups: dict = {}
    for city, ages_of_city in ages.items():
        groups.setdefault(land.get(city), []).append(ages_of_city)
    return Counter((name, len(cities), sum(map(len, cities)), max(map(max, cities))) for name, cities in groups.items())


def ranked(people, towns) -> Counter:
    ranks: Counter = Counter()
    for _, city, age, *_ in people:
        ages = {other[2] for other in people if other[1] == city and other[2] is not None}
        place = sum(other >= (age or 0) for other in ages)
        if age is not None and place < 3:
            ranks[city, age, place] += 1
    return ranks


CASES = {"join": (JOIN, joined), "groups": (GROUPS, grouped), "ranks": (RANKS, ranked)}


@pytest.mark.parametrize(("sql", "by_hand"), everyday(CASES.values(), 3), ids=everyday(CASES, 3))
def test_changes_add_up(sql, by_hand, spark):
    batches = drawn(sql)
    restarts = draws(sql + "restarts").sample(range(len(batches)), 2)
    used_batches = [{name: rows for name, rows in batch.items() if name in sql} for batch in batches]
    played = play(TABLES + sql, used_batches, restart=restarts, spark=spark)
    table: Counter = Counter()
    for number, rows in enumerate(played[:-1], 1):
        for row in rows:
            table[tuple(row)[:-1]] += 1 if row.op.startswith("+") else -1
        assert all(count >= 0 for count in table.values())
        assert +table == by_hand(contents(batches[:number], "people"), contents(batches[:number], "towns"))
    assert played[-1] == []
