"""Small queries to a SQLite file, a thousand times a second, through a connection that stays open."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cepsql.base.sqlite_files import sqlite_connection


class QuickReader:
    """Reads the current state of a SQLite file that other processes write.

    Opening a connection takes a hundred times as long as reading a row by its key.
    """

    def __init__(self, file: Path | str):
        self._file = os.path.abspath(file)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, ...] = ()

    def rows(self, select: str, values: Mapping[str, Any] | None = None) -> list[tuple] | None:
        """Return the rows of a SELECT that takes no time, None if they cannot be read now.

        Never waits; another way of reading the file waits, or reports the error.
        """
        try:
            status = os.stat(self._file)
            # Another file may have replaced it, and a connection belongs to the process that opened it.
            opened = (status.st_dev, status.st_ino, os.getpid())
            with self._lock:
                if self._connection is None or opened != self._opened:
                    self._close()
                    self._connection, self._opened = sqlite_connection(self._file, False, 0), opened
                return self._connection.execute(select, values or {}).fetchall()
        except (OSError, sqlite3.Error):
            return None

    def close(self) -> None:
        """Close the connection; the next query opens another one."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
