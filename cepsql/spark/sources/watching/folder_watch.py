"""Detect that a folder was temporarily gone, for example on a disk that was unmounted and mounted again.

Meanwhile, a process that writes by path, such as Spark, creates the folder again, and its files are lost.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

_POLL_SECONDS = 0.05


class FolderWatch:
    """A folder that is checked repeatedly; raises OSError if it is missing."""

    def __init__(self, folder: Path):
        self._folder, self._status, self._left = folder, folder.stat(), False

    @property
    def stayed(self) -> bool:
        """Whether the path led to the same folder at every check, this one included."""
        with contextlib.suppress(OSError):
            if os.path.samestat(self._status, self._folder.stat()):
                return not self._left
        self._left = True
        return False


@contextlib.contextmanager
def watched_folder(folder: Path) -> Iterator[FolderWatch]:
    """Watch a folder within the block. Raises OSError if it is missing."""
    watch, ended = FolderWatch(folder), threading.Event()

    def look() -> None:
        while not ended.wait(_POLL_SECONDS) and watch.stayed:
            pass

    threading.Thread(target=look, name="cepsql-folder", daemon=True).start()
    try:
        yield watch
    finally:
        ended.set()
