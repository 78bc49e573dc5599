"""Spark's exceptions become one clear line of cepsql's."""

import gzip
import io
import os
import shutil
import signal
import threading
from types import SimpleNamespace

import py4j.clientserver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError

from cepsql import errors
from cepsql.errors import JavaEndedError, NotSupportedError
from cepsql.readers.scan.damaged import WHOLE_FILE
from cepsql.spark.jvm import gateway
from cepsql.spark.jvm.messages import failures
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.run.standing_query import StandingQuery


def refusal():
    """Return a function that Spark's workers get by value, for they cannot import this module."""

    def refuse(batches):
        for _ in batches:
            raise NotSupportedError("no such thing", hint="try another")
        yield

    return refuse


def division():
    def divide(batches):
        for batch in batches:
            yield batch.num_rows / 0

    return divide


def killed():
    def kill(batches):
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    return kill


def parquet(value):
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [value]}), file)
    return file.getvalue()


CASES = [
    (lambda spark: spark.sql("SELECT x FROM range(3)"), "ProgrammingError", "name `x` cannot be resolved"),
    (lambda spark: spark.sql("SELECT 1 +"), "ProgrammingError", "Syntax error at or near end of input"),
    (lambda spark: spark.read.csv("/nowhere"), "OperationalError", "Path does not exist: file:/nowhere"),
    (lambda spark: spark.read.format("kafka").load(), "OperationalError", "Failed to find data source: kafka"),
    (lambda spark: spark.sql("SELECT raise_error('odd value')").collect(), "DataError", "odd value"),
    (lambda spark: spark.range(3).mapInArrow(refusal(), "id INT").collect(), "NotSupportedError", "no such thing"),
    (
        lambda spark: spark.range(3).mapInArrow(division(), "id INT").collect(),
        "InternalError",
        "Python code in Spark failed: ZeroDivisionError: division by zero",
    ),
    (
        lambda spark: spark.range(3).mapInArrow(killed(), "id LONG").collect(),
        "OperationalError",
        "a Python worker of Spark's has ended in the middle of its work",
    ),
]


@pytest.mark.parametrize(("action", "kind", "message"), CASES)
def test_failure_in_one_line(spark, action, kind, message):
    with pytest.raises(Exception) as caught:
        action(spark)
    error = translate_failure(caught.value)
    assert type(error) is getattr(errors, kind)
    assert message in error.message
    assert "\n" not in error.message
    assert "SQLSTATE" not in error.message
    assert "\tat " in error.detail


