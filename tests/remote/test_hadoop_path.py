"""Files elsewhere are to a checkpoint what files of this machine are, but for what an object store does not do."""

import pytest

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint_path import checkpoint_path, copy_tree, move_whole, remove_tree, write_whole


def names(folder, pattern="*"):
    return sorted(path.name for path in folder.rglob(pattern))


def write(path, data):
    path.write_bytes(data)


STEPS = [
    ("is_dir", lambda f: f.is_dir()),
    ("exists", lambda f: (f / "none").exists()),
    ("read", lambda f: (f / "none").read_bytes()),
    ("glob nothing", lambda f: list((f / "none").glob("*/*"))),
    ("unlink", lambda f: (f / "none").unlink()),
    ("unlink if there", lambda f: (f / "none").unlink(missing_ok=True)),
    ("make again", lambda f: f.mkdir(parents=True)),
    ("write", lambda f: write(f / "a file.txt", "ä\n".encode())),
    ("write without a folder", lambda f: write(f / "none" / "a", b"")),
    ("text", lambda f: (f / "a file.txt").read_text("utf-8")),
    ("write empty", lambda f: write(f / "12.compact", b"")),
    ("empty", lambda f: (f / "12.compact").read_bytes()),
    ("whole", lambda f: write_whole(f / "a file.txt", "b")),
    ("whole bytes", lambda f: (f / "a file.txt").read_bytes()),
    ("below", lambda f: (f / "x" / "y").mkdir(parents=True, exist_ok=True)),
    ("write below", lambda f: write(f / "x" / "y" / "7.delta", b"\0\xff")),
    ("numbered", lambda f: names(f, "[0-9]*.*")),
    ("two levels", lambda f: sorted(p.name for p in f.glob("*/*"))),
    ("parts", lambda f: ((f / "x.y.z").stem, (f / "x").stem, (f / "x").parent == f, (f / "x").with_name("y").name)),
    ("move", lambda f: move_whole(f / "x", f / "z")),
    ("move nothing", lambda f: move_whole(f / "x", f / "z")),
    ("move in place", lambda f: move_whole(f / "12.compact", f / "a file.txt")),
    ("copy", lambda f: copy_tree(f, f.parent / f"{f.name} copy", ("a*",))),
    ("the copy", lambda f: names(f.parent / f"{f.name} copy")),
    ("copy again", lambda f: copy_tree(f, f.parent / f"{f.name} copy")),
    ("remove", lambda f: [remove_tree(f / name) for name in "xz"]),
    ("remove again", lambda f: [remove_tree(f / name) for name in "xz"]),
    ("all", lambda f: names(f)),
]


NOT_OF_OBJECTS = ("write without a folder", "move", "move nothing", "move in place")


def test_each_operation_gives_what_pathlib_gives(folder, store, tmp_path):
    local = tmp_path / "local"
    for one in (local, folder):
        one.mkdir(parents=True)
    for name, step in STEPS:
        if store != "s3" or name not in NOT_OF_OBJECTS:
            assert (name, outcome(step, folder)) == (name, outcome(step, local))
    if store == "s3":
        with pytest.raises(OSError, match="renames nothing in one step"):
            move_whole(folder / "a file.txt", folder / "b")


def outcome(step, folder):
    try:
        return step(folder)
    except OSError as error:
        return type(error)


def test_folders_are_copied_from_one_file_system_to_another(folder, tmp_path):
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").write_bytes(b"1")
    copy_tree(folder, tmp_path / "here")
    copy_tree(tmp_path / "here", folder.with_name(f"{folder.name}-back"))
    assert names(tmp_path / "here") == names(folder.with_name(f"{folder.name}-back")) == ["a", "b", "c"]
    assert (tmp_path / "here" / "a" / "b" / "c").read_bytes() == b"1"


@pytest.mark.parametrize("location", ["hdfs://127.0.0.1:1/x", "hdfs://no-such-host.invalid/x", "hdfs:///x"])
def test_what_cannot_be_reached_is_said(spark, location):
    from cepsql.spark.checkpoint.checkpoint import kept_identity

    with pytest.raises(OperationalError, match=f"the checkpoint {location} cannot be (read|reached): .") as raised:
        kept_identity(checkpoint_path(location, lambda: spark))
    assert "\n" not in raised.value.message and "Exception in" not in raised.value.message
