"""The rows of views as of the point that a query asks for, such as the least of their watermarks."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from cepsql.base.calendar import time_text
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import OperationalError
from cepsql.language.statements import ParsedQuery
from cepsql.plan.read_point import age_allowed, version_times
from cepsql.scalar.zone import Zone
from cepsql.views.added_rows import added_until
from cepsql.views.journal import Journal
from cepsql.views.snapshot import (
    ViewPosition,
    ViewRows,
    Wanted,
    in_stores,
    position_in,
    read_view,
    read_views,
    store_transaction,
)
from cepsql.views.versions import rows_at


@dataclass(frozen=True)
class AsOf:
    """The point at which views are read.

    at_watermark: all as of the least of their watermarks.
    age:          the maximum age in microseconds since each was written, None for any.
    times:        the event times as of which views are read, in microseconds, by view name in lower case.
    """

    at_watermark: bool = False
    age: int | None = None
    times: Mapping[str, int] = field(default_factory=dict)


NOW = AsOf()


def asked_point(query: ParsedQuery, zone: Zone) -> AsOf:
    """Return the point at which a query reads views, in a session with a time zone; raises ProgrammingError for a text
    that is not a time."""
    if query.point is None:
        return NOW
    return AsOf(query.point.at_watermark, age_allowed(query), version_times(query, zone))


def read_as_of(wanted: Sequence[Wanted], asked: AsOf) -> list[ViewRows]:
    """Return rows of views as of a point; those in one store are read in one transaction.

    Raises OperationalError if a store does not answer, or a view has never run, is too old, or has no version as of the
    time.
    """
    if asked.times:
        view_rows = _at_times(wanted, asked.times)
    else:
        view_rows = _at_watermark(wanted) if asked.at_watermark else read_views(wanted)
    if asked.age is not None:
        for one, rows in zip(wanted, view_rows, strict=True):
            _check_age(one.view, rows.position, asked.age)
    return view_rows


def _check_age(view: ViewSource, position: ViewPosition, allowed: int) -> None:
    age = max(0, int((time.time() - position.written) * 1_000_000))
    if age > allowed:
        raise OperationalError(
            f"view {view.name} was written {_seconds_text(age)} ago, and may be {_seconds_text(allowed)} old",
            hint=f"SHOW VIEW POSITIONS and DESCRIBE QUERY {view.name} tell how far it is, and whether it runs",
        )


def _seconds_text(micros: int) -> str:
    return f"{micros / 1_000_000:,.1f} seconds"


def _at_watermark(wanted: Sequence[Wanted]) -> list[ViewRows]:
    least = min(map(_watermark, {one.view.name: one.view for one in wanted}.values()))
    return in_stores(wanted, lambda connection, one: _version(connection, one, least))


def _at_times(wanted: Sequence[Wanted], times: Mapping[str, int]) -> list[ViewRows]:
    for view in {one.view.name: one.view for one in wanted if one.view.name.lower() in times}.values():
        reached, asked = _watermark(view), times[view.name.lower()]
        if reached < asked:
            raise OperationalError(
                f"view {view.name} is at {time_text(reached)}Z, and not yet at {time_text(asked)}Z",
                hint="rows of that time may still come; without FOR SYSTEM_TIME AS OF the rows of now are read",
            )

    def read(connection: sa.Connection, one: Wanted) -> ViewRows:
        time = times.get(one.view.name.lower())
        return read_view(connection, one) if time is None else _version(connection, one, time)

    return in_stores(wanted, read)


def _watermark(view: ViewSource) -> int:
    with store_transaction(view) as connection:
        position = position_in(connection, view)
    if position.watermark is None:
        raise OperationalError(
            f"view {view.name} has no watermark, so that no point in event time is known",
            hint="declare WATERMARK FOR in the streams of its query; before its first rows there is none, either",
        )
    return position.watermark


def _version(connection: sa.Connection, wanted: Wanted, until: int) -> ViewRows:
    """Return rows of a view as of its last batch whose watermark is not beyond a time."""
    view = wanted.view
    now = position_in(connection, view)
    if view.view.adds and view.view.event_time is not None:
        return added_until(connection, wanted, until)
    if now.watermark is not None and now.watermark <= until:
        return read_view(connection, wanted)
    journal_batch = Journal(connection, view.name, view.schema).last_at(until)
    if journal_batch is None:
        raise OperationalError(
            f"view {view.name} keeps no version as of {time_text(until)}Z: it is at {time_text(now.watermark or 0)}Z",
            hint="OPTIONS (retain '10 minutes') keeps the versions of so much event time",
        )
    position = replace(
        now,
        batch=journal_batch.batch,
        watermark=journal_batch.watermark,
        offsets=journal_batch.offsets,
        written=journal_batch.written,
    )
    return ViewRows(rows_at(connection, wanted, journal_batch.last), position)
