"""Random programs give the same rows in other micro-batches, with restarts, and, where no order decides, at rest."""

import datetime
import random

from arrived import define_table
from chance import draws, examples
from plan.programs import FORMS, STREAMS, VERSIONS, Program, definitions, random_program

import cepsql
from cepsql.errors import Error
from cepsql.testing import play

BEGIN = datetime.datetime(2026, 1, 1)
TYPES = "k STRING, x BIGINT, ts TIMESTAMP"
ORDERED = ("OVER", "DEDUPLICATE", "MATCH_RECOGNIZE", "ASOF")
"""What rows of one time make different at rest, where Spark puts them into an order of its own."""


def test_a_program_gives_the_same_rows_however_they_come(spark, tmp_path):
    chance = draws("programs")
    engine, done = cepsql.connect(spark, catalog=""), 0
    (tmp_path / "d.csv").write_text("p,1\np,5\n")
    defined = ";".join([*definitions("/", f"{tmp_path}/d.csv"), ""])
    engine.sql(definitions("/", f"{tmp_path}/d.csv")[-1])
    for number in range(examples(5)):
        program, form = random_program(chance, chance.randint(1, 4)), chance.choice(FORMS)
        texts = [_text(defined, program, form), _text(defined, program.by_functions(), chance.choice(FORMS))]
        rows = [row for row in _rows(chance) if row[0] in program.streams]
        try:
            found = [_played(text, program, rows, bool(restart), chance, spark) for restart, text in enumerate(texts)]
        except Error as error:
            assert "not supported" in str(error) or "needs" in str(error), texts
            continue
        assert found[0] == found[1], texts
        text = texts[0]
        if not any(word in text for word in ORDERED) and VERSIONS not in program.streams:
            for name in program.streams:
                frame = spark.createDataFrame([row for source, row in rows if source == name], TYPES)
                define_table(engine, tmp_path / f"{number}{name}", name, frame)
            assert _folded(engine.sql(program.written("subqueries")[1]).collect(), program.changes) == found[0], text
        done += 1
    assert done > 0


def _text(defined: str, program: Program, form: str) -> str:
    views, query = program.written(form)
    return defined + "".join(f"CREATE VIEW {name} AS {body};" for name, body in views) + query


def _rows(chance: random.Random) -> list[tuple[str, tuple]]:
    """Return rows of the streams in the order of their times, of which each has its own."""
    second, rows = 0, []
    for _ in range(chance.randint(10, 40)):
        second += chance.choice([1, 1, 2, 4, 9])
        row = chance.choice("pq"), chance.randint(0, 9), BEGIN + datetime.timedelta(seconds=second)
        rows.append((chance.choice(STREAMS + STREAMS + VERSIONS), row))
    return rows


def _played(text: str, program: Program, rows: list, restart: bool, chance: random.Random, spark) -> list[str]:
    """Return what a query over streams has given in the end, when its rows come in random micro-batches."""
    batches, begin = [], 0
    while begin < len(rows):
        end = begin + chance.randint(1, 15)
        batches.append({name: [row for source, row in rows[begin:end] if source == name] for name in program.streams})
        begin = end
    given = play(text, batches, restart=restart, spark=spark)
    return _folded([row for batch in given for row in batch], program.changes)


def _folded(rows: list, changes: bool) -> list[str]:
    """Return the rows that are there after all changes."""
    left: list[str] = []
    for row in rows:
        *values, operation = tuple(row) if changes else (*row, "+I")
        if operation.startswith("-"):
            left.remove(repr(values))
        else:
            left.append(repr(values))
    return sorted(left)
