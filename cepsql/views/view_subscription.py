"""The rows of a view and then its changes, each with a token from which a reader can resume."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import sqlalchemy as sa

from cepsql.analysis.clauses.emit_clause import DELETE, INSERT, OPERATION, UPDATE_AFTER, UPDATE_BEFORE
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.views.journal import ChangedRow, Journal, JournalBatch
from cepsql.views.snapshot import Wanted, position_in, read_view, store_file, store_transaction
from cepsql.views.stored_values import cell_table

TOKEN = "token"
"""The column with the token of the batch to which a change belongs."""

_TOKEN = re.compile(r"([0-9a-f]{8})-(\d{1,18})(?:-(\d{1,18}))?")


@dataclass(frozen=True)
class Changes:
    """Rows that arrived together.

    rows:     the columns of the view or query; if its rows change, a last one, `op`: `+I`, `-D`, `-U` or `+U`.
    token:    resumes after these rows.
    snapshot: they are not changes, but the rows that were there.
    """

    rows: pa.Table
    token: str
    snapshot: bool = False


def position_token(whose: str, batch: int, place: int | None = None) -> str:
    """Return the token of a batch.

    whose: an id that no other series of batches has, such as the id of a checkpoint.
    place: the place of the last change up to the batch, None if changes have no places.

    >>> position_token("a checkpoint", 12), position_token("a checkpoint", 12, 40)
    ('8c51bcbc-13', '8c51bcbc-13-40')
    """
    # The batch before the first one is -1.
    token = f"{hashlib.sha256(whose.encode()).hexdigest()[:8]}-{batch + 1}"
    return token if place is None else f"{token}-{place}"


def token_point(token: str, whose: str, name: str) -> tuple[int, int | None]:
    """Return the batch of a token and the place of the last change up to it, which may be None.

    name: the name of the view or query, for the message.
    Raises ProgrammingError for a text that is not a token, or a token of other batches.
    """
    match = _TOKEN.fullmatch(token.strip())
    if match is None:
        raise ProgrammingError(
            f"'{token}' is no token", hint="SUBSCRIBE gives one with each row, such as '8c51bcbc-13'"
        )
    if match[1] != position_token(whose, 0).partition("-")[0]:
        raise ProgrammingError(
            f"the token {token} is not of the rows that {name} has now: {name} was rebuilt, or the token is another's",
            hint=f"SUBSCRIBE {name} without SINCE begins with what is there",
        )
    return int(match[2]) - 1, None if match[3] is None else int(match[3])


class ViewFollower:
    """Follows a view; `poll` yields new changes.

    since: a token; None: the rows of now come first.
    Raises OperationalError if the store does not answer, ProgrammingError for a token that is wrong or too old.
    """

    def __init__(self, view: ViewSource, since: str | None = None):
        self._view, self.file = view, store_file(view)
        self.columns = [(column.name, column.type) for column in view.columns] + [(OPERATION, "string")]
        names = [column.name for column in view.columns]
        self._key = [names.index(name) for name in view.view.key]
        self._checkpoint: str | None = None
        self._last: int | None = None
        self._place: int | None = None
        if since is not None:
            with store_transaction(view) as connection:
                self._checkpoint, newest = self._position(connection)
                self._last, self._place = token_point(since, self._checkpoint, view.name)
                journal = self._journal(connection)
                place = self._last_place(journal, newest)
                if self._last > newest or (self._place or 0) > (place or 0):
                    raise ProgrammingError(f"view {view.name} has not come as far as the token {since}")
                self._later(journal, self._last)

    def poll(self) -> Iterator[Changes]:
        """Yield the changes since the last call, batch by batch, as one moment has them; errors as of the class."""
        with store_transaction(self._view) as connection:
            checkpoint, newest = self._position(connection)
            if self._last is None:
                view_rows = read_view(connection, Wanted(self._view, tuple(name for name, _ in self.columns[:-1])))
                self._checkpoint, self._last = checkpoint, newest
                self._place = self._last_place(self._journal(connection), newest)
                rows = view_rows.rows.append_column(
                    OPERATION, pa.repeat(INSERT, view_rows.rows.num_rows).cast(pa.string())
                )
                yield Changes(rows, position_token(checkpoint, newest, self._place), snapshot=True)
                return
            if checkpoint != self._checkpoint:
                raise OperationalError(
                    f"view {self._view.name} was rebuilt",
                    hint=f"SUBSCRIBE {self._view.name} without SINCE begins with its rows",
                )
            if newest == self._last:
                return
            journal = self._journal(connection)
            after, batches = self._later(journal, self._last)
            for batch in batches:
                changed = list(journal.changes(after, batch.last, [name for name, _ in self.columns[:-1]]))
                after, self._last, self._place = batch.last, batch.batch, batch.last
                if table := self._table(changed):
                    yield Changes(table, position_token(checkpoint, batch.batch, batch.last))

    def _journal(self, connection: sa.Connection) -> Journal:
        return Journal(connection, self._view.name, self._view.schema)

    def _position(self, connection: sa.Connection) -> tuple[str, int]:
        """Return an id of the batches of a view, which changes when it is rebuilt, and the last batch."""
        position = position_in(connection, self._view)
        return f"{position.id} {position.checkpoint}", position.batch

    @staticmethod
    def _last_place(journal: Journal, batch: int) -> int | None:
        journal_batch = journal.batch(batch)
        return None if journal_batch is None else journal_batch.last

    def _later(self, journal: Journal, since: int) -> tuple[int, list[JournalBatch]]:
        """Return the place of the last change that was read, and the batches after it, in order."""
        first = journal.first()
        if self._place is not None and first is not None and first.last <= self._place:
            # The forgotten batches have changed nothing since.
            return self._place, journal.later(since)
        batches = journal.batches(since)
        if not batches:
            raise OperationalError(
                f"the changes of view {self._view.name} since batch {since} are older than those that are kept",
                hint=f"SUBSCRIBE {self._view.name} without SINCE begins with its rows; OPTIONS (retain '1 hour') keeps "
                "changes for longer",
            )
        return batches[0].last, batches[1:]

    def _table(self, changed: Sequence[ChangedRow]) -> pa.Table | None:
        """Return the changes of a batch, at most one for each key, None without any."""
        rows = _by_key(changed, self._key) if self._key else [
            (DELETE if change.gone else INSERT, change.values) for change in changed
        ]  # fmt: skip
        if not rows:
            return None
        table = cell_table([values for _, values in rows], self.columns[:-1])
        return table.append_column(OPERATION, pa.array([operation for operation, _ in rows], pa.string()))


def _by_key(changed: Sequence[ChangedRow], key: Sequence[int]) -> list[tuple[str, tuple]]:
    """Return the net change of the row of each key.

    >>> _by_key([ChangedRow(True, ("a", 1)), ChangedRow(False, ("a", 2)), ChangedRow(False, ("b", 1))], [0])
    [('-U', ('a', 1)), ('+U', ('a', 2)), ('+I', ('b', 1))]
    """
    before: dict[tuple, tuple | None] = {}
    after: dict[tuple, tuple | None] = {}
    for change in changed:
        which = tuple(change.values[place] for place in key)
        before.setdefault(which, change.values if change.gone else None)
        after[which] = None if change.gone else change.values
    rows: list[tuple[str, tuple]] = []
    for which, was in before.items():
        now = after[which]
        if was is not None and was != now:
            rows.append((DELETE if now is None else UPDATE_BEFORE, was))
        if now is not None and was != now:
            rows.append((INSERT if was is None else UPDATE_AFTER, now))
    return rows
