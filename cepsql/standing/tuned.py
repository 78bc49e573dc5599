"""The engine as a query that stands under a name sees it: with the settings of that query."""

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
    """A host of one query: it has settings of cepsql's, and perhaps a Spark session, of its own; all else is another
    host's."""

    def __init__(self, host: QueryHost, settings: Mapping[str, str], spark: "SparkSession | None" = None):
        self._host, self.settings, self._lent = host, dict(settings), spark

    @property
    def spark(self) -> "SparkSession":
        """The session that was given, else the host's, which may have to start it."""
        return self._host.spark if self._lent is None else self._lent

    def check_open(self) -> None:
        """Raise InterfaceError if the host is closed."""
        self._host.check_open()

    def keep(self, standing: "StandingQuery") -> None:
        """Leave it to the reconciler to stop the query."""

    def reading_rules(self) -> "Rules":
        """Return how the engine's queries over views are computed without Spark."""
        return self._host.reading_rules()

    def zone_name(self) -> str | None:
        """Return the time zone of the engine's session."""
        return self._host.zone_name()

    def sink(self, name: str) -> Sink:
        """Return the sink that the host knows by a name."""
        return self._host.sink(name)

    def plan(self, query: st.ParsedQuery) -> Plan:
        """Plan a query over what the host knows."""
        return self._host.plan(query)

    def wait_for_views(self, plan: Plan) -> None:
        """Wait until the views of a query have taken what AFTER names."""
        self._host.wait_for_views(plan)

    def search_limits(self, program: MatchProgram) -> MatchProgram:
        """Return the program with the limits that the settings give its search."""
        return limited(program, self.settings)
