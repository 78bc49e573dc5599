"""History before a stream: nothing is missing and nothing comes twice, wherever the seam is."""

from pathlib import Path

import pytest
from chance import draws, everyday

import cepsql
from cepsql.testing import play

QUERY = """
    SELECT * FROM readings MATCH_RECOGNIZE (
      PARTITION BY device ORDER BY at
      MEASURES A.heat AS cold, B.heat AS hot
      PATTERN (A B)
      DEFINE B AS heat > A.heat
    ) AS m
"""
COLUMNS = "device STRING, at TIMESTAMP, heat INT"


def definitions(folder: Path, until: str, columns: str = COLUMNS) -> str:
    return f"""
        CREATE TABLE history ({columns}) USING csv OPTIONS (path '{folder}/history');
        CREATE STREAM readings ({columns}, WATERMARK FOR at AS at - INTERVAL '10' SECONDS)
        USING csv OPTIONS (path '{folder}/readings', maxFilesPerTrigger 1)
        BACKFILL FROM history UNTIL TIMESTAMP '{until}'
        LATE ROWS INTO unused USING parquet OPTIONS (path '{folder}/unused')
    """


def row(second: int, heat: int, device: str = "a") -> tuple[str, str, int]:
    return device, f"2026-03-02 09:{second // 60:02}:{second % 60:02}", heat


def put(folder: Path, name: str, rows) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(",".join(map(str, values)) + "\n" for values in rows))


@pytest.mark.parametrize(
    ("seam", "restart"), everyday(((seam, restart) for restart in (True, False) for seam in (61, 0, 30, 89, 999)), 10)
)
def test_history_and_stream_make_one_input(tmp_path, spark, seam, restart):
    random = draws(f"{seam}")
    rows = [row(second, random.randint(0, 5), random.choice("ab")) for second in range(90)]
    # Both sides have all rows, and the stream has its own within the delay.
    first = random.sample(rows, 45)
    put(tmp_path / "history", "1.csv", first)
    put(tmp_path / "history", "2.csv", [values for values in rows if values not in first])
    batches = [rows[i : i + 30] for i in range(0, 90, 30)]
    until = row(seam, 0)[1]
    played = play(f"{definitions(tmp_path, until)}; {QUERY}", batches, restart=restart, spark=spark)
    engine = cepsql.connect(spark, catalog="")
    put(tmp_path / "rows", "1.csv", rows)
    engine.sql(f"CREATE TABLE readings ({COLUMNS}) USING csv OPTIONS (path '{tmp_path}/rows')")
    whole = [tuple(one) for one in engine.sql(QUERY).collect()]
    assert whole and sorted(tuple(r) for one in played for r in one) == sorted(whole)
    assert played.late == {"unused": []}


def test_a_first_batch_that_fails_is_done_again(tmp_path, spark):
    engine = cepsql.connect(spark, catalog="")
    put(tmp_path / "history", "1.csv", [row(1, 1), row(2, 2), ("a", "never", 3), row(50, 9)])
    put(tmp_path / "readings", "1.csv", [row(2, 2), row(40, 4), row(41, 5), ("a", "", 6)])
    engine.sql(definitions(tmp_path, row(40, 0)[1]))
    query, output = engine.query(QUERY), []

    def keep(rows, batch):
        output.extend(r["cold"] for r in rows.to_pylist())

    def fail(rows, batch):
        raise ValueError("the sink is down")

    with query.start(fail, checkpoint=tmp_path / "checkpoint") as standing, pytest.raises(cepsql.Error, match="down"):
        standing.await_(60)
    # What was read is what comes again, whatever the table holds now.
    put(tmp_path / "history", "2.csv", [row(3, 30)])
    with query.start(keep, checkpoint=tmp_path / "checkpoint") as standing:
        standing.process_available()
    with query.start(keep, checkpoint=tmp_path / "checkpoint", drain=True) as standing:
        standing.await_(60)
    assert output == [1, 4]
    assert standing.progress.rows_read == 6
    assert (standing.progress.rows_used, standing.progress.rows_malformed) == (4, 1)
    assert (standing.progress.rows_null_time, standing.progress.rows_late) == (1, 0)
    assert not list((tmp_path / "checkpoint" / "history").rglob("*.arrow"))


