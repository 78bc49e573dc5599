"""The start of a query that stands under a name, by the process that owns it."""

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
    """What a start needs of the `cepsql.engine.context.Context` in which it happens."""

    def allowed(self, definition: Definition) -> Definition: ...

    def session_of_start(self) -> "AbstractContextManager[SparkSession]": ...


def start_owned(context: Owner, definition: RegisteredQuery, lease: "Lease") -> "StandingQuery":
    """Start a query that stands under a name, as the owner of its lease; its settings are lent to Spark.

    Raises Error, such as for what the restrictions of the engine refuse.
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
    kept: list[Definition] = [view] if view is not None else []
    if definition.views is not None:
        kept += context.catalog.names.in_group(definition.name)
    sink = None if definition.views == () else context.catalog.target(definition)
    for named in kept or ([sink] if sink is not None else []):
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
