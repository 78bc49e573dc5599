"""The tables of a stored catalog, and the migration of older ones."""

from collections.abc import Callable

import sqlalchemy as sa

from cepsql.errors import OperationalError

metadata = sa.MetaData()

CATALOG = sa.Table(
    "cepsql_catalog",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
    # Counts the changes of definitions, so that a process knows when to read them again.
    sa.Column("generation", sa.BigInteger, nullable=False),
    # The last epoch of any lease.
    sa.Column("epoch", sa.BigInteger, nullable=False),
)
"""One row, which a change of the catalog locks first."""

DEFINITIONS = sa.Table(
    "cepsql_definitions",
    metadata,
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)

LEASES = sa.Table(
    "cepsql_leases",
    metadata,
    sa.Column("what", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("until", sa.Double, nullable=False),
    # A lease that ends later than it can last was taken before the clock was set back.
    sa.Column("seconds", sa.Double, nullable=False, server_default="5"),
)
"""The owners of `query NAME` (lower case) or `server`. Times are seconds of the store's clock."""

QUERIES = sa.Table(
    "cepsql_queries",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("desired", sa.Text, nullable=False),
    sa.Column("desired_since", sa.Double, nullable=False),
    sa.Column("restarts_asked", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("state_since", sa.Double, nullable=False),
    sa.Column("owner", sa.Text),
    sa.Column("restarts", sa.Integer, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("error_at", sa.Double),
    sa.Column("progress", sa.JSON),
    sa.Column("progress_at", sa.Double),
    sa.Column("suspect", sa.Boolean),
)
"""Desired and actual state of each query, by its name in lower case."""

HISTORY = sa.Table(
    "cepsql_history",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("note", sa.Text),
    sa.Column("progress", sa.JSON),
)

SAVEPOINTS = sa.Table(
    "cepsql_savepoints",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("folder", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)
"""Copies of the checkpoints of queries."""

CALLS = sa.Table(
    "cepsql_calls",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("sql", sa.Text, nullable=False),
    sa.Column("parameters", sa.Text, nullable=False),
)
"""Prepared statements by name in lower case; the names of parameters are a list in JSON."""


def _add_seconds(connection: sa.Connection) -> None:
    if all(column["name"] != "seconds" for column in sa.inspect(connection).get_columns("cepsql_leases")):
        connection.exec_driver_sql("ALTER TABLE cepsql_leases ADD COLUMN seconds DOUBLE PRECISION NOT NULL DEFAULT 5")


def _add_suspect(connection: sa.Connection) -> None:
    if all(column["name"] != "suspect" for column in sa.inspect(connection).get_columns("cepsql_queries")):
        connection.exec_driver_sql("ALTER TABLE cepsql_queries ADD COLUMN suspect BOOLEAN")


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (
    metadata.create_all,
    lambda connection: SAVEPOINTS.create(connection, checkfirst=True),
    _add_seconds,
    _add_suspect,
    lambda connection: CALLS.create(connection, checkfirst=True),
)
"""The steps that migrate a catalog from version n to version n + 1, in order; one without tables has version 0.

The step of a released version never changes; later changes are further steps that name their tables.
"""


def migrate(connection: sa.Connection) -> None:
    """Migrate the catalog to the current version; the connection holds the lock of the whole store.

    Raises OperationalError if the catalog was made by a newer version of cepsql.
    """
    version = 0
    if sa.inspect(connection).has_table(CATALOG.name):
        version = connection.execute(sa.select(CATALOG.c.version)).scalar_one()
    if version > len(MIGRATIONS):
        raise OperationalError(
            "the catalog was made by a newer version of cepsql",
            hint=f"it is of version {version}, and this cepsql knows versions up to {len(MIGRATIONS)}",
        )
    for step in MIGRATIONS[version:]:
        step(connection)
    if version == 0:
        connection.execute(CATALOG.insert().values(version=len(MIGRATIONS), generation=0, epoch=0))
    elif version < len(MIGRATIONS):
        connection.execute(CATALOG.update().values(version=len(MIGRATIONS)))
