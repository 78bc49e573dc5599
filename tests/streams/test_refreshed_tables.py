"""A table that is read again while a query runs: files come, are replaced, and go."""

import logging
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

import cepsql
from cepsql.catalog import ColumnDefinition, Source
from cepsql.engine import Engine
from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.host_files import host_files
from cepsql.spark.frames.saved_rows import keep_rows, kept_rows
from cepsql.spark.sources.tables_at_rest import snapshots as snapshots_module
from cepsql.spark.sources.tables_at_rest import table_files
from cepsql.spark.sources.tables_at_rest.snapshots import drop_snapshots, snapshot_folder, snapshots, take_snapshot
from cepsql.spark.sources.tables_at_rest.table_files import TableFiles

SECOND = "REFRESH EVERY INTERVAL '1' SECOND"


def put(folder: Path, name: str, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    os.replace(hidden, folder / name)


@pytest.fixture
def running(tmp_path, spark):
    """An engine with a stream of readings and a table of places, and what a query over both gives."""
    engine = cepsql.connect(spark, catalog="")
    put(tmp_path / "places", "1.csv", "a,hall", "b,roof")
    put(tmp_path / "readings", "0.csv", "a,2026-03-02 09:00:00")
    engine.sql(f"""
        CREATE STREAM readings (device STRING, at TIMESTAMP, WATERMARK FOR at AS at)
        USING csv OPTIONS (path '{tmp_path}/readings');
        CREATE TABLE places (device STRING, place STRING) USING csv OPTIONS (path '{tmp_path}/places') {SECOND}
    """)
    query = engine.query("SELECT r.device, p.place FROM readings AS r LEFT JOIN places AS p ON p.device = r.device")
    return query, tmp_path


def place_of(standing, output, folder: Path, device: str, until=None) -> list:
    """Return the places that rows of a device are joined with, sending one a second until one has `until`."""
    for _ in range(20):
        number = len(list((folder / "readings").glob("*.csv")))
        put(folder / "readings", f"{number}.csv", f"{device},2026-03-02 09:{number:02}:00")
        before = len(output)
        standing.process_available()
        places = [place for seen, place in output[before:] if seen == device]
        if until is None or places == [until]:
            return places
        time.sleep(0.5)
    return places


def test_a_table_that_changes(running, caplog):
    query, folder = running
    output: list[tuple] = []
    checkpoint = folder / "checkpoint"

    def keep(rows, batch):
        output.extend((row["device"], row["place"]) for row in rows.to_pylist())

    with query.start(keep, checkpoint=checkpoint) as standing:
        standing.process_available()
        assert output == [("a", "hall")]
        put(folder / "places", "2.csv", "c,cellar")
        assert place_of(standing, output, folder, "c", "cellar") == ["cellar"]
        put(folder / "places", "1.csv", "a,a longer hall", "b,roof")
        assert place_of(standing, output, folder, "a", "a longer hall") == ["a longer hall"]
        assert standing.progress.refresh_failures == 0
        (folder / "places").rename(folder / "gone")
        for _ in range(240):
            if standing.progress.refresh_failures:
                break
            time.sleep(0.25)
        assert place_of(standing, output, folder, "b") == ["roof"]
        assert standing.progress.refresh_failures > 0
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [text.split(", so")[0] for text in messages] == ["the table places cannot be read again"]
    # A new start finds no table, and goes on with what the former one read.
    with query.start(keep, checkpoint=checkpoint) as standing:
        assert place_of(standing, output, folder, "c") == ["cellar"]
    with pytest.raises(cepsql.Error, match=r"places reads .*/places, which does not exist"):
        query.start(keep, checkpoint=folder / "another")


def test_a_table_without_rows(running):
    query, folder = running
    put(folder / "places", "1.csv")
    output: list[tuple] = []
    with query.start(lambda rows, _: output.extend(rows["place"].to_pylist()), drain=True) as standing:
        standing.await_()
    assert output == [None]


@pytest.mark.nightly("the database stays reachable in a JVM that has run hundreds of queries")
def test_a_database_that_is_down(running, spark):
    query, folder = running
    engine, database = Engine(query._engine), f"jdbc:derby:{folder}/db"
    places = spark.createDataFrame([("a", "hall")], "device STRING, place STRING")
    places.write.jdbc(f"{database};create=true", "places")
    options = f"url '{database}', dbtable 'places'"
    engine.sql(f"CREATE OR REPLACE TABLE places (device STRING, place STRING) USING jdbc OPTIONS ({options}) {SECOND}")
    output: list[tuple] = []

    def keep(rows, batch):
        output.extend((row["device"], row["place"]) for row in rows.to_pylist())

    with engine.query(query.plan.query.sql).start(keep) as standing:
        standing.process_available()
        assert output == [("a", "hall")]
        places.replace("hall", "roof").write.jdbc(database, "places", mode="overwrite")
        assert place_of(standing, output, folder, "a", "roof") == ["roof"]
        with pytest.raises(Exception, match="connect to the database"):
            spark.read.jdbc(f"{database};shutdown=true", "places")
        (folder / "db").rename(folder / "gone")
        for _ in range(240):
            if standing.progress.refresh_failures:
                break
            time.sleep(0.25)
        assert place_of(standing, output, folder, "a") == ["roof"]
        (folder / "gone").rename(folder / "db")
        places.write.jdbc(database, "places", mode="overwrite")
        assert place_of(standing, output, folder, "a", "hall") == ["hall"]
        assert standing.progress.refresh_failures > 0


def test_files_that_change_unread_are_told(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(table_files, "SECONDS", 0.0)
    options = (("path", f"file://{tmp_path}/p*"),)
    put(tmp_path / "places", "1.csv", "a,hall")
    table = Source("places", (), "csv", options, False)
    refreshed, remote = replace(table, refresh=1), replace(table, options=(("path", "s3://places"),))
    files = TableFiles([table, refreshed, remote])
    put(tmp_path / "places", "_hidden", "b,roof")
    files.check()
    assert not caplog.records
    put(tmp_path / "places", "1.csv", "a,a longer hall")
    files.check()
    files.check()
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "the files of the table places have changed since the query was started"
    ]


def test_files_that_are_replaced_while_they_are_read(tmp_path, spark, monkeypatch):
    place = ColumnDefinition("place", "STRING")
    table = Source("places", (place,), "csv", (("path", str(tmp_path / "places")),), False, refresh=1)
    put(tmp_path / "places", "1.csv", "hall")
    waiting = ["a longer hall"]

    def keep(frame, path):
        keep_rows(frame, path)
        if waiting:
            put(tmp_path / "places", "1.csv", waiting.pop())

    monkeypatch.setattr(snapshots_module, "keep_rows", keep)
    files = host_files(tmp_path)
    take_snapshot(spark, files, table, 10)
    (rows,) = kept_rows(snapshot_folder(files, table) / "10.arrow")
    assert rows["place"].to_pylist() == ["a longer hall"]
    waiting += [f"hall {number}" for number in range(20)]
    with pytest.raises(OperationalError, match="the files of the table places change all the time"):
        take_snapshot(spark, files, table, 20)
    assert snapshots(snapshot_folder(files, table)) == [10]


def test_tables_whose_names_are_alike(running):
    query, folder = running
    engine = Engine(query._engine)
    for name in ("t-1", "t_1"):
        put(folder / name, "1.csv", f"a,{name}")
        engine.sql(f"""
            CREATE TABLE `{name}` (device STRING, place STRING) USING csv OPTIONS (path '{folder / name}') {SECOND}
        """)
    text = (
        "SELECT x.place AS x, y.place AS y FROM readings JOIN `t-1` AS x USING (device) JOIN `t_1` AS y USING (device)"
    )
    with engine.query(text).start(drain=True) as standing:
        assert [row for rows in standing.rows() for row in rows.to_pylist()] == [{"x": "t-1", "y": "t_1"}]


def test_snapshots_that_a_batch_may_still_read_stay(tmp_path):
    table, files = Source("places", (), "csv", (), False, refresh=1), host_files(tmp_path)
    folder = snapshot_folder(files, table)
    folder.mkdir(parents=True)
    for clock in (10, 20, 30, 40):
        (folder / f"{clock}.arrow").write_bytes(b"")
    (folder / ".50.arrow").write_bytes(b"")
    drop_snapshots(files, table, 35)
    assert snapshots(folder) == [30, 40]
    drop_snapshots(files, table, 5)
    assert snapshots(folder) == [30, 40]
