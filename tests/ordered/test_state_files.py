"""Files that hold what a state remembers of many keys."""

import os
import stat
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cepsql.errors import OperationalError
from cepsql.ordered.keyed.key_hashes import key_hashes
from cepsql.ordered.keyed.keyed_rows import KeyedChange, KeyedRows
from cepsql.ordered.keyed.state_files import NO_FILES, StateFolder, open_level, put_away


def taken(keyed, numbers):
    column = pa.array(numbers, pa.int64())
    rows = pa.table({"k0": column, "v": column})
    return keyed.changed(KeyedChange(np.unique(key_hashes([column], len(numbers))), {"rows": rows}, lambda *_: None))


def files(keyed):
    return [level.file for level in keyed.levels if level.file is not None]


@pytest.fixture
def folder(tmp_path):
    return StateFolder(tmp_path / "levels", least=1000)


def test_only_what_is_large_is_in_a_file(folder):
    keyed, log = put_away(taken(KeyedRows(("k0",)), range(3)), [], NO_FILES, folder)
    assert files(keyed) == [] and keyed.levels[0].data is not None and not folder.path.exists()
    keyed, log = put_away(taken(keyed, range(100)), files(keyed), log, folder)
    (name,) = files(keyed)
    assert os.listdir(folder.path) == [name]
    level = open_level(folder, name, keyed.levels[0].checksum)
    assert level.hashes.tolist() == keyed.levels[0].hashes.tolist()
    assert level.sections["rows"].rows.num_rows == 100
    assert stat.S_IMODE((folder.path / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_without_a_folder_or_where_none_may_be_written_the_state_has_all(folder):
    for place in (None, replace(folder, writes=False)):
        keyed, _ = put_away(taken(KeyedRows(("k0",)), range(1000)), [], NO_FILES, place)
        assert files(keyed) == [] and keyed.levels[0].data is not None


def test_files_go_once_nothing_needs_them_any_more(folder):
    keyed, log = KeyedRows(("k0",)), NO_FILES
    for turn in range(200):
        before = files(keyed)
        if turn % 3 == 0:
            # A task that failed after it had written its file.
            put_away(taken(keyed, range(turn, turn + 100)), before, log, folder)
        keyed, log = put_away(taken(keyed, range(turn, turn + 100)), before, log, folder)
        assert set(files(keyed)) <= set(os.listdir(folder.path))
        assert len(os.listdir(folder.path)) < 20
    assert len(log.unused) < 20


def test_files_of_others_stay(folder):
    folder.path.mkdir()
    (folder.path / "0123-1-abc").write_bytes(b"")
    (folder.path / "README").write_bytes(b"")
    keyed, log = KeyedRows(("k0",)), NO_FILES
    for turn in range(40):
        keyed, log = put_away(taken(keyed, range(turn, turn + 100)), files(keyed), log, folder)
    assert {"0123-1-abc", "README"} <= set(os.listdir(folder.path))


@pytest.mark.parametrize("damage", ["gone", "empty", "cut short", "another", "one byte"])
def test_a_damaged_file_is_named(folder, damage):
    keyed, _ = put_away(taken(KeyedRows(("k0",)), range(1000)), [], NO_FILES, folder)
    (name,), checksum = files(keyed), keyed.levels[0].checksum
    path = folder.path / name
    match damage:
        case "gone":
            path.unlink()
        case "another":
            path.write_bytes(b"PAR1" * 1000)
        case "one byte":
            written = bytearray(path.read_bytes())
            written[len(written) // 2] ^= 1
            path.write_bytes(written)
        case _:
            path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 3000])
    with pytest.raises(OperationalError) as caught:
        open_level(folder, name, checksum)
    assert name in str(caught.value)
    assert "replay the input" in caught.value.hint


def test_files_that_tasks_do_not_reach_are_named():
    with pytest.raises(OperationalError, match="do not reach") as caught:
        open_level(None, "a-1-b", 0)
    assert "folder of the machine" in caught.value.hint


def test_a_file_that_cannot_be_written_is_named(folder):
    folder.path.parent.joinpath("levels").write_text("no folder")
    with pytest.raises(OperationalError, match=r"levels/.* cannot be written: (Not a directory|File exists)") as caught:
        put_away(taken(KeyedRows(("k0",)), range(1000)), [], NO_FILES, folder)
    assert "goes on with this batch" in caught.value.hint


def test_a_full_disk_leaves_no_part_of_a_file(folder, monkeypatch):
    def full(level, sink):
        sink.write(b"a part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cepsql.ordered.keyed.state_files.write_level", full)
    with pytest.raises(OperationalError, match="No space left on device"):
        put_away(taken(KeyedRows(("k0",)), range(1000)), [], NO_FILES, folder)
    assert os.listdir(folder.path) == []
