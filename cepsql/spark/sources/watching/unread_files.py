"""Local files in the folders of streams whose rows Spark does not read, or not all of them.

Spark silently ignores a file that is `maxFileAge` older than the newest file it has read, a change to a file that it
has read, and a missing folder. Without a warning, nothing would explain why rows are missing.
"""

import fnmatch
import glob
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cepsql.catalog import Source
from cepsql.catalog.locations import is_hidden, is_local, local_path
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
from cepsql.spark.checkpoint.planned_files import changed_at, file_of, read_log
from cepsql.spark.checkpoint.source_log import file_age
from cepsql.spark.jvm.messages.folder_names import is_utf8

_SETTLED_SECONDS = 60.0
"""After how many seconds in a folder Spark has found a file."""

_FILTERS = {"modifiedbefore", "modifiedafter", "filenameonly"}
"""Options that change which files are read."""

_NEVER_EMPTY = ("avro", "orc", "parquet")
"""Formats whose files have a header or footer."""

_UNKNOWN = ("{", "\\", "^")
"""Characters in name patterns that Hadoop and Python interpret differently."""


class FolderFile(NamedTuple):
    """A file in a stream's folder, with its change time in milliseconds, as in Spark's log, and its arrival time in
    seconds."""

    path: str
    changed: int
    arrived: float


@dataclass(frozen=True)
class ListedFolder:
    """The folder of a stream's files.

    path:      a folder, a file or a pattern.
    names:     a pattern for the names of files.
    recursive: whether folders below also have files of the stream.
    age:       how many seconds older than the newest file a file may be; None: no limit.
    never_empty: whether even a file without rows has content, so that an empty file is not written yet.
    """

    path: str
    names: str = "*"
    recursive: bool = False
    age: float | None = None
    never_empty: bool = False

    def files(self) -> Iterator[FolderFile]:
        """Yield the files that Spark lists, unless they can't be listed."""
        pattern = glob.has_magic(self.path)
        for place in glob.glob(self.path) if pattern else [self.path]:
            name = os.path.basename(place)
            if os.path.isdir(place) and not (pattern and is_hidden(name)):
                yield from self._below(place)
            elif self._is_read(name):
                yield from _listed(place)

    @property
    def is_gone(self) -> bool:
        """Whether the path is missing, so that Spark silently finds no files."""
        return not (glob.has_magic(self.path) or os.path.exists(self.path))

    def covers(self, path: str) -> bool:
        """Tell whether a file that was read can be a file of the stream."""
        fixed = re.split(r"[*?\[]", self.path, maxsplit=1)
        if len(fixed) > 1:
            return path.startswith(fixed[0])
        return path == self.path or path.startswith(self.path.rstrip("/") + "/")

    def _below(self, folder: str) -> Iterator[FolderFile]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            if entry.is_dir():
                # Folders named like column=value are partitions.
                if not is_hidden(entry.name) and (self.recursive or "=" in entry.name):
                    yield from self._below(entry.path)
            elif self._is_read(entry.name):
                yield from _listed(entry.path)

    def _is_read(self, name: str) -> bool:
        return not is_hidden(name) and fnmatch.fnmatchcase(name, self.names)


@dataclass(frozen=True)
class UnreadFile:
    """A file whose rows are not read.

    changed: it was read before its content changed.
    unnamed: its name is not UTF-8.
    """

    path: str
    changed: bool
    unnamed: bool = False


def listed_folder(source: Source) -> ListedFolder | None:
    """Return the folder of a stream's local files; None if its files are not local, or can't be determined."""
    options = {name.lower(): value for name, value in source.options}
    path, names = options.get("path"), options.get("pathglobfilter", "*")
    if path is None or not is_local(path) or source.format.lower() in ("kafka", "table") or _FILTERS & set(options):
        return None
    path, recursive = local_path(path), options.get("recursivefilelookup", "").lower() == "true"
    if any(sign in text for sign in _UNKNOWN for text in (path, names)) or os.path.exists(f"{path}/_spark_metadata"):
        return None
    return ListedFolder(path, names, recursive, file_age(options), source.format.lower() in _NEVER_EMPTY)


