"""Folders of a process: what tidies up old files leaves them alone, and they end with it."""

import fcntl
import os
import subprocess
import sys

import pytest

from cepsql.base.temporary import remove_temporary, temporary_folder

PROGRAM = """
import os, sys
from cepsql.base.temporary import remove_temporary, temporary_folder
kept, removed = (temporary_folder("cepsql-test-", sys.argv[1]) for _ in range(2))
remove_temporary(removed)
(kept / "file").touch()
if os.fork() == 0:
    temporary_folder("cepsql-child-", sys.argv[1])
    sys.exit()
os.wait()
print(*sorted(path.name[:-8] for path in kept.parent.iterdir()), (kept / "file").exists())
"""


def test_it_is_locked_as_long_as_it_is_there(tmp_path):
    folder = temporary_folder("cepsql-test-", str(tmp_path))
    # systemd-tmpfiles leaves alone what it cannot lock so.
    descriptor = os.open(folder, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    remove_temporary(folder)
    remove_temporary(folder)
    assert not folder.exists()
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


def test_it_ends_with_its_process_and_not_with_one_forked_from_it(tmp_path):
    run = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True, check=True)
    assert run.stdout == "cepsql-test- True\n"
    assert not list(tmp_path.iterdir())
