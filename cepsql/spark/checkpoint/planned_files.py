"""Which files the micro-batches of a checkpoint have: Spark's log of each source, and where a batch ends in it."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import ParseResult, unquote, urlparse

from cepsql.errors import OperationalError
from cepsql.readers.scan.damaged import WHOLE_FILE
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, remove_checksum, write_whole
from cepsql.spark.jvm.hadoop_path import HadoopFiles
from cepsql.spark.jvm.messages.folder_names import refuse_mixed_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENTRY = re.compile(rb'^\{"path":".*"batchId":(\d+)[^"]*$')
_TIME = re.compile(rb'"timestamp":(\d+)')
PATTERN = re.compile(r"[\[\]{}*?\\]")
"""What Spark takes for a pattern in the path of a file."""

_NAMED = 3
"""So many files are named at most."""


@dataclass(frozen=True)
class SourceLog:
    """A file of Spark's log of the files of a source.

    number:  of the file; one that ends with .compact has the entries of all before it, too.
    version: its first line.
    entries: its other lines, each with the number of the log's file that it came with.
    """

    place: CheckpointPath
    number: int
    version: bytes
    entries: tuple[tuple[bytes, int], ...]


def read_log(place: CheckpointPath) -> SourceLog | None:
    """Return a file of the log of a source, None if it is one of another kind of source, damaged, or not there."""
    try:
        version, *lines = place.read_bytes().splitlines() or [b""]
    except FileNotFoundError:
        return None
    # There may be a hundred thousand lines.
    entries = [(line, int(number)) for line in lines for number in _ENTRY.findall(line)]
    return SourceLog(place, int(place.stem), version, tuple(entries)) if len(entries) == len(lines) > 0 else None


def file_of(entry: bytes) -> ParseResult:
    """Return where the file of an entry lies; its path is not escaped any more."""
    place = urlparse(json.loads(entry)["path"])
    return place._replace(path=unquote(place.path))


def changed_at(entry: bytes) -> int | None:
    """Return when the file of an entry had been changed as Spark found it, in milliseconds; None if it does not say."""
    times = _TIME.findall(entry)
    return int(times[-1]) if times else None


def rewrite_log(log: SourceLog, entries: list[bytes]) -> None:
    """Let a file of the log have these entries only."""
    remove_checksum(log.place)
    write_whole(log.place, b"\n".join([log.version, *entries]))


def forget_unplanned(spark: CheckpointPath, planned: int | None) -> None:
    """Leave files out of the logs in Spark's checkpoint that no batch has, of which `planned` is the last.

    A process that was killed before it planned a batch with them leaves them there; the next batch would have them
    beside those that are its own, and other rows would be late. They are found anew.
    """
    ends = _ends(spark, planned)
    for folder in (spark / "sources").glob("[0-9]*"):
        end = -1 if planned is None else ends.get(int(folder.name))
        for place in folder.glob("[0-9]*"):
            log = read_log(place) if end is not None and int(place.stem) > end else None
            if log is None:
                continue
            if place.name.endswith(".compact"):
                rewrite_log(log, [entry for entry, number in log.entries if end is not None and number <= end])
            else:
                remove_checksum(place)
                place.unlink()


class PlannedFiles:
    """The files of the batches of Spark's checkpoint, one batch after another.

    session: reaches files that are not of this machine.
    may_be_empty: tells whether a file of that path, if it has no bytes, is as it shall be, as one of CSV is.
    look: is given the paths of the files of this machine that a batch is about to read.
    """

    def __init__(
        self,
        spark: CheckpointPath,
        session: "SparkSession",
        may_be_empty: Callable[[str], bool] = lambda _: True,
        look: Callable[[Iterable[str]], None] = lambda _: None,
    ):
        self._spark, self._session, self._may_be_empty, self._look = spark, session, may_be_empty, look
        self._own = f"{urlparse(str(spark.parent)).path}/"
        self._last: tuple[int, dict[int, int | None]] | None = None

    def check(self, batch: int, again: bool = False) -> list[str]:
        """Return files of this machine that a batch has and that are gone: Spark passes them over.

        again: the batch was planned by an earlier start, and is done again.
        Raises OperationalError if that has not the files any more that it had, for a batch in which Spark would read
        files twice: it does where the path of one of several looks like a pattern, for one with a file that is not
        written yet, which Spark would take for read, and for one with files in folders named like key=value and others.
        """
        if self._last is None or self._last[0] != batch - 1:
            self._last = batch - 1, _ends(self._spark, batch - 1 if batch else None)
        begins, ends = self._last[1], _ends(self._spark, batch)
        gone: list[str] = []
        for source, end in ends.items():
            begin = begins.get(source, -1)
            if end is None or begin is None or end <= begin:
                continue
            listed = [file_of(entry) for entry in _entries(self._spark / "sources" / str(source), begin, end)]
            # What ends the input, or is a heartbeat, may come twice.
            files = [file for file in listed if not file.path.startswith(self._own)]
            wrong = next((file.path for file in files if PATTERN.search(file.path)), None)
            if wrong is not None and len(files) > 1:
                raise OperationalError(
                    f"a micro-batch has {len(files)} files, and Spark takes the name of one for a pattern, so that it "
                    f"would read files of this batch twice: {wrong}",
                    hint="rename it, without any of [ ] { } * ? \\, and start the query again",
                )
            refuse_mixed_files(file.path for file in files if _is_here(file))
            sizes = {file.path: _size(file.path) for file in files if _is_here(file)}
            unwritten = next((path for path, size in sizes.items() if size == 0 and not self._may_be_empty(path)), None)
            if unwritten is not None:
                raise OperationalError(f"{unwritten} cannot be read: it is empty, not written yet", hint=WHOLE_FILE)
            gone += (path for path, size in sizes.items() if size is None)
            self._look(sizes)
            if again:
                gone += _gone_elsewhere(files, self._session)
        if gone and again:
            raise OperationalError(
                f"the micro-batch that was cut short is done again, and files of it are gone: {named(gone)}",
                hint="put them back; to continue without their rows, put files without rows in their place",
            )
        self._last = batch, ends
        return gone


def named(files: Sequence[str]) -> str:
    """Return the names of some files for a message, of many those of the first ones."""
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(files[:_NAMED]) + more


def _size(path: str) -> int | None:
    """Return how many bytes a file has, None if it is not there."""
    try:
        return os.path.getsize(path)
    except OSError:
        return None


def _is_here(file: ParseResult) -> bool:
    return file.scheme in ("", "file")


def _gone_elsewhere(files: Iterable[ParseResult], session: "SparkSession") -> Iterator[str]:
    """Yield the files of other machines that are not there any more."""
    systems: dict[tuple[str, str], HadoopFiles] = {}
    for file in files:
        if _is_here(file):
            continue
        uri = file.geturl()
        if (file.scheme, file.netloc) not in systems:
            systems[file.scheme, file.netloc] = HadoopFiles(session, uri)
        if not systems[file.scheme, file.netloc].path(uri).exists():
            yield uri


def _entries(folder: CheckpointPath, begin: int, end: int) -> Iterator[bytes]:
    """Yield the entries of the files that came with the files of a log after `begin`, up to `end`."""
    for number in range(begin + 1, end + 1):
        for name in (str(number), f"{number}.compact"):
            if (log := read_log(folder / name)) is not None:
                yield from (entry for entry, came in log.entries if came == number)
                break


def _ends(spark: CheckpointPath, batch: int | None) -> dict[int, int | None]:
    """Return where each source ends with a batch: the number of a file of its log, -1 before the first, None for a
    source of another kind."""
    if batch is None:
        return {}
    try:
        lines = (spark / "offsets" / str(batch)).read_text("utf-8").splitlines()[2:]
    except FileNotFoundError:
        return {}
    return {number: _end(line) for number, line in enumerate(lines)}


def _end(line: str) -> int | None:
    if line == "-":
        return -1
    try:
        return int(json.loads(line)["logOffset"])
    except (ValueError, KeyError, TypeError):
        return None
