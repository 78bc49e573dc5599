"""The changes of views, for a reader that reads batch by batch: a view keeps the changes that it has not yet read."""

import time
from dataclasses import dataclass

import pyarrow as pa
import sqlalchemy as sa

from cepsql.catalog.view_store import OPERATION, ViewSource
from cepsql.errors import OperationalError
from cepsql.views.journal import GONE, PLACE, READERS, Journal, readers_table
from cepsql.views.snapshot import NeverRun, Wanted, known_position, store_transaction
from cepsql.views.stored_values import cell_table
from cepsql.views.versions import rows_at


@dataclass(frozen=True)
class Point:
    """A batch of a view; batch numbers of different checkpoints of its query are not comparable."""

    checkpoint: str
    batch: int


def last_point(view: ViewSource) -> Point | None:
    """Return the last batch of a view, None if it has none yet.

    Raises OperationalError if its store does not answer.
    """
    try:
        with store_transaction(view) as connection:
            return _last(connection, view)
    except NeverRun:
        return None


def begin_reading(view: ViewSource, reader: str, owner: str) -> Point | None:
    """Let a view keep its changes for a reader from its last batch on, its versions from the first on that it keeps;
    return that batch, None if it has none yet.

    owner: the owner of the reader; see `end_reading`.
    Raises OperationalError if the store does not answer.
    """
    try:
        with store_transaction(view, writes=True) as connection:
            point = _last(connection, view, lock=True)
            if point is None:
                return None
            first = Journal(connection, view.name, view.schema).first() if view.versions else None
            if first is not None:
                point = Point(point.checkpoint, first.batch)
            readers = _readers(view)
            reader_row = {
                "view": view.name,
                "reader": reader,
                "owner": owner,
                "batch": point.batch,
                "seen": time.time(),
            }
            connection.execute(sa.insert(readers).values(reader_row))
            return point
    except NeverRun:
        return None


def read_until(view: ViewSource, reader: str, owner: str, batch: int) -> None:
    """Record that a reader no longer needs the changes of a batch and of those before it.

    Raises OperationalError if the store does not answer.
    """
    with store_transaction(view, writes=True) as connection:
        readers = _readers(view)
        mine = sa.and_(readers.c.view == view.name, readers.c.reader == reader)
        now = {"batch": batch, "seen": time.time()}
        if not connection.execute(sa.update(readers).where(mine).values(now)).rowcount:
            connection.execute(sa.insert(readers).values(now | {"view": view.name, "reader": reader, "owner": owner}))


def end_reading(view: ViewSource, owner: str) -> None:
    """Stop keeping changes for the readers of an owner; raises OperationalError if the store does not answer."""
    try:
        with store_transaction(view, writes=True) as connection:
            if sa.inspect(connection).has_table(READERS, view.schema):
                readers = _readers(view)
                mine = sa.and_(readers.c.view == view.name, readers.c.owner == owner)
                connection.execute(sa.delete(readers).where(mine))
    except NeverRun:
        pass


def changes_between(view: ViewSource, after: Point | None, until: Point) -> pa.Table:
    """Return the changes of the batches after one up to another, in order, with the columns PLACE and GONE.

    after: None: the rows as of `until`, as if they had just been added.
    Events of a view whose rows change have the column OPERATION; in an append-only view, the removal of old rows is not
    a change.
    Raises OperationalError if the store does not answer, or no longer has the changes.
    """
    names = [column.name for column in view.view.columns]
    with store_transaction(view) as connection:
        last = _last(connection, view)
        checkpoints = {last and last.checkpoint, until.checkpoint, after.checkpoint if after else until.checkpoint}
        if last is None or len(checkpoints) > 1 or last.batch < until.batch:
            raise OperationalError(
                f"view {view.name} was rebuilt since its changes were read",
                hint="read it with a new checkpoint: CREATE OR REPLACE ... WITH NEW CHECKPOINT AS ...",
            )
        journal = Journal(connection, view.name, view.schema)
        end = journal.batch(until.batch)
        begin = journal.batch(after.batch) if after is not None else None
        if end is None or (after is not None and begin is None):
            raise OperationalError(
                f"the changes of view {view.name} since batch {(after or until).batch} are not kept any more",
                hint="who does not read for a week is not waited for; read it with a new checkpoint",
            )
        if begin is not None:
            columns = [*view.typed(names), (PLACE, "bigint"), (GONE, "boolean")]
            changed = journal.rows(begin.last, end.last, names, added=_adds(view)).all()
            return _as_events(view, cell_table(changed, columns))
        rows = rows_at(connection, Wanted(view, tuple(names)), end.last)
        count = rows.num_rows
        added = rows.append_column(PLACE, pa.array([0] * count, pa.int64()))
        return _as_events(view, added.append_column(GONE, pa.array([False] * count, pa.bool_())))


def _as_events(view: ViewSource, changes: pa.Table) -> pa.Table:
    """Return changes with OPERATION, if they are events of a view whose rows change."""
    if not view.events or _adds(view):
        return changes
    # Loads sqlglot, which a reader that only asks for batches does not need.
    from cepsql.analysis.clauses.emit_clause import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

    keys = list(zip(*(changes[name].to_pylist() for name in view.view.key), strict=True))
    gone, said = changes[GONE].to_pylist(), [""] * len(keys)
    left: dict[tuple, int] = {}
    for place, (key, away) in enumerate(zip(keys, gone, strict=True)):
        if away:
            left[key], said[place] = place, DELETE
        elif (before := left.pop(key, None)) is not None:
            said[before], said[place] = UPDATE_BEFORE, UPDATE_AFTER
        else:
            said[place] = INSERT
    return changes.append_column(OPERATION, pa.array(said, pa.string()))


def _adds(view: ViewSource) -> bool:
    return view.view.adds or not view.view.key


def _last(connection: sa.Connection, view: ViewSource, lock: bool = False) -> Point | None:
    position = known_position(connection, view, lock)
    return None if position is None or position.batch < 0 else Point(position.checkpoint, position.batch)


def _readers(view: ViewSource) -> sa.Table:
    return readers_table(view.schema)
