"""What a query needs of the engine."""

from typing import TYPE_CHECKING, Protocol

from cepsql.catalog import Sink
from cepsql.language import statements as st
from cepsql.pattern.program import MatchProgram
from cepsql.plan.planner import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.spark.run.standing_query import StandingQuery
    from cepsql.views.relation import Rules


class QueryHost(Protocol):
    """What a query needs of the `cepsql.engine.context.Context` that it was made by."""

    settings: dict[str, str]

    @property
    def spark(self) -> "SparkSession": ...

    def check_open(self) -> None: ...

    def keep(self, standing: "StandingQuery") -> None: ...

    def sink(self, name: str) -> Sink: ...

    def plan(self, query: st.ParsedQuery) -> Plan: ...

    def wait_for_views(self, plan: Plan) -> None: ...

    def search_limits(self, program: MatchProgram) -> MatchProgram: ...

    def reading_rules(self) -> "Rules": ...

    def zone_name(self) -> str | None: ...
