"""Files of a state: large state by key is stored beside the state, which has only the names of the files.

A file is never changed. A file that the state no longer needs stays for some micro-batches, because the last
micro-batch may be repeated, and others may be reading; files of failed micro-batches are removed then, too. As with
Spark's own state, files are not synced to disk; a checksum detects what a loss of power has damaged.
"""

import functools
import os
import struct
import uuid
import zlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.ordered.keyed.keyed_rows import KeyedRows
from cepsql.ordered.keyed.level import Level, read_level, write_level

_LASTING = 4
"""How many micro-batches an unused file stays."""

_SEPARATOR = "-"


@dataclass(frozen=True)
class StateFolder:
    """The folder of the files of states.

    path:   of the folder.
    writes: whether new files may be written there; otherwise all state is inline.
    least:  the least size of a file in bytes; smaller levels are inline.
    """

    path: Path
    writes: bool = True
    least: int = 2**18


@dataclass(frozen=True)
class FileLog:
    """A state's record of its files.

    id:     the prefix of their names; empty before the first micro-batch.
    turn:   the number of micro-batches so far.
    unused: the names of unused files, each with the turn since when.
    """

    id: str = ""
    turn: int = 0
    unused: tuple[tuple[str, int], ...] = ()


NO_FILES = FileLog()
"""The log before the first micro-batch."""


def open_level(folder: StateFolder | None, name: str, checksum: int) -> Level:
    """Read a level from a file; raises OperationalError if the file is missing or damaged."""
    if folder is None:
        raise OperationalError(
            f"the state has rows in the file {name} of its checkpoint, which tasks do not reach here",
            hint="put the checkpoint into a folder of the machine that runs the query",
        )
    path = folder.path / name
    try:
        _check(path, checksum, os.stat(path).st_mtime_ns)
        return replace(read_level(_mapped(path)), file=name, checksum=checksum)
    except (OSError, struct.error, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise OperationalError(
            f"the file {path} of the checkpoint cannot be read: {reason or 'it is damaged'}",
            hint="put the folder back from a copy, or use another checkpoint folder and replay the input",
        ) from error


@functools.lru_cache(maxsize=4096)
def _check(path: Path, checksum: int, written: int) -> None:
    """Raise ValueError if a file is damaged. Each process reads the whole file once after it was written."""
    if zlib.crc32(_mapped(path)) != checksum:
        raise ValueError(f"{path} is damaged")


def _mapped(path: Path) -> pa.Buffer:
    with pa.memory_map(os.fspath(path)) as file:
        return file.read_buffer()


def put_away(
    keyed: KeyedRows, before: Collection[str], log: FileLog, folder: StateFolder | None
) -> tuple[KeyedRows, FileLog]:
    """Write large levels to files; return the state, whose levels each have bytes or a file, and the log.

    before: the names of the files of the previous state. Raises OperationalError if a file cannot be written.
    """
    log = replace(log, id=log.id or uuid.uuid4().hex, turn=log.turn + 1)
    keyed = replace(keyed, levels=tuple(_settled(level, log, folder) for level in keyed.levels))
    needed = {level.file for level in keyed.levels}
    unused = [*log.unused, *((name, log.turn) for name in before if name not in needed)]
    log = replace(log, unused=tuple(unused))
    if folder is not None and folder.writes and log.turn % _LASTING == 0:
        log = _swept(log, needed, folder.path)
    return keyed, log


def _settled(level: Level, log: FileLog, folder: StateFolder | None) -> Level:
    """Return a level that has bytes, or a file."""
    if level.data is not None:
        return level
    if folder is None or not folder.writes or level.nbytes < folder.least:
        sink = pa.BufferOutputStream()
        write_level(level, sink)
        return replace(level, data=sink.getvalue())
    name = _SEPARATOR.join([log.id, str(log.turn), uuid.uuid4().hex[:8]])
    path = folder.path / name
    try:
        # The checkpoint exists, unless its disk was unmounted.
        folder.path.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        with pa.OSFile(os.fspath(path), "wb") as sink:
            write_level(level, sink)
    except OSError as error:
        with suppress(OSError):
            os.remove(path)
        raise OperationalError(
            f"the file {path} of the checkpoint cannot be written: {error.strerror or error}",
            hint="the query goes on with this batch once the disk has room, and the folder can be written",
        ) from error
    data = _mapped(path)
    return replace(read_level(data), file=name, checksum=zlib.crc32(data))


def _swept(log: FileLog, needed: Collection[str | None], folder: Path) -> FileLog:
    """Remove files that have been unused for long, and files of failed micro-batches, which are in no log."""
    recent = tuple((name, turn) for name, turn in log.unused if turn > log.turn - _LASTING)
    stay = {name for name, _ in recent} | set(needed)
    with suppress(OSError):
        for name in os.listdir(folder):
            id, *rest = name.split(_SEPARATOR)
            if id == log.id and name not in stay and int(rest[0]) <= log.turn - _LASTING:
                os.remove(folder / name)
    return replace(log, unused=recent)
