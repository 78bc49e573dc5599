"""Spark's own files of a checkpoint appear whole, and those of its logs once."""

import pytest
from py4j.protocol import Py4JJavaError

from cepsql.spark.checkpoint.object_store_writer import object_store_settings


@pytest.fixture
def store():
    return "s3"


@pytest.fixture
def begin(spark, folder):
    """Begin a file as Spark does."""
    ((key, name),) = object_store_settings(spark).items()
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    configuration.set(key, name)
    java = spark._jvm.org.apache.hadoop.fs.Path
    package = spark._jvm.org.apache.spark.sql.execution.streaming.checkpointing
    manager = package.CheckpointFileManager.create(java(str(folder)), configuration)

    def begun(content, overwrite=False):
        stream = manager.createAtomic(java(str(folder / "7")), overwrite)
        stream.write(content)
        return stream

    return begun


def test_of_two_that_begin_the_same_file_one_writes_it(begin, folder):
    first, second = begin(b"first"), begin(b"second")
    assert not (folder / "7").exists()
    first.close()
    with pytest.raises(Py4JJavaError, match=r"FileAlreadyExistsException: .*/7 was written by another process"):
        second.close()
    second.cancel()
    assert (folder / "7").read_bytes() == b"first"


def test_what_is_given_up_does_not_appear(begin, folder):
    stream = begin(b"half")
    stream.cancel()
    stream.close()
    assert not (folder / "7").exists()


def test_state_is_written_anew_by_a_batch_that_comes_again(begin, folder):
    for content in (b"first", b"second"):
        begin(content, overwrite=True).close()
    assert (folder / "7").read_bytes() == b"second"
    assert [path.name for path in folder.iterdir()] == ["7"]
