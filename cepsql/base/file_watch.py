"""Waiting until a file changes, whatever process changes it: one thread looks at all files that are waited for."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

_PAUSE_SECONDS = 0.005
"""How often files are looked at; a look takes microseconds."""

_LINGER_SECONDS = 2.0
"""How long the thread stays for the next one who waits."""

FileState = tuple[int, int, int] | None
"""What tells a file from what it was: its number, its size, and when it was written, in nanoseconds; None: there is
none. A file system counts time in steps of some milliseconds, so that a second change within one may leave no trace."""


def file_state(path: str | None) -> FileState:
    """Return what a file is now; `path` is None for no file."""
    if path is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def wait_for_change(path: str | None, state: FileState, seconds: float, end: threading.Event | None = None) -> None:
    """Wait until a file is no longer in a state, at most so many seconds, or until `end` is set.

    path: None: no file tells of changes, and the seconds pass.
    """
    end = end or threading.Event()
    if path is None:
        end.wait(seconds)
        return
    limit = time.monotonic() + seconds
    while (left := limit - time.monotonic()) > 0 and file_state(path) == state:
        if end.wait(min(left, _PAUSE_SECONDS)):
            return


async def change_of(path: str | None, state: FileState, seconds: float) -> None:
    """Wait as `wait_for_change` does; those who wait for one file cost no more than one of them."""
    if path is None:
        await asyncio.sleep(seconds)
        return
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    with (
        _watched(path, state, lambda: loop.call_soon_threadsafe(changed.set)),
        contextlib.suppress(TimeoutError),
    ):
        await asyncio.wait_for(changed.wait(), seconds)


class _Watch:
    """The files that are waited for, each with the state that it had and those to be told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, FileState], set[Callable[[], object]]] = {}
        self._process = 0

    def add(self, path: str, state: FileState, tell: Callable[[], object]) -> None:
        with self._lock:
            self._waiting.setdefault((path, state), set()).add(tell)
            # A child process has none of its parent's threads.
            if self._process != os.getpid():
                self._process = os.getpid()
                threading.Thread(target=self._look, name="cepsql-file-watch", daemon=True).start()

    def remove(self, path: str, state: FileState, tell: Callable[[], object]) -> None:
        with self._lock:
            callbacks = self._waiting.get((path, state), set())
            callbacks.discard(tell)
            if not callbacks:
                self._waiting.pop((path, state), None)

    def _look(self) -> None:
        used = time.monotonic()
        while True:
            with self._lock:
                if self._waiting:
                    used = time.monotonic()
                elif time.monotonic() - used > _LINGER_SECONDS:
                    self._process = 0
                    return
                for (path, state), callbacks in list(self._waiting.items()):
                    if file_state(path) != state:
                        del self._waiting[path, state]
                        for tell in callbacks:
                            # The loop of who waited may have ended.
                            with contextlib.suppress(RuntimeError):
                                tell()
            time.sleep(_PAUSE_SECONDS)


_WATCH = _Watch()


@contextlib.contextmanager
def _watched(path: str, state: FileState, tell: Callable[[], object]) -> Iterator[None]:
    _WATCH.add(path, state, tell)
    try:
        yield
    finally:
        _WATCH.remove(path, state, tell)
