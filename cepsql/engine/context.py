"""The context in which statements run: a catalog, a Spark session, settings, and standing queries."""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.analysis.ddl.source_options import check_reader
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import CTES, table_name
from cepsql.catalog import ColumnDefinition, Definition, MaterializedView, Registered, Relation, Sink, Source
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.catalog_names import kind
from cepsql.catalog.view_store import ViewSource, view_changes, view_source
from cepsql.engine.inferred_files import InferredFiles, file_format, file_source
from cepsql.engine.lazy_session import EngineSession
from cepsql.engine.owned_start import start_owned
from cepsql.engine.prepared import PreparedStatements
from cepsql.engine.registered_frames import Frames, registered
from cepsql.engine.settings import ANSI, ZONE, Settings, check_setting
from cepsql.errors import Error, Span, UncheckedError, at_place
from cepsql.language import statements as st
from cepsql.language.foreign.accepted_calls import called_names
from cepsql.language.rewriting.double_quotes import with_quoted_names
from cepsql.language.rewriting.file_tables import FILE, FileTable
from cepsql.language.translate import one_query, statements
from cepsql.pattern.program import MatchProgram
from cepsql.plan.planner import Plan, plan_query
from cepsql.plan.read_point import check_read_point, refuse_read_point
from cepsql.plan.standing_plan import plan_standing
from cepsql.plan.versions_known import check_versions_known
from cepsql.query import Query, limited

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.spark.run.standing_query import StandingQuery
    from cepsql.standing.home import Home
    from cepsql.standing.queries import Queries
    from cepsql.views.relation import Rules

