"""Leases: one owner at a time may act for something, while it renews its lease, with a growing epoch."""

from dataclasses import dataclass

import sqlalchemy as sa

from cepsql.catalog.database import Database
from cepsql.catalog.schema import CATALOG, LEASES

_JITTER_SECONDS = 1.0


@dataclass(frozen=True)
class Lease:
    """The right of `owner` to act for `what`, such as `server` or `query fraud`, until another epoch."""

    what: str
    owner: str
    epoch: int


class Leases:
    """Leases in a database, by its clock; each lasts `seconds` unless it is renewed."""

    def __init__(self, database: Database, seconds: float):
        self._database, self.seconds = database, seconds

    def acquire(self, what: str, owner: str) -> Lease | None:
        """Take a free lease; return None if another owner holds it.

        Its epoch is greater than that of any earlier lease, of this catalog or of one that it has replaced.
        """
        with self._database.writing() as connection:
            now = connection.execute(sa.select(self._database.now)).scalar_one()
            others = sa.select(LEASES.c.owner).where(LEASES.c.what == what, LEASES.c.owner != owner, lasting(now))
            if connection.execute(others).first() is not None:
                return None
            # Milliseconds, so that the epochs of a catalog that was created again are greater than those before it.
            last = connection.execute(sa.select(CATALOG.c.epoch)).scalar_one()
            epoch = max(last + 1, int(now * 1000))
            connection.execute(CATALOG.update().values(epoch=epoch))
            connection.execute(LEASES.delete().where(LEASES.c.what == what))
            until = now + self.seconds
            row = {"what": what, "owner": owner, "epoch": epoch, "until": until, "seconds": self.seconds}
            connection.execute(LEASES.insert().values(row))
            return Lease(what, owner, epoch)

    def renew(self, *leases: Lease) -> list[Lease]:
        """Renew leases; return the lost ones, which another owner has taken or which were ended."""
        with self._database.writing() as connection:
            until = self._database.now + self.seconds
            renewed = [connection.execute(LEASES.update().where(_is(lease)).values(until=until)) for lease in leases]
        return [lease for lease, done in zip(leases, renewed, strict=True) if done.rowcount == 0]

    def release(self, lease: Lease) -> None:
        """Give a lease back; nothing happens if it was lost."""
        with self._database.writing() as connection:
            connection.execute(LEASES.delete().where(_is(lease)))

    def holders(self) -> dict[str, Lease]:
        """Return the leases that are held now."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(LEASES).where(lasting(self._database.now))).mappings()
            return {row["what"]: Lease(row["what"], row["owner"], row["epoch"]) for row in rows}


def lasting(now: sa.ColumnElement[float] | float) -> sa.ColumnElement[bool]:
    """Return the condition that a lease has not ended.

    A lease that ends later than it can last was taken before the clock was set back: its owner, if it lives, renews it
    soon.
    """
    return sa.and_(LEASES.c.until > now, LEASES.c.until <= now + LEASES.c.seconds + _JITTER_SECONDS)


def _is(lease: Lease) -> sa.ColumnElement[bool]:
    return sa.and_(LEASES.c.what == lease.what, LEASES.c.owner == lease.owner, LEASES.c.epoch == lease.epoch)


def held(lease: Lease) -> sa.ColumnElement[bool]:
    """Return the condition that a lease was not lost, for statements that only its owner may execute."""
    return sa.exists().where(_is(lease))
