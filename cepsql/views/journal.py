"""The journal of a view: what each of its batches changed, written in the transaction of the batch by triggers.

There are two tables beside those of the views. `cepsql_batches` has a row for each batch that a reader can start from
or look back to: its position, and `last`, the place of its last change. A batch without a row is no longer kept.
`cepsql_changes_NAME` has a growing place, whether the row left the view or entered it, and the columns of view NAME; a
row that changed left it and entered it. The changes after batch b are those after the place `last` of b.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

BATCHES, READERS = "cepsql_batches", "cepsql_readers"
PLACE, GONE = "cepsql_place", "cepsql_gone"

KEPT_SECONDS = 600.0
"""How long a batch is kept after the next one, unless the view says otherwise."""

UNSEEN_SECONDS = 7 * 86_400.0
"""How long changes are kept for a reader that reads no more."""

_LONGEST_NAME = 63
"""Bytes of a name in PostgreSQL; it cuts longer ones."""

_LEAST_REMOVED = 20_000
"""Each batch removes up to this many old changes, or twice as many as it adds if that is more."""


@dataclass(frozen=True)
class JournalBatch:
    """A batch in the journal; fields as of `cepsql.views.snapshot.ViewPosition`, and the place of its last change."""

    batch: int
    watermark: int | None
    offsets: tuple[str, ...]
    written: float
    last: int


@dataclass(frozen=True)
class ChangedRow:
    """A row that left a view or entered it."""

    gone: bool
    values: tuple[Any, ...]


def changes_table(view: str) -> str:
    """Return the name of the table with the changes of a view.

    >>> changes_table("spent")
    'cepsql_changes_spent'
    """
    name = f"cepsql_changes_{view}"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"cepsql_changes_{hashlib.sha256(view.encode()).hexdigest()[:32]}"


# SQLAlchemy reuses a compiled statement only for the same table object.
@cache
def batches_table(schema: str | None) -> sa.Table:
    """Return the table with the batches of the views of a database."""
    return sa.Table(
        BATCHES,
        sa.MetaData(),
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("watermark", sa.BigInteger),
        sa.Column("offsets", sa.Text, nullable=False),
        sa.Column("written", sa.Double, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        schema=schema,
    )


@cache
def readers_table(schema: str | None) -> sa.Table:
    """Return the table with the readers of changes of the views of a database and the last batch that each has read."""
    return sa.Table(
        READERS,
        sa.MetaData(),
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("reader", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        schema=schema,
    )


class Journal:
    """The journal of one view, within a transaction of its store that the caller has begun.

    view: the name of the view, which is that of its table.
    """

    def __init__(self, connection: sa.Connection, view: str, schema: str | None = None):
        self._connection, self._view, self._schema = connection, view, schema
        self._batches = batches_table(schema)
        self._mine = self._batches.c.view == view
        self._readers = readers_table(schema)
        self._quote: Callable[[str], str] = connection.dialect.identifier_preparer.quote_identifier
        self._changes = self._named(changes_table(view))

    # Written by the query of the view

    def make(self, position: JournalBatch) -> None:
        """Create the journal if it is missing, with the batch of the current rows of the view."""
        self._batches.create(self._connection, checkfirst=True)
        self._readers.create(self._connection, checkfirst=True)
        if sa.inspect(self._connection).has_table(changes_table(self._view), self._schema):
            return
        if self._connection.dialect.name == "sqlite":
            self._make_in_sqlite()
        else:
            self._make_in_postgresql()
        self._connection.execute(sa.delete(self._batches).where(self._mine))
        self._insert(position)

    def forget(self) -> None:
        """Remove the journal; the triggers go with the table of the view."""
        self._connection.exec_driver_sql(f"DROP TABLE IF EXISTS {self._changes}")
        if sa.inspect(self._connection).has_table(BATCHES, self._schema):
            self._connection.execute(sa.delete(self._batches).where(self._mine))
        if sa.inspect(self._connection).has_table(READERS, self._schema):
            self._connection.execute(sa.delete(self._readers).where(self._readers.c.view == self._view))
        if self._connection.dialect.name != "sqlite":
            self._connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {self._changes}() CASCADE")

    def record(
        self,
        batch: int,
        watermark: int | None,
        offsets: Sequence[str],
        written: float,
        retained_seconds: float,
        by_event_time: bool = False,
    ) -> None:
        """End a batch, whose changes are those written since the last one.

        retained_seconds: batches whose successor is older than this are forgotten, unless a reader still needs them.
        by_event_time:    their successor must also be older than this in event time.
        """
        before = self._last()
        last = self._connection.exec_driver_sql(f"SELECT max({PLACE}) FROM {self._changes}").scalar()
        journal_batch = JournalBatch(batch, watermark, tuple(offsets), written, max(before, last or 0))
        self._insert(journal_batch)
        self._forget_old(
            journal_batch, retained_seconds, by_event_time, max(_LEAST_REMOVED, 2 * (journal_batch.last - before))
        )

    def _insert(self, batch: JournalBatch) -> None:
        values = {"view": self._view, "batch": batch.batch, "watermark": batch.watermark, "written": batch.written}
        values |= {"offsets": json.dumps(batch.offsets), "last": batch.last}
        self._connection.execute(sa.insert(self._batches).values(values))

    def _last(self) -> int:
        return self._last_of(self._batches.c.batch.desc()) or 0

    def _last_of(self, order: sa.ColumnElement[int]) -> int | None:
        """Return the place of the last change of the first batch in an order, None without batches.

        It grows with the number of the batch, which the key has an index for.
        """
        asked = sa.select(self._batches.c.last).where(self._mine).order_by(order).limit(1)
        return self._connection.execute(asked).scalar()

    def _oldest_kept(self, now: JournalBatch, retained_seconds: float, by_event_time: bool) -> int | None:
        """Return the earliest batch that a reader may still ask for, None if all batches must stay."""
        columns, readers = self._batches.c, self._readers.c
        limits = [columns.written < now.written - retained_seconds]
        if by_event_time and now.watermark is not None:
            # A batch without a watermark is earlier than all others.
            limits.append(
                sa.or_(columns.watermark.is_(None), columns.watermark <= now.watermark - int(retained_seconds * 1e6))
            )
        asked = [sa.select(sa.func.max(columns.batch)).where(self._mine, limit) for limit in limits]
        candidates = [self._connection.execute(one).scalar() for one in asked]
        if None in candidates:
            return None
        lost = sa.and_(readers.view == self._view, readers.seen < now.written - UNSEEN_SECONDS)
        self._connection.execute(sa.delete(self._readers).where(lost))
        least = sa.select(sa.func.min(readers.batch)).where(readers.view == self._view)
        candidates.append(self._connection.execute(least).scalar())
        return min(batch for batch in candidates if batch is not None)

    def _forget_old(self, now: JournalBatch, retained_seconds: float, by_event_time: bool, most: int) -> None:
        """Forget batches that no reader may ask for, and at most `most` of their changes."""
        oldest_kept = self._oldest_kept(now, retained_seconds, by_event_time)
        if oldest_kept is None:
            return
        self._connection.execute(sa.delete(self._batches).where(self._mine, self._batches.c.batch < oldest_kept))
        first = self._connection.exec_driver_sql(f"SELECT min({PLACE}) FROM {self._changes}").scalar()
        last = self._last_of(self._batches.c.batch.asc())
        if first is not None and last is not None and first <= last:
            end = min(int(last), int(first) + most)
            self._connection.exec_driver_sql(f"DELETE FROM {self._changes} WHERE {PLACE} <= {end}")

    # Read by others

    def batches(self, since: int) -> list[JournalBatch]:
        """Return the batches from one on, in order; none if that batch is no longer kept."""
        batches = self._select_batches(self._batches.c.batch >= since)
        return batches if batches and batches[0].batch == since else []

    def later(self, than: int) -> list[JournalBatch]:
        """Return the kept batches after one, in order."""
        return self._select_batches(self._batches.c.batch > than)

    def changes(self, after: int, until: int, columns: Sequence[str]) -> Iterator[ChangedRow]:
        """Yield the changes after one place and up to another one, in order."""
        for row in self.rows(after, until, columns):
            yield ChangedRow(bool(row[-1]), tuple(row[:-2]))

    def rows(self, after: int, until: int, columns: Sequence[str], added: bool = False) -> sa.CursorResult:
        """Return the changes after one place and up to another one, in order, as stored: the columns, PLACE and GONE.

        added: only rows that entered the view.
        """
        names = ", ".join([*map(self._quote, columns), PLACE, GONE])
        where = f"{PLACE} > {after} AND {PLACE} <= {until}" + (f" AND NOT {GONE}" if added else "")
        return self._connection.exec_driver_sql(f"SELECT {names} FROM {self._changes} WHERE {where} ORDER BY {PLACE}")

    def batch(self, number: int) -> JournalBatch | None:
        """Return a batch, None if it is not kept."""
        batches = self._select_batches(self._batches.c.batch == number)
        return batches[0] if batches else None

    def first(self) -> JournalBatch | None:
        """Return the earliest kept batch, None without batches."""
        least = sa.select(sa.func.min(self._batches.c.batch)).where(self._mine).scalar_subquery()
        batches = self._select_batches(self._batches.c.batch == least)
        return batches[0] if batches else None

    def last_at(self, watermark: int) -> JournalBatch | None:
        """Return the last batch whose watermark is not beyond a time, None if no such batch is kept."""
        batches = self._select_batches(self._batches.c.watermark <= watermark, last=True)
        return batches[0] if batches else None

    def _select_batches(self, condition: sa.ColumnElement[bool], last: bool = False) -> list[JournalBatch]:
        columns = self._batches.c
        asked = sa.select(columns.batch, columns.watermark, columns.offsets, columns.written, columns.last)
        asked = asked.where(self._mine, condition)
        asked = asked.order_by(columns.batch.desc()).limit(1) if last else asked.order_by(columns.batch)
        rows = self._connection.execute(asked)
        return [JournalBatch(b, w, tuple(json.loads(o)), t, e) for b, w, o, t, e in rows]

    # How each database records changes

    def _named(self, table: str) -> str:
        return f"{self._quote(self._schema)}.{self._quote(table)}" if self._schema else self._quote(table)

    def _make_in_sqlite(self) -> None:
        run = self._connection.exec_driver_sql
        described = run(f"PRAGMA table_info({self._named(self._view)})").all()
        columns = "".join(f", {self._quote(row[1])} {row[2]}" for row in described)
        run(f"CREATE TABLE {self._changes} ({PLACE} INTEGER PRIMARY KEY AUTOINCREMENT, {GONE} INT NOT NULL{columns})")
        names = [self._quote(row[1]) for row in described]
        listed = ", ".join([GONE, *names])

        def noted(row: str, gone: int) -> str:
            values = ", ".join([str(gone), *(f"{row}.{name}" for name in names)])
            return f"INSERT INTO {self._changes} ({listed}) VALUES ({values});"

        differs = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in names)
        for event, when, noting in (
            ("INSERT", "", noted("NEW", 0)),
            ("DELETE", "", noted("OLD", 1)),
            ("UPDATE", f" WHEN {differs}", f"{noted('OLD', 1)} {noted('NEW', 0)}"),
        ):
            trigger = self._quote(f"{changes_table(self._view)}_{event.lower()}")
            on = f"AFTER {event} ON {self._named(self._view)}"
            run(f"CREATE TRIGGER {trigger} {on} FOR EACH ROW{when} BEGIN {noting} END")

    def _make_in_postgresql(self) -> None:
        run, table = self._connection.exec_driver_sql, self._named(self._view)
        run(f"CREATE TABLE {self._changes} ({PLACE} bigserial PRIMARY KEY, {GONE} boolean NOT NULL, LIKE {table})")
        columns = sa.inspect(self._connection).get_columns(self._view, self._schema)
        names = ", ".join(self._quote(column["name"]) for column in columns)

        def noted(rows: str, gone: str) -> str:
            return f"INSERT INTO {self._changes} ({GONE}, {names}) SELECT {gone}, {names} FROM {rows};"

        run(
            f"CREATE FUNCTION {self._changes}() RETURNS trigger LANGUAGE plpgsql AS $cepsql$ BEGIN "
            f"IF TG_OP <> 'INSERT' THEN {noted('cepsql_old', 'true')} END IF; "
            f"IF TG_OP <> 'DELETE' THEN {noted('cepsql_new', 'false')} END IF; "
            "RETURN NULL; END $cepsql$"
        )
        for event, rows in (
            ("INSERT", "NEW TABLE AS cepsql_new"),
            ("DELETE", "OLD TABLE AS cepsql_old"),
            ("UPDATE", "OLD TABLE AS cepsql_old NEW TABLE AS cepsql_new"),
        ):
            run(
                f"CREATE TRIGGER cepsql_{event.lower()} AFTER {event} ON {table} REFERENCING {rows} "
                f"FOR EACH STATEMENT EXECUTE FUNCTION {self._changes}()"
            )