@pytest.mark.parametrize(
    ("name", "content", "message", "hint"),
    [
        (
            "a b.csv.gz",
            gzip.compress(b"1\n" * 9999, mtime=0)[:-20],
            "cannot be read: Unexpected end of input",
            WHOLE_FILE,
        ),
        ("a b.json.gz", b"no gzip at all", "cannot be read: not a gzip file", WHOLE_FILE),
        ("a b.parquet", parquet(b"")[:-20], "is not a Parquet file", WHOLE_FILE),
        (
            "a b.parquet",
            parquet(1),
            "cannot be read: its column a is of type INT64, declared as INT",
            "declare the column with the type that it has in the file; a query that is started with the file in place "
            "casts its values if that is exact",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(spark, tmp_path, name, content, message, hint):
    (tmp_path / name).write_bytes(content)
    rows = spark.read.schema("a INT").format(name.split(".")[1]).load(str(tmp_path))
    with pytest.raises(Exception) as caught:
        rows.collect()
    error = translate_failure(caught.value)
    assert type(error) is errors.OperationalError
    assert f"{tmp_path}/{name} {message}" in error.message
    assert error.hint == hint


def test_unsigned_integers_of_parquet_that_are_declared_as_others(spark, tmp_path):
    pq.write_table(pa.table({"a": pa.array([1], pa.uint32())}), tmp_path / "1.parquet")
    with pytest.raises(Exception) as caught:
        spark.read.schema("a INT").parquet(str(tmp_path)).collect()
    error = translate_failure(caught.value)
    assert error.message == "a Parquet file cannot be read: a column of it has another type than is declared"
    assert "UINT_32 is BIGINT" in error.hint
    (row,) = spark.read.schema("a BIGINT").parquet(str(tmp_path)).collect()
    assert row.a == 1


@pytest.mark.parametrize(
    ("said", "place", "lost"),
    [
        ("java.io.IOException: Stream closed", "org.apache.spark.api.python.PythonWorkerFactory.create", True),
        ("Broken pipe", "org.apache.spark.sql.execution.python.PythonArrowInput.write", True),
        ("java.net.SocketException: Connection reset", "org.apache.kafka.common.network.Selector.poll", False),
        ("Stream closed while writing x", "org.apache.spark.api.python.PythonWorkerFactory.create", False),
    ],
)
def test_a_python_worker_that_is_gone(said, place, lost):
    assert failures._lost_worker(["Job aborted.", said], f"{said}\n\tat {place}(X.scala:1)") == lost


def test_an_error_of_ours_keeps_its_hint(spark):
    with pytest.raises(Exception) as caught:
        spark.range(3).mapInArrow(refusal(), "id INT").collect()
    assert translate_failure(caught.value).hint == "try another"


@pytest.fixture
def gone(monkeypatch):
    """Java has told of a failure, and ends before it tells more."""

    def refuse(_):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(failures, "convert_exception", refuse)
    monkeypatch.setattr(gateway, "java_ended", lambda patience=0.0: True)
    return Py4JJavaError("an error", SimpleNamespace(_target_id="o1"))


def test_java_that_ends_while_it_tells_of_a_failure(gone):
    assert isinstance(translate_failure(gone), JavaEndedError)


@pytest.mark.parametrize(("place", "ended"), [(py4j.clientserver.__file__, True), ("kafka.py", False)])
def test_java_that_takes_no_connection_any_more_is_ended(monkeypatch, place, ended):
    killed = []
    monkeypatch.setattr(gateway, "kill_java", lambda: killed.append(True))
    monkeypatch.setattr(gateway, "java_ended", lambda patience=0.0: bool(killed))
    with pytest.raises(ConnectionRefusedError) as raised:
        exec(compile("raise ConnectionRefusedError(111, 'Connection refused')", place, "exec"))
    assert isinstance(translate_failure(raised.value), JavaEndedError) == ended


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        ("local/blockmgr-1-a/0a", "terminated with exception: {}/local/blockmgr-1-a/0a"),
        ("local/blockmgr-1-a/0a", "{}/local/blockmgr-1-a/0a/temp_shuffle_1 (No such file or directory)"),
        ("local/blockmgr-1-a", "java.nio.file.NoSuchFileException: {}/local/blockmgr-1-a/0a/x"),
        (".", "EOFException occurred while reading the port number"),
    ],
)
def test_java_whose_files_were_removed_is_ended(tmp_path, monkeypatch, removed, said):
    folder, killed = tmp_path / "cepsql-spark-1", []
    (folder / "local/blockmgr-1-a/0a").mkdir(parents=True)
    monkeypatch.setattr(gateway, "_LOG", [])
    monkeypatch.setattr(gateway, "_ROBBED", [])
    gateway.logs_to(folder / "spark.log")
    monkeypatch.setattr(failures, "kill_java", lambda: killed.append(True))
    failure = RuntimeError(said.format(folder))
    assert not isinstance(translate_failure(failure), JavaEndedError)
    shutil.rmtree(folder / removed)
    for _ in range(2):
        assert f"in its temporary folder {folder} were removed" in translate_failure(failure).message
    assert killed
    monkeypatch.setattr(failures, "lost_java", lambda _: True)
    assert "were removed" in translate_failure(RuntimeError("gone")).message
    # The next one has a folder of its own.
    folder.mkdir(exist_ok=True)
    gateway.logs_to(folder / "spark.log")
    assert translate_failure(RuntimeError("gone")).message == "Spark's Java process has ended"


class Followed(StandingQuery):
    """A query that fails, and what Java is asked about it afterwards."""

    def __init__(self, failure, translated, cleaned):
        self._failure, self._fails = failure, (translated, cleaned)
        self._options = SimpleNamespace(drain=False, secrets=())
        self._done, self._stopping, self._enough = threading.Event(), threading.Event(), threading.Event()
        self._error = None

    def _follow(self):
        raise self._failure

    def _translated(self, exception):
        raise self._fails[0]

    def _clean_up(self):
        if self._fails[1] is not None:
            raise self._fails[1]


@pytest.mark.parametrize("cleaned", [None, ConnectionRefusedError("gone")])
def test_a_query_whose_end_cannot_be_explained_has_failed(gone, cleaned):
    """Else an INSERT whose Java ended in the middle would say that its rows are written."""
    query = Followed(gone, ConnectionRefusedError("gone"), cleaned)
    try:
        query._run()
    except ConnectionRefusedError:
        assert cleaned is not None
    assert query._done.is_set()
    assert isinstance(query._error, JavaEndedError)
