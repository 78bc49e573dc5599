"""The rows that an append-only view had as of an event time: those up to that time that `retain` had not yet removed.

Rows that it has removed since are still in the journal, as far back as the journal goes.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from cepsql.analysis.sql.constant_intervals import duration_micros
from cepsql.base.calendar import time_text
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import OperationalError
from cepsql.views.journal import GONE, PLACE, Journal, JournalBatch, changes_table
from cepsql.views.snapshot import ViewRows, Wanted, read_view, table_name, where_clause
from cepsql.views.stored_values import cell_table, column_values, stored_time


def retained(view: ViewSource) -> int | None:
    """Return after how many microseconds of event time a view removes rows, None if it keeps all of them."""
    retain = dict(view.view.options).get("retain")
    return None if retain is None else duration_micros(retain)


def added_until(connection: sa.Connection, wanted: Wanted, until: int) -> ViewRows:
    """Return the rows that a view with an event time had as of a time, within a transaction of its store.

    Raises OperationalError if the view has never run, or no longer keeps some of the rows.
    """
    view, time = wanted.view, _time(wanted.view)
    wider = wanted if time in wanted.columns else replace(wanted, columns=(*wanted.columns, time))
    view_rows = read_view(connection, wider)
    rows, oldest = view_rows.rows, None
    retain = retained(view)
    newest = None if retain is None else _newest(connection, view, until)
    if retain is not None and newest != _newest(connection, view):
        if (complete := complete_from(connection, view, newest)) is not None:
            raise OperationalError(
                f"view {view.name} keeps no version as of {time_text(until)}Z: its oldest is of {time_text(complete)}Z",
                hint="OPTIONS (retain '1 day') keeps rows, and those that it has removed, for longer",
            )
        rows = pa.concat_tables([rows, removed_rows(connection, wider)])
        oldest = None if newest is None else _micros(view, newest) - retain
    times = rows[time].cast(pa.timestamp("us")).cast(pa.int64())
    in_version = pc.less_equal(times, pa.scalar(until, pa.int64()))
    if oldest is not None:
        in_version = pc.and_(in_version, pc.greater_equal(times, pa.scalar(oldest, pa.int64())))
    rows = rows.filter(in_version)
    counted = pa.table({"": pa.nulls(rows.num_rows)})
    return ViewRows(rows.select(list(wanted.columns)) if wanted.columns else counted, view_rows.position)


def removed_rows(connection: sa.Connection, wanted: Wanted) -> pa.Table:
    """Return the rows that `retain` has removed from a view, as far back as its journal goes."""
    view, name = wanted.view, connection.dialect.identifier_preparer.quote_identifier
    where, values = where_clause(wanted.conditions, name)
    asked = f"SELECT {', '.join(map(name, wanted.columns))} FROM {_changes(connection, view)} "
    asked += f"WHERE {GONE} AND {PLACE} > :after{where.replace(' WHERE ', ' AND ', 1)}"
    rows = connection.execute(sa.text(asked), values | {"after": _first(connection, view).last}).all()
    return cell_table(rows, view.typed(wanted.columns))


def complete_from(connection: sa.Connection, view: ViewSource, above: Any = None) -> int | None:
    """Return from which event time on, in microseconds, a view with `retain` keeps all versions; None: it keeps all.

    It is the time of the newest row in the earliest version of the journal: rows removed before that are forgotten.

    above: a time as stored; for a result that is not later, None is returned.
    """
    first = _first(connection, view)
    if first.batch < 0:
        return None
    time, changes = connection.dialect.identifier_preparer.quote_identifier(_time(view)), _changes(connection, view)
    later = f"{time} IS NOT NULL" if above is None else f"{time} > :above"
    parts = (
        f"SELECT {time} AS at, 1 AS number FROM {table_name(connection, view, view.name)} WHERE {later}",
        f"SELECT {time}, CASE WHEN {GONE} THEN 1 ELSE -1 END FROM {changes} WHERE {PLACE} > :after AND {later}",
    )
    there = f"SELECT at FROM ({' UNION ALL '.join(parts)}) AS a GROUP BY at HAVING sum(number) > 0"
    values = {"after": first.last} | ({} if above is None else {"above": above})
    newest = connection.execute(sa.text(f"SELECT max(at) FROM ({there}) AS b"), values).scalar()
    return None if newest is None else _micros(view, newest)


def _newest(connection: sa.Connection, view: ViewSource, until: int | None = None) -> Any:
    """Return the time of the newest row up to a time, as stored; None if there is no row.

    Rows that were removed are older than all others.
    """
    time = connection.dialect.identifier_preparer.quote_identifier(_time(view))
    limit, values = "", {}
    if until is not None:
        (kind,) = (kind for _, kind in view.typed([_time(view)]))
        limit = f" WHERE {time} <= :until"
        values = {"until": stored_time(until, kind, connection.dialect.name == "sqlite")}
    newest = None
    for table in (table_name(connection, view, view.name), _changes(connection, view)):
        newest = connection.execute(sa.text(f"SELECT max({time}) FROM {table}{limit}"), values).scalar()
        if newest is not None:
            break
    return newest


def _first(connection: sa.Connection, view: ViewSource) -> JournalBatch:
    batch = Journal(connection, view.name, view.schema).first()
    if batch is None:
        raise OperationalError(f"view {view.name} keeps no versions")
    return batch


def _changes(connection: sa.Connection, view: ViewSource) -> str:
    return table_name(connection, view, changes_table(view.name))


def _time(view: ViewSource) -> str:
    assert view.view.event_time is not None
    return view.view.event_time


def _micros(view: ViewSource, value: Any) -> int:
    """Return a time of the store in microseconds."""
    (kind,) = (kind for _, kind in view.typed([_time(view)]))
    return column_values([value], kind).cast(pa.timestamp("us")).cast(pa.int64())[0].as_py()
