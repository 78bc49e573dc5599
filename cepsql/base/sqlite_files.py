"""Files of SQLite that are there: none is made where one is missing, such as one whose disk has just gone."""

import sqlite3
from urllib.parse import quote


def sqlite_address(path: str, writes: bool) -> str:
    """Return the address of a file for `sqlite3.connect(..., uri=True)`."""
    return f"file:{quote(path)}?mode={'rw' if writes else 'ro'}"


def sqlite_connection(path: str, writes: bool, seconds: float) -> sqlite3.Connection:
    """Open a file for any thread, without transactions that Python begins; raises sqlite3.Error.

    seconds: how long a statement waits for others.
    """
    address = sqlite_address(path, writes)
    return sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None, check_same_thread=False)


def double_quoted(name: str) -> str:
    """Return a name as SQLite and PostgreSQL take it.

    >>> double_quoted('a "b" c')
    '"a ""b"" c"'
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
