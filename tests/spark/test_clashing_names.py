"""A name means the same over a table at rest, a stream and a table that changes, or is refused in all of them."""

from collections import Counter
from pathlib import Path

import pytest
from chance import everyday
from golden import params

import cepsql
from cepsql.errors import Error
from cepsql.testing import play

CASES = params(Path(__file__).parent, "clashing_names.txt")
COLUMNS = "k STRING, v INT, n INT, window INT, start INT, at TIMESTAMP, id INT"
ROWS = [
    ("a", 1, 5, 1, 7, "2026-01-01 00:00:01", 1),
    ("a", 3, 1, 2, 7, "2026-01-01 00:00:02", 2),
    ("b", 2, 2, 1, 8, "2026-01-01 00:00:03", 3),
    ("b", 9, 3, 3, 8, "2026-01-01 00:01:04", 4),
    ("c", 4, 9, 1, 9, "2026-01-01 00:01:05", 5),
]
KINDS = ("rest", "stream", "changing")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("names")
    for name, rows in (("t", ROWS), ("d", [("a", 10), ("b", 30)])):
        (made / name).mkdir()
        (made / name / "1.csv").write_text("".join(f"{','.join(map(str, row))}\n" for row in rows))
    return made


def shown(values) -> str:
    return "|".join("NULL" if value is None else str(value) for value in values)


def at_rest(query: str, folder: Path, spark) -> list[str]:
    engine = cepsql.connect(spark, catalog="")
    engine.sql(f"CREATE TABLE t ({COLUMNS}) USING csv OPTIONS (path '{folder}/t')")
    engine.sql(f"CREATE TABLE d (k STRING, v INT) USING csv OPTIONS (path '{folder}/d')")
    return sorted(map(shown, engine.query(query).collect()))


def streamed(query: str, folder: Path, spark, key: str = "") -> list[str]:
    """Return the rows of a query over a stream; of one that changes, those that are left."""
    text = (
        f"CREATE STREAM t ({COLUMNS}, WATERMARK FOR at AS at{key}) USING csv;"
        f"CREATE TABLE d (k STRING, v INT) USING csv OPTIONS (path '{folder}/d'); {query}"
    )
    left: Counter[str] = Counter()
    for row in (row for batch in play(text, [ROWS], spark=spark) for row in batch):
        changes = row.__fields__[-1] == "op"
        left[shown(tuple(row)[:-1] if changes else row)] += -1 if changes and row[-1].startswith("-") else 1
    assert all(number >= 0 for number in left.values())
    return sorted(left.elements())


def lines_of(kind: str, query: str, folder: Path, spark) -> list[str]:
    if kind == "rest":
        return at_rest(query, folder, spark)
    if kind == "changing":
        return streamed(f"{query} EMIT CHANGES", folder, spark, ", PRIMARY KEY (id)")
    try:
        return streamed(query, folder, spark)
    except Error as error:
        if "a window of event time" not in error.message:
            raise
        return streamed(f"{query} EMIT CHANGES", folder, spark)


@pytest.mark.parametrize("case", everyday(CASES, 64))
def test_a_name_has_one_meaning(case, folder, spark):
    kinds, *expected = case.expected.splitlines()
    for kind in KINDS:
        if kind not in kinds.split() or expected == ["refused"]:
            with pytest.raises(Error) as raised:
                lines_of(kind, case.text, folder, spark)
            assert not isinstance(raised.value, cepsql.InternalError)
        else:
            assert lines_of(kind, case.text, folder, spark) == sorted(expected), kind
