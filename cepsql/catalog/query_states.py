"""The desired and actual state of queries, their progress and its history, for every process."""

from collections.abc import Mapping

import sqlalchemy as sa

from cepsql.catalog.database import Database
from cepsql.catalog.leases import Lease, Leases, held, lasting
from cepsql.catalog.schema import HISTORY, LEASES, QUERIES
from cepsql.catalog.states import ALIVE, FAILED, FINISHED, LOST, STOPPED, HistoryEntry, QueryState

HISTORY_LENGTH = 500
"""How many states of a query the history keeps, and how many reports of its progress."""


class QueryStates:
    """The states of queries in a database."""

    def __init__(self, database: Database, leases: Leases):
        self.database, self.leases = database, leases

    def all(self) -> dict[str, QueryState]:
        """Return the state of every query that has one, by name in lower case."""
        return self._select(sa.true())

    def get(self, name: str) -> QueryState | None:
        """Return the state of a query, None if it was never started."""
        return self._select(QUERIES.c.name == name.lower()).get(name.lower())

    def _select(self, which: sa.ColumnElement[bool]) -> dict[str, QueryState]:
        with self.database.reading() as connection:
            now = connection.execute(sa.select(self.database.now)).scalar_one()
            lease = sa.and_(LEASES.c.what == sa.literal("query ") + QUERIES.c.name, lasting(now))
            states = sa.select(QUERIES, LEASES.c.owner.label("holder"), LEASES.c.epoch).outerjoin(LEASES, lease)
            rows = connection.execute(states.where(which)).mappings().all()
        return {row["name"]: _state(dict(row), now) for row in rows}

    def desire(self, name: str, desired: str, restart: bool = False) -> None:
        """Set the desired state of a query; the process that runs it, or is there to run queries, follows."""
        key, now = name.lower(), self.database.now
        with self.database.writing() as connection:
            if connection.execute(sa.select(QUERIES.c.name).where(QUERIES.c.name == key)).first() is None:
                connection.execute(
                    QUERIES.insert().values(
                        name=key, desired=desired, desired_since=now, restarts_asked=0, state=STOPPED,
                        state_since=now, restarts=0,
                    )
                )  # fmt: skip
                return
            changed: dict = {"desired": desired, "desired_since": now}
            if restart:
                changed["restarts_asked"] = QUERIES.c.restarts_asked + 1
            connection.execute(QUERIES.update().where(QUERIES.c.name == key).values(changed))

    def enter(
        self,
        lease: Lease,
        state: str,
        note: str | None = None,
        error: str | None = None,
        restarted: bool = False,
        desired: str | None = None,
        suspect: bool | None = None,
    ) -> bool:
        """Record that a query has entered a state; return False, and record nothing, if the lease was lost.

        error:   why it failed.
        desired: its new desired state; None: unchanged.
        suspect: whether it is suspected of ending Java; None: unchanged.
        """
        key, now = lease.what.removeprefix("query "), self.database.now
        values: dict = {"state": state, "state_since": now, "owner": lease.owner}
        if desired is not None:
            values["desired"] = desired
        if suspect is not None:
            values["suspect"] = suspect
        if error is not None:
            values |= {"error": error, "error_at": now}
        if restarted:
            values["restarts"] = QUERIES.c.restarts + 1
        with self.database.writing() as connection:
            changed = connection.execute(QUERIES.update().where(QUERIES.c.name == key, held(lease)).values(values))
            if changed.rowcount:
                self._remember(connection, key, state, error or note, None)
            return changed.rowcount > 0

    def report(self, lease: Lease, state: str, progress: Mapping, remember: bool) -> bool:
        """Record the progress of a query, with `remember` also in its history; return False if the lease was lost."""
        key, now = lease.what.removeprefix("query "), self.database.now
        values = {"progress": dict(progress), "progress_at": now}
        with self.database.writing() as connection:
            changed = connection.execute(QUERIES.update().where(QUERIES.c.name == key, held(lease)).values(values))
            if changed.rowcount and remember:
                self._remember(connection, key, state, None, progress)
            return changed.rowcount > 0

    def finish(self, lease: Lease) -> bool:
        """Record that a query has finished, so that no process starts it again; return False if the lease was lost."""
        return self.enter(lease, FINISHED, desired=STOPPED)

    def give_up(self, lease: Lease, error: str) -> bool:
        """Record that a query could not be started, and must not be started again.

        Return False, and record nothing, if the lease was lost.
        """
        return self.enter(lease, FAILED, error=error, desired=STOPPED)

    def settle(self, name: str, state: str) -> None:
        """Record the state of a query, unless a process runs it."""
        key = name.lower()
        running = sa.exists().where(LEASES.c.what == f"query {key}", lasting(self.database.now))
        with self.database.writing() as connection:
            changed = connection.execute(
                QUERIES.update()
                .where(QUERIES.c.name == key, ~running)
                .values(state=state, state_since=self.database.now, owner=None)
            )
            if changed.rowcount:
                self._remember(connection, key, state, None, None)

    def history(self, name: str, since: float = 0.0) -> list[HistoryEntry]:
        """Return the history of a query, from a time in seconds since 1970 on, the oldest entry first."""
        with self.database.reading() as connection:
            which = sa.and_(HISTORY.c.name == name.lower(), HISTORY.c.at >= since)
            entries = sa.select(HISTORY).where(which).order_by(HISTORY.c.number)
            rows = connection.execute(entries).mappings().all()
        return [HistoryEntry(row["at"], row["state"], row["note"], row["progress"]) for row in rows]

    def forget(self, name: str) -> None:
        """Remove the state and history of a query; a process that runs it loses its lease."""
        key = name.lower()
        with self.database.writing() as connection:
            connection.execute(QUERIES.delete().where(QUERIES.c.name == key))
            connection.execute(HISTORY.delete().where(HISTORY.c.name == key))
            connection.execute(LEASES.delete().where(LEASES.c.what == f"query {key}"))

    def _remember(
        self, connection: sa.Connection, key: str, state: str, note: str | None, progress: Mapping | None
    ) -> None:
        entry: dict = {"name": key, "at": self.database.now, "state": state, "note": note}
        if progress is not None:
            entry["progress"] = dict(progress)
        connection.execute(HISTORY.insert().values(entry))
        # Progress comes every few seconds, and must not displace the states of last night.
        kind = HISTORY.c.progress.is_(sa.null()) if progress is None else HISTORY.c.progress.is_not(sa.null())
        of_kind = sa.and_(HISTORY.c.name == key, kind)
        newest_first = sa.select(HISTORY.c.number).where(of_kind).order_by(HISTORY.c.number.desc())
        oldest = connection.execute(newest_first.offset(HISTORY_LENGTH - 1).limit(1)).scalar()
        if oldest is not None:
            connection.execute(HISTORY.delete().where(of_kind, HISTORY.c.number < oldest))


def _state(row: dict, now: float) -> QueryState:
    owner = row.pop("holder")
    if row["state"] in ALIVE and owner is None:
        row["state"] = LOST
    # The last owner is only reported for a lost query.
    row["owner"] = owner or (row["owner"] if row["state"] == LOST else None)
    row["suspect"] = bool(row["suspect"])
    return QueryState(**row, now=now)
