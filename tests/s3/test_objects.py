"""Objects are to a checkpoint what files of this machine are, but for what an object store does not do."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint_path import checkpoint_path, copy_tree, move_whole, remove_tree, write_whole


def names(folder, pattern="*"):
    return sorted(path.name for path in folder.rglob(pattern))


STEPS = [
    ("is_dir", lambda f: f.is_dir()),
    ("exists", lambda f: (f / "none").exists()),
    ("read", lambda f: (f / "none").read_bytes()),
    ("glob nothing", lambda f: list((f / "none").glob("*/*"))),
    ("unlink", lambda f: (f / "none").unlink()),
    ("unlink if there", lambda f: (f / "none").unlink(missing_ok=True)),
    ("make again", lambda f: f.mkdir(parents=True)),
    ("write", lambda f: write_whole(f / "a file.txt", "ä\n")),
    ("text", lambda f: (f / "a file.txt").read_text("utf-8")),
    ("write empty", lambda f: write_whole(f / "12.compact", b"")),
    ("empty", lambda f: (f / "12.compact").read_bytes()),
    ("whole", lambda f: write_whole(f / "a file.txt", "b")),
    ("whole bytes", lambda f: (f / "a file.txt").read_bytes()),
    ("write below", lambda f: write_whole(below(f / "x" / "y") / "7.delta", b"\0\xff")),
    ("numbered", lambda f: names(f, "[0-9]*.*")),
    ("two levels", lambda f: sorted(p.name for p in f.glob("*/*"))),
    ("copy", lambda f: copy_tree(f, f.parent / f"{f.name} copy", ("a*",))),
    ("the copy", lambda f: names(f.parent / f"{f.name} copy")),
    ("copy again", lambda f: copy_tree(f, f.parent / f"{f.name} copy")),
    ("remove", lambda f: remove_tree(f / "x")),
    ("remove again", lambda f: remove_tree(f / "x")),
    ("all", lambda f: names(f)),
]


def below(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_each_operation_gives_what_pathlib_gives(folder, tmp_path):
    local = tmp_path / "local"
    for one in (local, folder):
        one.mkdir(parents=True)
    for name, step in STEPS:
        assert (name, outcome(step, folder)) == (name, outcome(step, local))
    with pytest.raises(OSError, match="renames nothing in one step"):
        move_whole(folder / "a file.txt", folder / "b")


def outcome(step, folder):
    try:
        return step(folder)
    except OSError as error:
        return type(error)


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
    from cepsql.spark.checkpoint import open_checkpoint

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
