"""Writes batches to a sink as Spark would, without Spark, in a process that is killed again and again.

`writing.py FOLDER FORMAT BATCHES KILLS SEED` says how many kills there were. A batch is written, then FOLDER/committed
says so; the process after one that was killed goes on with the first batch that is not committed. So a sink can be cut
short hundreds of times in the time that a JVM takes to start.

While a view is written, others read it and follow it, now and then with their last token alone.
"""

import itertools
import json
import os
import random
import signal
import sys
import time
import traceback
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq

import cepsql.sinks.files
from cepsql.catalog import ColumnDefinition, MaterializedView, RegisteredQuery, Sink
from cepsql.catalog.view_store import ViewFile, view_sink, view_source
from cepsql.errors import OperationalError
from cepsql.sinks import WriterIdentity, open_sink
from cepsql.spark.frames.pieces import PieceCollector
from cepsql.views.snapshot import Wanted, read_views
from cepsql.views.view_subscription import ViewFollower

COLUMNS = [("id", "bigint"), ("text", "string")]
ROWS = 40
PARTS = 3
LONGEST_LIFE_SECONDS = 0.4
RETURNS = 0.2
"""The share of looks after which one who follows goes, and comes back."""


def rows(batch: int, part: int) -> pa.Table:
    """Return the rows of a task in a batch."""
    first = (batch * PARTS + part) * ROWS
    return pa.table(
        {"id": pa.array(range(first, first + ROWS)), "text": [f"row {n}" for n in range(first, first + ROWS)]}
    )


class Frame:
    """As much of a DataFrame as sinks use: its columns, and a writer that makes files as Spark does."""

    def __init__(self, batch: int):
        self.batch = batch
        self.columns = [name for name, _ in COLUMNS]
        self.schema = type("Schema", (), {"fields": [_field(*column) for column in COLUMNS]})
        self.write = self

    def observe(self, observed, *_):
        observed.get = {"rows": ROWS * PARTS}
        return self

    def format(self, _):
        return self

    def options(self, **_):
        return self

    def mode(self, _):
        return self

    def partitionBy(self, *_):
        return self

    def save(self, uri: str) -> None:
        folder = Path(urlparse(uri).path)
        folder.mkdir(parents=True, exist_ok=True)
        for part in range(PARTS):
            name = f"part-{part:05}-00000000-0000-0000-0000-00000000000{self.batch % 10}-c000.snappy.parquet"
            pq.write_table(rows(self.batch, part), folder / name)


class Pieces:
    """The rows of a batch as `cepsql.spark.frames.pieces.PieceCollector` gives them."""

    def __init__(self, frame: Frame):
        self.frame, self.rows = frame, ROWS * PARTS

    def __enter__(self) -> "Pieces":
        return self

    def __exit__(self, *exception) -> None:
        """There is nothing to remove."""

    def __iter__(self) -> Iterator[pa.Table]:
        return (rows(self.frame.batch, part) for part in range(PARTS))


def view_of(folder: Path, format: str) -> MaterializedView:
    """Return the view of a run that writes to one."""
    store = f"sqlite:///{folder}/out.db" if format == "view" else os.environ["FAULTS_POSTGRESQL"]
    columns = tuple(ColumnDefinition(name, kind) for name, kind in COLUMNS)
    query = RegisteredQuery(folder.name, None, "")
    return MaterializedView(folder.name, query, columns, ("id",), ("text",), (("store", store),), id="view")


class Reader:
    """Reads and follows a view."""

    def __init__(self, folder: Path, format: str, chance: random.Random):
        self._view = view_source(view_of(folder, format), ViewFile(None, True))
        self._chance = chance
        self._follower: ViewFollower | None = None
        self._token: str | None = None
        self.rows = 0

    def look(self) -> None:
        """Raise AssertionError if a reader sees other rows than those of the batches up to its position, or one that
        follows gets a row twice, too early or never."""
        try:
            (view_rows,) = read_views([Wanted(self._view, ("id",))])
            assert view_rows.rows.num_rows == (view_rows.position.batch + 1) * PARTS * ROWS, view_rows.position
            self.follow()
            if self._chance.random() < RETURNS:
                self._follower = None
        except OperationalError as error:
            assert "has never run" in error.message, error

    def follow(self) -> None:
        """Take what is new, as one who goes on where it is, or has come back with its token."""
        self._follower = self._follower or ViewFollower(self._view, self._token)
        for changes in self._follower.poll():
            assert set(changes.rows["op"].to_pylist()) <= {"+I"}, changes
            ids = sorted(changes.rows["id"].to_pylist())
            assert ids == list(range(self.rows, self.rows + len(ids))), (self.rows, ids[:3], len(ids), changes.token)
            self.rows, self._token = self.rows + len(ids), changes.token
            assert self.rows % (PARTS * ROWS) == 0, (self.rows, changes.token)


def sink_of(folder: Path, format: str) -> Sink:
    """Return the sink of a run."""
    if format.startswith("view"):
        return view_sink(view_of(folder, format), ViewFile(None, True))
    place = {"parquet": ("path", f"{folder}/out"), "sqlite": ("path", f"{folder}/out.db")}.get(format)
    options = [place or ("url", os.environ["FAULTS_POSTGRESQL"])]
    if format != "parquet":
        options += [("table", folder.name), ("create_table", "true")]
    return Sink("out", (), format, tuple(options))


def write(folder: Path, format: str, batches: int, epoch: int) -> None:
    """Write the batches that are not committed."""
    committed = folder / "committed"
    last = json.loads(committed.read_text()) if committed.exists() else -1
    sink = open_sink(sink_of(folder, format), WriterIdentity("q", epoch, "checkpoint"))
    sink.check(COLUMNS)
    sink.claim()
    for batch in range(last + 1, batches):
        sink.accept(Frame(batch), batch)
        (folder / "committed.new").write_text(json.dumps(batch))
        os.replace(folder / "committed.new", committed)


def main(folder: Path, format: str, batches: int, kills: int, seed: str) -> int:
    """Write all batches in processes of which so many are killed; return how many were."""
    chance = random.Random(seed)
    reader = Reader(folder, format, chance) if format.startswith("view") else None
    for killed in itertools.count():
        child = os.fork()
        if child == 0:
            try:
                write(folder, format, batches, epoch=killed + 1)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if killed < kills:
            end = time.monotonic() + chance.uniform(0, LONGEST_LIFE_SECONDS)
            while reader is not None and time.monotonic() < end:
                reader.look()
            time.sleep(max(0.0, end - time.monotonic()))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            if reader is not None:
                reader.follow()
                assert reader.rows == batches * PARTS * ROWS, reader.rows
            return killed
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            sys.exit(1)
    raise AssertionError


def _field(name: str, kind: str):
    return type("Field", (), {"name": name, "dataType": type("Type", (), {"simpleString": lambda _: kind})()})()


if __name__ == "__main__":
    cepsql.sinks.files.Observation = lambda: type("Observed", (), {})()
    cepsql.sinks.files.F = unittest.mock.MagicMock()
    PieceCollector.collect = lambda _, frame, writer=None: Pieces(frame)
    print(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
