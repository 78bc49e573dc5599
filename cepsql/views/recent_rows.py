"""The last rows of a standing query, in a folder beside the catalog: its process writes them, other processes read.

A batch is one Arrow file, which appears atomically. `state.json` says which batches are there without a gap. A reader
that follows touches a file again and again; meanwhile, whole batches are written, even for a query with a sink.
"""

import contextlib
import json
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.views.view_subscription import Changes, position_token, token_point

LOGGER = logging.getLogger("cepsql")

USUALLY_KEPT = 1000
"""Rows that a query without a sink keeps unless OPTIONS (keep_last ...) says otherwise."""

_FOLLOWED_ROWS = 100_000
"""Rows that are kept for slow readers that follow."""

_FOLLOWED_SECONDS = 10.0
"""A reader that has not touched its file for this long is gone."""

_TOUCH_SECONDS = 1.0
"""How often it touches the file."""

_STATE, _WATCHED = "state.json", "watched"


@dataclass(frozen=True)
class _State:
    """The content of `state.json`.

    series:  distinguishes these batches from those of another checkpoint.
    columns: names and Spark types.
    first, last: the batches that are complete; a batch without a file has no rows.
    """

    series: str
    columns: tuple[tuple[str, str], ...]
    first: int
    last: int


def _read_state(folder: Path) -> _State | None:
    try:
        fields = json.loads((folder / _STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return _State(fields["series"], tuple((n, k) for n, k in fields["columns"]), fields["first"], fields["last"])


@dataclass(frozen=True)
class _File:
    path: Path
    batch: int
    rows: int


def _files(folder: Path) -> list[_File]:
    """Return the files of batches, in order."""
    files = []
    for path in folder.glob("*.arrow"):
        batch, _, rows = path.stem.partition("-")
        files.append(_File(path, int(batch), int(rows)))
    return sorted(files, key=lambda file: file.batch)


class LastRows:
    """The folder as the process of the query writes it. A folder that cannot be written does not stop a batch.

    most:   how many rows are kept; 0: only those that a reader follows.
    series: distinguishes the batches from those of another checkpoint, such as its id.
    """

    def __init__(self, folder: Path, most: int, series: str = ""):
        self._folder, self.most, self._series = folder, most, series
        self._warned = False

    def of(self, series: str) -> "LastRows":
        """Return the folder for the batches of a checkpoint."""
        return LastRows(self._folder, self.most, series)

    @property
    def followed(self) -> bool:
        """Whether a reader follows, and so needs all rows."""
        try:
            seen = (self._folder / _WATCHED).stat().st_mtime
        except OSError:
            return False
        return time.time() - seen < _FOLLOWED_SECONDS

    def keep(
        self,
        batch: int,
        columns: Iterable[tuple[str, str]],
        tables: Iterable[pa.Table],
        whole: bool,
        followed: bool,
    ) -> None:
        """Keep the rows of a batch, which may come again.

        whole:    these are all rows of the batch; else the last ones.
        followed: a reader followed when the batch came.
        """
        try:
            self._keep(batch, tuple(columns), tables, whole, _FOLLOWED_ROWS if followed else max(self.most, 1))
        except OSError as error:
            if not self._warned:
                LOGGER.warning("the last rows of a query cannot be kept in %s: %s", self._folder, error.strerror)
            self._warned = True

    def _keep(
        self, batch: int, columns: tuple[tuple[str, str], ...], tables: Iterable[pa.Table], whole: bool, most: int
    ) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        state = _read_state(self._folder)
        if state is not None and (state.series, state.columns) != (self._series, columns):
            state = None
        files = []
        for file in _files(self._folder):
            if state is None or file.batch == batch:
                file.path.unlink(missing_ok=True)
            else:
                files.append(file)
        if (written := self._write(batch, tables)) is not None:
            files = sorted([*files, written], key=lambda file: file.batch)
        if not whole:
            first = batch + 1
        elif state is None or batch > state.last + 1:
            first = batch
        else:
            first = min(state.first, batch)
        last = batch if state is None else max(batch, state.last)
        rows, old = sum(file.rows for file in files), []
        for file in files[:-1]:
            if rows - file.rows < most:
                break
            rows -= file.rows
            old.append(file)
            first = max(first, file.batch + 1)
        self._save(_State(self._series, columns, first, last))
        for file in old:
            file.path.unlink(missing_ok=True)

    def _write(self, batch: int, tables: Iterable[pa.Table]) -> _File | None:
        """Write the file of a batch, and return it; None for no rows."""
        hidden, rows, writer = self._folder / f".{batch}", 0, None
        for table in tables:
            if table.num_rows:
                writer = writer or pa.ipc.new_file(str(hidden), table.schema)
                writer.write_table(table)
                rows += table.num_rows
        if writer is None:
            return None
        writer.close()
        return _File(hidden.rename(self._folder / f"{batch:012d}-{rows}.arrow"), batch, rows)

    def _save(self, state: _State) -> None:
        hidden = self._folder / f".{_STATE}"
        hidden.write_text(json.dumps(asdict(state)), "utf-8")
        hidden.replace(self._folder / _STATE)


def kept_rows(folder: Path, most: int) -> tuple[tuple[tuple[str, str], ...], pa.Table] | None:
    """Return the columns of the kept rows and the last of these rows, None without any."""
    state = _read_state(folder)
    if state is None:
        return None
    with contextlib.suppress(FileNotFoundError):
        tables = [_table(file.path) for file in _files(folder)]
        if not tables:
            return state.columns, pa.table({name: pa.nulls(0) for name, _ in state.columns})
        rows = pa.concat_tables(tables)
        return state.columns, rows.slice(max(0, rows.num_rows - most))
    return kept_rows(folder, most)


def _table(path: Path) -> pa.Table:
    with pa.ipc.open_file(pa.py_buffer(path.read_bytes())) as file:
        return file.read_all()


class LastRowsFollower:
    """Follows the rows of a query from now on, or from a token on; `poll` yields new rows.

    name: the name of the query, for messages.
    last: up to this many kept rows come first, unless there is a token.
    Raises ProgrammingError for a token that is wrong, OperationalError for one that is too old.
    """

    def __init__(self, folder: Path, name: str, since: str | None = None, last: int = 0):
        self._folder, self._name, self._looks = folder, name, last
        self.file: str | None = str(folder / _STATE)
        self._series: str | None = None
        self._last: int | None = None
        self.columns: list[tuple[str, str]] = []
        # The first rows may follow a gap in which no reader followed.
        self._fresh = since is None
        self._touch()
        self._touched = time.monotonic()
        state = _read_state(folder)
        if since is not None and state is None:
            raise OperationalError(f"of query {name} no rows are kept since that token")
        if state is not None:
            self.columns = list(state.columns)
            self._series = state.series
            self._last = state.last if since is None else token_point(since, state.series, name)[0]
            if since is not None:
                self._check(state)

    def poll(self) -> Iterator[Changes]:
        """Yield the rows since the last call, batch by batch; errors as of the class."""
        if (now := time.monotonic()) - self._touched > _TOUCH_SECONDS:
            self._touch()
            self._touched = now
        state = _read_state(self._folder)
        if state is None:
            return
        if self._fresh and self._looks and state.series == self._series:
            looks, self._looks = self._looks, 0
            if (last_rows := kept_rows(self._folder, looks)) is not None and last_rows[1].num_rows:
                yield Changes(last_rows[1], position_token(state.series, self._last or 0), snapshot=True)
                return
        if self._fresh and (state.series != self._series or state.last != self._last):
            if state.series != self._series:
                self._last = state.first - 1
            assert self._last is not None
            self._series, self._last, self._fresh = state.series, max(self._last, state.first - 1), False
        self._check(state)
        assert self._last is not None
        self.columns = list(state.columns)
        if state.last == self._last:
            return
        for file in _files(self._folder):
            if self._last < file.batch <= state.last:
                try:
                    rows = _table(file.path)
                except FileNotFoundError:
                    # It came again, or is too old by now.
                    return
                self._last = file.batch
                yield Changes(rows, position_token(state.series, file.batch))
        self._last = max(self._last, state.last)

    def _check(self, state: _State) -> None:
        if state.series != self._series:
            raise OperationalError(
                f"query {self._name} was started with a new checkpoint",
                hint=f"SUBSCRIBE {self._name} without SINCE follows it from now on",
            )
        assert self._last is not None
        if self._last + 1 < state.first and not self._fresh:
            raise OperationalError(
                f"the rows of query {self._name} since batch {self._last} are older than those that are kept",
                hint=f"SUBSCRIBE {self._name} without SINCE continues from now; a reader that never stops misses none",
            )
        if self._last > state.last:
            raise OperationalError(f"query {self._name} has not come as far as that token")

    def _touch(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _WATCHED).touch()
        except OSError as error:
            raise OperationalError(
                f"the rows of query {self._name} cannot be asked for in {self._folder}: {error.strerror}"
            ) from error
