"""Folders of files: whole files, each row once, wherever a writer was cut short."""

import json
import os
from pathlib import Path

import pyarrow.dataset
import pytest
from chance import everyday

from cepsql.catalog import ColumnDefinition, Sink
from cepsql.errors import NotSupportedError, OperationalError, ProgrammingError
from cepsql.sinks import WriterIdentity, open_sink, promise

COLUMNS = [("id", "int"), ("text", "string")]
FIRST = WriterIdentity("my query", 1, "11111111-checkpoint")


def file_sink(folder: Path, format: str = "parquet", **options: str) -> Sink:
    return Sink("alerts", (), format, (("path", str(folder)), *options.items()))


def opened(sink: Sink, writer: WriterIdentity = FIRST):
    opened_sink = open_sink(sink, writer)
    opened_sink.check(COLUMNS)
    opened_sink.claim()
    return opened_sink


def rows(spark, *values):
    return spark.createDataFrame(list(values), "id INT, text STRING").coalesce(1)


def written(folder: Path, format: str = "parquet") -> list[int]:
    """Read the folder as those do who know nothing of cepsql."""
    return sorted(pyarrow.dataset.dataset(folder, format=format).to_table()["id"].to_pylist())


@pytest.mark.parametrize("name", everyday(["100%20 #1?", "two words", "a:b,c"], 3))
def test_the_folder_may_have_any_name(spark, tmp_path, name):
    sink = opened(file_sink(tmp_path / name))
    assert sink.accept(rows(spark, (1, "a")), 0) == 1
    assert written(tmp_path / name) == [1]
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_batch_is_written_once(spark, tmp_path, format):
    options = {"header": "true"} if format == "csv" else {}
    sink = opened(file_sink(tmp_path, format, **options))
    assert sink.accept(rows(spark, (1, "a"), (2, "b")), 0) == 2
    assert sink.accept(rows(spark), 1) == 0
    assert sink.accept(rows(spark, (3, "c")), 2) == 1
    # As after a failure behind the last file.
    assert opened(file_sink(tmp_path, format, **options)).accept(rows(spark, (3, "c")), 2) == 1
    assert written(tmp_path, format) == [1, 2, 3]
    assert len([name for name in os.listdir(tmp_path) if name.startswith("my-query-11111111-")]) == 2
    back = spark.read.schema("id INT, text STRING").options(**options).format(format).load(str(tmp_path))
    assert sorted(tuple(row) for row in back.collect()) == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_there_are_no_files_without_rows(spark, tmp_path, format):
    sink = opened(file_sink(tmp_path, format))
    sink.accept(spark.range(0, 4, 1, 4).where("id = 2").selectExpr("CAST(id AS INT) AS id", "'x' AS text"), 0)
    assert [path.name.split("-")[4][:5] for path in tmp_path.glob("*.*")] == ["00002"]


