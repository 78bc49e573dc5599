"""Files from which this process runs code, such as pickles: used only if no other user can have written them."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def open_private(path: Path) -> BinaryIO | None:
    """Open a file for reading; return None if it is missing, or another user may have written or may write it.

    The file and its folder must belong to this user, without write permission for others, and not be symbolic links.
    """
    if not _is_ours(path.parent):
        return None
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    # Check the open file, because the name may point elsewhere by now.
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or not _is_own(status):
        os.close(file)
        return None
    return os.fdopen(file, "rb")


def is_private(path: Path) -> bool:
    """Tell whether `open_private` would open a file."""
    file = open_private(path)
    if file is None:
        return False
    file.close()
    return True


def write_private(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically that only this user may read or write.

    Raises OSError; nothing is written to a folder that other users may change.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(path.parent):
        raise PermissionError(f"others may write to {path.parent}")
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _is_ours(folder: Path) -> bool:
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_own(status)


def _is_own(status: os.stat_result) -> bool:
    # Windows has neither; there other users have no access to the user's profile.
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE)