def test_computed_columns_and_plain_queries(tmp_path, spark):
    engine = cepsql.connect(spark, catalog="")
    put(tmp_path / "history", "1.csv", [row(1, 1)])
    put(tmp_path / "readings", "1.csv", [row(50, 2)])
    engine.sql(definitions(tmp_path, row(40, 0)[1], f"{COLUMNS}, twice INT AS heat * 2"))
    output = []
    with engine.query("SELECT twice FROM readings").start(drain=True) as standing:
        for rows in standing.rows():
            output += rows["twice"].to_pylist()
    assert sorted(output) == [2, 4]
    explained = "\n".join(line for (line,) in engine.sql("EXPLAIN LOGICAL SELECT * FROM readings").rows)
    assert "after history until TIMESTAMP '2026-03-02 09:00:40'" in explained


@pytest.mark.nightly("it joins four streams and takes a minute")
def test_streams_whose_names_are_alike(tmp_path, spark):
    """Each has its own history, and its own counts."""
    engine = cepsql.connect(spark, catalog="")
    for name, folder in (("r-1", tmp_path / "a"), ("r_1", tmp_path / "b"), ("r-1 2", tmp_path / "c")):
        folder.mkdir()
        put(folder / "history", "1.csv", [row(1, 1, f"old {name}")])
        put(folder / "readings", "1.csv", [row(50, 2, f"new {name}"), row(51, 2, f"new {name}")])
        texts = definitions(folder, row(40, 0)[1])
        for suffix in ("history", "readings", "unused"):
            texts = texts.replace(f" {suffix} ", f" `{name} {suffix}` ")
        engine.sql(texts.replace(f"{name} readings", name))
    both = " UNION ALL ".join(f"SELECT * FROM `{name}`" for name in ("r-1", "r_1", "r-1 2", "r-1"))
    output = []
    with engine.query(f"SELECT device, COUNT(*) OVER (ORDER BY at) AS c FROM ({both})").start(drain=True) as standing:
        for rows in standing.rows():
            output += rows["device"].to_pylist()
    assert sorted(output) == sorted(
        f"{age} {name}" for name in ("r-1", "r_1", "r-1 2", "r-1") for age in ("new", "new", "old")
    )
    assert {label: counts.read for label, counts in standing.progress.inputs.items()} == {
        "r-1": 3,
        "r_1": 3,
        "r-1 2": 3,
        "r-1 3": 3,
    }


def test_a_table_that_changes_begins_with_its_history(tmp_path, spark):
    put(tmp_path / "history", "1.csv", [row(1, 1), row(2, 2, "b"), row(3, 9, "")])
    put(tmp_path / "readings", "1.csv", [row(30, 3), row(31, 4, "c")])
    engine = cepsql.connect(spark, catalog="")
    engine.sql(definitions(tmp_path, row(30, 0)[1]).replace("SECONDS)", "SECONDS, PRIMARY KEY (device))"))
    table: set[tuple] = set()

    def keep(rows, _):
        changes = [tuple(change.values()) for change in rows.to_pylist()]
        table.difference_update(tuple(values) for *values, op in changes if op.startswith("-"))
        table.update(tuple(values) for *values, op in changes if op.startswith("+"))

    with engine.query("SELECT device, heat FROM readings EMIT CHANGES").start(keep, drain=True) as standing:
        standing.await_(60)
    assert table == {("a", 3), ("b", 2), ("c", 4)}
    assert (standing.progress.rows_read, standing.progress.rows_malformed) == (5, 1)