_READING_SETTINGS = (ANSI, ZONE, "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
"""Settings of Spark SQL that queries over views without Spark support or ignore."""

AnyDefinition = TypeVar("AnyDefinition", bound=Definition | Relation)

NO_FRAMES: Frames = MappingProxyType({})


class Context:
    """A catalog, and the session in which statements over it run; `engine.Engine` is the public interface."""

    def __init__(
        self,
        spark: "SparkSession | None",
        master: str | None,
        conf: Mapping[str, str],
        catalog: Catalog | None = None,
        restrictions: Restrictions | None = None,
    ):
        self.catalog = catalog or Catalog()
        self.restrictions = restrictions
        self.session = EngineSession(self.catalog, spark, master, conf)
        self.given_settings = Settings(self.session)
        self.settings = self.given_settings.own
        self.prepared = PreparedStatements(lambda: None if self.checking else self.catalog.store)
        self.inserting: StandingQuery | None = None
        """The query that INSERT runs now."""
        self.checking = False
        """Whether statements are only analysed, and Spark must not start."""
        self._inferred = InferredFiles(lambda: self.spark)
        self._home: Home | None = None
        # A shell supervises its queries in another thread than the one that executes statements.
        self._home_lock = threading.RLock()
        self._starts_abreast = False
        self._standing: list[StandingQuery] = []

    @property
    def spark(self) -> "SparkSession":
        """The Spark session, started on first use; raises OperationalError if it can't start."""
        return self.session.spark

    def check_open(self) -> None:
        """Raise InterfaceError if the engine is closed, or was made before this process was forked."""
        self.session.check_open()

    @property
    def queries(self) -> "Queries":
        """The standing queries."""
        from cepsql.standing.queries import Queries

        return Queries(lambda: self.home)

    @property
    def home(self) -> "Home":
        """The manager of the standing queries, created on first use."""
        with self._home_lock:
            return self._home or self.open_home()

    def open_home(self, adopts: Callable[[], bool] | None = None, lease: float | None = None) -> "Home":
        """Make `home`, in which this process takes over all queries of the catalog while `adopts` returns True.

        adopts: None: it takes over no query, and starts queries on request, in the engine's session.
        lease: seconds after which another process may take over the queries of this one, if it has died.
        """
        from cepsql.standing.home import ABREAST, LEASE_SECONDS, Home

        with self._home_lock:
            self.check_open()
            arguments = (self.catalog, lambda query, owned: start_owned(self, query, owned), lambda: self.spark)
            seconds, restrictions = lease or LEASE_SECONDS, self.restrictions
            if adopts is None:
                self._home = Home(*arguments, lambda: False, seconds, restrictions)
            else:
                self._starts_abreast = True
                # No statement adds settings, views or functions to this session, so copies of it are complete.
                self._home = Home(*arguments, adopts, seconds, restrictions, abreast=ABREAST)
            return self._home

    def keep(self, standing: "StandingQuery") -> None:
        """Remember a standing query, to stop it when the engine is closed."""
        self._standing = [each for each in self._standing if each.status == "running"]
        self._standing.append(standing)

    def sink(self, name: str) -> Sink:
        """Return the sink of that name; raises ProgrammingError if there is none."""
        return self.allowed(self.catalog.sink(name))

    def set_settings(self) -> dict[str, str]:
        """Return the settings that SET has changed in this engine, of cepsql and of Spark SQL."""
        of_spark = self.session.changed
        return self.settings | {key: value for key, value in of_spark.items() if key.startswith("spark.sql.")}

    def check_setting(self, key: str, value: str | None, span: Span) -> None:
        """Check a setting of cepsql, and its value unless that is None; raises ProgrammingError at `span`."""
        check_setting(key, value, span)

    def search_limits(self, program: MatchProgram) -> MatchProgram:
        """Return the program with the search limits from SET."""
        return limited(program, self.settings)

    def typed_columns(self, plan: Plan) -> tuple[ColumnDefinition, ...]:
        """Return the columns of a plan with Spark's types; starts Spark. Raises Error."""
        return tuple(ColumnDefinition(name, kind) for name, kind in Query(self, plan).columns)

    def reading_rules(self) -> "Rules":
        """Return the session rules for queries over views without Spark; raises Unlike if only Spark has them."""
        from cepsql.readers.scan.row_expressions import Unlike
        from cepsql.scalar.expressions import Session as Rounding
        from cepsql.views.relation import Rules

        spark = self.session.running
        if spark is not None:
            from cepsql.spark.sources.arrow_scan import scan_session, session_obstacle

            obstacle = session_obstacle(spark)
            if obstacle is not None:
                raise Unlike(obstacle)
            return Rules(scan_session(spark), zoned=True)
        conf = self.session.settings
        other = next((key for key in conf if key.startswith("spark.sql.") and key not in _READING_SETTINGS), None)
        if other is not None:
            raise Unlike(f"{other} is set")
        return Rules(Rounding(conf.get(ANSI, "false").lower() == "true"), zoned=False)

    def compares_texts_plainly(self) -> bool:
        """Tell whether texts are compared character by character: no collation is set."""
        return not any("collation" in key.lower() for key in self.session.settings)

    def zone_name(self) -> str | None:
        """Return the session's time zone; None if only Spark knows it and has not started."""
        if self.session.running is not None:
            return self.session.running.conf.get(ZONE)
        from cepsql.views.local_zone import local_zone

        return self.session.settings.get(ZONE) or local_zone()

    def parsed(self, text: str) -> list[st.Statement]:
        """Return the statements of a text, parsed with this session's rules for double quotes and functions."""
        if isinstance(text, str) and '"' in text:
            said = self.given_settings
            text = with_quoted_names(text, said.names_quoted, said.names_usually_quoted)
        called = called_names(text) if isinstance(text, str) else ()
        return statements(text, self.session.user_functions(called, not self.checking) if called else ())

    def plan(self, query: st.ParsedQuery, frames: Frames = NO_FRAMES, defining: bool = False) -> Plan:
        """Plan a query over the relations of this engine, and over DataFrames by lower-case name; raises Error.

        defining: the query defines a view.
        """
        self.check_open()
        self.check_allowed(query.sql)
        if defining:
            refuse_read_point(query, "a view")
        plan = plan_query(query, lambda table: frames.get(table_name(table).lower()) or self.relation(table), defining)
        check_read_point(plan)
        self._check_versions(plan)
        return plan

    def plan_standing(self, query: st.ParsedQuery, of_view: bool = False) -> Plan:
        """Plan a standing query, possibly that of a materialized view; raises Error."""
        self.check_open()
        self.check_allowed(query.sql)

        def changes(view: ViewSource, events: bool) -> ViewSource:
            return view_changes(view.view, self.catalog.view_file, events)

        plan = plan_standing(query, self.relation, changes, of_view)
        self._check_versions(plan)
        return plan

    def _check_versions(self, plan: Plan) -> None:
        check_versions_known(plan, lambda view: self.plan_standing(one_query(view.query.sql), True))

    def wait_for_views(self, plan: Plan) -> None:
        """Wait until the views of a query include the tokens of AFTER; raises Error."""
        if plan.query.point is not None and plan.query.point.after is not None:
            from cepsql.standing.insert_tokens import wait_for_views

            wait_for_views(self, plan)

    def check_allowed(self, sql: str) -> None:
        """Raise ProgrammingError for a query that the restrictions of this engine refuse."""
        if self.restrictions is not None:
            self.restrictions.check_sql(sql)

    def allowed(self, definition: AnyDefinition) -> AnyDefinition:
        """Return a definition, unless the restrictions of this engine refuse it."""
        if self.restrictions is not None:
            self.restrictions.check(definition)
        return definition

    def frames(self, frames: Mapping[str, object]) -> Frames:
        """Return DataFrames of any library as Spark DataFrames, by lower-case name."""
        if not frames:
            return {}
        spark = self.spark
        from cepsql.spark.frames.user_frames import spark_frame

        return {name.lower(): registered(name, spark_frame(spark, name, frame)) for name, frame in frames.items()}

    def relation(self, table: exp.Table) -> Relation:
        """Return the relation of a table in FROM; raises Error."""
        file = table.this.meta_get(FILE)
        if file is not None:
            return self._file_table(file, span_of(table.this))
        name = table_name(table)
        relation = self.catalog.find(name)
        session = self.session.user_session
        if relation is None and session is not None and _has_table(session, name):
            relation = registered(name, session.table(name))
        if relation is None and isinstance(sink := self.catalog.names.find(name), Sink):
            if self.checking and sink.columns:
                return Registered(sink.name, sink.columns, None)
            if not self.checking:
                return self._sink_rows(sink, span_of(table))
        relation = self.allowed(relation or self.catalog.get(name, span_of(table), table.meta_get(CTES, ())))
        return view_source(relation, self.catalog.view_file) if isinstance(relation, MaterializedView) else relation

    def _sink_rows(self, sink: Sink, span: Span | None) -> Registered:
        """Return the rows in a sink, as a relation."""
        from cepsql.standing.sink_reading import read_sink

        with at_place(span):
            return read_sink(self, self.allowed(sink), lambda: self.spark)

    def _file_table(self, file: FileTable, span: Span | None) -> Source:
        """Return the files that a query reads, as a table with inferred columns."""
        source, format = file_source(file), file_format(file)
        try:
            with at_place(span):
                check_reader(source)
                self.allowed(source)
                if self.checking:
                    raise UncheckedError(
                        f"the columns of {file.written} are in the files, and only Spark can read them"
                    )
                return self._inferred.with_columns(source if format else replace(source, format=""))
        except Error as error:
            if format is None and self.catalog.find(file.path) is not None:
                error.hint = f"the {kind(self.catalog.get(file.path))} {file.path} is named without quotes"
            raise

    def session_of_start(self) -> "AbstractContextManager[SparkSession]":
        """Lend the session for the start of a query; concurrent starts get separate sessions."""
        return self.session.lent() if self._starts_abreast else nullcontext(self.spark)

    def close(self, at_exit: bool = False) -> None:
        """Stop the engine's queries, and leave Spark unless this process ends now."""
        if not self.session.is_of_this_process:
            self.session.closed = True
            return
        with self._home_lock:
            home, self._home = self._home, None
        if home is not None:
            home.close()
        for standing in self._standing:
            standing.stop()
        self._standing.clear()
        self.session.closed = True
        if not at_exit:
            self.session.leave()


def _has_table(spark: "SparkSession", name: str) -> bool:
    """Tell whether a session has a table or a view of a name."""
    from pyspark.errors import AnalysisException

    try:
        return spark.catalog.tableExists(name)
    except AnalysisException:
        # The name has more parts than the session's catalog supports.
        return False
