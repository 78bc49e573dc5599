"""Random SELECTs over tables that change: after each micro-batch their changes add up to what a database gives."""

import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from chance import draws, examples, is_night
from folded import fold
from plan.selects import TABLES, Writer

import cepsql
from cepsql.errors import NotSupportedError
from cepsql.testing import play

duckdb = pytest.importorskip("duckdb")

DEFINITIONS = "".join(
    f"CREATE STREAM {name} ({', '.join(f'{column} INT' for column in columns)}, gone BOOLEAN, "
    "PRIMARY KEY (id) DELETE WHEN gone) USING csv;"
    for name, columns in TABLES.items()
)
BATCHES = 3 if is_night() else 2
TRIES = 20
EVERYDAY_TABLES = 2
"""As many a SELECT reads on an everyday run: one of ten takes minutes."""


def test_changes_add_up_to_the_rows_of_a_database(spark):
    chance = draws("any select")
    writer, done = Writer(chance), 0
    for _ in range(examples(1)):
        batches = [{name: _changes(chance, columns) for name, columns in TABLES.items()} for _ in range(BATCHES)]
        while done == 0 or chance.random() < 0.5:
            text = writer.select()
            wanted = _wanted(text, [batches[: number + 1] for number in range(BATCHES)])
            if wanted is None:
                continue
            try:
                restart = chance.choice([False, [1]])
                played = play(f"{DEFINITIONS}{text} EMIT CHANGES", _of(text, batches), restart=restart, spark=spark)
            except NotSupportedError:
                continue
            totals: Counter = Counter()
            for number, rows in enumerate(played[:-1]):
                for *values, operation in rows:
                    totals[tuple(values)] += -1 if operation.startswith("-") else 1
                    assert totals[tuple(values)] >= 0, text
                assert +totals == wanted[number], (number, text)
            done += 1
            break
    assert done > 0


def test_files_that_are_read_to_their_end_give_the_rows_of_a_database(spark, tmp_path):
    chance = draws("any select over files")
    writer, done = Writer(chance), 0
    for number in range(examples(2)):
        batch = {name: _changes(chance, columns) for name, columns in TABLES.items()}
        folder = tmp_path / str(number)
        with cepsql.connect(spark, catalog="") as engine:
            for name, rows in batch.items():
                place = folder / name if chance.random() < 0.7 else folder / f"{name}.csv"
                _write(place, rows)
                statement = next(one for one in DEFINITIONS.split(";") if f" {name} (" in one)
                engine.sql(f"{statement} OPTIONS (path '{place}')")
            for _ in range(TRIES):
                text = writer.select()
                wanted = _wanted(text, [[batch]])
                totals: Counter = Counter()
                try:
                    query = None if wanted is None else engine.sql(f"{text} EMIT CHANGES")
                    if query is None:
                        continue
                    query.start(partial(fold, totals), drain=True).await_()
                except NotSupportedError:
                    continue
                assert [+totals] == wanted, text
                done += 1
                break
    assert done > 0


def _write(place: Path, rows: list[tuple]) -> None:
    """Write rows as CSV, in order, into a file, or into one in a folder."""
    file = place if place.suffix else place / "rows.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = ((*("" if value is None else str(value) for value in values), str(gone).lower()) for *values, gone in rows)
    file.write_text("".join(f"{','.join(text)}\n" for text in texts))


def _wanted(text: str, moments: list[list[dict]]) -> list[Counter] | None:
    """Return the rows of a SELECT at several moments, each after some batches; None for one that is not tried."""
    if not is_night() and len(re.findall("FROM|JOIN", text)) > EVERYDAY_TABLES:
        return None
    with duckdb.connect() as database:
        try:
            return [_at_rest(database, batches, text) for batches in moments]
        except duckdb.Error:
            return None


def _changes(chance, columns) -> list[tuple]:
    """Return rows that are set or deleted."""
    rows = []
    for _ in range(chance.randint(0, 5)):
        values = [chance.choice([None, 0, 1, 2, 3]) for _ in columns[1:]]
        rows.append((chance.randint(0, 4), *values, chance.random() < 0.25))
    return rows


def _of(text: str, batches: list[dict]) -> list[dict]:
    """Return what comes of the tables that a SELECT reads."""
    return [{name: rows for name, rows in batch.items() if f"{name} AS " in text} for batch in batches]


def _at_rest(database, batches: list[dict], text: str) -> Counter:
    for name, columns in TABLES.items():
        database.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(f'{column} INT' for column in columns)})")
        rows = {row[0]: row for batch in batches for row in batch[name]}
        for *values, gone in rows.values():
            if not gone:
                database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in values)})", values)
    return Counter(database.execute(text).fetchall())
