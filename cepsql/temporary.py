"""Folders that go with the process that made them."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def temporary_folder(prefix: str, place: str | None = None) -> Path:
    """Make a folder that is removed when this process ends, and not when one that was forked from it does.

    place: the folder that it lies in; default: where temporary files lie.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
