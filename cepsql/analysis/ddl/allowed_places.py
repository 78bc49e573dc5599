"""Which paths and addresses lie within places that are allowed."""

import glob
import os
import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_GLOB = re.compile(r"[*?]")
_UNCLEAR = re.compile(r"[\[\]{}\\]|%2e|%2f|%5c|[\x00-\x1f\x7f]", re.IGNORECASE)
"""What Hadoop expands to other paths, and what programs read differently."""
_QUERY_OF_DATABASES = re.compile(r"(?:(?:sslmode|connect_timeout|application_name)=[\w.-]*&?)*")


def is_allowed_path(path: str, places: Iterable[str]) -> bool:
    """Tell whether a path of this machine, with or without `file:`, or of another file system, lies in a place.

    The real path counts, behind symbolic links; it must be absolute, without `..`, and have no wildcards but * and ?.

    >>> is_allowed_path("/data/in/*.csv", ["/data"]), is_allowed_path("/data/../etc", ["/data"])
    (True, False)
    >>> is_allowed_path("s3a://bucket/in", ["s3a://bucket"]), is_allowed_path("s3a://bucket2/in", ["s3a://bucket"])
    (True, False)
    """
    if _UNCLEAR.search(path) or ".." in path.split("/") or path != path.strip():
        return False
    local = re.sub(r"file:(?://(?=/))?(?=/)", "", path) if path.startswith("file:") else path
    if local.startswith("/") and not local.startswith("//"):
        folders = [os.path.realpath(place) for place in places if place.startswith("/")]
        wild = _GLOB.search(local)
        # Wildcards may meet a symbolic link.
        paths = [local] if wild is None else [local[: wild.start()], *glob.iglob(local, include_hidden=True)]
        return all(any(_is_below(os.path.realpath(one), folder) for folder in folders) for one in paths)
    if not _SCHEME.match(path):
        return False
    asked = urlsplit(path)
    return (
        bool(asked.netloc)
        and not asked.query
        and not asked.fragment
        and any(_is_within(asked, asked.netloc, place) for place in places)
    )


def is_allowed_address(url: str, places: Iterable[str]) -> bool:
    """Tell whether a web address, or that of a database, begins with one of some places. Who logs in does not matter.

    >>> is_allowed_address("https://h/hooks/1?x=y", ["https://h/hooks"]), is_allowed_address("https://h.x/", ["https://h"])
    (True, False)
    >>> is_allowed_address("postgresql://u:pw@h:5432/d", ["postgresql://h:5432/d"])
    True
    """
    if _UNCLEAR.search(url):
        return False
    try:
        asked = urlsplit(url)
        # What stands behind the last @ is the host for some, behind the first for others.
        host = asked.netloc.rpartition("@")[2]
        database = asked.scheme not in ("http", "https")
        if not host or asked.netloc.count("@") > database or ".." in asked.path.split("/"):
            return False
    except ValueError:
        return False
    if database and not _QUERY_OF_DATABASES.fullmatch(asked.query):
        return False
    return any(_is_within(asked, host, place) for place in places)


def _is_within(asked: SplitResult, host: str, place: str) -> bool:
    allowed = urlsplit(place)
    # A driver may be named behind +, as in postgresql+psycopg.
    same = asked.scheme.partition("+")[0] == allowed.scheme.partition("+")[0] and host.lower() == allowed.netloc.lower()
    return bool(allowed.netloc) and same and _is_below(asked.path, allowed.path)


def _is_below(path: str, folder: str) -> bool:
    folder = folder.rstrip("/")
    return path == folder or path.startswith(f"{folder}/")
