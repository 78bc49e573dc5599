"""The front door: statements in, lazy queries and answers out. Shell, command line and programs use this alone."""

import datetime
import fnmatch
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from cepsql.analysis.ddl.backfill import defined_backfill
from cepsql.analysis.ddl.encodings import check_encoding
from cepsql.analysis.ddl.format_names import SOURCE_FORMATS, format_note
from cepsql.analysis.ddl.late_rows import defined_late_rows
from cepsql.analysis.ddl.left_out_columns import leaves_out_columns, with_columns
from cepsql.analysis.ddl.records import defined_options, defined_value
from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.analysis.ddl.setting_names import OWN, can_be_sparks, setting_hint
from cepsql.analysis.ddl.source_options import check_reader, mistaken_option
from cepsql.analysis.ddl.stream_key import defined_key
from cepsql.analysis.ddl.watermark import defined_watermark
from cepsql.analysis.sql.intervals import defined_refresh, duration_micros
from cepsql.analysis.sql.parameters import bind_parameters, named_values, refuse_parameters
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import CTES, table_name
from cepsql.answer import Answer
from cepsql.catalog import (
    ColumnDefinition,
    Definition,
    MaterializedView,
    Registered,
    RegisteredQuery,
    Relation,
    Sink,
    Source,
    View,
    Watermark,
)
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.described import described
from cepsql.catalog.locations import located
from cepsql.catalog.names import kind as kind_of
from cepsql.catalog.references import resolved
from cepsql.catalog.view_store import ViewSource, view_changes, view_source
from cepsql.datagen.fields import DATAGEN, check_fields, with_start
from cepsql.errors import (
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Span,
    in_text,
    suggestion,
)
from cepsql.kafka.reader import with_reader
from cepsql.language import statements as st
from cepsql.language.double_quotes import NAMES_IN_DOUBLE_QUOTES, with_quoted_names
from cepsql.language.file_tables import FILE, FileTable, ending_format, refuse_relative_files
from cepsql.language.translate import statements
from cepsql.loading import load_spark
from cepsql.pattern.program import STEP_BUDGET, UNDECIDED_ROWS, MatchProgram
from cepsql.plan.planner import Plan, plan_query
from cepsql.plan.read_point import check_read_point, refuse_read_point
from cepsql.plan.references import valued_source
from cepsql.plan.refuse import refuse_endless_aggregate
from cepsql.plan.standing import plan_standing
from cepsql.query import Query, limited
from cepsql.secrets import is_secret
from cepsql.standing.own_folder import with_own_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cepsql.catalog.leases import Lease
    from cepsql.spark.jvm.start_sessions import StartSessions
    from cepsql.spark.run.query import StandingQuery
    from cepsql.standing.home import Home
    from cepsql.standing.queries import Queries
    from cepsql.views.relation import Rules

LOGGER = logging.getLogger("cepsql")

_MOST_INFERRED = 100
"""Of so many files in FROM the columns are remembered."""

SUMMARY = ("column", "type", "min", "max", "approx_unique", "avg", "null_share", "count")
"""What SUMMARIZE tells of each column; `null_share` is between 0 and 1, `count` that of all rows."""

ANSI = "spark.sql.ansi.enabled"
"""Spark's setting that makes 1/0, overflows and casts that fail errors."""

ZONE = "spark.sql.session.timeZone"
"""Spark's setting for the time zone."""

_READING_SETTINGS = (ANSI, ZONE, "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
"""Settings under which queries over views can be answered without Spark."""

_FAILING = (exp.Div, exp.IntDiv, exp.Mod, exp.Cast, exp.TryCast)
"""Expressions that ANSI mode lets fail."""

SETTINGS = {
    "cepsql.buckets": "groups that the keys of a pattern are spread over; fixed for the life of a checkpoint",
    "cepsql.scan": "auto: Arrow reads the files of a stream where it gives the same rows as Spark; spark: Spark does",
    "cepsql.step_budget": f"steps that a pattern may take from one row; default {STEP_BUDGET}",
    "cepsql.strict": "true: on a stream a pattern that takes too many steps, or a skip that leads nowhere, is an error",
    "cepsql.undecided_rows": "rows of one key that may wait on a stream for the end of a match; with more the query "
    f"fails; default {UNDECIDED_ROWS}",
}
"""Settings of cepsql itself, with what they mean; SET passes those of Spark to it."""


AnyDefinition = TypeVar("AnyDefinition", bound=Definition | Relation)

Frames = Mapping[str, Registered]
"""DataFrames by their names in lower case."""

Args = Mapping[str, object] | Sequence[object] | None
"""Values of parameters: by name, or in order."""


def connect(
    spark: "SparkSession | None" = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    ansi: bool | None = None,
    catalog: "str | os.PathLike[str] | None" = None,
    restrictions: Restrictions | None = None,
    create_catalog: bool | None = None,
) -> "Engine":
    """Make an engine; no JVM starts before a statement needs one.

    spark:   the session to use, whose tables and views can be queried too. None: a session of the engine's own, in the
             Spark that runs in this process or else in one that starts.
    master:  where our own session runs, such as "local[2]" or "spark://host:7077".
    conf:    Spark settings for our own session. If Spark runs already, with another master or another value of a
             setting that is fixed when it starts, the first statement that needs Spark raises OperationalError.
    ansi:    whether 1/0, an overflow or a cast that fails is an error (True) or gives NULL (False); it is set in a
             given session. None: as the given session says; NULL in one of our own, so that one such value does not
             end a standing query.
    catalog: where definitions are kept, and shared with other processes: the path of a file, which is made if it is
             missing, or a URL such as postgresql://host/database; default CEPSQL_CATALOG. "": in this process.
    restrictions: what statements and definitions may name; None: all that this process has a right to.
    create_catalog: whether a catalog is made where there is none, True or False. None: yes, except in a file that is
             there and empty, which may be what is left of a catalog.
    Raises InterfaceError for arguments of another kind, and for master or conf beside a given session; OperationalError
    if the catalog cannot be used.
    """
    _check_kinds({"master": (master, str), "ansi": (ansi, bool), "catalog": (catalog, str | os.PathLike)})
    _check_kinds({"create_catalog": (create_catalog, bool)})
    given = _settings(conf)
    if spark is not None:
        _check_given(spark, master, conf)
    if ansi is not None:
        given[ANSI] = str(ansi).lower()
        if spark is not None:
            spark.conf.set(ANSI, given[ANSI])
    location = os.environ.get("CEPSQL_CATALOG") if catalog is None else os.fspath(catalog)
    return Engine(spark, master, given, opened_catalog(location, create_catalog), restrictions)


def _check_kinds(given: Mapping[str, tuple[object, type | UnionType]]) -> None:
    """Refuse arguments that are not of their kind; each may be left out."""
    for name, (value, kind) in given.items():
        if value is not None and not isinstance(value, kind):
            wanted = "True or False" if kind is bool else "a text"
            raise InterfaceError(f"{name} is {wanted}, not {value!r}")


def _settings(conf: object) -> dict[str, str]:
    """Return settings of Spark's as Spark writes their values."""
    if conf is None:
        return {}
    if not isinstance(conf, Mapping):
        hint = 'such as {"spark.sql.session.timeZone": "UTC"}'
        raise InterfaceError(f"conf is a mapping of settings, not {type(conf).__name__}", hint=hint)
    for key in conf:
        if not isinstance(key, str):
            raise InterfaceError(f"the names of settings are texts, not {key!r}")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}