class UnreadFiles:
    """Looks for unread files repeatedly while a query runs, and reports each once.

    spark:   Spark's checkpoint, whose log lists the files that were read.
    folders: of the streams of the query.
    forgot:  whether the log may lack files that were read.
    """

    def __init__(self, spark: CheckpointPath, folders: Iterable[ListedFolder], forgot: bool = False):
        self._spark, self._folders, self._forgot = spark, tuple(dict.fromkeys(folders)), forgot
        self._read: dict[str, int] = {}
        self._number: dict[str, int] = {}
        self._newest: dict[ListedFolder, int] = {}
        self._settled: set[str] | None = None
        self._reported: dict[str, int] = {}
        self._gone: set[str] = set()

    def moved(self) -> tuple[list[str], list[str]]:
        """Return the folders that disappeared since the last call, and those that returned."""
        gone = {folder.path for folder in self._folders if folder.is_gone}
        lost, back = sorted(gone - self._gone), sorted(self._gone - gone)
        self._gone = gone
        return lost, back

    def look(self) -> list[UnreadFile]:
        """Return unread files that were not reported before. Raises OSError if the checkpoint can't be read."""
        now = time.time()
        listed = [(folder, file) for folder in self._folders for file in folder.files()]
        unnamed = {file.path: file for _, file in listed if not is_utf8(file.path) and file.path not in self._reported}
        self._reported |= {path: file.changed for path, file in unnamed.items()}
        odd = [(folder, file) for folder, file in listed if self._is_odd(folder, file)]
        arrived = {file.path: file.arrived for _, file in listed}
        if odd:
            self._read_logs()
        if self._settled is None:
            self._settled = self._found_before(arrived) if arrived else set()
        unread_files = [UnreadFile(path, changed=False, unnamed=True) for path in unnamed]
        for folder, file in odd:
            last_change = self._read.get(file.path)
            unread = file.changed < self._oldest(folder) if last_change is None else file.changed > last_change
            if unread and self._is_odd(folder, file):
                unread_files.append(UnreadFile(file.path, changed=last_change is not None))
                self._reported[file.path] = file.changed
        self._forget(arrived, now)
        return unread_files

    def _is_odd(self, folder: ListedFolder, file: FolderFile) -> bool:
        """Tell whether a file with a UTF-8 name may be unread in its present state, and was not reported."""
        if not is_utf8(file.path):
            return False
        if file.changed in (self._read.get(file.path), self._reported.get(file.path)):
            return False
        doubtful = file.path in self._read or file.path not in (self._settled or ())
        return doubtful or file.changed >= self._oldest(folder)

    def _forget(self, arrived: Mapping[str, float], now: float) -> None:
        """Drop entries of files that are gone and too old for Spark to remember."""
        settled = self._settled or set()
        self._settled = {path for path, at in arrived.items() if path in settled or at < now - _SETTLED_SECONDS}
        oldest = min(map(self._oldest, self._folders), default=float("-inf"))
        self._read = {path: changed for path, changed in self._read.items() if path in arrived or changed >= oldest}
        self._reported = {path: changed for path, changed in self._reported.items() if path in arrived}

    def _oldest(self, folder: ListedFolder) -> float:
        """Return the earliest change time of a file that Spark reads, in milliseconds."""
        newest = self._newest.get(folder)
        return float("-inf") if newest is None or folder.age is None else newest - 1000 * folder.age

    def _found_before(self, arrived: Mapping[str, float]) -> set[str]:
        """Return the files that arrived before Spark last listed the folders, so that it may have read them."""
        logs = [] if self._forgot else [place for place in self._logs() if isinstance(place, Path)]
        last = max((place.stat().st_mtime for place in logs), default=None)
        return {path for path, at in arrived.items() if last is None or at <= last}

    def _logs(self) -> Iterator[CheckpointPath]:
        for folder in (self._spark / "sources").glob("[0-9]*"):
            yield from folder.glob("[0-9]*")

    def _read_logs(self) -> None:
        """Read the new entries of the logs."""
        logs: dict[str, dict[int, CheckpointPath]] = {}
        for place in self._logs():
            logs.setdefault(place.parent.name, {})[int(place.stem)] = place
        for source, places in logs.items():
            last_number = self._number.get(source, -1)
            # The last compact log includes all entries before it.
            begin = max((number for number, place in places.items() if place.name.endswith(".compact")), default=-1)
            for number in sorted(number for number in places if number >= begin and number > last_number):
                log = read_log(places[number])
                for entry, came in log.entries if log is not None else ():
                    if came > last_number:
                        self._take(entry)
                self._number[source] = number

    def _take(self, entry: bytes) -> None:
        place, changed = file_of(entry), changed_at(entry)
        if place.scheme not in ("", "file") or changed is None:
            return
        self._read[place.path] = changed
        for folder in self._folders:
            if folder.covers(place.path):
                self._newest[folder] = max(changed, self._newest.get(folder, changed))


def _listed(path: str) -> Iterator[FolderFile]:
    try:
        status = os.stat(path)
    except OSError:
        return
    yield FolderFile(path, status.st_mtime_ns // 1_000_000, status.st_ctime)
