"""Paths in definitions that are kept: another process, in another folder, must find the same files."""

import os
import re
from dataclasses import replace
from urllib.parse import urlparse

from cepsql.catalog import Definition, RegisteredQuery, Sink, Source


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


def _located(options: tuple[tuple[str, str], ...], key: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, _absolute(value) if name.lower() == key else value) for name, value in options)


def _absolute(path: str) -> str:
    if urlparse(path).scheme not in ("", "file") or path.startswith("${"):
        return path
    plain = re.sub(r"^file:(//)?", "", path)
    absolute = os.path.abspath(os.path.expanduser(plain))
    return absolute + "/" if plain.endswith("/") and absolute != "/" else absolute