def _check_given(spark: object, master: str | None, conf: object) -> None:
    """Refuse what is no session, and settings that one that is there would not take up."""
    if not hasattr(type(spark), "catalog"):
        hint = 'a master is given as such: connect(master="local[2]")'
        raise InterfaceError(f"spark is a SparkSession, not {type(spark).__name__}", hint=hint)
    for name, value in (("master", master), ("conf", conf)):
        if value:
            raise InterfaceError(
                f"{name} is for a session of the engine's own, and one was given",
                hint="give it to that session, or leave spark out",
            )


def opened_catalog(location: str | None, create: bool | None = None) -> Catalog:
    """Return the catalog at a location, None or "" for one of this process; `create` as for `connect`.

    Raises OperationalError if it cannot be used.
    """
    if not location:
        return Catalog()
    from cepsql.catalog.database import Database
    from cepsql.catalog.store import Store

    return Catalog(Store(Database(location, create)))


class Engine:
    """A catalog and a Spark session, in which statements are executed."""

    def __init__(
        self,
        spark: "SparkSession | None",
        master: str | None,
        conf: dict[str, str],
        catalog: Catalog | None = None,
        restrictions: Restrictions | None = None,
    ):
        self.catalog = catalog or Catalog()
        self.restrictions = restrictions
        self.settings: dict[str, str] = {}
        self._spark_settings: dict[str, str] = {}
        self._names_quoted: bool | None = None
        self._prepared: dict[str, str] = {}
        self._home: Home | None = None
        # A shell looks after its queries in a thread beside the one that executes statements.
        self._home_lock = threading.RLock()
        self._starts_abreast = False
        self._start_sessions: StartSessions | None = None
        self._inserting: StandingQuery | None = None
        self._given, self._master, self._conf = spark, master, conf
        self._spark = spark
        self._closed = False
        self._process = os.getpid()
        self._told_ansi = False
        self._lock = threading.Lock()
        self._standing: list[StandingQuery] = []
        self._checking = False
        self._inferred: dict[tuple | None, Source] = {}
        if spark is not None:
            from cepsql.spark.jvm.engine_sessions import join_session

            join_session(self, spark)

    def __reduce__(self):
        raise InterfaceError("an engine cannot be copied or pickled", hint="connect() makes another one")

    def __repr__(self) -> str:
        how = "closed" if self._closed else "Spark runs" if self._spark is not None else "Spark has not started"
        return f"<cepsql engine: {how}>"

    def _repr_html_(self) -> str:
        """Show in a notebook what is defined in it."""
        from cepsql.render.html import html_text

        known = sorted(self.catalog, key=lambda relation: relation.name) if not self._closed else ()
        return html_text("\n".join([repr(self), *(f"{kind_of(each)} {each.name}" for each in known)]))

    @property
    def spark(self) -> "SparkSession":
        """The Spark session, made when first asked for, and again where the Java of one that we started has ended.

        Raises OperationalError if Java or Spark cannot be started, or runs with other settings that cannot be changed.
        """
        load_spark()
        from cepsql.spark.jvm.own_functions import add_own_functions

        with self._lock:
            self.check_open()
            if self._spark is not None and self._given is None:
                self._forget_lost()
            elif getattr(getattr(self._given, "_sc", self), "_jsc", self) is None:
                from cepsql.spark.jvm.failures import STOPPED, STOPPED_HINT

                raise OperationalError(STOPPED, hint=STOPPED_HINT)
            if self._spark is None:
                from cepsql.spark.jvm.engine_sessions import open_session

                sources = [relation for relation in self.catalog if isinstance(relation, Source)]
                self._spark = open_session(self, self._master, self._conf | self._spark_settings, sources)
            add_own_functions(self._spark)
            return self._spark

    def check_open(self) -> None:
        """Raise InterfaceError if the engine is closed, or was made by the process from which this one was forked."""
        if self._process != os.getpid():
            raise InterfaceError(
                "the engine is that of the process from which this one was forked",
                hint='connect() makes one here; multiprocessing.get_context("spawn") begins without any',
            )
        if self._closed:
            raise InterfaceError("the engine is closed", hint="connect() makes another one")

    @property
    def has_started(self) -> bool:
        """Whether there is a Spark session, so that statements need not wait for it."""
        return self._spark is not None

    @property
    def queries(self) -> "Queries":
        """The queries that stand under names: `engine.queries["fraud"].stop()`."""
        from cepsql.standing.queries import Queries

        return Queries(lambda: self.home)

    @property
    def home(self) -> "Home":
        """What keeps the queries that stand under names, made when first asked for."""
        with self._home_lock:
            return self._home or self.open_home()

    def open_home(self, adopts: Callable[[], bool] | None = None, lease: float | None = None) -> "Home":
        """Make `home`, in which this process takes over all queries of the catalog while `adopts` says so.

        adopts: None: it takes over none, and starts those that it is told to in the engine's session.
        lease: seconds after which another process may take over what this one, if it has died, ran.
        """
        from cepsql.standing.home import ABREAST, LEASE_SECONDS, Home

        with self._home_lock:
            self.check_open()
            given = (self.catalog, self._start_owned, lambda: self.spark)
            seconds, restrictions = lease or LEASE_SECONDS, self.restrictions
            if adopts is None:
                self._home = Home(*given, lambda: False, seconds, restrictions)
            else:
                self._starts_abreast = True
                # No statement gives this session settings, views or functions that a copy would not have.
                self._home = Home(*given, adopts, seconds, restrictions, abreast=ABREAST)
            return self._home

    def warm(self) -> None:
        """Start Spark and its Python workers now, so that the first query need not wait for them."""
        spark = self.spark
        from cepsql.spark.stages.warm import warm

        warm(spark)

    def _forget_lost(self) -> None:
        """Forget a session whose Java has ended, and with it the DataFrames that were registered."""
        from cepsql.spark.jvm.gateway import is_lost

        assert self._spark is not None
        if not is_lost(self._spark):
            return
        LOGGER.warning("Java has ended; Spark starts again, and all definitions are kept")
        self._spark = None
        if lost := self.catalog.forget_frames():
            LOGGER.warning("these DataFrames are gone with Java and must be registered again: %s", ", ".join(lost))

    def query(self, text: str, args: Args = None, **frames: object) -> Query:
        """Return the query that a text ends with; it is lazy. Definitions before it act at once.

        args, frames: as for `sql`.
        Raises InterfaceError if the last statement is no query, or another one is; and what `sql` raises.
        """
        self.check_open()
        parsed = self._parsed(text)
        queries = [statement for statement in parsed if isinstance(statement, st.Query | st.Print)]
        if len(queries) != 1 or parsed[-1] is not queries[0]:
            raise InterfaceError(
                "query() takes a single query, with definitions before it",
                hint="sql() executes any statements",
                text=text,
            )
        found = self.sql(text, args, **frames)
        assert isinstance(found, Query)
        return found

    def sql(self, text: str, args: Args = None, **frames: object) -> Query | Answer:
        """Execute all statements of a text; return what the last one gives.

        args:   values for the parameters `:name` by name, or a list of those for every `?`.
        frames: DataFrames of Spark, pandas or Polars, or Arrow tables, under the names by which queries of this text
                read them; they hide what the catalog calls so. `register` gives a DataFrame a name that stays.
        Definitions act at once; a query is lazy. Raises Error.
        """
        result: Query | Answer | None = None
        for item in self.execute(text, args, **frames):
            result = item
        if result is None:
            raise InterfaceError("the text has no statement", text=text)
        return result

    def execute(self, text: str, args: Args = None, **frames: object) -> Iterator[Query | Answer]:
        """Execute the statements of a text one by one; give what each says, before the next is executed.

        args, frames: as for `sql`.
        """
        self.check_open()
        given = self._registered(frames)
        parsed = self._parsed(text)
        values = named_values(parsed, {} if args is None else args)
        for statement in parsed:
            with in_text(text):
                if isinstance(statement, st.CreateView | st.CreateQuery | st.CreateMaterializedView):
                    refuse_parameters(statement, "a text that is kept", statement.name.span)
                    if self.catalog.store is not None:
                        refuse_relative_files(statement.query)
                done = self._execute(bind_parameters(statement, values), given)
            yield done

    def check(self, text: str, args: Args = None) -> None:
        """Read and analyse the statements of a text, but run none; definitions take effect. Spark is not started.

        Raises what executing them would raise before anything runs.
        """
        self.check_open()
        parsed = self._parsed(text)
        values = named_values(parsed, {} if args is None else args)
        self._checking = True
        try:
            for statement in parsed:
                with in_text(text):
                    self._check(bind_parameters(statement, values))
        finally:
            self._checking = False

    def _check(self, statement: st.Statement) -> None:
        match statement:
            case st.Query() as query:
                refuse_endless_aggregate(plan_query(query, self._lookup).logical)
            case st.Explain(query) | st.ExplainMatch(query):
                self._explained(query)
            case st.Summarize(query):
                plan_query(query, self._lookup)
            case st.CreateAs(name):
                plan = self.plan(statement.query)
                refuse_endless_aggregate(plan.logical)
                if self.catalog.names.find(name.text) is None:
                    self.catalog.add(View(name.text, statement.sql, *_rows_of(plan)))
            case st.Prepare() | st.Deallocate():
                self._execute(statement)
            case st.ExecutePrepared():
                sql, inner = self._unprepared(statement)
                with in_text(sql):
                    self._check(inner)
            case st.ExplainAnalyze(name):
                self.catalog.query(name.text, name.span)
            case st.Insert(target, query):
                self._insert_target(target)
                refuse_endless_aggregate(self.plan(query).logical)
            case st.ControlQuery(_, name) | st.ShowHistory(name) | st.DescribeQuery(name):
                self.catalog.query(name.text, name.span)
            case st.CreateSource() if leaves_out_columns(statement):
                raise NotSupportedError(
                    f"{statement.name.text} names no columns, and only Spark can read them",
                    statement.name.span,
                    "cepsql check knows columns that are named: CREATE TABLE name (column TYPE, ...) USING ...",
                )
            case st.CreateMaterializedView():
                from cepsql.standing.views import check_view

                check_view(self, statement)
            case st.CreateSource() | st.CreateView() | st.CreateSink() | st.CreateQuery() | st.AlterQuery():
                self._execute(statement)
            case st.Drop() | st.Describe():
                self._execute(statement)
            case st.Print():
                self._printed(statement)
            case st.SetOption(st.Name(key)) | st.ResetOption(st.Name(key)) if (
                key.startswith(OWN) or key == NAMES_IN_DOUBLE_QUOTES
            ):
                self._execute(statement)
            case st.SetOption(st.Name() as key) | st.ResetOption(st.Name() as key):
                self._check_name(key)

    def register(self, name: str, frame: object, watermark: tuple[str, str] | None = None) -> None:
        """Give a DataFrame a name that statements can use; an existing name is replaced.

        frame:     of Spark, pandas or Polars, or an Arrow table.
        watermark: for a streaming frame, its event-time column and how late rows may be, such as ("ts", "10 seconds");
                   by default what `frame.withWatermark` said.
        Raises InterfaceError for arguments of another kind, ProgrammingError for a column that the frame does not have,
        DataError for values that Spark cannot read.
        """
        self.check_open()
        if not isinstance(name, str) or not name.strip():
            raise InterfaceError(f"the name of a DataFrame is a text, not {name!r}")
        spark = self.spark
        from cepsql.spark.frames.frames import spark_frame

        self.catalog.add(_named(name, spark_frame(spark, name, frame), watermark), replace=True)

    def notices(self, query: Query) -> tuple[str, ...]:
        """Return what a user at a terminal should know of this engine before a query runs, each thing once."""
        given = ANSI in self._conf or ANSI in self._spark_settings or self._given is not None
        if given or self._told_ansi or query.plan.query.expression.find(*_FAILING) is None:
            return ()
        self._told_ansi = True
        return (
            "1/0, overflows and casts that fail give NULL here; SET spark.sql.ansi.enabled = true makes them errors",
        )

    def loss(self, text: str) -> str | None:
        """Say what a statement would drop that cannot be had again, such as a query's state; None for nothing.

        Nothing is executed. Errors of the statement are not reported here.
        Raises OperationalError if the catalog cannot be reached.
        """
        self.check_open()
        if "drop" not in text.lower():
            return None
        from cepsql.standing.losses import loss

        try:
            (statement,) = self._parsed(text)
        except Error:
            return None
        return loss(self, statement)

    def keep(self, standing: "StandingQuery") -> None:
        """Remember a standing query, to stop it when the engine is closed."""
        self._standing = [known for known in self._standing if known.status == "running"]
        self._standing.append(standing)

    def sink(self, name: str) -> Sink:
        """Return the sink of that name; raises ProgrammingError if there is none."""
        return self._allowed(self.catalog.sink(name))

    def cancel(self) -> None:
        """Stop every bounded job and INSERT that runs in this engine now; standing queries go on."""
        self.check_open()
        if self._inserting is not None:
            self._inserting.stop()
        if self._spark is not None:
            from cepsql.spark.run.runs import cancel

            cancel(self._spark)

    def close(self, at_exit: bool = False) -> None:
        """Stop what runs in this engine, and Spark if an engine started it and no other uses it; twice is as once.

        at_exit: this process ends now: do not wait for Java, which stops by itself, nor for queries that start.
        A closed engine and its queries raise InterfaceError. In a process forked from its own it stops nothing.
        """
        if self._process != os.getpid():
            self._closed = True
            return
        with self._home_lock:
            home, self._home = self._home, None
        if home is not None:
            home.close()
        for standing in self._standing:
            standing.stop()
        self._standing.clear()
        self._closed = True
        if at_exit:
            return
        with self._lock:
            spark, self._spark = self._spark, None
        if spark is not None:
            from cepsql.spark.jvm.engine_sessions import leave_session
            from cepsql.spark.run.runs import cancel

            given = self._given is not None
            if leave_session(self, given) and not given:
                cancel(spark)

    def __enter__(self) -> "Engine":
        self.check_open()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _execute(self, statement: st.Statement, given: Frames = MappingProxyType({})) -> Query | Answer:
        match statement:
            case st.Query():
                return Query(self, self.plan(statement, given))
            case st.CreateSource():
                return self._create_source(statement)
            case st.CreateView():
                return self._create_view(statement)
            case st.CreateAs():
                from cepsql.standing.create_as import create_as

                return create_as(self, statement, lambda plan, sink: Query(self, plan).write(sink))
            case st.Prepare(name, sql):
                self._prepared[name.text.lower()] = sql
                return Answer(message=f"{name.text} prepared; EXECUTE {name.text} runs it")
            case st.ExecutePrepared():
                sql, inner = self._unprepared(statement)
                with in_text(sql):
                    return self._execute(inner, given)
            case st.Deallocate(name):
                if self._prepared.pop(name.text.lower(), None) is None:
                    raise self._not_prepared(name)
                return Answer(message=f"{name.text} deallocated")
            case st.Show(kind, like, extended):
                return _alike(self._show(kind, extended), like)
            case st.WaitFor():
                from cepsql.standing.tokens import wait_for

                return wait_for(self, statement)
            case st.ShowFunctions(like):
                spark = self.spark
                from cepsql.spark.jvm.functions import functions

                return Answer(("function", "meaning"), tuple(functions(spark, like).items()))
            case st.Describe(name, extended):
                return self._describe_extended(name) if extended else self._describe(name)
            case st.Print():
                return self._print(self._printed(statement), statement.limit)
            case st.Explain(query, part):
                from cepsql.standing.explained import explained

                return explained(self._explained(query, given), part, self._spark)
            case st.ExplainMatch(query):
                from cepsql.standing.explained import explained_match

                return explained_match(self._explained(query, given), statement)
            case st.ExplainAnalyze(name):
                from cepsql.standing.analyzed import analyzed

                return analyzed(self, name)
            case st.SetOption(key, value):
                return self._set(key, value)
            case st.ResetOption(key):
                return self._reset(key)
            case st.Insert(target, query, columns):
                return self._insert(target, columns, query, given)
            case st.Summarize(query):
                return self._summarize(query, given)
            case _:
                from cepsql.standing.statements import execute

                return execute(self, statement)

    def _parsed(self, text: str) -> list[st.Statement]:
        if isinstance(text, str) and '"' in text:
            usual = self._usually_names_quoted()
            text = with_quoted_names(text, usual if self._names_quoted is None else self._names_quoted, usual)
        return statements(text)

    def _usually_names_quoted(self) -> bool:
        """Tell whether double quotes mean names unless SET says otherwise; Spark asks for ANSI mode, too."""
        if NAMES_IN_DOUBLE_QUOTES in self._conf:
            return self._conf[NAMES_IN_DOUBLE_QUOTES].lower() == "true"
        given = self._given
        return given is not None and all(
            str(given.conf.get(key, "false")).lower() == "true" for key in (NAMES_IN_DOUBLE_QUOTES, ANSI)
        )

    def typed_columns(self, plan: Plan) -> tuple[ColumnDefinition, ...]:
        """Return the columns of a plan with the types that Spark gives them; starts Spark. Raises Error."""
        return tuple(ColumnDefinition(name, kind) for name, kind in Query(self, plan).columns)

    def reading_rules(self) -> "Rules":
        """Return how a query over views is computed without Spark; raises Unlike where only Spark can."""
        from cepsql.scalar.tree import Session
        from cepsql.scan.expression import Unlike
        from cepsql.views.relation import Rules

        spark = self._spark
        if spark is not None:
            from cepsql.spark.sources.arrow_scan import scan_session, session_obstacle

            obstacle = session_obstacle(spark)
            if obstacle is not None:
                raise Unlike(obstacle)
            return Rules(scan_session(spark), zoned=True)
        conf = self._conf | self._spark_settings
        other = next((key for key in conf if key.startswith("spark.sql.") and key not in _READING_SETTINGS), None)
        if other is not None:
            raise Unlike(f"{other} is set")
        return Rules(Session(conf.get(ANSI, "false").lower() == "true"), zoned=False)

    def zone_name(self) -> str | None:
        """Return the session's time zone; None where it is known only to Spark, which has not started."""
        if self._spark is not None:
            return self._spark.conf.get(ZONE)
        from cepsql.views.local_zone import local_zone

        return (self._conf | self._spark_settings).get(ZONE) or local_zone()

    def search_limits(self, program: MatchProgram) -> MatchProgram:
        """Return the program with the limits that SET gives its search."""
        return limited(program, self.settings)

    # Names

    def plan(self, query: st.Query, given: Frames = MappingProxyType({}), defining: bool = False) -> Plan:
        """Plan a query over what this engine knows, and over DataFrames by name, lower case; raises Error.

        defining: it is that of a view.
        """
        self.check_open()
        self._check_allowed(query.sql)
        if defining:
            refuse_read_point(query, "a view")
        plan = plan_query(query, lambda table: given.get(table_name(table).lower()) or self._lookup(table), defining)
        check_read_point(plan)
        return plan

    def plan_standing(self, query: st.Query, of_view: bool = False) -> Plan:
        """Plan a query that stands, perhaps that of a materialized view; raises Error."""
        self.check_open()
        self._check_allowed(query.sql)

        def changes(view: ViewSource, events: bool) -> ViewSource:
            return view_changes(view.view, self.catalog.view_file, events)

        return plan_standing(query, self._lookup, changes, of_view)

    def _check_allowed(self, sql: str) -> None:
        """Raise ProgrammingError for a query that does what the restrictions of this engine refuse."""
        if self.restrictions is not None:
            self.restrictions.check_sql(sql)

    def _registered(self, frames: Mapping[str, object]) -> Frames:
        if not frames:
            return {}
        spark = self.spark
        from cepsql.spark.frames.frames import spark_frame

        return {name.lower(): _named(name, spark_frame(spark, name, given)) for name, given in frames.items()}

    def _lookup(self, table: exp.Table) -> Relation:
        file = table.this.meta.get(FILE)
        if file is not None:
            return self._file_table(file, span_of(table.this))
        name = table_name(table)
        relation = self.catalog.find(name)
        if relation is None and self._given is not None and self._given.catalog.tableExists(name):
            relation = _named(name, self._given.table(name))
        found = self._allowed(relation or self.catalog.get(name, span_of(table), table.meta.get(CTES, ())))
        return view_source(found, self.catalog.view_file) if isinstance(found, MaterializedView) else found

    def _file_table(self, file: FileTable, span: Span | None) -> Source:
        """Return the files that a query reads as a table, with the columns that are inferred."""
        format = file.format or ending_format(file.path)
        source = located(Source(file.spoken, (), format or "text", (("path", file.path), *file.options), False))
        assert isinstance(source, Source)
        try:
            check_reader(source)
            if self.restrictions is not None:
                self.restrictions.check(source)
            if self._checking:
                raise NotSupportedError(f"the columns of {file.spoken} are in the files, and only Spark can read them")
            source = self._inferred_files(source if format else replace(source, format=""))
        except Error as error:
            if format is None and self.catalog.find(file.path) is not None:
                error.hint = f"the {kind_of(self.catalog.get(file.path))} {file.path} is named without quotes"
            error.span = error.span or span
            raise
        return source

    def _inferred_files(self, source: Source) -> Source:
        """Return files as a table with its columns; what was inferred of the same files before is known."""
        load_spark()
        from cepsql.spark.jvm.failures import translated_failures
        from cepsql.spark.sources.inferred_columns import check_there, files_format, files_mark, inferred

        check_there(source)
        with translated_failures():
            if not source.format:
                source = replace(source, format=files_format(source))
            mark = files_mark(source)
            if mark not in self._inferred or mark is None:
                if len(self._inferred) >= _MOST_INFERRED:
                    self._inferred.clear()
                found = inferred(self.spark, source)
                self._inferred[mark] = replace(source, columns=found.columns, options=(*source.options, *found.options))
            return self._inferred[mark]

    def _allowed(self, definition: AnyDefinition) -> AnyDefinition:
        """Return a definition, unless it names what the restrictions of this engine refuse."""
        if self.restrictions is not None:
            self.restrictions.check(definition)
        return definition

    # Definitions

    def _create_source(self, create: st.CreateSource) -> Answer:
        if create.if_not_exists and self.catalog.find(create.name.text):
            return Answer(message=f"{create.name.text} exists already")
        note, own = "", not create.format
        if not create.format:
            create = with_own_folder(self.catalog, create)
        elif create.format == DATAGEN:
            now = datetime.datetime.now(datetime.UTC)
            create = replace(create, options=with_start(create.options, now))
        if leaves_out_columns(create):
            create, note = self._with_inferred(create)
        source = self._source(create)
        if source.format == DATAGEN:
            check_fields(source, create.name.span)
        if source.format == "kafka":
            source = _with_reader(source, create.name.span)
        late_span = create.late_rows.name.span if create.late_rows else None
        answer = self._define(source, create, late_span)
        if own:
            os.makedirs(dict(create.options)["path"], exist_ok=True)
            note = f"; INSERT INTO {quoted_name(source.name)} gives it rows, which are files of {source.format}"
        return replace(answer, message=f"{answer.message}{note}")

    def _source(self, create: st.CreateSource) -> Source:
        """Return the source that a definition defines; raises ProgrammingError for what the restrictions refuse."""
        key, deletion = defined_key(create)
        check_encoding(create)
        return self._readable(
            Source(
                create.name.text,
                create.columns,
                create.format,
                defined_options(create),
                create.streaming,
                defined_watermark(create),
                defined_late_rows(create),
                value=defined_value(create),
                key=key,
                deletion=deletion,
                refresh=defined_refresh(create),
                backfill=defined_backfill(create, self.catalog.get),
            )
        )

    def _readable(self, source: Source) -> Source:
        """Return a source that may be read now, unless the restrictions of this engine refuse it."""
        if self.restrictions is not None:
            self.restrictions.check(located(source))
        return source

    def _with_inferred(self, create: st.CreateSource) -> tuple[st.CreateSource, str]:
        """Return a definition with the columns that are inferred from what it reads, and what is said of that."""
        name, span = create.name.text, create.name.span
        if create.value is not None:
            raise ProgrammingError(
                f"the columns of records are not inferred: {name} needs columns", span, f"{name} (id BIGINT)"
            )
        if create.format == DATAGEN:
            raise ProgrammingError(
                f"{name} needs columns, which datagen fills", span, f"{name} (id BIGINT, at TIMESTAMP)"
            )
        # What is read first has neither a watermark nor computed columns yet.
        read = Source(name, (), create.format, defined_options(create), create.streaming)
        source = valued_source(self._readable(_with_reader(read, span) if read.format == "kafka" else read))
        load_spark()
        from cepsql.spark.frames.column_types import frame_columns
        from cepsql.spark.jvm.failures import translated_failures
        from cepsql.spark.sources.inferred_columns import INFERRED, check_there, inferred
        from cepsql.spark.sources.source import MALFORMED, read_source

        if source.format not in INFERRED:
            return with_columns(create, frame_columns(read_source(self.spark, source).drop(MALFORMED))), ""
        try:
            check_there(source)
            with translated_failures():
                found = inferred(self.spark, source)
        except Error as error:
            error.span = error.span or span
            raise
        listed = ", ".join(f"{column.name} {column.type}" for column in found.columns)
        options = "".join(f", {key} '{value}'" for key, value in found.options)
        return with_columns(create, found.columns, found.options), f"; columns from {found.origin}: {listed}{options}"

    def _create_view(self, create: st.CreateView) -> Answer:
        if create.if_not_exists and self.catalog.find(create.name.text):
            return Answer(message=f"{create.name.text} exists already")
        plan = self.plan(create.query, defining=True)
        name = create.name.text
        if name.lower() in (r.name.lower() for r in plan.origins) or name.lower() in plan.views:
            raise ProgrammingError(f"view {name} would read itself", create.name.span)
        if plan.limit is not None:
            raise NotSupportedError("LIMIT in a view over a stream is not supported", create.name.span)
        view = View(name, create.sql, *_rows_of(plan))
        return replace(self._define(view, create), notices=plan.quoted_columns)

    def _define(
        self, relation: Source | View, create: st.CreateSource | st.CreateView, late_span: Span | None = None
    ) -> Answer:
        from cepsql.standing.host import kept
        from cepsql.standing.statements import replaced_note

        replacing = create.replace and self.catalog.names.find(relation.name) is not None
        self.catalog.add(kept(self, relation), create.replace, create.name.span, late_span)
        note = replaced_note(self, relation) if replacing else ""
        if isinstance(relation, Source) and (mistaken := mistaken_option(relation.format, dict(relation.options))):
            note += f"; {relation.format} passes over the option {mistaken[0]}: did you mean {mistaken[1]}?"
        if isinstance(relation, Source):
            note += format_note(relation.format, SOURCE_FORMATS)
        return Answer(message=f"{kind_of(relation)} {relation.name} {'replaced' if replacing else 'created'}{note}")

    def _start_owned(self, definition: RegisteredQuery, lease: "Lease") -> "StandingQuery":
        """Start a query that stands under a name, as the owner of its lease; its settings are lent to Spark."""
        load_spark()
        from cepsql.spark.jvm.failures import translated_failures
        from cepsql.spark.jvm.settings import lent_settings
        from cepsql.standing.replacement import kept_session, refuse_lost
        from cepsql.standing.tuned import Tuned

        refuse_lost(self.home, definition)
        self._allowed(definition)
        options = resolved(definition.options, f"query {definition.name}")
        (statement,) = statements(definition.sql)
        assert isinstance(statement, st.Query)
        view = self.catalog.names.view_of(definition)
        sink = self.catalog.target(definition)
        for named in (view, None if view is not None else sink):
            if named is not None:
                self._allowed(named)
        settings = {key: value for key, value in options.items() if key.startswith("spark.sql.")}
        own = {key: value for key, value in options.items() if key in SETTINGS}
        with (
            self._session_of_start() as spark,
            translated_failures(definition.sql),
            lent_settings(spark, kept_session(self.home, definition) | settings),
        ):
            tuned = Tuned(self, own, spark)
            plan = self.plan_standing(statement, view is not None)
            return Query(tuned, plan, options.get("start")).start(
                sink=sink or Sink("nothing", (), "noop"),
                name=definition.name,
                epoch=lease.epoch,
                checkpoint=self.home.checkpoint(definition),
                trigger=options.get("trigger"),
                upgrades=True,
            )

    def _session_of_start(self) -> "AbstractContextManager[SparkSession]":
        """Lend the session in which a query is started: where several are started at once, one of its own."""
        spark = self.spark
        if not self._starts_abreast or not hasattr(spark, "_jsparkSession"):
            return nullcontext(spark)
        from cepsql.spark.jvm.start_sessions import StartSessions

        with self._lock:
            self._start_sessions = self._start_sessions or StartSessions(lambda: self.spark)
        return self._start_sessions.lent()

    def _insert_target(self, name: st.Name) -> Sink | Source:
        """Return what INSERT INTO writes to; raises ProgrammingError if there is none or it is refused."""
        found = self.catalog.names.find(name.text)
        if isinstance(found, Source):
            return self._allowed(found)
        if found is None:
            names = self.catalog.names
            sources = [relation.name for relation in names.relations if isinstance(relation, Source)]
            hint = suggestion(name.text, [*(sink.name for sink in names.sinks), *sources], "sinks, streams and tables")
            raise ProgrammingError(f"there is no sink, stream or table {name.text}", name.span, hint)
        return self._allowed(self.catalog.sink(name.text, name.span))

    def _insert(self, name: st.Name, columns: Sequence[st.Name], statement: st.Query, given: Frames) -> Answer:
        """Write the rows that there are now; those of a stream until all of them are decided."""
        target = self._insert_target(name)
        into = target if isinstance(target, Source) else None
        if columns and into is None:
            raise NotSupportedError(
                "a list of columns in INSERT INTO a sink is not supported",
                columns[0].span,
                "a sink finds columns by name: SELECT ... AS name",
            )
        query = Query(self, self.plan(statement, given))
        if into is not None and not query.streaming:
            try:
                count = query.insert(valued_source(into), [column.text for column in columns])
            except (NotSupportedError, ProgrammingError) as error:
                error.span = error.span or name.span
                raise
            return self._inserted(count, into.name, query)
        if into is not None:
            if columns:
                message = "a list of columns for the rows of a stream is not supported"
                raise NotSupportedError(message, columns[0].span, "name them in the query: SELECT ... AS name")
            from cepsql.sinks.insertion import insertion_sink

            sink = insertion_sink(into)
        else:
            assert isinstance(target, Sink)
            sink = target
        if not query.streaming:
            count = query.write(sink)
        else:
            standing = query.start(sink=sink, drain=True)
            self._inserting = standing
            try:
                standing.await_()
            finally:
                self._inserting = None
            count = standing.progress.rows_out
            if standing.status == "stopped":
                raise OperationalError(f"INSERT was stopped after {count} rows")
        return self._inserted(count, sink.name, query)

    def _inserted(self, count: int, name: str, query: Query) -> Answer:
        message = f"{count} row{'' if count == 1 else 's'} written to {name}"
        from cepsql.standing.tokens import token_hint

        message += token_hint(self, query.token)
        return Answer(message=message, notices=query.plan.quoted_columns, token=query.token)

    def wait_for_views(self, plan: Plan) -> None:
        """Wait until the views of a query have taken what AFTER names; raises Error."""
        if plan.query.point is not None and plan.query.point.after is not None:
            from cepsql.standing.tokens import wait_for_views

            wait_for_views(self, plan)

    # Questions

    def _show(self, kind: str, extended: bool) -> Answer:
        if kind in ("queries", "sinks", "savepoints", "materialized views", "view positions"):
            from cepsql.standing.statements import show

            return show(self, kind, extended)
        found = sorted((r for r in self.catalog if kind_of(r) + "s" == kind), key=lambda r: r.name)
        if kind == "views":
            views = sorted((r for r in self.catalog if isinstance(r, View | MaterializedView)), key=lambda r: r.name)
            texts = (" ".join((view if isinstance(view, View) else view.query).sql.split()) for view in views)
            shown = tuple((view.name, kind_of(view), text) for view, text in zip(views, texts, strict=True))
            return Answer(("name", "kind", "query"), shown)
        rows = tuple((r.name, getattr(r, "format", "DataFrame"), ", ".join(c.name for c in r.columns)) for r in found)
        return Answer(("name", "format", "columns"), rows)

    def _describe(self, name: st.Name) -> Answer:
        if isinstance(self.catalog.names.find(name.text), Sink):
            sink = self.catalog.sink(name.text)
            keys = {key.lower(): "primary key" for key in sink.key}
            columns = ((c.name, c.type.lower(), keys.get(c.name.lower(), "")) for c in sink.columns)
            return Answer(("column", "type", "note"), tuple(columns))
        relation = self.catalog.get(name.text, name.span)
        if isinstance(relation, MaterializedView):
            known = {name.lower(): "indexed" for name in relation.indexes}
            known |= {name.lower(): "primary key" for name in relation.key}
            kept = ((c.name, c.type.lower(), known.get(c.name.lower(), "")) for c in relation.columns)
            return Answer(("column", "type", "note"), tuple(kept))
        mark = relation.watermark
        rows = []
        for column in relation.columns:
            notes = [f"AS {column.expression}"] if column.expression else []
            notes += [f"METADATA FROM '{column.metadata}'"] if column.metadata else []
            if mark is not None and mark.column.lower() == column.name.lower():
                notes.append(f"event time, watermark {mark.delay / 1_000_000:g} seconds behind")
            if isinstance(relation, Source) and column.name in relation.key:
                notes.append("primary key")
            rows.append((column.name, column.type.lower(), "; ".join(notes)))
        return Answer(("column", "type", "note"), tuple(rows))

    def _describe_extended(self, name: st.Name) -> Answer:
        names = self.catalog.names
        found = names.find(name.text) or self.catalog.get(name.text, name.span)
        return Answer(("property", "value"), described(found, names.dependents(found)))

    def _unprepared(self, execute: st.ExecutePrepared) -> tuple[str, st.Statement]:
        """Return the text of a prepared statement, and the statement with the values that EXECUTE gives it.

        Raises ProgrammingError for a name that is not prepared, and for values that do not fit.
        """
        sql = execute.sql
        if execute.name is not None:
            if execute.name.text.lower() not in self._prepared:
                raise self._not_prepared(execute.name)
            sql = self._prepared[execute.name.text.lower()]
        assert sql is not None
        parsed = self._parsed(sql)
        if len(parsed) != 1 or not isinstance(parsed[0], st.Query | st.Insert):
            raise ProgrammingError("EXECUTE IMMEDIATE runs one query or INSERT", execute.span)
        for value in execute.values:
            if value.find(exp.Column, exp.Query, exp.Placeholder) is not None:
                raise ProgrammingError("a value of EXECUTE is a constant", span_of(value, execute.span))
        try:
            return sql, bind_parameters(parsed[0], named_values(parsed, execute.values))
        except InterfaceError as error:
            raise ProgrammingError(error.message, execute.span) from None

    def _not_prepared(self, name: st.Name) -> ProgrammingError:
        hint = suggestion(name.text, self._prepared, "prepared")
        return ProgrammingError(f"there is no prepared statement {name.text}", name.span, hint)

    def _printed(self, asked: st.Print) -> Relation:
        """Return the relation that PRINT shows: that of a name, or one that reads a topic."""
        name = asked.name
        if asked.topic and self.catalog.find(name.text) is None:
            for relation in self.catalog:
                topics = dict(relation.options).get("subscribe", "") if isinstance(relation, Source) else ""
                if name.text in map(str.strip, topics.split(",")):
                    return self._allowed(relation)
            hint = f"CREATE STREAM name (value STRING) USING kafka OPTIONS (subscribe '{name.text}', ...) reads it"
            raise ProgrammingError(f"no stream reads the topic {name.text}", name.span, hint)
        return self._allowed(self.catalog.get(name.text, name.span))

    def _print(self, relation: Relation, limit: int) -> Query:
        """Return the query of PRINT: the rows that there are now as they are read, or of a view, or as they come."""
        (shown,) = statements(f"SELECT * FROM {quoted_name(relation.name)} LIMIT {limit}")
        assert isinstance(shown, st.Query)
        if not isinstance(relation, Source):
            return Query(self, self.plan(shown))
        spark = self.spark
        from cepsql.spark.frames.column_types import frame_columns
        from cepsql.spark.sources.peek import peeked

        frame = peeked(spark, valued_source(relation))
        if frame is None:
            return Query(self, self.plan(shown))
        return Query(self, plan_query(shown, lambda _: Registered(relation.name, frame_columns(frame), frame)))

    def _explained(self, query: st.Query | st.Defined, given: Frames = MappingProxyType({})) -> Query:
        """Return the query that a statement is about, which may be one of the catalog."""
        if isinstance(query, st.Query):
            return Query(self, self.plan(query, given))
        from cepsql.standing.explained import defined_query

        return defined_query(self, query)

    def _summarize(self, statement: st.Query, given: Frames) -> Answer:
        """Tell what the values of each column are like; of streams those of the rows that are there now."""
        load_spark()
        from cepsql.spark.sources.peek import at_rest

        self._check_allowed(statement.sql)
        plan = plan_query(statement, lambda t: at_rest(given.get(table_name(t).lower()) or self._lookup(t)))
        query = Query(self, plan)
        if query.streaming:
            raise NotSupportedError(
                "SUMMARIZE of a stream that can only be followed is not supported",
                statement.span,
                "SUMMARIZE of a stream of files or of Kafka reads what is there now",
            )
        return Answer(SUMMARY, query.summary(), notices=query.notices)

    # Settings

    def _set(self, key: st.Name | None, value: str | None) -> Answer:
        if key is None:
            rows = tuple((name, self.settings.get(name), meaning) for name, meaning in SETTINGS.items())
            return Answer(("setting", "value", "meaning"), rows)
        name = key.text
        self._check_name(key)
        if value is not None and self.restrictions is not None:
            self.restrictions.check_setting(name)
        if name.startswith(OWN):
            self.check_setting(name, value, key.span)
        if value is None:
            return Answer(("setting", "value"), ((name, _shown(name, self._setting(name))),))
        if name in SETTINGS:
            self.settings[name] = value
        elif name == NAMES_IN_DOUBLE_QUOTES:
            if value.lower() not in ("true", "false"):
                raise ProgrammingError(f"{name} must be true or false", key.span)
            self._names_quoted = value.lower() == "true"
        else:
            self._set_spark(key, value)
        return Answer(message=f"{name} set")

    def _setting(self, name: str) -> str | None:
        if name == NAMES_IN_DOUBLE_QUOTES:
            return str(self._usually_names_quoted() if self._names_quoted is None else self._names_quoted).lower()
        return self.settings.get(name) if name in SETTINGS else self.spark.conf.get(name, None)

    def _reset(self, key: st.Name | None) -> Answer:
        if key is None:
            self.settings.clear()
            self._names_quoted = None
            for name in self._spark_settings:
                self.spark.conf.unset(name)
            self._spark_settings.clear()
            return Answer(message="settings reset")
        self._check_name(key)
        if key.text in SETTINGS:
            self.settings.pop(key.text, None)
        elif key.text == NAMES_IN_DOUBLE_QUOTES:
            self._names_quoted = None
        else:
            self.spark.conf.unset(key.text)
            self._spark_settings.pop(key.text, None)
        return Answer(message=f"{key.text} reset")

    def set_settings(self) -> dict[str, str]:
        """Return what SET has given in this engine and not RESET: settings of cepsql and of Spark SQL."""
        return self.settings | {k: v for k, v in self._spark_settings.items() if k.startswith("spark.sql.")}

    def _check_name(self, key: st.Name) -> None:
        """Raise ProgrammingError for a setting that neither cepsql nor Spark has, nor the session that was given."""
        name = key.text
        if name in SETTINGS or can_be_sparks(name) or (self._given is not None and self._given.conf.get(name, None)):
            return
        raise ProgrammingError(f"there is no setting {name}", key.span, setting_hint(name, SETTINGS))

    def check_setting(self, key: str, value: str | None, span: Span) -> None:
        """Check a setting of cepsql's, and its value unless that is None; raises ProgrammingError at `span`."""
        if key not in SETTINGS:
            raise ProgrammingError(f"there is no setting {key}", span, setting_hint(key, SETTINGS))
        if value is None:
            return
        if key == "cepsql.strict":
            if value.lower() not in ("true", "false"):
                raise ProgrammingError(f"{key} must be true or false", span)
        elif key == "cepsql.scan":
            if value not in ("auto", "spark"):
                raise ProgrammingError("cepsql.scan is auto or spark", span)
        elif not (value.isdigit() and int(value) > 0):
            raise ProgrammingError(f"{key} must be a whole number above zero", span)

    def _set_spark(self, key: st.Name, value: str) -> None:
        spark = self.spark
        from cepsql.spark.jvm.failures import translate_failure

        try:
            spark.conf.set(key.text, value)
            self._spark_settings[key.text] = value
        except Exception as failure:
            error = translate_failure(failure)
            error.span = error.span or key.span
            raise error from None


