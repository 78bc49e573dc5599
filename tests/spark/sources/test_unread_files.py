"""Which files of a stream's folder are told to be unread: found by looking again and again."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

import cepsql
from cepsql.catalog import Source
from cepsql.errors import OperationalError
from cepsql.spark.run import standing_query
from cepsql.spark.sources.watching.notices import warn_of_folders
from cepsql.spark.sources.watching.unread_files import ListedFolder, UnreadFiles, listed_folder

DAY = 86_400
NOW = int(time.time())


class Folder:
    """A stream's folder, and Spark's log of what was read of it."""

    def __init__(self, place: Path):
        self.place, self.log, self.number = place / "in", place / "spark" / "sources" / "0", -1
        self.place.mkdir()
        self.log.mkdir(parents=True)
        self.unread = self.again()

    def again(self, forgot: bool = False) -> UnreadFiles:
        return UnreadFiles(self.log.parent.parent, [ListedFolder(str(self.place), age=7 * DAY)], forgot)

    def put(self, name: str, days_ago: float) -> Path:
        file = self.place / name
        file.write_text("x")
        os.utime(file, (NOW - int(days_ago * DAY),) * 2)
        return file

    def read(self, *files: Path, compact: bool = False) -> None:
        self.number += 1
        entries = [
            json.dumps({"path": f.as_uri(), "timestamp": f.stat().st_mtime_ns // 1_000_000, "batchId": self.number})
            for f in files
        ]
        if compact:
            earlier = [line for log in self.log.iterdir() for line in log.read_text().splitlines()[1:]]
            entries = [*dict.fromkeys([*earlier, *entries])]
        (self.log / f"{self.number}{'.compact' if compact else ''}").write_text(
            "\n".join(["v1", *[e.replace('": ', '":').replace(', "', ',"') for e in entries]])
        )

    def reported(self) -> list[tuple[str, bool]]:
        return sorted((os.path.basename(file.path), file.changed) for file in self.unread.look())


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


def test_a_folder_that_is_gone_is_told_once_and_when_it_is_back(folder, caplog):
    place = str(folder.place)
    assert folder.unread.moved() == ([], [])
    folder.place.rename(folder.place.with_name("away"))
    assert [folder.unread.moved(), folder.unread.moved()] == [([place], []), ([], [])]
    folder.place.mkdir()
    assert [folder.unread.moved(), folder.unread.moved()] == [([], [place]), ([], [])]
    warn_of_folders(["/in"], ["/out"])
    assert [record.message.partition(":")[0] for record in caplog.records] == ["/in is gone", "/out is there again"]
    assert not ListedFolder("/none/*.csv").is_gone


def test_a_file_much_older_than_the_newest_one_is_told_once(folder):
    assert folder.reported() == []
    folder.read(folder.put("new", 0))
    folder.put("old", 8)
    folder.put("old enough", 6)
    folder.put(".hidden", 8)
    assert folder.reported() == [("old", False)]
    assert folder.reported() == []
    os.utime(folder.place / "old")
    assert folder.reported() == []
    folder.read(folder.place / "old", folder.place / "old enough")
    assert folder.reported() == []


def test_what_spark_finds_when_it_starts_is_read_however_old(folder):
    old, new = folder.put("old", 30), folder.put("new", 0)
    assert folder.reported() == []
    folder.read(old)
    folder.read(new)
    assert folder.reported() == []


@pytest.mark.parametrize("compact", [False, True])
def test_a_file_that_changes_after_it_was_read_is_told_each_time(folder, compact):
    file = folder.put("a", 1)
    folder.read(file)
    folder.read(folder.put("b", 1), compact=compact)
    assert folder.reported() == []
    for hours in (1, 2):
        os.utime(file, (NOW - DAY + 3600 * hours,) * 2)
        assert folder.reported() == [("a", True)]
        assert folder.reported() == []
    # Set back, it may hold what was read.
    os.utime(file, (NOW - 2 * DAY,) * 2)
    assert folder.reported() == []


def test_a_file_replaced_long_after_spark_found_it_is_told(folder):
    file = folder.put("a", 1)
    folder.read(file)
    assert folder.reported() == []
    file.unlink()
    assert folder.reported() == []
    folder.put("a", 0)
    assert folder.reported() == [("a", True)]


def test_what_came_while_no_query_ran_is_told_unless_it_may_have_been_read(folder):
    folder.put("old", 30)
    folder.read(folder.put("new", 0))
    later = time.time() + 60
    os.utime(folder.log / "0", (later, later))
    folder.unread = folder.again()
    assert folder.reported() == []
    os.utime(folder.log / "0", (NOW - 60, NOW - 60))
    folder.unread = folder.again(forgot=True)
    assert folder.reported() == []
    folder.unread = folder.again()
    assert folder.reported() == [("old", False)]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"path": "{0}"}, ["a.csv", "b.txt"]),
        ({"path": "file:{0}/a.csv"}, ["a.csv"]),
        ({"path": "{0}/*.csv"}, ["a.csv"]),
        ({"path": "{0}/*"}, ["a.csv", "b.txt", "d.csv"]),
        ({"path": "{0}/s*"}, ["d.csv"]),
        ({"path": "{0}", "pathGlobFilter": "*.txt"}, ["b.txt"]),
        ({"path": "{0}", "recursiveFileLookup": "true"}, ["a.csv", "b.txt", "d.csv", "e.csv"]),
        ({"path": "{0}/parts"}, ["f.csv", "g.csv"]),
        ({"path": "{0}/none"}, []),
    ],
)
def test_the_files_of_a_stream_are_those_that_spark_lists(options, names, tmp_path):
    below = "parts/" if options["path"].endswith("parts") else ""
    files = ["a.csv", "b.txt", "sub/d.csv", "sub/deep/e.csv", "_h.csv", ".h.csv", "x._COPYING_", "_h/i.csv"]
    for name in ["parts/day=1/f.csv", "parts/day=2/hour=3/g.csv"] if below else files:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("1\n")
    paths = tuple((name, value.format(tmp_path)) for name, value in options.items())
    listed = listed_folder(Source("s", (), "csv", paths, streaming=True))
    assert sorted(os.path.basename(file.path) for file in listed.files()) == names


@pytest.mark.parametrize(
    "options",
    [{"path": "/in", "modifiedAfter": "2020-01-01"}, {"path": "/in/{a,b}"}, {"path": "s3a://bucket/in"}, {}],
)
def test_files_are_not_looked_for_where_others_list_them(options):
    assert listed_folder(Source("s", (), "csv", tuple(options.items()), streaming=True)) is None


def test_a_query_warns_of_files_that_it_does_not_read(spark, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(standing_query, "_LOOK_SECONDS", 0.1)
    (tmp_path / "in").mkdir()
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM s (x INT) USING csv OPTIONS (path '{tmp_path}/in')")

    def put(name, x, at=None):
        hidden = tmp_path / "in" / f".{name}"
        hidden.write_text(f"{x}\n")
        if at is not None:
            os.utime(hidden, (at, at))
        hidden.rename(tmp_path / "in" / name)

    def warned(names):
        end = time.monotonic() + 60
        while len(caplog.records) < names and time.monotonic() < end:
            time.sleep(0.05)
        return [record.getMessage() for record in caplog.records]

    seen: list[int] = []
    with engine.query("SELECT x FROM s").start(lambda rows, _: seen.extend(rows["x"].to_pylist())) as standing:
        put("new.csv", 1)
        standing.process_available()
        put("old.csv", 2, NOW - 10 * DAY)
        (first,) = warned(1)
        assert first.startswith("not read: ") and str(tmp_path / "in" / "old.csv") in first
        os.utime(tmp_path / "in" / "old.csv")
        standing.process_available()
        with (tmp_path / "in" / "new.csv").open("a") as file:
            file.write("3\n")
        second = warned(2)[1]
        assert second.startswith("rows may be missing: ") and str(tmp_path / "in" / "new.csv") in second
    assert seen == [1, 2]
    assert len(caplog.records) == 2


@pytest.mark.parametrize("scan", ["auto", "spark"])
def test_a_name_that_is_not_utf8_is_told(spark, tmp_path, caplog, scan):
    (tmp_path / "a.csv").write_text("1,a\n")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.csv")).write_text("2,b\n")
    engine = cepsql.connect(spark)
    for kind in ("STREAM s", "TABLE t"):
        engine.sql(f"CREATE {kind} (id INT, name STRING) USING csv OPTIONS (path '{tmp_path}')")
    engine.sql(f"SET cepsql.scan = '{scan}'")
    engine.query("SELECT id, name FROM s").start(lambda rows, _: None, drain=True).await_()
    said = f"not read: the name is not UTF-8: {tmp_path}/b\\xff.csv; rename it, and it is read"
    assert [record.message for record in caplog.records] == [said]
    assert engine.query("SELECT id FROM t").collect() == [(1,)]
    assert [record.message for record in caplog.records] == [said, said]


@pytest.mark.parametrize("scan", ["auto", "spark"])
@pytest.mark.parametrize("folders", [["k=1"], ["id=7"], ["k=1", "l=2"]])
def test_folders_with_keys_beside_files_are_refused(spark, tmp_path, scan, folders):
    """Spark would read no file that stands beside them, and say nothing."""
    for folder in folders:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "b.csv").write_text("2,b\n")
    if len(folders) == 1:
        (tmp_path / "a.csv").write_text("1,a\n")
    engine = cepsql.connect(spark)
    for kind in ("STREAM s", "TABLE t"):
        engine.sql(f"CREATE {kind} (id INT, name STRING) USING csv OPTIONS (path '{tmp_path}')")
    engine.sql(f"SET cepsql.scan = '{scan}'")
    beside = "a.csv" if len(folders) == 1 else folders[1]
    said = f"reads {tmp_path}, where {tmp_path}/{folders[0]} stands beside {tmp_path}/{beside}"
    with pytest.raises(OperationalError, match=said):
        engine.query("SELECT id, name FROM s").start(lambda rows, _: None, drain=True).await_()
    with pytest.raises(OperationalError, match=said):
        engine.query("SELECT id FROM t").collect()
    shutil.rmtree(tmp_path / folders[0])
    read = engine.query("SELECT name FROM t").collect()
    assert [row.name for row in read] == (["a"] if len(folders) == 1 else ["b"])


def test_a_folder_with_a_key_that_comes_among_files_is_told(spark, tmp_path):
    (tmp_path / "a.csv").write_text("1,a\n")
    engine, output = cepsql.connect(spark), []
    engine.sql(f"CREATE STREAM s (id INT, name STRING) USING csv OPTIONS (path '{tmp_path}')")
    with engine.query("SELECT id, name FROM s").start(lambda rows, _: output.extend(rows.to_pylist())) as running:
        running.process_available()
        (tmp_path / "k=1").mkdir()
        (tmp_path / "k=1" / ".b.csv").write_text("2,b\n")
        (tmp_path / "k=1" / ".b.csv").rename(tmp_path / "k=1" / "b.csv")
        with pytest.raises(OperationalError, match="folders named like key=value stand among the files of a source"):
            running.process_available()
    assert output == [{"id": 1, "name": "a"}]
