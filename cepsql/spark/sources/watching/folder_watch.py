"""Notices that a folder was away for a while, as one on a disk that is unmounted and mounted again.

Whoever writes by its path meanwhile, such as Spark, makes the folder anew and leaves files where nobody looks for them.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

_POLL_SECONDS = 0.05


class FolderWatch:
    """A folder that is looked at again and again from now on; raises OSError if it is not there."""

    def __init__(self, folder: Path):
        self._folder, self._found, self._left = folder, folder.stat(), False

    @property
    def stayed(self) -> bool:
        """Whether the path has led to the folder whenever it was looked at, and does now."""
        with contextlib.suppress(OSError):
            if os.path.samestat(self._found, self._folder.stat()):
                return not self._left
        self._left = True
        return False


@contextlib.contextmanager
def watched_folder(folder: Path) -> Iterator[FolderWatch]:
    """Watch a folder within the block. Raises OSError if it is not there."""
    watch, ended = FolderWatch(folder), threading.Event()

    def look() -> None:
        while not ended.wait(_POLL_SECONDS) and watch.stayed:
            pass

    threading.Thread(target=look, name="cepsql-folder", daemon=True).start()
    try:
        yield watch
    finally:
        ended.set()
