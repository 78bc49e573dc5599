"""Files of several streams that one source of Spark lists, where the whole input is one micro-batch."""

import os

import pytest
from pyspark.sql import SparkSession

import cepsql
from cepsql.spark.building.frame_options import FrameOptions
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint.checkpoint import ARROW_SCAN
from cepsql.spark.jvm.lent_settings import lent_settings
from cepsql.spark.jvm.spark_plan import analyzed, nodes

OLD_SECONDS = 30 * 86_400

JOINED = "SELECT a.k, a.x, b.x AS y FROM a JOIN b ON a.k = b.k"
GROUPS_OF_JOIN = "SELECT k, COUNT(*) AS n FROM (SELECT a.k FROM a JOIN b ON a.k = b.k) GROUP BY k"


@pytest.fixture
def engine(spark):
    return cepsql.connect(spark, catalog="")


def _stream(engine, name: str, path: object, more: str = "") -> None:
    engine.sql(f"CREATE STREAM {name} (k STRING, x INT) USING csv OPTIONS (path '{path}'{more})")


def _folder(path, **files: str):
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.csv").write_text(text)
    return path


def _inserted(engine, select: str, place) -> list[str]:
    """Return the lines that an INSERT writes, in order, with what each does."""
    engine.sql(f"CREATE OR REPLACE SINK result USING csv OPTIONS (path '{place}')")
    engine.sql(f"INSERT INTO result {select} EMIT CHANGES")
    return sorted(line for file in place.rglob("[!._]*.csv") for line in file.read_text().splitlines())


def _sources(engine, select: str, control) -> int:
    options = FrameOptions(control=str(control), scan=ARROW_SCAN, sharing=Sharing(begun_tasks=None), ends_at_once=True)
    frame = engine.sql(f"{select} EMIT CHANGES").build(options)
    return sum(node.nodeName().startswith("Streaming") for node in nodes(analyzed(frame)))


def test_folders_and_files_are_one_source(engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "a", one="p,1\nq,2\n", two="p,3\n"))
    _stream(engine, "b", _folder(tmp_path / "files", b="p,7\n", c="p,8\n") / "b.csv")
    _stream(engine, "c", tmp_path / "files" / "c.csv")
    three = "SELECT a.k, a.x, b.x AS y, c.x AS z FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k"
    assert _sources(engine, three, tmp_path / "control") == 1
    assert _inserted(engine, three, tmp_path / "result") == ["p,1,7,8,+I", "p,3,7,8,+I"]


def test_a_folder_of_two_streams(engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "both", one="p,1\n"))
    engine.sql(f"CREATE STREAM b (k STRING, x STRING) USING csv OPTIONS (path '{tmp_path / 'both'}/')")
    assert _inserted(engine, JOINED, tmp_path / "result") == ["p,1,1,+I"]


def test_a_folder_and_a_file_in_it(engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "a", one="p,1\n", two="p,2\n"))
    _stream(engine, "b", tmp_path / "a" / "one.csv")
    _stream(engine, "c", _folder(tmp_path / "a" / "below", three="p,5\n"))
    assert _inserted(engine, GROUPS_OF_JOIN, tmp_path / "result") == ["p,2,+I"]
    three = f"SELECT k, COUNT(*) AS n, SUM(x) AS s FROM ({JOINED} UNION ALL SELECT k, x, x FROM c) GROUP BY k"
    assert _inserted(engine, three, tmp_path / "three") == ["p,3,8,+I"]


@pytest.mark.parametrize("name", ["with space", "100%", "a,b", "münchen", "k=1"])
def test_names_that_mean_something_in_a_pattern_have_a_source_of_their_own(engine, tmp_path, name):
    _stream(engine, "a", _folder(tmp_path / name / "in", one="p,1\n"))
    _stream(engine, "b", _folder(tmp_path / "b", one="p,2\n"))
    assert _sources(engine, GROUPS_OF_JOIN, tmp_path / "control") == 2
    assert _inserted(engine, JOINED, tmp_path / "result") == ["p,1,2,+I"]


def test_a_folder_with_folders_named_like_columns_further_below(engine, tmp_path):
    _folder(tmp_path / "a" / "events" / "day=1", one="p,1\n")
    _stream(engine, "a", tmp_path / "a")
    _stream(engine, "b", _folder(tmp_path / "b", one="p,2\n"))
    assert _inserted(engine, JOINED, tmp_path / "result") == ["p,1,2,+I"]
    assert _inserted(engine, GROUPS_OF_JOIN, tmp_path / "groups") == ["p,1,+I"]
    assert _inserted(engine, "SELECT COUNT(*) AS n FROM a", tmp_path / "count") == ["1,+I"]


