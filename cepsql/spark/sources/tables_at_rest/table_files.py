"""Detect changes to the files of a table that a running query read at its start."""

import glob
import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass

from cepsql.catalog import Source
from cepsql.catalog.locations import is_local, local_path

LOGGER = logging.getLogger("cepsql")

SECONDS = 10.0
"""The minimum interval between checks of the files."""


class TableFiles:
    """The local files of tables without REFRESH EVERY, in their state at the start of a query."""

    def __init__(self, tables: Iterable[Source]):
        self._states = [(table, local_files(table)) for table in tables if table.refresh is None]
        self._next = time.monotonic() + SECONDS

    def check(self) -> None:
        """Warn once of each table whose files have changed."""
        if not self._states or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SECONDS
        changed = [table for table, files in self._states if local_files(table) != files]
        self._states = [(table, files) for table, files in self._states if table not in changed]
        for table in changed:
            LOGGER.warning(
                "the files of the table %s have changed since the query was started, which does not see new ones, and "
                "others only as long as they were; REFRESH EVERY in CREATE TABLE reads them again",
                table.name,
            )


@dataclass(frozen=True)
class FileState:
    """The state of a file: `inode` differs if another file replaced it, `changed` is in nanoseconds."""

    inode: int
    size: int
    changed: int


def table_path(table: Source) -> str | None:
    """Return the absolute path of the files of a table, a glob pattern, or None if they are not on this machine."""
    path = next((value for name, value in table.options if name.lower() == "path"), None)
    return local_path(path) if path is not None and is_local(path) else None


def local_files(table: Source) -> dict[str, FileState]:
    """Return the states of the files of a table by path; empty if they are not on this machine."""
    path = table_path(table)
    if path is None:
        return {}
    states: dict[str, FileState] = {}
    for place in glob.glob(path):
        inside = (os.path.join(folder, file) for folder, _, files in os.walk(place) for file in files)
        for file in inside if os.path.isdir(place) else [place]:
            try:
                status = os.stat(file)
            except OSError:
                continue
            if os.path.basename(file)[0] not in "._":
                states[file] = FileState(status.st_ino, status.st_size, status.st_mtime_ns)
    return states
