"""Whose turn it is to write where only one process at a time may: a lock on a file, which ends with its process."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cepsql.errors import OperationalError

_PATIENCE_SECONDS, _PAUSE_SECONDS = 10.0, 0.02


@contextlib.contextmanager
def turn(file: Path, what: str) -> Iterator[None]:
    """Lend the turn that a file stands for. It is kept for moments, but by a process that hangs.

    what: what is written to, for the error.
    Raises OperationalError if another process keeps it, OSError where the file cannot be written or has no locks.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with file.open("a") as opened:
        while not lock(opened):
            if time.monotonic() >= deadline:
                raise OperationalError(
                    f"a process hangs while it writes to {what}, which nobody else can use meanwhile",
                    hint="let it continue, or end it",
                )
            time.sleep(_PAUSE_SECONDS)
        yield


def lock(file: IO[str]) -> bool:
    """Tell whether a file could be locked; raises OSError where the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
