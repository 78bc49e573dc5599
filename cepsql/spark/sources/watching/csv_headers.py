"""Headers of CSV files that name declared columns in other places: whatever they say, CSV is read by place."""

import csv
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

import pyarrow as pa

from cepsql.catalog import Source
from cepsql.spark.sources.watching.unread_files import ListedFolder, listed_folder

_BEGIN = 1 << 16
"""So many bytes of a file are read, in which its header stands."""
_MOST_FILES = 1000
"""So many files of a table at rest are looked at."""
_OTHERWISE = {"comment", "encoding", "charset", "linesep", "escape"}
"""Options that say otherwise what the first line is."""


class MisplacedHeader(NamedTuple):
    """A file, the names in its header, and those that are declared, in their order."""

    path: str
    names: tuple[str, ...]
    declared: tuple[str, ...]


@dataclass(frozen=True)
class CsvFiles:
    """CSV files of this machine with headers: where they are, the columns that they are declared to have, and how the
    header is written."""

    folder: ListedFolder
    columns: tuple[str, ...]
    separator: str = ","
    quote: str = '"'

    def misplaced(self, path: str) -> MisplacedHeader | None:
        """Return the header of a file if it has a declared column in another place; None if it cannot be read."""
        # What the names of folders say stands in no file.
        folders = {part.split("=")[0].lower() for part in PurePath(path).parent.parts if "=" in part}
        declared = tuple(name for name in self.columns if name.lower() not in folders)
        names = tuple(self._names(path))
        places = [name.strip().lower() for name in names]
        right = dict(zip((name.lower() for name in declared), [*places, *[None] * len(declared)], strict=False))
        wrong = any(name in places and name != found for name, found in right.items())
        return MisplacedHeader(path, names, declared) if wrong else None

    def _names(self, path: str) -> list[str]:
        try:
            with pa.input_stream(path, compression="detect") as file:
                begin = file.read(_BEGIN).decode("utf-8-sig", "replace")
            lines = (line for line in begin.splitlines() if line.strip())
            return next(csv.reader(lines, delimiter=self.separator, quotechar=self.quote), [])
        except (OSError, ValueError, TypeError, csv.Error):
            return []


class CsvHeaders:
    """Looks at the headers of files before they are read, and tells of each kind of header once."""

    def __init__(self, kinds: Iterable[CsvFiles]):
        self._kinds = tuple(kinds)
        self._told: set[tuple[str, ...]] = set()

    def misplaced(self, paths: Iterable[str]) -> Iterator[MisplacedHeader]:
        """Yield those of these files that were not told before."""
        for path in paths if self._kinds else ():
            kind = next((kind for kind in self._kinds if kind.folder.covers(path)), None)
            found = None if kind is None else kind.misplaced(path)
            if found is not None and found.names not in self._told:
                self._told.add(found.names)
                yield found

    def misplaced_there(self) -> Iterator[MisplacedHeader]:
        """Yield those of the first files that are there now."""
        files = (file.path for kind in self._kinds for file in kind.folder.files())
        return self.misplaced(itertools.islice(files, _MOST_FILES))


def csv_files(source: Source) -> CsvFiles | None:
    """Return which CSV files with headers a stream or table reads; None if it reads others, if Spark itself compares
    the headers, or if we cannot tell."""
    options = {name.lower(): value for name, value in source.options}
    headed = source.format.lower() == "csv" and options.get("header", "").lower() == "true" and source.value is None
    if not headed or _OTHERWISE & set(options) or options.get("enforceschema", "").lower() == "false":
        return None
    folder = listed_folder(source)
    separator = options.get("sep", options.get("delimiter", ",")).replace("\\t", "\t")
    columns = tuple(column.name for column in source.columns if column.expression is None and column.metadata is None)
    return None if folder is None else CsvFiles(folder, columns, separator, options.get("quote", '"'))


def files_with_headers(sources: Iterable[Source]) -> tuple[CsvFiles, ...]:
    """Return the CSV files with headers that these read."""
    return tuple(files for files in map(csv_files, sources) if files is not None)
