"""Start a registered query in the process that owns it."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from cepsql.base.loading import load_spark
from cepsql.catalog import Definition, RegisteredQuery, Sink
from cepsql.catalog.references import resolved
from cepsql.engine.settings import SETTINGS
from cepsql.query import Query, QueryHost
from cepsql.standing.statement_host import StatementHost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.catalog.leases import Lease
    from cepsql.spark.run.standing_query import StandingQuery


class Owner(QueryHost, StatementHost, Protocol):
    """The part of `cepsql.engine.context.Context` that a start needs."""

    def allowed(self, definition: Definition) -> Definition: ...

    def session_of_start(self) -> "AbstractContextManager[SparkSession]": ...


def start_owned(context: Owner, definition: RegisteredQuery, lease: "Lease") -> "StandingQuery":
    """Start a registered query as the owner of its lease, with the query's settings in Spark during the start.

    Raises Error, for example if the engine's restrictions refuse the query.
    """
    load_spark()
    from cepsql.spark.jvm.lent_settings import lent_settings
    from cepsql.spark.jvm.messages.failures import translated_failures
    from cepsql.standing.registered_plan import registered_plan
    from cepsql.standing.replacement import has_begun, kept_session
    from cepsql.standing.tuned import Tuned

    resumes = has_begun(context.home, definition)
    context.allowed(definition)
    options = resolved(definition.options, f"query {definition.name}")
    view = context.catalog.names.view_of(definition)
    views: list[Definition] = [view] if view is not None else []
    if definition.views is not None:
        views += context.catalog.names.in_group(definition.name)
    sink = None if definition.views == () else context.catalog.target(definition)
    for named in views or ([sink] if sink is not None else []):
        context.allowed(named)
    settings = {key: value for key, value in options.items() if key.startswith("spark.sql.")}
    own = {key: value for key, value in options.items() if key in SETTINGS}
    with (
        context.session_of_start() as spark,
        translated_failures(definition.sql),
        lent_settings(spark, kept_session(context.home, definition) | settings),
    ):
        tuned = Tuned(context, own, spark)
        query = Query(tuned, registered_plan(context, definition), options.get("start"))
        keeps_views = view is not None or definition.views is not None
        query.last_rows = None if keeps_views else context.home.last_rows(definition)
        return query.start(
            sink=sink or Sink("nothing", (), "noop"),
            name=definition.name,
            epoch=lease.epoch,
            checkpoint=context.home.checkpoint(definition),
            trigger=options.get("trigger"),
            upgrades=True,
            resumes=resumes,
        )
