"""The prepared statements of a stored catalog."""

import json

import sqlalchemy as sa

from cepsql.catalog.database import Database
from cepsql.catalog.schema import CALLS


class Calls:
    """Prepared statements in a database, by name in lower case: the text, and the names of its parameters."""

    def __init__(self, database: Database):
        self._database = database

    def names(self) -> list[str]:
        """Return all names."""
        with self._database.reading() as connection:
            return list(connection.execute(sa.select(CALLS.c.name).order_by(CALLS.c.name)).scalars())

    def get(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the statement with a name, or None."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(CALLS).where(CALLS.c.name == name)).mappings().first()
        return None if row is None else (row["sql"], tuple(json.loads(row["parameters"])))

    def put(self, name: str, sql: str, parameters: tuple[str, ...]) -> None:
        """Store a statement, in place of one with its name."""
        with self._database.writing() as connection:
            connection.execute(CALLS.delete().where(CALLS.c.name == name))
            connection.execute(CALLS.insert().values(name=name, sql=sql, parameters=json.dumps(parameters)))

    def remove(self, name: str) -> None:
        """Remove a statement."""
        with self._database.writing() as connection:
            connection.execute(CALLS.delete().where(CALLS.c.name == name))
