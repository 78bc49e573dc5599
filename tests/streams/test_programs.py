"""Random programs give the same rows in other micro-batches, with restarts, and, where no order decides, at rest."""

import datetime
import random

from arrived import define_table
from chance import draws, examples
from plan.programs import COLUMNS, FORMS, READERS, STREAMS, Program, random_program

import cepsql
from cepsql.errors import Error
from cepsql.testing import play

BEGIN = datetime.datetime(2026, 1, 1)
DEFINITIONS = "".join(f"CREATE STREAM {name} {COLUMNS} USING csv;" for name in STREAMS)
TYPES = "k STRING, x BIGINT, ts TIMESTAMP"
ORDERED = ("OVER", "DEDUPLICATE", "MATCH_RECOGNIZE", "ASOF")
"""What rows of one time make different at rest, where Spark puts them into an order of its own."""


def test_a_program_gives_the_same_rows_however_they_come(spark, tmp_path):
    chance = draws("programs")
    engine, done = cepsql.connect(spark, catalog=""), 0
    for number in range(examples(5)):
        program, form = random_program(chance, chance.randint(1, 4)), chance.choice(FORMS)
        views, query = program.written(form)
        text = DEFINITIONS + "".join(f"CREATE VIEW {name} AS {body};" for name, body in views) + query
        rows = [row for row in _rows(chance) if row[0] in program.streams]
        try:
            outputs = [_played(text, program, rows, restart, chance, spark) for restart in (False, True)]
        except Error as error:
            assert "not supported" in str(error) or "needs" in str(error), text
            continue
        assert outputs[0] == outputs[1], text
        if not any(word in text for word in ORDERED):
            for name in program.streams:
                frame = spark.createDataFrame([row for source, row in rows if source == name], TYPES)
                define_table(engine, tmp_path / f"{number}{name}", name, frame)
            assert _folded(engine.sql(program.written("subqueries")[1]).collect(), _changes(program)) == outputs[0], (
                text
            )
        done += 1
    assert done > 0


def _rows(chance: random.Random) -> list[tuple[str, tuple]]:
    """Return rows of the streams in the order of their times, of which each has its own."""
    second, rows = 0, []
    for _ in range(chance.randint(10, 40)):
        second += chance.choice([1, 1, 2, 4, 9])
        row = chance.choice("pq"), chance.randint(0, 9), BEGIN + datetime.timedelta(seconds=second)
        rows.append((chance.choice(STREAMS), row))
    return rows


def _played(text: str, program: Program, rows: list, restart: bool, chance: random.Random, spark) -> list[str]:
    """Return what a query over streams has given in the end, when its rows come in random micro-batches."""
    batches, begin = [], 0
    while begin < len(rows):
        end = begin + chance.randint(1, 15)
        batches.append({name: [row for source, row in rows[begin:end] if source == name] for name in program.streams})
        begin = end
    played = play(text, batches, restart=restart, spark=spark)
    return _folded([row for batch in played for row in batch], "EMIT CHANGES" in text)


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


def _changes(program: Program) -> bool:
    return program.sql in READERS.values() and "EMIT CHANGES" in program.sql
