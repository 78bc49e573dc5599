"""Checkpoints and their copies can be read by their owner only, and outlive a loss of power."""

import os

import pytest

from cepsql.spark.checkpoint.checkpoint import discard, open_checkpoint
from cepsql.spark.checkpoint.checkpoint_path import write_whole
from cepsql.spark.checkpoint.savepoint import begin_checkpoint, save_checkpoint


def mode(path) -> int:
    return path.stat().st_mode & 0o777


def test_only_their_owner_can_read_them(tmp_path):
    checkpoint, savepoint, again = (tmp_path / name for name in ("checkpoint", "savepoints/one", "again"))
    discard(open_checkpoint(checkpoint, "a query"))
    save_checkpoint(checkpoint, savepoint)
    begin_checkpoint(savepoint, again)
    assert {mode(folder) for folder in (checkpoint, savepoint, again)} == {0o700}
    assert mode(checkpoint / "plan.json") == 0o600


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    checkpoint, again = tmp_path / "checkpoint", tmp_path / "again"
    for folder in (checkpoint, again):
        folder.mkdir()
        folder.chmod(0o770)
    discard(open_checkpoint(checkpoint, "a query"))
    save_checkpoint(checkpoint, tmp_path / "savepoint")
    begin_checkpoint(tmp_path / "savepoint", again)
    assert (mode(checkpoint), mode(again), mode(tmp_path / "savepoint")) == (0o770, 0o770, 0o700)


@pytest.fixture
def done(monkeypatch) -> list[str]:
    """What was synchronized and renamed, in order."""
    calls: list[str] = []
    fsync, rename = os.fsync, os.replace

    def synchronized(handle):
        calls.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    def renamed(source, target, **named):
        calls.append(f"-> {target}")
        rename(source, target, **named)

    monkeypatch.setattr(os, "fsync", synchronized)
    monkeypatch.setattr(os, "replace", renamed)
    return calls


def test_a_record_is_on_the_disk_before_its_name_is(tmp_path, done):
    write_whole(tmp_path / "plan.json", "{}")
    assert done == [f"{tmp_path}/.plan.json.new", f"-> {tmp_path}/plan.json", str(tmp_path)]


def test_a_copy_is_on_the_disk_before_its_name_is(tmp_path, done):
    discard(open_checkpoint(tmp_path / "checkpoint", "a query"))
    done.clear()
    save_checkpoint(tmp_path / "checkpoint", tmp_path / "copy")
    named = done.index(f"-> {tmp_path}/copy")
    assert any(name.endswith("/plan.json") for name in done[:named])
    assert str(tmp_path) in done[named:]
