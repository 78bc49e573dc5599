"""The savepoints of a catalog by name."""

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from cepsql.catalog.database import Database
from cepsql.catalog.schema import SAVEPOINTS


@dataclass(frozen=True)
class Savepoint:
    """A copy of the checkpoint of a query.

    query:  the name of the query.
    folder: the folder of the copy.
    made:   its time, in seconds since 1970 by the store's clock.
    """

    name: str
    query: str
    folder: str
    made: float = 0.0


class Savepoints:
    """Savepoints in a database."""

    def __init__(self, database: Database):
        self._database = database

    def all(self) -> list[Savepoint]:
        """Return all of them, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(SAVEPOINTS).order_by(SAVEPOINTS.c.made)).mappings().all()
        return [Savepoint(**row) for row in rows]

    def get(self, name: str) -> Savepoint | None:
        """Return the savepoint with a name, or None."""
        return next((savepoint for savepoint in self.all() if savepoint.name == name), None)

    def add(self, savepoint: Savepoint) -> bool:
        """Store a savepoint, made now; return False, and store nothing, if its name is taken."""
        with self._database.writing() as connection:
            taken = sa.select(SAVEPOINTS.c.name).where(SAVEPOINTS.c.name == savepoint.name)
            if connection.execute(taken).first() is not None:
                return False
            connection.execute(SAVEPOINTS.insert().values(asdict(savepoint) | {"made": self._database.now}))
            return True

    def remove(self, name: str) -> None:
        """Remove a savepoint."""
        with self._database.writing() as connection:
            connection.execute(SAVEPOINTS.delete().where(SAVEPOINTS.c.name == name))
