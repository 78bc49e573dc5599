"""Files of a state: what is remembered of many keys lies beside the state, which has only the names of the files.

A file is never changed. One that the state needs no more stays for some micro-batches, since the one before may be done
again, and others may be reading; what a micro-batch that failed has left goes then, too. As with Spark's own states,
nobody waits until a file is on the disk; the checksum shows what a loss of power has damaged.
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
"""For so many micro-batches a file stays that is not needed any more."""

_SEPARATOR = "-"


@dataclass(frozen=True)
class StateFolder:
    """Where the files of states are.

    path: of the folder.
    writes: whether further files may be written there; else states have all themselves.
    least:  how many bytes are written into a file; fewer stay in the state.
    """

    path: Path
    writes: bool = True
    least: int = 2**18


@dataclass(frozen=True)
class FileLog:
    """What a state knows of its files.

    id:     what their names begin with; empty before the first micro-batch.
    turn:   how many micro-batches there were.
    unused: the names of files that are not needed any more, with the turn since when.
    """

    id: str = ""
    turn: int = 0
    unused: tuple[tuple[str, int], ...] = ()


NO_FILES = FileLog()
"""Of a state before the first micro-batch."""


def open_level(folder: StateFolder | None, name: str, checksum: int) -> Level:
    """Return what is in a file; raises OperationalError if it is not there, or is damaged."""
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
    """Raise ValueError if a file is damaged. Each process reads all of it for that, once after it was written."""
    if zlib.crc32(_mapped(path)) != checksum:
        raise ValueError(f"{path} is damaged")


def _mapped(path: Path) -> pa.Buffer:
    with pa.memory_map(os.fspath(path)) as file:
        return file.read_buffer()


def put_away(
    kept: KeyedRows, before: Collection[str], log: FileLog, folder: StateFolder | None
) -> tuple[KeyedRows, FileLog]:
    """Write what is large into files; return what is kept then, each part with its bytes or its file, and the log.

    before: the names of the files of the state before. Raises OperationalError where a file cannot be written.
    """
    log = replace(log, id=log.id or uuid.uuid4().hex, turn=log.turn + 1)
    kept = replace(kept, levels=tuple(_settled(level, log, folder) for level in kept.levels))
    needed = {level.file for level in kept.levels}
    unused = [*log.unused, *((name, log.turn) for name in before if name not in needed)]
    log = replace(log, unused=tuple(unused))
    if folder is not None and folder.writes and log.turn % _LASTING == 0:
        log = _swept(log, needed, folder.path)
    return kept, log


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
        # The checkpoint around it is there, unless its disk went away.
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
    """Remove files that have not been needed for long; of its own names one is needed, in the log, or of a micro-batch
    that failed."""
    recent = tuple((name, turn) for name, turn in log.unused if turn > log.turn - _LASTING)
    stay = {name for name, _ in recent} | set(needed)
    with suppress(OSError):
        for name in os.listdir(folder):
            id, *rest = name.split(_SEPARATOR)
            if id == log.id and name not in stay and int(rest[0]) <= log.turn - _LASTING:
                os.remove(folder / name)
    return replace(log, unused=recent)
