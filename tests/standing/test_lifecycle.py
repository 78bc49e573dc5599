"""Queries under names that run in this process, over files and into tables."""

import contextlib
import glob
import json
import os
import re
import shutil
import sqlite3
import sys
import time
import types

import pytest

from cepsql.catalog.working_for import QUERY
from cepsql.engine import connect
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.standing import replacement

DEFINITIONS = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
USING json OPTIONS (path '${TICKS}');
CREATE SINK pairs (k STRING, a INT, b INT, PRIMARY KEY (a)) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE QUERY rises INTO pairs OPTIONS (trigger '100 milliseconds') AS
SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m
"""


@pytest.fixture
def engine(tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ticks").mkdir()
    monkeypatch.setenv("TICKS", str(tmp_path / "ticks"))
    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        engine.sql(DEFINITIONS)
        put(0)
        yield engine


def put(minute):
    rows = [{"k": "a", "ts": f"2026-01-01 00:{minute:02}:{i:02}", "n": 100 * minute + i} for i in range(8)]
    with open(f"ticks/.{minute}", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    os.replace(f"ticks/.{minute}", f"ticks/{minute}.json")


def table(name):
    with contextlib.closing(sqlite3.connect("out.db")) as connection:
        return [row[0] for row in connection.execute(f"SELECT a FROM {name} ORDER BY a")]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_start_pause_resume_stop(engine):
    rises = engine.queries["rises"]
    started = engine.sql("START QUERY rises").message
    assert started == "query rises runs in this process; ticks is read from its earliest file on"
    until(lambda: rises.progress.get("matches") == 3)
    other = connect(catalog="catalog.db")
    other.sql("PAUSE QUERY rises")
    assert rises.status == "paused" and table("pairs") == [0, 2, 4]
    put(1)
    resumed = engine.sql("RESUME QUERY rises").message
    assert re.fullmatch(r"query rises runs in this process; it resumes after batch \d+ of its checkpoint", resumed)
    until(lambda: rises.progress["matches"] == 7)
    engine.sql("STOP QUERY rises")
    assert table("pairs") == [0, 2, 4, 6, 100, 102, 104]
    counts = rises.progress
    assert (counts["rows_read"], counts["rows_out"], counts["open"]) == (16, 7, 1)
    shown = dict(engine.sql("DESCRIBE EXTENDED QUERY rises").rows)
    assert (shown["state"], shown["rows read"], shown["watermark"]) == ("stopped", "16", "2026-01-01 05:01:06Z")
    assert int(shown["bytes of state"]) > 0 and shown["option trigger"] == "100 milliseconds"
    assert other.sql("SHOW QUERIES").rows[0][:2] == ("rises", "stopped")


def test_without_its_checkpoint_a_query_does_not_begin_anew(engine):
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress.get("matches") == 3)
    engine.sql("STOP QUERY rises")
    (folder,) = glob.glob("catalog.db.checkpoints/rises-*")
    os.rename(folder, "elsewhere")
    with pytest.raises(OperationalError, match=r"of query rises, which has done [1-9]\d* batches, is gone") as caught:
        engine.sql("START QUERY rises")
    assert "WITH NEW CHECKPOINT" in caught.value.hint
    assert engine.queries["rises"].status == "failed" and not os.path.exists(folder)
    os.rename("elsewhere", folder)
    put(1)
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress["matches"] == 7)
    engine.sql("STOP QUERY rises")
    shutil.rmtree(folder)
    create = DEFINITIONS.split(";")[2].strip().replace("CREATE QUERY", "CREATE OR REPLACE QUERY")
    engine.sql(create.replace(" AS\nSELECT", " WITH NEW CHECKPOINT AS\nSELECT", 1))
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress.get("rows_read") == 16)


def test_a_query_does_not_begin_anew_when_its_checkpoint_goes_while_it_starts(engine, monkeypatch):
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress.get("matches") == 3)
    engine.sql("STOP QUERY rises")
    (folder,) = glob.glob("catalog.db.checkpoints/rises-*")
    kept_session = replacement.kept_session

    def with_the_disk_gone(*arguments):
        os.rename(folder, "elsewhere")
        return kept_session(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(replacement, "kept_session", with_the_disk_gone)
        with pytest.raises(OperationalError, match=f"the checkpoint .*{folder} is gone"):
            engine.sql("START QUERY rises")
    assert not os.path.exists(f"{folder}/plan.json")
    shutil.rmtree(folder)
    os.rename("elsewhere", folder)
    put(1)
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress["matches"] == 7)


def test_a_query_that_has_done_no_batch_does_not_begin_anew_either(engine):
    os.rename("ticks", "input")
    os.mkdir("ticks")
    engine.sql("START QUERY rises; STOP QUERY rises")
    assert not engine.queries["rises"].progress.get("batches")
    (folder,) = glob.glob("catalog.db.checkpoints/rises-*")
    os.rename(folder, "elsewhere")
    with pytest.raises(OperationalError, match="of query rises, which has run before, is gone"):
        engine.sql("START QUERY rises")
    os.rename("elsewhere", folder)
    os.rmdir("ticks")
    os.rename("input", "ticks")
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress.get("matches") == 3)


def test_a_checkpoint_is_not_another_querys(engine):
    engine.sql("START QUERY rises; STOP QUERY rises")
    engine.sql("DROP QUERY rises")
    with contextlib.closing(sqlite3.connect("out.db")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM cepsql_writers").fetchone() == (0,)
    engine.sql(DEFINITIONS.split(";")[2])
    engine.sql("START QUERY rises")
    until(lambda: engine.queries["rises"].progress.get("rows_read") == 8)
    assert table("pairs") == [0, 2, 4]


def test_changes_are_applied_to_a_sink_whose_columns_are_declared(engine):
    engine.sql("""
        CREATE SINK last (k STRING, a INT, PRIMARY KEY (k)) USING sqlite OPTIONS (path 'out.db', create_table 'true');
        CREATE QUERY newest INTO last AS SELECT k, MAX(n) AS a FROM ticks GROUP BY k EMIT CHANGES;
        START QUERY newest
    """)
    until(lambda: engine.queries["newest"].progress.get("rows_read") == 8)
    assert table("last") == [7]
    put(1)
    until(lambda: engine.queries["newest"].progress["rows_read"] == 16)
    assert table("last") == [107]


def test_insert_writes_once(engine):
    engine.sql("CREATE SINK ns (a INT) USING sqlite OPTIONS (path 'out.db', create_table 'true')")
    assert engine.sql("INSERT INTO ns SELECT n AS a FROM ticks").message == "8 rows written to ns"
    assert engine.sql("INSERT INTO ns VALUES (9)".replace("VALUES (9)", "SELECT 9 AS a")).message.startswith("1 row ")
    assert table("ns") == [*range(8), 9]
    with pytest.raises(ProgrammingError, match="the query gives no column a for sink ns"):
        engine.sql("INSERT INTO ns SELECT 'x' AS b")


def test_what_cannot_start_says_why(engine, monkeypatch):
    monkeypatch.delenv("TICKS")
    with pytest.raises(OperationalError, match="the option path of ticks needs the environment variable TICKS"):
        engine.sql("START QUERY rises")
    assert engine.queries["rises"].status == "failed"
    assert engine.sql("SHOW QUERIES").rows[0][-1].startswith("the option path of ticks needs")


def test_a_start_points_into_the_text_of_the_query(engine):
    engine.sql("CREATE QUERY odd AS SELECT k, no_such(n) AS n FROM ticks")
    with pytest.raises(ProgrammingError, match="in query odd: there is no function no_such") as refused:
        engine.sql("-- two lines\nSTART QUERY odd")
    assert refused.value.text == "SELECT k, no_such(n) AS n FROM ticks"


def test_settings_are_the_querys_own(engine, spark):
    zone = spark.conf.get("spark.sql.session.timeZone")
    engine.sql("CREATE SINK hours (a INT) USING sqlite OPTIONS (path 'out.db', create_table 'true')")
    engine.sql(
        "CREATE QUERY hours INTO hours OPTIONS (spark.sql.session.timeZone 'Asia/Tokyo') AS "
        "SELECT hour(TIMESTAMP '2026-01-01 00:00:00Z') AS a FROM ticks WHERE n = 0"
    )
    engine.sql("START QUERY hours")
    until(lambda: engine.queries["hours"].progress.get("rows_out") == 1)
    assert table("hours") == [9] and spark.conf.get("spark.sql.session.timeZone") == zone


def test_what_it_means_stays_as_it_was_begun(engine, spark):
    zone = spark.conf.get("spark.sql.session.timeZone")
    engine.sql(
        "CREATE SINK hours (a INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');"
        "CREATE QUERY hours INTO hours AS "
        "SELECT hour(TIMESTAMP '2026-01-01 00:00:00Z') AS a FROM ticks WHERE n % 100 = 0"
    )
    hours = engine.queries["hours"]
    try:
        for minute, here in enumerate(("Asia/Tokyo", "UTC")):
            # As where a server on another machine takes it over.
            spark.conf.set("spark.sql.session.timeZone", here)
            put(minute)
            hours.start()
            until(lambda: hours.progress.get("rows_out") == minute + 1)  # noqa: B023
            hours.stop()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert table("hours") == [9, 9]


def test_a_setting_that_spark_refuses_is_told(engine):
    engine.sql("ALTER QUERY rises SET (spark.sql.shuffle.partitions 'many')")
    with pytest.raises(OperationalError, match="The value 'many' in the config"):
        engine.sql("START QUERY rises")


def test_what_is_logged_of_a_query_has_its_name(engine, monkeypatch):
    names = {}
    module = types.ModuleType("told")
    module.take = lambda rows, batch: names.update(batch=QUERY.get())
    monkeypatch.setitem(sys.modules, "told", module)
    monkeypatch.setattr("cepsql.spark.run.standing_query.warn_of_unread", lambda _: names.update(end=QUERY.get()))
    engine.sql("CREATE SINK told USING python OPTIONS (function 'told:take')")
    engine.sql("CREATE QUERY Plain INTO told AS SELECT n FROM ticks; START QUERY plain")
    until(lambda: "batch" in names)
    engine.sql("STOP QUERY plain")
    assert (names, QUERY.get()) == ({"batch": "plain", "end": "plain"}, None)
