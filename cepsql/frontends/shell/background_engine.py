"""An engine that is made, and its Spark started, while the user types."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from cepsql.base.loading import load_spark
from cepsql.frontends.shell.language_import import language

if TYPE_CHECKING:
    from cepsql.catalog import Relation
    from cepsql.catalog.states import QueryState
    from cepsql.engine import Engine


class OpeningEngine:
    """Makes an engine in a thread of its own, for even what it imports takes a moment; then starts Spark.

    If Spark does not start, the first statement that needs it says so.

    started:   whether Spark has been started, or could not be.
    functions: what Spark says of its functions, by name; none before it has started.
    """

    def __init__(self, make: "Callable[[], Engine]"):
        self._make = make
        self._engine: Engine | None = None
        self._failure: Exception | None = None
        self._made = threading.Event()
        self.started = False
        self.functions: dict[str, str] = {}
        threading.Thread(target=self._open, name="cepsql-opening", daemon=True).start()

    def get(self) -> "Engine":
        """Wait for the engine; raise what making it failed with."""
        self._made.wait()
        if self._failure is not None:
            raise self._failure
        assert self._engine is not None
        return self._engine

    def relations(self) -> "list[Relation]":
        """Return the relations that are defined; none while the engine is not made."""
        return [] if self._engine is None else list(self._engine.catalog)

    def queries(self) -> list[str]:
        """Return the names of the standing queries; none while the engine is not made."""
        return [] if self._engine is None else [query.name for query in self._engine.catalog.names.queries]

    def sinks(self) -> list[str]:
        """Return the names of the sinks; none while the engine is not made."""
        return [] if self._engine is None else [sink.name for sink in self._engine.catalog.names.sinks]

    def query_states(self) -> "dict[str, QueryState]":
        """Return the states of the standing queries, by name; none while the engine is not made.

        Raises OperationalError if the catalog cannot be reached.
        """
        if self._engine is None or not self._engine.catalog.names.queries:
            return {}
        states = self._engine.home.states.all()
        names = [query.name for query in self._engine.catalog.names.queries]
        return {name: states[name.lower()] for name in sorted(names) if name.lower() in states}

    def own_queries(self) -> list[str]:
        """Return the names of the queries that run in this process, and end with it."""
        if self._engine is None or not self._engine.catalog.names.queries:
            return []
        return sorted(self._engine.home.reconciler.owned)

    def cancel(self) -> None:
        """Cancel what runs in the engine, if it has been made."""
        if self._engine is not None:
            self._engine.cancel()

    def close(self) -> None:
        """Close the engine, if it has been made, at the end of this process."""
        if self._engine is not None:
            self._engine.close(at_exit=True)

    def _open(self) -> None:
        try:
            language()
            self._engine = self._make()
            load_spark()
        except Exception as failure:
            self._failure = failure
            return
        finally:
            self._made.set()
        with suppress(Exception):
            self._engine.warm()
            from cepsql.spark.jvm.messages.function_list import functions

            self.functions = functions(self._engine.spark)
        self.started = True
