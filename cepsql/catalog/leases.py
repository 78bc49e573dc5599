"""Who may act for something: one owner at a time, for as long as it says that it lives, under a growing epoch."""

from dataclasses import dataclass

import sqlalchemy as sa

from cepsql.catalog.database import Database
from cepsql.catalog.schema import CATALOG, LEASES

_JITTER_SECONDS = 1.0


@dataclass(frozen=True)
class Lease:
    """That `owner` acts for `what`, such as `server` or `query fraud`, until another epoch."""

    what: str
    owner: str
    epoch: int


class Leases:
    """Leases in a database, by its clock; each lasts `seconds` unless it is renewed."""

    def __init__(self, database: Database, seconds: float):
        self._database, self.seconds = database, seconds

    def acquire(self, what: str, owner: str) -> Lease | None:
        """Take a lease that nobody holds; None if another owner holds it.

        Its epoch is greater than that of any lease before, of this catalog or one that stood in its place.
        """
        with self._database.writing() as connection:
            now = connection.execute(sa.select(self._database.now)).scalar_one()
            others = sa.select(LEASES.c.owner).where(LEASES.c.what == what, LEASES.c.owner != owner, lasting(now))
            if connection.execute(others).first() is not None:
                return None
            # Milliseconds, so that the epochs of a catalog that was made anew are greater than those before it.
            last = connection.execute(sa.select(CATALOG.c.epoch)).scalar_one()
            epoch = max(last + 1, int(now * 1000))
            connection.execute(CATALOG.update().values(epoch=epoch))
            connection.execute(LEASES.delete().where(LEASES.c.what == what))
            until = now + self.seconds
            row = {"what": what, "owner": owner, "epoch": epoch, "until": until, "seconds": self.seconds}
            connection.execute(LEASES.insert().values(row))
            return Lease(what, owner, epoch)

    def renew(self, *leases: Lease) -> list[Lease]:
        """Renew leases; return those that are lost, for another owner has taken them or they were ended."""
        with self._database.writing() as connection:
            until = self._database.now + self.seconds
            renewed = [connection.execute(LEASES.update().where(_is(lease)).values(until=until)) for lease in leases]
        return [lease for lease, done in zip(leases, renewed, strict=True) if done.rowcount == 0]

    def release(self, lease: Lease) -> None:
        """Give a lease back; nothing happens if it was lost."""
        with self._database.writing() as connection:
            connection.execute(LEASES.delete().where(_is(lease)))

    def holders(self) -> dict[str, Lease]:
        """Return the leases that somebody holds now."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(LEASES).where(lasting(self._database.now))).mappings()
            return {row["what"]: Lease(row["what"], row["owner"], row["epoch"]) for row in rows}


def lasting(now: sa.ColumnElement[float] | float) -> sa.ColumnElement[bool]:
    """Return the condition that a lease has not ended.

    One that ends later than it can last was given before the clock was set back: its owner, if there is one, renews it
    soon.
    """
    return sa.and_(LEASES.c.until > now, LEASES.c.until <= now + LEASES.c.seconds + _JITTER_SECONDS)


def _is(lease: Lease) -> sa.ColumnElement[bool]:
    return sa.and_(LEASES.c.what == lease.what, LEASES.c.owner == lease.owner, LEASES.c.epoch == lease.epoch)


def held(lease: Lease) -> sa.ColumnElement[bool]:
    """Return the condition that a lease was not lost, for statements that only its owner may execute."""
    return sa.exists().where(_is(lease))
