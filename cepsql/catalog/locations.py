"""Paths in stored definitions: another process, in another folder, must find the same files."""

import os
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlparse

from cepsql.catalog import Definition, MaterializedView, RegisteredQuery, Sink, Source, ViewGroup
from cepsql.errors import NotSupportedError

SQLITE_URL = "sqlite:///"
"""The prefix of the address of a store in a SQLite file; the path follows."""

_ATOMIC, _CONDITIONAL = ("hdfs",), ("s3a",)
"""Schemes that can hold a checkpoint: Hadoop file systems with an atomic rename, and object stores with conditional
writes."""


def located(definition: Definition) -> Definition:
    """Return a definition whose local paths are absolute.

    >>> located(Sink("s", (), "json", (("path", "/x/../y"),))).options
    (('path', '/y'),)
    """
    match definition:
        case Source(late_rows=late, backfill=backfill):
            source = replace(definition, options=_located(definition.options, "path"))
            if backfill is not None:
                history = replace(backfill.history, options=_located(backfill.history.options, "path"))
                source = replace(source, backfill=replace(backfill, history=history))
            if late is None:
                return source
            return replace(source, late_rows=replace(late, options=_located(late.options, "path")))
        case Sink():
            return replace(definition, options=_located(definition.options, "path"))
        case RegisteredQuery():
            return replace(definition, options=_located(definition.options, "checkpoint"))
        case MaterializedView(query=query):
            query = replace(query, options=_located(query.options, "checkpoint"))
            return replace(definition, options=_located_store(definition.options), query=query)
        case ViewGroup(options=options, store=store):
            return replace(definition, options=_located(options, "checkpoint"), store=_located_store(store))
    return definition


def local_path(path: str) -> str:
    """Return a local path as an absolute one, with neither `file:` nor `~`.

    >>> local_path("file:///data/./x")
    '/data/x'
    """
    return os.path.abspath(os.path.expanduser(re.sub(r"^file:(//)?", "", path)))


def checkpoint_location(folder: str | Path) -> str:
    """Return the location of a checkpoint: an absolute local path, or a URI of a Hadoop file system.

    Raises NotSupportedError for a file system without the guarantees that a checkpoint needs.
    """
    location = str(folder)
    if is_local(location):
        return local_path(location)
    scheme, path = urlparse(location).scheme, urlparse(location).path
    if scheme not in (*_ATOMIC, *_CONDITIONAL):
        raise NotSupportedError(
            f"a checkpoint on {scheme}: is not supported: {folder}; it needs names that only one process gets, which "
            "this file system does not promise",
            hint="a path of a local file system, or of a shared one that is mounted, such as NFS, or hdfs://host/path, "
            "or s3a://bucket/path",
        )
    if scheme in _CONDITIONAL and not path.strip("/"):
        raise NotSupportedError(f"a checkpoint cannot be a whole bucket: {folder}", hint=f"{scheme}://bucket/path")
    return location.rstrip("/") if path.strip("/") else location


def is_local(location: str) -> bool:
    """Tell whether a location is a local path, not a URI of another file system."""
    return urlparse(location).scheme in ("", "file")


def is_hidden(name: str) -> bool:
    """Tell whether Spark ignores a file or folder with this name, as Hadoop's tools do.

    >>> [is_hidden(name) for name in ("_SUCCESS", ".a.csv.crc", "_k=1", "a.csv")]
    [True, True, False, False]
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def is_object_store(location: str) -> bool:
    """Tell whether a location is in an object store that can hold a checkpoint."""
    return urlparse(location).scheme in _CONDITIONAL


def _located(options: tuple[tuple[str, str], ...], key: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, _absolute(value) if name.lower() == key else value) for name, value in options)


def _located_store(options: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _store_address(value) if name == "store" else value) for name, value in options)


def _store_address(store: str) -> str:
    if not store.startswith(SQLITE_URL) or store == SQLITE_URL:
        return store
    return SQLITE_URL + _absolute(store.removeprefix(SQLITE_URL))


def _absolute(path: str) -> str:
    if not is_local(path) or path.startswith("${"):
        return path
    absolute = local_path(path)
    return absolute + "/" if path.endswith("/") and absolute != "/" else absolute
