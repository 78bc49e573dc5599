"""LATE ROWS INTO: with random disorder, wrong rows, micro-batches, restarts and replays, every row is accounted for."""

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from chance import draws, everyday, is_night

import cepsql
from cepsql.errors import OperationalError

DEFINITION = """CREATE STREAM s (
  id INT, k STRING, ts TIMESTAMP, x DECIMAL(6, 2), price BIGINT AS 2 * x, WATERMARK FOR ts AS ts - INTERVAL '3' SECONDS
) USING {format} OPTIONS (path '{folder}/in', maxFilesPerTrigger '1')
LATE ROWS INTO late_s USING {late} OPTIONS (path '{folder}/late')
"""
MATCH = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS id PATTERN (A))"""
REASONS = {"late": "rows_late", "malformed": "rows_malformed", "no event time": "rows_null_time"}


def lines(chance: random.Random, count: int) -> list[str]:
    """Make CSV rows in disorder: some late, some malformed, some without a time."""
    rows = []
    for i in range(count):
        at = max(0, i // 3 + chance.randint(-6, 2))
        ts = chance.choice(["", *[f"2026-01-01 00:{at // 60:02}:{at % 60:02}"] * 9])
        x = chance.choice(["", "many", *[f"{chance.randint(0, 99) / 10}"] * 8])
        rows.append(f"{i},{chance.choice(['a', 'b', ''])},{ts},{x}")
    return rows


def write(folder: Path, number: int, rows: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f".{number}"
    file.write_text("".join(f"{row}\n" for row in rows))
    os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
    file.rename(folder / f"{number:03}.csv")


def cut(chance: random.Random, rows: list[str]) -> list[list[str]]:
    parts = []
    while rows:
        size = chance.randint(1 if is_night() else 10, 25)
        parts, rows = [*parts, rows[:size]], rows[size:]
    return parts


def check(engine, progress, rows: list[str], used: list[int]) -> None:
    """Compare the table of late rows with the counts and with the input."""
    late = engine.sql("SELECT *, CAST(ts AS STRING) AS shown FROM late_s").collect()
    by_reason = Counter(row["reason"] for row in late)
    assert {reason: by_reason[reason] for reason in REASONS} == {r: getattr(progress, f) for r, f in REASONS.items()}
    assert all(by_reason[reason] for reason in REASONS)
    assert progress.rows_read == len(rows) == progress.rows_used + len(late)
    # A malformed row keeps the values that could be read, its number among them.
    assert Counter([*used, *(row["id"] for row in late)]) == Counter(range(len(rows)))
    assert len({row["query"] for row in late}) == 1
    for row in late:
        text = rows[row["id"]]
        assert row["record"] == (text if row["reason"] == "malformed" else None)
        assert (row["watermark"] is not None) == (row["reason"] == "late")
        assert row["reason"] != "late" or row["ts"] <= row["watermark"]
        assert row["price"] == (None if row["x"] is None else int(2 * row["x"]))
        assert row["reason"] == "malformed" or (row["shown"] or "") == text.split(",")[2]


@pytest.mark.parametrize(("seed", "late"), everyday([(1, "parquet"), (2, "json")]))
def test_every_row_is_accounted_for(seed, late, spark, tmp_path):
    chance = draws(seed)
    rows = lines(chance, 150 if is_night() else 100)
    engine = cepsql.connect(spark)
    engine.sql(DEFINITION.format(format="csv", folder=tmp_path, late=late))
    assert engine.sql("SELECT * FROM late_s").collect() == []
    query, used = engine.sql(MATCH), []

    def take(table, _):
        used.extend(table["id"].to_pylist())

    checkpoint, parts = tmp_path / "checkpoint", cut(chance, rows)
    for number, part in enumerate(parts[:-1]):
        write(tmp_path / "in", number, part)
        if chance.random() < 0.3:
            with query.start(take, checkpoint=str(checkpoint)) as standing:
                standing.process_available()
    before = Counter(path.name for path in (tmp_path / "late").iterdir())
    undo_last_batch(checkpoint)
    write(tmp_path / "in", len(parts), parts[-1])
    used_before = list(used)
    standing = query.start(take, checkpoint=str(checkpoint), drain=True)
    standing.await_(600)
    # The batch that was done again gave its rows again, too; what it wrote is there once.
    assert not before - Counter(path.name for path in (tmp_path / "late").iterdir())
    check(engine, standing.progress, rows, list(dict.fromkeys([*used_before, *used])))
    assert {row["query"] for row in engine.sql("SELECT DISTINCT query FROM late_s").collect()} == {standing.id}


def undo_last_batch(checkpoint: Path) -> None:
    """Leave a checkpoint as a process does that is killed between the output of a batch and its commit."""
    commits = checkpoint / "spark" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)


def test_a_plain_query_writes_malformed_rows(spark, tmp_path):
    chance = draws(3)
    rows = lines(chance, 60)
    rows[39] = "39,a,2026-01-01 00:00:13,many"
    engine = cepsql.connect(spark)
    engine.sql(DEFINITION.format(format="csv", folder=tmp_path, late="parquet"))
    query = engine.sql("SELECT id, k, x FROM s WHERE x IS NULL OR x >= 0")
    used: list[int] = []

    def run(**options):
        return query.start(lambda table, _: used.extend(table["id"].to_pylist()), **options)

    checkpoint = str(tmp_path / "checkpoint")
    for number, part in enumerate((rows[:20], rows[20:40])):
        write(tmp_path / "in", number, part)
    with run(checkpoint=checkpoint) as standing:
        standing.process_available()
    late = tmp_path / "late"
    # What a task of the batch to come again has written, had there been more of them the first time.
    last = max(late.iterdir())
    assert "-000000001-0-partition-0-0" in last.name
    shutil.copy(last, late / last.name.replace("partition-0", "partition-7"))
    undo_last_batch(tmp_path / "checkpoint")
    write(tmp_path / "in", 2, rows[40:])
    with run(checkpoint=checkpoint) as standing:
        standing.process_available()
    late_rows = engine.sql("SELECT id, reason, record FROM late_s").collect()
    wrong = [row for row in rows if row.endswith("many")]
    assert wrong and Counter(row["record"] for row in late_rows) == Counter(wrong)
    assert Counter({*used, *(row["id"] for row in late_rows)}) == Counter(range(60))
    assert {row["reason"] for row in late_rows} == {"malformed"}


@pytest.mark.parametrize("late", everyday(["json", "parquet"]))
def test_an_alert_is_a_row_among_the_late_ones(late, spark, tmp_path):
    engine = cepsql.connect(spark)
    definition = DEFINITION.replace("'3' SECONDS", "'3' SECONDS WITH LATE ALERT ABOVE 5 PERCENT")
    engine.sql(definition.format(format="csv", folder=tmp_path, late=late))
    in_time = [f"{i},a,2026-01-01 00:00:{i // 3:02},1" for i in range(160)]
    write(tmp_path / "in", 0, in_time)
    write(tmp_path / "in", 1, [*in_time[:9], *[f"{i},a,2026-01-01 00:01:00,1" for i in range(111)]])
    checkpoint = tmp_path / "checkpoint"
    for _ in range(2):
        with engine.sql(MATCH).start(lambda *_: None, checkpoint=str(checkpoint)) as standing:
            standing.process_available()
        undo_last_batch(checkpoint)
    assert (standing.progress.late_alerts, standing.progress.rows_late) == (1, 9)
    alerts = engine.sql("SELECT * FROM late_s WHERE reason <> 'late'").collect()
    assert [row["record"] for row in alerts] == ['{"rows": 120, "late": 9, "above": 0.05}']
    (alert,) = alerts
    assert (alert["reason"], alert["batch"], alert["query"]) == ("alert", 1, standing.id)
    assert (alert["id"], alert["ts"], alert["watermark"].second) == (None, None, 57)


def test_late_rows_that_cannot_be_written_end_the_query(spark, tmp_path):
    engine = cepsql.connect(spark)
    engine.sql(DEFINITION.format(format="csv", folder=tmp_path, late="json"))
    (tmp_path / "late").write_text("a file where a folder should be")
    write(tmp_path / "in", 0, ["1,a,never,1"])
    with pytest.raises(OperationalError, match=r"late rows of s cannot be written to .*/late"):
        engine.sql(MATCH).start(lambda *_: None, drain=True).await_(600)