@pytest.mark.parametrize("files_in_place", [0, 1])
def test_a_batch_on_record_is_put_in_place(spark, tmp_path, monkeypatch, files_in_place):
    sink = opened(file_sink(tmp_path))
    sink.accept(rows(spark, (1, "a")), 0)
    replace, left = os.replace, [files_in_place]

    def fail(source, target):
        if "part-" in str(source) and not left[0]:
            raise KeyboardInterrupt
        left[0] -= "part-" in str(source)
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        patched.setattr("shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            sink.accept(spark.range(2, 4, 1, 2).selectExpr("CAST(id AS INT) AS id", "'x' AS text"), 1)
    assert len(written(tmp_path)) == 1 + files_in_place
    # The rows of the batch that comes again may lie in other files.
    assert opened(file_sink(tmp_path)).accept(rows(spark, (2, "x"), (3, "x")), 1) == 2
    assert written(tmp_path) == [1, 2, 3]


def test_a_batch_not_on_record_leaves_nothing(spark, tmp_path, monkeypatch):
    sink = opened(file_sink(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(sink, "_write", lambda record: 1 / 0)
        patched.setattr("shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(ZeroDivisionError):
            sink.accept(rows(spark, (1, "a")), 0)
    assert list((tmp_path / "_cepsql").glob("*/part-*"))
    again = opened(file_sink(tmp_path))
    assert not list((tmp_path / "_cepsql").glob("*/part-*"))
    again.accept(rows(spark, (1, "a")), 0)
    assert written(tmp_path) == [1]
    assert sorted(path.suffix for path in (tmp_path / "_cepsql").iterdir()) == [".json", ".lock"]


def test_an_earlier_owner_writes_nothing(spark, tmp_path):
    old = opened(file_sink(tmp_path))
    opened(file_sink(tmp_path), WriterIdentity("my query", 2, FIRST.checkpoint))
    with pytest.raises(OperationalError, match="query my query is written to sink alerts by another process now"):
        old.accept(rows(spark, (1, "zombie")), 0)
    with pytest.raises(OperationalError, match="another process now"):
        opened(file_sink(tmp_path))
    other = opened(file_sink(tmp_path), WriterIdentity("other", 1, "22222222-checkpoint"))
    other.accept(rows(spark, (2, "b")), 0)
    assert written(tmp_path) == [2]


def test_an_owner_that_hangs_while_it_writes_does_not_keep_the_next_one_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr("cepsql.spark.checkpoint.file_turn._PATIENCE_SECONDS", 0.1)
    old = opened(file_sink(tmp_path))
    with old._locked(), pytest.raises(OperationalError, match=f"hangs while it writes to the folder {tmp_path} of"):
        opened(file_sink(tmp_path), WriterIdentity("my query", 2, FIRST.checkpoint))
    opened(file_sink(tmp_path), WriterIdentity("my query", 2, FIRST.checkpoint))


def test_folders_for_values(spark, tmp_path):
    sink = opened(file_sink(tmp_path, partitionBy="text"))
    sink.accept(rows(spark, (1, "a"), (2, "b")), 0)
    assert {path.parent.name for path in tmp_path.glob("text=*/my-query-*.parquet")} == {"text=a", "text=b"}
    assert sorted(row.text for row in spark.read.parquet(str(tmp_path)).collect()) == ["a", "b"]


def test_declared_columns_are_what_is_written(spark, tmp_path):
    columns = (ColumnDefinition("text", "STRING"), ColumnDefinition("id", "BIGINT"))
    sink = opened(Sink("alerts", columns, "parquet", (("path", str(tmp_path)),)))
    sink.accept(rows(spark, (1, "a")), 0)
    assert spark.read.parquet(str(tmp_path)).dtypes == [("text", "string"), ("id", "bigint")]


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_task_may_write_several_files(spark, tmp_path, format):
    sink = opened(file_sink(tmp_path, format, maxRecordsPerFile="2"))
    assert sink.accept(rows(spark, *((i, "x") for i in range(5))), 0) == 5
    assert written(tmp_path, format) == [0, 1, 2, 3, 4]
    assert len(list(tmp_path.glob("*.*"))) == 3


@pytest.mark.parametrize("format", ["csv", "json", "xml"])
def test_text_loses_nothing(spark, tmp_path, format):
    texts = [" a", "a ", "\t", "a\\", '\\"', '"', "a,b", "#a", "null", None, "'", "\\N"]
    frame = spark.createDataFrame(list(enumerate(texts)), "id INT, text STRING").selectExpr(
        "id",
        "text",
        "timestamp_micros(1772359200123456 + id * 7) AS at",
        "TIMESTAMP_NTZ '2026-03-01 10:00:00' + id * INTERVAL '0.000001' SECOND AS clock",
    )
    options = {"rowTag": "row"} if format == "xml" else {}
    sink = open_sink(file_sink(tmp_path, format, **options), FIRST)
    sink.check([("id", "int"), ("text", "string"), ("at", "timestamp"), ("clock", "timestamp_ntz")])
    sink.claim()
    assert sink.accept(frame, 0) == len(texts)
    reader = spark.read.options(**options).option("ignoreSurroundingSpaces", "false")
    back = reader.schema(frame.schema).format(format).load(str(tmp_path))
    assert sorted(back.collect()) == sorted(frame.collect())


def test_a_line_of_one_null_is_a_row(spark, tmp_path):
    sink = open_sink(file_sink(tmp_path, "csv"), FIRST)
    sink.claim()
    assert sink.accept(spark.sql("SELECT CAST(NULL AS STRING) AS x"), 0) == 1
    assert sink.accept(spark.sql("SELECT * FROM VALUES ('a'), (NULL) AS t (x)").coalesce(1), 1) == 2
    read_back = spark.read.schema("x STRING").csv(str(tmp_path)).collect()
    assert sorted(str(row.x) for row in read_back) == ["None", "None", "a"]


def test_ones_own_format_of_times_goes_before(spark, tmp_path):
    sink = open_sink(file_sink(tmp_path, "csv", timestampformat="HH:mm"), FIRST)
    sink.claim()
    sink.accept(spark.sql("SELECT TIMESTAMP '2026-03-01 10:00:00.5' AS at, ' x' AS x"), 0)
    assert [path.read_text() for path in tmp_path.glob("*.csv")] == ["10:00, x\n"]


@pytest.mark.parametrize(
    ("sink", "columns", "kind", "said"),
    [
        (Sink("s", (), "parquet"), COLUMNS, ProgrammingError, "sink s USING parquet needs the option path"),
        (file_sink(Path("/proc/none")), COLUMNS, OperationalError, "cannot be written to /proc/none: "),
        (file_sink(Path("/tmp"), "csv"), [("l", "array<int>")], ProgrammingError, "csv cannot hold the column l"),
        (file_sink(Path("/tmp"), "xml"), COLUMNS, ProgrammingError, "USING xml does not say which element is a row"),
        (file_sink(Path("/tmp"), "text"), COLUMNS, ProgrammingError, "takes one column of type STRING"),
        (file_sink(Path("/tmp"), partitionBy="day"), COLUMNS, ProgrammingError, "partitioned by day"),
        (Sink("s", (), "json", (("path", "/tmp"),), ("id",)), COLUMNS, NotSupportedError, "sink s has a key"),
    ],
)
def test_what_does_not_fit_is_refused_before(sink, columns, kind, said):
    with pytest.raises(kind, match=said):
        open_sink(sink, FIRST).check(columns)


def test_a_damaged_record_is_no_record_of_nothing(spark, tmp_path):
    opened(file_sink(tmp_path)).accept(rows(spark, (1, "a")), 0)
    record = tmp_path / "_cepsql" / f"{FIRST.checkpoint}.json"
    assert json.loads(record.read_text())["batch"] == 0
    record.write_text("{")
    with pytest.raises(OperationalError, match="of what was written is damaged"):
        opened(file_sink(tmp_path))


def test_a_file_system_elsewhere_promises_less(tmp_path):
    assert promise(file_sink(tmp_path)).startswith("exactly once")
    assert promise(Sink("s", (), "parquet", (("path", "s3a://bucket/alerts"),))).startswith("at least once")
