"""What a query keeps of its input does not grow for ever: its log of files, and its tables of late rows."""

import json
import os
import time
from pathlib import Path

import pytest

import cepsql
from cepsql.errors import OperationalError
from cepsql.spark.checkpoint import source_log
from cepsql.spark.checkpoint.rebuilding import rebuilding_obstacle
from cepsql.spark.run import standing_query

DAY = 86_400
STREAM = """CREATE STREAM s (ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts)
USING csv OPTIONS (path '{folder}/in', maxFilesPerTrigger '1'{more})
LATE ROWS INTO late_s USING parquet OPTIONS (path '{folder}/late', keep '1 hour')
"""
QUERY = "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A))"


def put(folder, number, at):
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / f"{number:02}.csv"
    path.write_text(f"2026-01-01 00:{number:02}:00,{number}\n2025-01-01 00:00:00,-1\n")
    os.utime(path, (at, at))


def logged(folder):
    last = max((folder / "checkpoint/spark/sources/0").glob("*.compact"), key=lambda path: int(path.stem))
    return [json.loads(line)["path"][-6:] for line in last.read_text().splitlines()[1:]]


@pytest.mark.nightly("it takes ten seconds")
def test_old_files_are_forgotten_and_not_read_again(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(source_log, "_KEPT_BATCHES", 3)
    monkeypatch.setattr(standing_query, "_TIDY_SECONDS", 0)
    now, seen = time.time(), []
    # Spark compacts its log with every tenth batch if it is not told otherwise.
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.fileSource.log.compactInterval", "5")
    for number in range(6):
        put(tmp_path, number, now - (20 - 2 * number) * DAY)
    engine = cepsql.connect(session)
    engine.sql(STREAM.format(folder=tmp_path, more=""))

    def run():
        starting = engine.sql(QUERY).start(lambda rows, _: seen.extend(rows["x"].to_pylist()), checkpoint=checkpoint)
        with starting as standing:
            standing.process_available()

    checkpoint = str(tmp_path / "checkpoint")
    run()
    # Of 0 to 4, those are left that are at most seven days older than 4, or of the last three batches.
    assert logged(tmp_path) == [f"{number:02}.csv" for number in range(1, 5)]
    late = sorted((tmp_path / "late").glob("*.parquet"))
    os.utime(late[0], (now - 2 * 3600,) * 2)
    put(tmp_path, 6, now)
    put(tmp_path, 7, now + 1)
    run()
    assert logged(tmp_path)[0] == "01.csv"
    assert sorted(x for x in seen if x >= 0) == list(range(8))
    assert "has forgotten which files it read that are 604800 s older" in str(rebuilding_obstacle(Path(checkpoint)))
    # With a longer age those that were forgotten would be read again.
    for more in (", maxFileAge '30d'", ", maxFileAge '1 week'"):
        engine.sql(STREAM.format(folder=tmp_path, more=more).replace("CREATE", "CREATE OR REPLACE"))
        with pytest.raises(OperationalError, match="604800 s older") as caught:
            run()
        assert "maxFileAge '604800s'" in str(caught.value.hint)
    engine.sql(STREAM.format(folder=tmp_path, more=", maxFileAge '3d'").replace("CREATE", "CREATE OR REPLACE"))
    run()
    assert sorted(x for x in seen if x >= 0) == list(range(8))
    assert late[0] not in (tmp_path / "late").glob("*.parquet")
    assert set(late[1:]) < set((tmp_path / "late").glob("*.parquet"))


def test_how_long_spark_knows_files():
    week, longest = 7 * DAY, source_log.longest_file_age
    assert longest([[("path", "a")]]) == week
    assert longest([[("maxFileAge", "30d")], [("MAXFILEAGE", "2h")]]) == 30 * DAY
    assert longest([[("maxFileAge", "5400000")]]) == 5400
    assert longest([[("maxFileAge", "1 week")], []]) is None
    assert longest([[("latestFirst", "TRUE")]]) is None
    assert longest([]) is None
