"""Headers of CSV files that name declared columns in other positions: CSV is read by position nevertheless."""

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
"""How many bytes of a file are read for its header."""
_MOST_FILES = 1000
"""How many files of a table are checked."""
_OTHERWISE = {"comment", "encoding", "charset", "linesep", "escape"}
"""Options that change how the first line is read."""


class MisplacedHeader(NamedTuple):
    """A file, the names in its header, and the declared names, in order."""

    path: str
    names: tuple[str, ...]
    declared: tuple[str, ...]


@dataclass(frozen=True)
class CsvFiles:
    """CSV files of this machine with headers: their folder, their declared columns, and the syntax of the header."""

    folder: ListedFolder
    columns: tuple[str, ...]
    separator: str = ","
    quote: str = '"'

    def misplaced(self, path: str) -> MisplacedHeader | None:
        """Return the header of a file if it has a declared column in another position; None if it can't be read."""
        # Columns in the names of folders are in no file.
        folders = {part.split("=")[0].lower() for part in PurePath(path).parent.parts if "=" in part}
        declared = tuple(name for name in self.columns if name.lower() not in folders)
        names = tuple(self._names(path))
        places = [name.strip().lower() for name in names]
        right = dict(zip((name.lower() for name in declared), [*places, *[None] * len(declared)], strict=False))
        wrong = any(name in places and name != actual for name, actual in right.items())
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
    """Checks the headers of files before they are read, and reports each header once."""

    def __init__(self, kinds: Iterable[CsvFiles]):
        self._kinds = tuple(kinds)
        self._reported: set[tuple[str, ...]] = set()

    def misplaced(self, paths: Iterable[str]) -> Iterator[MisplacedHeader]:
        """Yield the misplaced headers of these files that were not reported before."""
        for path in paths if self._kinds else ():
            kind = next((kind for kind in self._kinds if kind.folder.covers(path)), None)
            header = None if kind is None else kind.misplaced(path)
            if header is not None and header.names not in self._reported:
                self._reported.add(header.names)
                yield header

    def misplaced_there(self) -> Iterator[MisplacedHeader]:
        """Yield the misplaced headers of the first present files."""
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
    """Return the CSV files with headers that these sources read."""
    return tuple(files for files in map(csv_files, sources) if files is not None)
