"""Definitions in a database, which outlive the process and are shared with others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from cepsql.catalog import Definition
from cepsql.catalog.data import from_data, to_data
from cepsql.catalog.database import Database
from cepsql.catalog.schema import CATALOG, DEFINITIONS


@dataclass
class DefinitionsChange:
    """A change of the catalog: the definitions, which the block changes, and the generation after the change."""

    definitions: list[Definition]
    generation: int


class Store:
    """The definitions in a database."""

    def __init__(self, database: Database):
        self.database = database

    def generation(self) -> int:
        """Return a number that grows with every change."""
        with self.database.reading() as connection:
            return connection.execute(sa.select(CATALOG.c.generation)).scalar_one()

    def load(self) -> tuple[int, list[Definition]]:
        """Return the generation and its definitions, in the order of definition."""
        with self.database.reading() as connection:
            return _loaded(connection)

    @contextmanager
    def changing(self) -> Iterator[DefinitionsChange]:
        """Lend the definitions in one transaction; those that the block leaves are stored, unless it raises."""
        with self.database.writing() as connection:
            generation, before = _loaded(connection)
            change = DefinitionsChange(before, generation + 1)
            yield change
            connection.execute(DEFINITIONS.delete())
            rows = [{"place": i, "name": d.name, "data": to_data(d)} for i, d in enumerate(change.definitions)]
            if rows:
                connection.execute(DEFINITIONS.insert(), rows)
            connection.execute(CATALOG.update().values(generation=change.generation))


def _loaded(connection: sa.Connection) -> tuple[int, list[Definition]]:
    generation = connection.execute(sa.select(CATALOG.c.generation)).scalar_one()
    rows = connection.execute(sa.select(DEFINITIONS.c.data).order_by(DEFINITIONS.c.place)).scalars()
    return generation, [from_data(data) for data in rows]
