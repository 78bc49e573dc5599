"""Folders that go with the process that made them."""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_FOLDERS: dict[Path, tuple[int, int | None]] = {}
"""Those that are there: the process that made them, and a file descriptor that holds a lock, if there are locks."""


def temporary_folder(prefix: str, place: str | None = None) -> Path:
    """Make a folder that is removed when this process ends, and not when one that was forked from it does.

    place: the folder that it lies in; default: where temporary files lie.
    It is locked, so that what tidies up old files, such as systemd-tmpfiles, leaves it and all below it alone.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    _FOLDERS[folder] = os.getpid(), _locked(folder)
    return folder


def remove_temporary(folder: Path) -> None:
    """Remove such a folder before the process ends."""
    _, descriptor = _FOLDERS.pop(folder, (0, None))
    if descriptor is not None:
        os.close(descriptor)
    shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> int | None:
    descriptor = None
    # Not all file systems have locks.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


@atexit.register
def _remove_all() -> None:
    for folder, (owner, _) in list(_FOLDERS.items()):
        if owner == os.getpid():
            remove_temporary(folder)
