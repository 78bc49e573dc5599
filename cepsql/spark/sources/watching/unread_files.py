"""Files of this machine in the folders of streams whose rows Spark does not read, or not all of them.

Spark takes no notice of a file that is `maxFileAge` older than the newest one it has read, nor of a file that it knows
and that is written to or replaced, nor of a folder that is gone: nothing would tell why rows are missing.
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
"""A file that has been in a folder for so long, Spark has found."""

_FILTERS = {"modifiedbefore", "modifiedafter", "filenameonly"}
"""Options that say otherwise which files are read."""

_NEVER_EMPTY = ("avro", "orc", "parquet")
"""Formats whose files have a head or a tail of their own."""

_UNKNOWN = ("{", "\\", "^")
"""What Hadoop and Python read differently in patterns of names."""


class FolderFile(NamedTuple):
    """A file in a stream's folder: when it was changed, in milliseconds as Spark notes it, and when it came there, in
    seconds."""

    path: str
    changed: int
    arrived: float


@dataclass(frozen=True)
class ListedFolder:
    """Where a stream finds its files.

    path:      a folder, a file or a pattern of such.
    names:     a pattern that names of files match.
    recursive: whether folders below have files of the stream.
    age:       by how many seconds a file may be older than the newest one; None: by any.
    never_empty: whether each file has something in it, be it without rows: what is empty is not written yet.
    """

    path: str
    names: str = "*"
    recursive: bool = False
    age: float | None = None
    never_empty: bool = False

    def files(self) -> Iterator[FolderFile]:
        """Yield the files that Spark lists, as far as they can be listed."""
        pattern = glob.has_magic(self.path)
        for place in glob.glob(self.path) if pattern else [self.path]:
            name = os.path.basename(place)
            if os.path.isdir(place) and not (pattern and is_hidden(name)):
                yield from self._below(place)
            elif self._is_read(name):
                yield from _listed(place)

    @property
    def is_gone(self) -> bool:
        """Whether nothing is where the files should be, so that Spark finds none, without a word."""
        return not (glob.has_magic(self.path) or os.path.exists(self.path))

    def covers(self, path: str) -> bool:
        """Tell whether a file that was read can be one of the stream's."""
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
                # Folders named like column=value are parts of a table.
                if not is_hidden(entry.name) and (self.recursive or "=" in entry.name):
                    yield from self._below(entry.path)
            elif self._is_read(entry.name):
                yield from _listed(entry.path)

    def _is_read(self, name: str) -> bool:
        return not is_hidden(name) and fnmatch.fnmatchcase(name, self.names)


@dataclass(frozen=True)
class UnreadFile:
    """A file whose rows are not read.

    changed: it was read before it got what it holds now.
    unnamed: its name is not UTF-8.
    """

    path: str
    changed: bool
    unnamed: bool = False


def listed_folder(source: Source) -> ListedFolder | None:
    """Return where a stream finds files of this machine; None if it reads others, or we cannot tell which."""
    options = {name.lower(): value for name, value in source.options}
    path, names = options.get("path"), options.get("pathglobfilter", "*")
    if path is None or not is_local(path) or source.format.lower() in ("kafka", "table") or _FILTERS & set(options):
        return None
    path, recursive = local_path(path), options.get("recursivefilelookup", "").lower() == "true"
    if any(sign in text for sign in _UNKNOWN for text in (path, names)) or os.path.exists(f"{path}/_spark_metadata"):
        return None
    return ListedFolder(path, names, recursive, file_age(options), source.format.lower() in _NEVER_EMPTY)


