"""Paths in definitions that are kept: another process, in another folder, must find the same files."""

import os
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlparse

from cepsql.catalog import Definition, RegisteredQuery, Sink, Source
from cepsql.errors import NotSupportedError


def located(definition: Definition) -> Definition:
    """Return a definition whose local paths are absolute.

    >>> located(Sink("s", (), "json", (("path", "/x/../y"),))).options
    (('path', '/y'),)
    """
    match definition:
        case Source(late_rows=late, backfill=backfill):
            known = replace(definition, options=_located(definition.options, "path"))
            if backfill is not None:
                history = replace(backfill.history, options=_located(backfill.history.options, "path"))
                known = replace(known, backfill=replace(backfill, history=history))
            if late is None:
                return known
            return replace(known, late_rows=replace(late, options=_located(late.options, "path")))
        case Sink():
            return replace(definition, options=_located(definition.options, "path"))
        case RegisteredQuery():
            return replace(definition, options=_located(definition.options, "checkpoint"))
    return definition


def local_path(path: str) -> str:
    """Return a path of this machine as an absolute one, with neither `file:` nor `~`.

    >>> local_path("file:///data/./x")
    '/data/x'
    """
    return os.path.abspath(os.path.expanduser(re.sub(r"^file:(//)?", "", path)))


def checkpoint_folder(given: str | Path) -> Path:
    """Return the folder of a checkpoint; raises NotSupportedError if it is not on a local or mounted file system."""
    scheme = urlparse(str(given)).scheme
    if scheme not in ("", "file"):
        raise NotSupportedError(
            f"a checkpoint on {scheme}: is not supported: {given}",
            hint="a path of a local file system, or of a shared one that is mounted, such as NFS",
        )
    return Path(local_path(str(given)))


def _located(options: tuple[tuple[str, str], ...], key: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, _absolute(value) if name.lower() == key else value) for name, value in options)


def _absolute(path: str) -> str:
    if urlparse(path).scheme not in ("", "file") or path.startswith("${"):
        return path
    absolute = local_path(path)
    return absolute + "/" if path.endswith("/") and absolute != "/" else absolute
