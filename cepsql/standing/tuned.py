"""The engine with the settings of a named query."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cepsql.catalog import Sink
from cepsql.language import statements as st
from cepsql.pattern.program import MatchProgram
from cepsql.plan.planner import Plan
from cepsql.query import QueryHost, limited

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.spark.run.standing_query import StandingQuery
    from cepsql.views.relation import Rules


class Tuned:
    """A host of one query with cepsql settings, and perhaps a Spark session, of its own; all else is another host's."""

    def __init__(self, host: QueryHost, settings: Mapping[str, str], spark: "SparkSession | None" = None):
        self._host, self.settings, self._lent = host, dict(settings), spark

    @property
    def spark(self) -> "SparkSession":
        """The query's own session, else the host's, which may have to start it."""
        return self._host.spark if self._lent is None else self._lent

    def check_open(self) -> None:
        """Raise InterfaceError if the host is closed."""
        self._host.check_open()

    def keep(self, standing: "StandingQuery") -> None:
        """Do nothing: the reconciler stops the query."""

    def reading_rules(self) -> "Rules":
        """Return the rules for queries over views without Spark."""
        return self._host.reading_rules()

    def zone_name(self) -> str | None:
        """Return the time zone of the engine's session."""
        return self._host.zone_name()

    def sink(self, name: str) -> Sink:
        """Return the sink with a name."""
        return self._host.sink(name)

    def plan(self, query: st.ParsedQuery) -> Plan:
        """Plan a query over the definitions of the host."""
        return self._host.plan(query)

    def wait_for_views(self, plan: Plan) -> None:
        """Wait until the views of a query contain the rows of its AFTER token."""
        self._host.wait_for_views(plan)

    def search_limits(self, program: MatchProgram) -> MatchProgram:
        """Return the program with the search limits of the settings."""
        return limited(program, self.settings)