class UnreadFiles:
    """Looks for such files again and again while a query runs, and tells of each once.

    spark:   Spark's checkpoint, whose log says what was read.
    folders: where the streams of the query find their files.
    forgot:  whether the log may have forgotten files that were read.
    """

    def __init__(self, spark: CheckpointPath, folders: Iterable[ListedFolder], forgot: bool = False):
        self._spark, self._folders, self._forgot = spark, tuple(dict.fromkeys(folders)), forgot
        self._read: dict[str, int] = {}
        self._number: dict[str, int] = {}
        self._newest: dict[ListedFolder, int] = {}
        self._settled: set[str] | None = None
        self._told: dict[str, int] = {}
        self._gone: set[str] = set()

    def moved(self) -> tuple[list[str], list[str]]:
        """Return which folders are gone since the last call, and which are there again."""
        gone = {folder.path for folder in self._folders if folder.is_gone}
        lost, back = sorted(gone - self._gone), sorted(self._gone - gone)
        self._gone = gone
        return lost, back

    def look(self) -> list[UnreadFile]:
        """Return those that were not told before. Raises OSError where the checkpoint cannot be read."""
        now = time.time()
        listed = [(folder, file) for folder in self._folders for file in folder.files()]
        unnamed = {file.path: file for _, file in listed if not is_utf8(file.path) and file.path not in self._told}
        self._told |= {path: file.changed for path, file in unnamed.items()}
        odd = [(folder, file) for folder, file in listed if self._is_odd(folder, file)]
        arrived = {file.path: file.arrived for _, file in listed}
        if odd:
            self._read_logs()
        if self._settled is None:
            self._settled = self._found_before(arrived) if arrived else set()
        found = [UnreadFile(path, changed=False, unnamed=True) for path in unnamed]
        for folder, file in odd:
            known = self._read.get(file.path)
            unread = file.changed < self._oldest(folder) if known is None else file.changed > known
            if unread and self._is_odd(folder, file):
                found.append(UnreadFile(file.path, changed=known is not None))
                self._told[file.path] = file.changed
        self._forget(arrived, now)
        return found

    def _is_odd(self, folder: ListedFolder, file: FolderFile) -> bool:
        """Tell whether a file, of a name that Java knows, is neither known to be read as it is, nor was told."""
        if not is_utf8(file.path):
            return False
        if file.changed in (self._read.get(file.path), self._told.get(file.path)):
            return False
        doubtful = file.path in self._read or file.path not in (self._settled or ())
        return doubtful or file.changed >= self._oldest(folder)

    def _forget(self, arrived: Mapping[str, float], now: float) -> None:
        """Keep what is known of the files that are there, and of those that Spark knows."""
        settled = self._settled or set()
        self._settled = {path for path, at in arrived.items() if path in settled or at < now - _SETTLED_SECONDS}
        oldest = min(map(self._oldest, self._folders), default=float("-inf"))
        self._read = {path: changed for path, changed in self._read.items() if path in arrived or changed >= oldest}
        self._told = {path: changed for path, changed in self._told.items() if path in arrived}

    def _oldest(self, folder: ListedFolder) -> float:
        """Return when a file must have been changed at the earliest to be read, in milliseconds."""
        newest = self._newest.get(folder)
        return float("-inf") if newest is None or folder.age is None else newest - 1000 * folder.age

    def _found_before(self, arrived: Mapping[str, float]) -> set[str]:
        """Return what may have come into the folders before Spark looked last, when it may have read it."""
        logs = [] if self._forgot else [place for place in self._logs() if isinstance(place, Path)]
        last = max((place.stat().st_mtime for place in logs), default=None)
        return {path for path, at in arrived.items() if last is None or at <= last}

    def _logs(self) -> Iterator[CheckpointPath]:
        for folder in (self._spark / "sources").glob("[0-9]*"):
            yield from folder.glob("[0-9]*")

    def _read_logs(self) -> None:
        """Take up what the logs have that is new."""
        logs: dict[str, dict[int, CheckpointPath]] = {}
        for place in self._logs():
            logs.setdefault(place.parent.name, {})[int(place.stem)] = place
        for source, places in logs.items():
            known = self._number.get(source, -1)
            # The last one that has all before it is enough.
            begin = max((number for number, place in places.items() if place.name.endswith(".compact")), default=-1)
            for number in sorted(number for number in places if number >= begin and number > known):
                log = read_log(places[number])
                for entry, came in log.entries if log is not None else ():
                    if came > known:
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
