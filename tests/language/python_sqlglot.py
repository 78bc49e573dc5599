"""A plugin of pytest with which sqlglot runs in Python, also where it is installed compiled."""

import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path


def _sources_of_sqlglot(folder: str) -> FileFinder:
    if "sqlglot" not in Path(folder).parts:
        raise ImportError
    return FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _sources_of_sqlglot)
