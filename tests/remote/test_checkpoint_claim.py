"""One process at a time has a checkpoint on a file system without locks, or in an object store."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from cepsql.errors import NotSupportedError, OperationalError
from cepsql.spark.checkpoint import checkpoint_claim
from cepsql.spark.checkpoint.checkpoint_lock import lock_checkpoint
from cepsql.spark.checkpoint.checkpoint_path import write_whole
from cepsql.spark.jvm.hadoop_path import HadoopPath


def become(claim, **changes):
    """Let a claim look as if another process had made it."""
    owner = claim.place / "owner.json"
    claim.holder.update(changes)
    owner.write_text(json.dumps(json.loads(owner.read_text("utf-8")) | changes), "utf-8")


def claims(folder):
    return sorted(path.name for path in (folder / "claims").iterdir())


def test_it_is_free_when_it_was_released(folder):
    first = lock_checkpoint(folder)
    with pytest.raises(OperationalError, match=f"the checkpoint {folder} is in use by a query of this program"):
        lock_checkpoint(folder)
    first.release()
    second = lock_checkpoint(folder)
    second.check()
    # Numbers grow for ever, or one who was slow might take a number that others have had.
    assert claims(folder) == ["2"]
    second.release()
    assert claims(folder) == ["2"]


def test_a_process_of_this_machine_that_has_died_is_known(folder):
    claim = lock_checkpoint(folder)
    become(claim, process=1)
    with pytest.raises(OperationalError, match="is in use by process 1 on"):
        become(claim, process=1, begin=checkpoint_claim.process_begin(1))
        lock_checkpoint(folder)
    dead = subprocess.Popen(["true"])
    dead.wait()
    for changes in ({"process": dead.pid}, {"process": 1, "begin": "another process had this number"}):
        become(claim, **changes)
        claim = lock_checkpoint(folder)
    claim.release()


def test_one_of_another_machine_has_it_as_long_as_it_touches_it(folder, monkeypatch):
    monkeypatch.setattr(checkpoint_claim, "_DEAD_SECONDS", 4.0)
    monkeypatch.setattr(checkpoint_claim, "_TOUCH_SECONDS", 0.5)
    claim = lock_checkpoint(folder)
    become(claim, machine="another", host="far", process=7)
    with pytest.raises(OperationalError, match=r"is in use by process 7 on far \("):
        lock_checkpoint(folder)
    claim.released.set()
    lock_checkpoint(folder).release()


def test_what_an_earlier_owner_writes_does_not_appear(folder):
    first = lock_checkpoint(folder, epoch=7)
    with first.held():
        write_whole(first.folder / "progress.json", "first")
    for epoch in (None, 6, 7):
        with pytest.raises(OperationalError, match="is in use by"):
            lock_checkpoint(folder, epoch)
    with pytest.raises(OperationalError, match=f"the checkpoint {folder} was taken over"), first.held():
        # It hangs after it has found that it has the checkpoint.
        second = lock_checkpoint(folder, epoch=8)
        write_whole(second.folder / "progress.json", "second")
        write_whole(first.folder / "progress.json", "first again")
    with pytest.raises(OperationalError, match="was taken over"):
        first.check()
    assert (folder / "progress.json").read_text("utf-8") == "second"
    assert sorted(path.name for path in folder.iterdir()) == ["claims", "progress.json"]
    second.check()
    first.release()
    second.release()


@pytest.mark.parametrize("store", ["s3"])
def test_what_an_earlier_owner_is_about_to_write_does_not_appear(folder):
    first = lock_checkpoint(folder, epoch=7)
    write_whole(first.folder / "progress.json", '{"batch": 1}')
    write_whole(first.folder / "spark.txt", "of one that is written once")
    later = []

    def hang():
        first.check()
        later.append(lock_checkpoint(folder, epoch=8))

    hanging = replace(first.folder, fence=hang)
    with pytest.raises(OperationalError, match=f"the checkpoint {folder} was taken over"), first.held():
        write_whole(hanging / "progress.json", '{"batch": 2}')
    assert json.loads((folder / "progress.json").read_bytes()) == {"batch": 1, "claim": 2}
    with later[0].held():
        write_whole(later[0].folder / "progress.json", '{"batch": 3}')
    assert json.loads((folder / "progress.json").read_bytes()) == {"batch": 3}
    for claim in (first, *later):
        claim.release()


@pytest.mark.parametrize("store", ["s3"])
def test_a_store_that_writes_whatever_is_there_is_refused(folder, monkeypatch):
    put = HadoopPath._put
    monkeypatch.setattr(HadoopPath, "_put", lambda path, data, *condition: put(path, data))
    with pytest.raises(NotSupportedError, match=f"a checkpoint in {folder} is not supported: .*If-None-Match"):
        lock_checkpoint(folder)


def test_who_has_a_checkpoint_that_is_gone_is_told(folder):
    claim = lock_checkpoint(folder)
    folder.remove_tree()
    with pytest.raises(OperationalError, match=f"the checkpoint {folder} was taken over"):
        claim.check()
    claim.released.set()


@pytest.mark.nightly("it takes ten seconds")
def test_of_many_at_once_one_gets_it(folder):
    def claimed(_):
        try:
            return lock_checkpoint(folder)
        except OperationalError as error:
            assert "is in use by" in error.message
            return None

    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            (winner,) = filter(None, pool.map(claimed, range(8)))
        assert claims(folder) == [winner.place.name]
        winner.check()
        winner.release()
