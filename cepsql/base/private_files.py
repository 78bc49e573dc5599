"""Files that make this process run code, such as a pickle: used only if nobody else can have written them."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def open_private(path: Path) -> BinaryIO | None:
    """Open a file to read; None if it is missing, or if another user could have written it or may do so.

    The file and its folder must be this user's, with no right to write for others, and no symbolic links.
    """
    if not _is_ours(path.parent):
        return None
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    # Asked of what is open, and not of what has the name by then.
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or not _is_own(found):
        os.close(file)
        return None
    return os.fdopen(file, "rb")


def is_private(path: Path) -> bool:
    """Tell whether a file is there that `open_private` would open."""
    file = open_private(path)
    if file is None:
        return False
    file.close()
    return True


def write_private(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that only this user may read or write; others see the old one or the whole new one.

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
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_own(found)


def _is_own(found: os.stat_result) -> bool:
    # Windows has neither; there the user's profile is closed to others.
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE)