def _rows_of(plan: Plan) -> tuple[tuple[ColumnDefinition, ...], bool, Watermark | None, tuple[str, ...]]:
    """Return what a view says of the rows of its query."""
    rows = plan.properties
    return rows.columns, rows.streaming, rows.watermark, tuple(sorted(plan.reads))


def _alike(answer: Answer, like: str | None) -> Answer:
    """Return an answer with the rows alone whose name fits a pattern of LIKE."""
    if like is None:
        return answer
    pattern = like.lower()
    return replace(answer, rows=tuple(row for row in answer.rows if fnmatch.fnmatchcase(str(row[0]).lower(), pattern)))


def _with_reader(source: Source, span: Span) -> Source:
    try:
        return replace(source, options=with_reader(source))
    except Error as error:
        error.span = error.span or span
        raise


def _named(name: str, frame: "DataFrame", watermark: tuple[str, str] | None = None) -> Registered:
    """Return a DataFrame of Spark under a name, with its own watermark unless one is given."""
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.frames.frames import frame_watermark

    columns = frame_columns(frame)
    mark = frame_watermark(frame) if watermark is None else _given_watermark(name, columns, watermark)
    return Registered(name, columns, frame, frame.isStreaming, mark)


def _given_watermark(name: str, columns: Sequence[ColumnDefinition], given: object) -> Watermark:
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(isinstance(part, str) for part in given):
        hint = 'such as ("ts", "10 seconds")'
        raise InterfaceError(f"a watermark is a column and how late rows may be, not {given!r}", hint=hint)
    column, delay = given
    if column.lower() not in (c.name.lower() for c in columns):
        known = suggestion(column, [c.name for c in columns], "columns")
        raise ProgrammingError(f"{name} has no column {column}", hint=known)
    return Watermark(column, duration_micros(delay))


def _shown(key: str, value: str | None) -> str | None:
    return "*****" if value is not None and is_secret(key) else value