@pytest.mark.parametrize("name", ["a?b", "*", "a[1]"])
def test_a_file_with_a_name_like_a_pattern_is_alone_among_those_of_its_stream(engine, tmp_path, name):
    _stream(engine, "a", _folder(tmp_path / "a", **{name: "p,1\n"}))
    _stream(engine, "b", _folder(tmp_path / "b", one="p,2\n", two="p,3\n"))
    assert _inserted(engine, GROUPS_OF_JOIN, tmp_path / "result") == ["p,2,+I"]


def test_options_of_a_listing_stay_those_of_their_stream(engine, tmp_path):
    folder = _folder(tmp_path / "a", one="p,1\n", other="p,5\n")
    _stream(engine, "a", folder, ", pathGlobFilter 'o*e.csv'")
    _stream(engine, "b", _folder(tmp_path / "b", one="p,2\n"))
    assert _sources(engine, GROUPS_OF_JOIN, tmp_path / "control") == 2
    assert _inserted(engine, JOINED, tmp_path / "result") == ["p,1,2,+I"]


def test_files_that_are_much_older_than_those_of_another_stream(engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "a", one="p,1\n"))
    _stream(engine, "b", _folder(tmp_path / "b", one="p,2\n", two="p,3\n"))
    newest = (tmp_path / "a" / "one.csv").stat().st_mtime
    for file in (tmp_path / "b").iterdir():
        os.utime(file, (newest, newest - OLD_SECONDS))
    assert _inserted(engine, JOINED, tmp_path / "result") == ["p,1,2,+I", "p,1,3,+I"]


def test_only_what_a_stream_of_spark_has_committed(spark: SparkSession, engine, tmp_path):
    written, values = tmp_path / "a", spark.readStream.schema("k STRING, x INT").csv(str(_folder(tmp_path / "in")))
    _folder(tmp_path / "in", one="p,1\n")
    run = values.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    run.start(str(written), format="csv").awaitTermination()
    _folder(written, uncommitted="p,9\n")
    _stream(engine, "a", written)
    _stream(engine, "b", _folder(tmp_path / "b", one="p,2\n"))
    assert _inserted(engine, JOINED, tmp_path / "result") == ["p,1,2,+I"]


@pytest.mark.parametrize("below", ["a", f"({JOINED})"])
@pytest.mark.parametrize(("rows", "total"), [("", "0,"), ("p,1\nr,2\n", "2,3")])
def test_a_total_is_one_row(engine, tmp_path, below, rows, total):
    _stream(engine, "a", _folder(tmp_path / "a", one=rows))
    _stream(engine, "b", _folder(tmp_path / "b", one="p,0\nr,2\n"))
    (line,) = _inserted(engine, f"SELECT COUNT(*) AS n, SUM(x) AS s FROM {below}", tmp_path / "result")
    assert line.replace('""', "") == f"{total},+I"


def test_a_total_of_groups_has_no_source_of_its_own(engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "a", one="p,1\nq,2\np,3\n"))
    totals = "SELECT COUNT(*) AS n, MAX(c) AS m FROM (SELECT k, COUNT(*) AS c FROM a GROUP BY k)"
    assert _sources(engine, totals, tmp_path / "control") == 1
    assert _inserted(engine, totals, tmp_path / "result") == ["2,2,+I"]
    (tmp_path / "a" / "one.csv").write_text("")
    assert _inserted(engine, totals, tmp_path / "nothing")[0].startswith("0,")


def test_so_many_files_are_one_source_as_spark_lists_without_a_job(spark, engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "a", **{f"f{n}": f"{n},1\n" for n in range(3)}))
    _stream(engine, "b", _folder(tmp_path / "b", **{f"f{n}": f"{n},{n}\n" for n in range(3)}))
    for most, sources in ((7, 1), (6, 2), (3, 3)):
        with lent_settings(spark, {"spark.sql.sources.parallelPartitionDiscovery.threshold": str(most)}):
            assert _sources(engine, GROUPS_OF_JOIN, tmp_path / "control") == sources


def test_more_files_than_spark_lists_without_a_job(engine, tmp_path):
    _stream(engine, "a", _folder(tmp_path / "a", **{f"f{n}": f"{n},1\n" for n in range(40)}))
    _stream(engine, "b", _folder(tmp_path / "b", **{f"f{n}": f"{n},{n}\n" for n in range(40)}))
    assert _inserted(engine, GROUPS_OF_JOIN, tmp_path / "result") == sorted(f"{n},1,+I" for n in range(40))
