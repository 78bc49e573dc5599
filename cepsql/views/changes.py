"""The changes of views, for those who read them from batch to batch: a reader keeps what it has not yet read."""

import time
from dataclasses import dataclass

import pyarrow as pa
import sqlalchemy as sa

from cepsql.catalog.view_store import BATCH, BATCHES, GONE, OPERATION, PLACE, POSITIONS, READERS, ViewSource
from cepsql.catalog.view_store import changes_table as changes_name
from cepsql.errors import OperationalError
from cepsql.views.cells import column_values
from cepsql.views.journal_tables import readers_table
from cepsql.views.snapshot import NeverRun, Wanted, lent_connection, table_name
from cepsql.views.versions import rows_at


@dataclass(frozen=True)
class Point:
    """A batch of a view; `checkpoint` tells the numbers of its query's batches from those of an earlier one."""

    checkpoint: str
    batch: int


def last_point(view: ViewSource) -> Point | None:
    """Return the last batch of a view, None if it has none yet.

    Raises OperationalError if its store does not answer.
    """
    try:
        with lent_connection(view) as connection:
            return _last(connection, view)
    except NeverRun:
        return None


def begin_reading(view: ViewSource, reader: str, owner: str) -> Point | None:
    """Let a view keep its changes for a reader from its last batch on; return that one, None if it has none yet.

    owner: who the reader is of; see `end_reading`.
    Raises OperationalError if the store does not answer.
    """
    try:
        with lent_connection(view, writes=True) as connection:
            found = _last(connection, view, lock=True)
            if found is None:
                return None
            readers = _readers(view)
            readers.create(connection, checkfirst=True)
            known = {"view": view.name, "reader": reader, "owner": owner, "batch": found.batch, "seen": time.time()}
            connection.execute(sa.insert(readers).values(known))
            return found
    except NeverRun:
        return None


def read_until(view: ViewSource, reader: str, owner: str, batch: int) -> None:
    """Tell a view that a reader needs no changes of a batch and those before it.

    Raises OperationalError if the store does not answer.
    """
    with lent_connection(view, writes=True) as connection:
        readers = _readers(view)
        mine = sa.and_(readers.c.view == view.name, readers.c.reader == reader)
        now = {"batch": batch, "seen": time.time()}
        if not connection.execute(sa.update(readers).where(mine).values(now)).rowcount:
            connection.execute(sa.insert(readers).values(now | {"view": view.name, "reader": reader, "owner": owner}))


def end_reading(view: ViewSource, owner: str) -> None:
    """Let a view keep no changes for the readers of an owner; raises OperationalError if its store does not answer."""
    try:
        with lent_connection(view, writes=True) as connection:
            if sa.inspect(connection).has_table(READERS, dict(view.options).get("schema")):
                readers = _readers(view)
                mine = sa.and_(readers.c.view == view.name, readers.c.owner == owner)
                connection.execute(sa.delete(readers).where(mine))
    except NeverRun:
        pass


def changes_between(view: ViewSource, after: Point | None, until: Point) -> pa.Table:
    """Return the changes of the batches after one up to another, in order, with the columns PLACE and GONE.

    after: None: the rows as of `until`, as if they had just come.
    Events of a view whose rows change have the column OPERATION; where rows are only added, those that grew old are
    none.
    Raises OperationalError if the store does not answer, or does not have them any more.
    """
    names = [column.name for column in view.view.columns]
    with lent_connection(view) as connection:
        last = _last(connection, view)
        known = {last and last.checkpoint, until.checkpoint, after.checkpoint if after else until.checkpoint}
        if last is None or len(known) > 1 or last.batch < until.batch:
            raise OperationalError(
                f"view {view.name} was made anew since its changes were read",
                hint="read it with a new checkpoint: CREATE OR REPLACE ... WITH NEW CHECKPOINT AS ...",
            )
        if after is None:
            rows = rows_at(connection, Wanted(view, tuple(names)), until.batch, last.batch)
            count = rows.num_rows
            found = rows.append_column(PLACE, pa.array([0] * count, pa.int64()))
            found = found.append_column(GONE, pa.array([False] * count))
            return _as_events(view, found, [until.batch] * count)
        if after.batch < until.batch:
            _check_kept(connection, view, after.batch)
        return _between(connection, view, names, after.batch, until.batch)


def _between(connection: sa.Connection, view: ViewSource, names: list[str], after: int, until: int) -> pa.Table:
    types = {column.name: column.type for column in view.view.columns}
    quoted = connection.dialect.identifier_preparer.quote_identifier
    cells: list = []
    if after < until:
        asked = ", ".join([PLACE, GONE, BATCH, *map(quoted, names)])
        table = table_name(connection, view, changes_name(view.name))
        where = f"{BATCH} > :after AND {BATCH} <= :until" + (f" AND {GONE} = 0" if _adds(view) else "")
        ask = sa.text(f"SELECT {asked} FROM {table} WHERE {where} ORDER BY {PLACE}")
        rows = connection.execute(ask, {"after": after, "until": until}).all()
        cells = list(zip(*rows, strict=True))
    cells = cells or [()] * (3 + len(names))
    columns = {name: column_values(cells[3 + place], types[name]) for place, name in enumerate(names)}
    columns[PLACE] = pa.array(cells[0], pa.int64())
    columns[GONE] = pa.array([bool(gone) for gone in cells[1]], pa.bool_())
    return _as_events(view, pa.table(columns), list(cells[2]))


def _as_events(view: ViewSource, changes: pa.Table, batches: list[int]) -> pa.Table:
    """Return changes with OPERATION, if they are events of a view whose rows change."""
    if not view.events or _adds(view):
        return changes
    # Loads sqlglot, which who only asks for batches does not need.
    from cepsql.analysis.operators.emission import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

    keys = list(zip(batches, *(changes[name].to_pylist() for name in view.view.key), strict=True))
    gone = changes[GONE].to_pylist()
    left = {key for key, away in zip(keys, gone, strict=True) if away}
    came = {key for key, away in zip(keys, gone, strict=True) if not away}
    both = left & came
    said = [
        (UPDATE_BEFORE if key in both else DELETE) if away else (UPDATE_AFTER if key in both else INSERT)
        for key, away in zip(keys, gone, strict=True)
    ]
    return changes.append_column(OPERATION, pa.array(said, pa.string()))


def _adds(view: ViewSource) -> bool:
    return view.view.adds or not view.view.key


def _check_kept(connection: sa.Connection, view: ViewSource, after: int) -> None:
    """Raise OperationalError if changes after a batch are gone."""
    table = table_name(connection, view, BATCHES)
    ask = sa.text(f"SELECT min(batch) FROM {table} WHERE view = :view")
    first = connection.execute(ask, {"view": view.name}).scalar()
    if first is None or first > after:
        raise OperationalError(
            f"the changes of view {view.name} since batch {after} are not kept any more",
            hint="who does not read for a week is not waited for; read it with a new checkpoint",
        )


def _last(connection: sa.Connection, view: ViewSource, lock: bool = False) -> Point | None:
    table = table_name(connection, view, POSITIONS)
    locked = " FOR UPDATE" if lock and connection.dialect.name != "sqlite" else ""
    ask = sa.text(f"SELECT checkpoint, batch FROM {table} WHERE view = :view{locked}")
    row = connection.execute(ask, {"view": view.name}).first()
    return None if row is None or row[1] < 0 else Point(row[0], row[1])


def _readers(view: ViewSource) -> sa.Table:
    return readers_table(dict(view.options).get("schema"))
