"""Each operator gives over a stream what it gives over its rows at rest, in every form and however they come."""

import datetime
from zoneinfo import ZoneInfo

import pytest
from chance import draws, everyday
from plan.test_operator_forms import OPERATORS, STREAMS, in_forms

import cepsql
from cepsql.testing import play

BEGIN = datetime.datetime(2026, 1, 31, 10)
LATE = [("a", 9, BEGIN - datetime.timedelta(days=70)), ("b", 8, None)]
"""Rows that no operator takes, once others have come."""
ROW_BY_ROW = ("UNION", "explode", "TRY")
"""What stands in statements that take rows whatever their time."""


def rows_of(chance) -> list[tuple]:
    """Return rows in the order of their times, some of which are equal, with NULL among keys and values; or none."""
    second, rows = 0, []
    for _ in range(chance.choice([0, 8, 12, 16])):
        second += chance.choice([0, 1, 1, 3, 12, 45])
        key, value = chance.choice(["a", "b", "b", None]), chance.choice([None, 0, 1, 2, 3, 5])
        rows.append((key, value, BEGIN + datetime.timedelta(seconds=second)))
    return rows


def batches_of(rows: dict[str, list[tuple]], count: int) -> list[dict[str, list[tuple]]]:
    """Cut the rows by their times into so many micro-batches."""
    step = datetime.timedelta(seconds=120 // count)
    batches: list[dict[str, list[tuple]]] = [{name: [] for name in rows} for _ in range(count)]
    for name, rows_of_stream in rows.items():
        for row in rows_of_stream:
            batches[min((row[2] - BEGIN) // step, count - 1)][name].append(row)
    return batches


def texts(rows, zone: str) -> list[str]:
    """Return rows without the last column as text: times in a zone, lists without their order."""
    return sorted(repr([_plain(value, ZoneInfo(zone)) for value in row[:-1]]) for row in rows)


def _plain(value, zone: ZoneInfo):
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(zone).replace(tzinfo=None)
    return sorted(value, key=repr) if isinstance(value, list) else value


@pytest.mark.parametrize("text", everyday(OPERATORS, 16))
def test_rows(text, spark, tmp_path):
    chance = draws(text)
    rows = {name: rows_of(chance) for name in STREAMS if name == "s" or f" {name} " in f"{text} "}
    engine, definitions = cepsql.connect(spark, catalog=""), ""
    for name, rows_of_stream in rows.items():
        lines = [",".join("" if value is None else str(value) for value in row) for row in rows_of_stream]
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text("".join(f"{line}\n" for line in lines))
        columns = STREAMS[name].split(", WATERMARK")[0]
        engine.sql(f"CREATE TABLE {name} {columns}) USING csv OPTIONS (path '{tmp_path / name}')")
        definitions += f"CREATE STREAM {name} {STREAMS[name]} USING csv;"
    forms = in_forms(text)
    zone = spark.conf.get("spark.sql.session.timeZone")
    at_rest = engine.query(forms["subquery"][1]).arrow().to_pylist()
    wanted = texts(([*row.values()] for row in at_rest), zone)
    view, query = forms[chance.choice([*forms])]
    batches = batches_of(rows, chance.choice([1, 3, 5]))
    if len(rows) == 1 and batches[0]["s"] and not any(word in text for word in ROW_BY_ROW):
        batches.append({"s": LATE})
    definitions += f"CREATE VIEW v AS {view};" if view else ""
    played = play(definitions + query, batches, restart=chance.choice([False, True]), spark=spark)
    assert texts((row for batch in played for row in batch), zone) == wanted
