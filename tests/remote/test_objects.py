"""An object store writes an object on a condition, and what is wrong with it is said."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint_path import checkpoint_path, write_whole


@pytest.fixture
def store():
    return "s3"


def test_of_many_who_write_an_object_that_is_not_there_one_does(folder):
    def put(number):
        try:
            (folder / "one").put_over(None, str(number).encode())
        except FileExistsError:
            return None
        return str(number).encode()

    with ThreadPoolExecutor(8) as pool:
        (written,) = filter(None, pool.map(put, range(8)))
    assert (folder / "one").read_bytes() == written


def test_of_many_who_change_an_object_each_does(folder):
    letters = b"abcdefghijkl"
    write_whole(folder / "one", b"")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda own: (folder / "one").rewrite(lambda data: data + bytes([own])), letters))
    assert bytes(sorted((folder / "one").read_bytes())) == letters


def test_who_was_answered_nothing_and_sends_again_has_written(folder):
    for _ in range(2):
        (folder / "one").put_over(None, b"1")
    assert (folder / "one").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("location", "said"),
    [("s3a://no-such-bucket/x", "[Bb]ucket"), ("s3a://no such bucket/x", "."), ("s3a:///x", ".")],
)
def test_what_cannot_be_reached_is_said(s3, spark, location, said):
    from cepsql.spark.checkpoint.checkpoint import open_checkpoint

    with pytest.raises(OperationalError, match=rf"the checkpoint {location} cannot be (\w+): .*{said}") as raised:
        open_checkpoint(checkpoint_path(location, lambda: spark), {})
    assert "\n" not in raised.value.message and "Exception" not in raised.value.message


def test_jars_that_are_missing_are_said(spark):
    spark.conf.set("fs.s3a.impl", "no.such.Class")
    try:
        with pytest.raises(OperationalError, match=r"cannot be reached: Class no\.such\.Class not found") as raised:
            checkpoint_path("s3a://another-bucket/x", lambda: spark)
    finally:
        spark.conf.unset("fs.s3a.impl")
    assert "spark.jars.packages=org.apache.hadoop:hadoop-aws:" in raised.value.hint
