"""Names of files and folders of a source on this machine with which Spark would leave rows out without a word."""

import fnmatch
import os
from collections.abc import Iterable

from cepsql.catalog.locations import is_hidden
from cepsql.errors import OperationalError

MOVE_FOLDERS = (
    "Spark takes folders named like key=value for columns: move them elsewhere, or all files into folders with one key"
)


def refuse_mixed_folders(name: str, path: str, pattern: str = "*") -> list[str]:
    """Return the files of a folder whose names are not UTF-8, which Java cannot open.

    name:    of the source.
    pattern: what names of its files match.
    Raises OperationalError if folders named like key=value stand among files, of which Spark would read none, or if
    they name different columns.
    """
    unnamed, files, keys = [], [], {}
    for entry in os.scandir(path) if os.path.isdir(path) else ():
        if is_hidden(entry.name):
            continue
        if not is_utf8(entry.name):
            unnamed.append(entry.path)
        elif "=" in entry.name and entry.is_dir():
            keys[entry.name.partition("=")[0]] = entry.path
        elif fnmatch.fnmatchcase(entry.name, pattern) and entry.is_file():
            files.append(entry.path)
    if keys and (files or len(keys) > 1):
        folder, *others = [*keys.values(), *files[:1]]
        beside = readable_name(others[0])
        raise OperationalError(f"{name} reads {path}, where {folder} stands beside {beside}", hint=MOVE_FOLDERS)
    return unnamed


def refuse_mixed_files(paths: Iterable[str]) -> None:
    """Raise OperationalError if some files of a micro-batch lie in folders named like key=value and others do not."""
    by_kind = {"=" in os.path.dirname(path): path for path in paths}
    if len(by_kind) > 1:
        raise OperationalError(
            f"a micro-batch has {by_kind[True]} and {by_kind[False]}, of which Spark would read only one",
            hint=MOVE_FOLDERS,
        )


def is_utf8(name: str) -> bool:
    """Tell whether a name, as Python's functions of `os` give it, is UTF-8."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def readable_name(path: str) -> str:
    """Return a path with escapes in place of bytes that are no UTF-8.

    >>> readable_name("b\\udcff.csv")
    'b\\\\xff.csv'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")
