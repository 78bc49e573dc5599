"""The home of the standing queries of a process: a database, leases, and its reconciler."""

import os
import socket
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.analysis.ddl.allowed_places import is_allowed_path
from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.base.temporary import remove_temporary, temporary_folder
from cepsql.catalog import RegisteredQuery
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.database import Database
from cepsql.catalog.leases import Leases
from cepsql.catalog.locations import checkpoint_location
from cepsql.catalog.query_states import QueryStates
from cepsql.catalog.references import resolved
from cepsql.catalog.savepoint_names import Savepoints
from cepsql.errors import OperationalError
from cepsql.standing.beside import beside
from cepsql.standing.reconciling.reconciler import Reconciler, Starter
from cepsql.standing.spark_start import await_start
from cepsql.views.recent_rows import USUALLY_KEPT, LastRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath

ABREAST = 4
"""How many queries a server starts at once, because a start mostly waits for processes and files."""

LEASE_SECONDS = 5.0
"""How long a dead process keeps its queries from others."""


class Home:
    """The states of the queries of a catalog, in its database, or in a temporary one for a catalog in memory."""

    def __init__(
        self,
        catalog: Catalog,
        start: Starter,
        spark: "Callable[[], SparkSession]",
        adopts: Callable[[], bool] = lambda: False,
        lease: float = LEASE_SECONDS,
        restrictions: Restrictions | None = None,
        abreast: int = 1,
    ):
        self._restrictions = restrictions
        self._spark = spark
        # Not every program closes its engine.
        self._temporary = None if catalog.store else temporary_folder("cepsql-queries-")
        database = catalog.store.database if catalog.store else Database(str(self._folder / "catalog.db"))
        self.states = QueryStates(database, Leases(database, lease))
        self.savepoints = Savepoints(database)
        self.reconciler = Reconciler(catalog, self.states, start, _process_name(), adopts, abreast)

    @property
    def _folder(self) -> Path:
        assert self._temporary is not None
        return self._temporary

    def checkpoint(self, query: RegisteredQuery) -> str:
        """Return the location of a query's checkpoint: from its options, by default beside the catalog.

        Raises OperationalError if the option is missing and the catalog is not a file, NotSupportedError if the option
        names a file system that cannot hold checkpoints.
        """
        if self._restrictions is not None:
            self._restrictions.check(query)
        options = resolved(query.options, f"query {query.name}")
        if "checkpoint" in options:
            return checkpoint_location(options["checkpoint"])
        file = self.states.database.file
        if file is None:
            hint = f"ALTER QUERY {quoted_name(query.name)} SET (checkpoint '/a/folder/of/its/own')"
            raise OperationalError(f"query {query.name} needs the option checkpoint", hint=hint)
        return str(beside(file, "checkpoints", f"{query.name.lower()}-{query.id}"))

    def rows_folder(self, name: str) -> Path | None:
        """Return the folder beside the catalog for the rows of a table, None if the catalog is not a file."""
        file = self.states.database.file
        return None if file is None else beside(file, "rows", name)

    def last_rows_folder(self, query: RegisteredQuery) -> Path:
        """Return the folder beside the catalog for the last rows of a query.

        Raises OperationalError if the catalog is not a file.
        """
        file = self.states.database.file
        if file is None:
            raise OperationalError(
                f"the rows of query {query.name} are kept beside a catalog that is in a file, and this one is in none",
                hint="CREATE MATERIALIZED VIEW ... OPTIONS (store '...') AS the same query; SUBSCRIBE follows it",
            )
        return beside(file, "last_rows", f"{query.name.lower()}-{query.id}")

    def last_rows(self, query: RegisteredQuery) -> LastRows | None:
        """Return the writer of the last rows of a query, None if the catalog is not a file."""
        if self.states.database.file is None:
            return None
        usually = USUALLY_KEPT if query.sink is None else 0
        most = int(resolved(query.options, f"query {query.name}").get("keep_last", usually))
        return LastRows(self.last_rows_folder(query), most)

    def folder(self, location: str) -> "CheckpointPath":
        """Return the folder of a checkpoint or savepoint, with the session that reaches it, if it needs one.

        Raises OperationalError if it cannot be reached, ProgrammingError if restrictions refuse it.
        """
        from cepsql.spark.checkpoint.checkpoint_path import checkpoint_path

        if self._restrictions is not None and not self._is_beside_catalog(location):
            self._restrictions.check_path("a checkpoint or savepoint", location)
        return checkpoint_path(location, self._spark)

    def _is_beside_catalog(self, location: str) -> bool:
        file = self.states.database.file
        return file is not None and is_allowed_path(location, [f"{file.absolute()}.checkpoints"])

    def start_spark(self, enough: Callable[[], bool]) -> None:
        """Wait until Spark has started in this process, or `enough` returns true.

        Raises OperationalError if it does not start.
        """
        await_start(self._spark, enough)

    def close(self) -> None:
        """Stop the queries of this process."""
        self.reconciler.close()
        self.states.database.close()
        if self._temporary is not None:
            remove_temporary(self._temporary)


def _process_name() -> str:
    """Return a unique and readable name of this process.

    >>> _process_name() == _process_name()
    False
    """
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
