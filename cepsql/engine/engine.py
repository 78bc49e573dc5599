"""An engine: the interface for programs, the shell and the command line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.analysis.sql.parameters import bind_parameters, named_values, refuse_parameters
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.catalog_names import kind
from cepsql.engine.context import Context
from cepsql.engine.dispatch import check, execute
from cepsql.engine.lookups import PreparedLookup
from cepsql.engine.registered_frames import registered
from cepsql.engine.settings import ANSI
from cepsql.errors import Error, InterfaceError, in_text
from cepsql.language import statements as st
from cepsql.language.rewriting.file_tables import refuse_relative_files
from cepsql.query import Query
from cepsql.render.answer import Answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.standing.home import Home
    from cepsql.standing.queries import Queries
    from cepsql.standing.subscription import Subscription

_FAILING = (exp.Div, exp.IntDiv, exp.Mod, exp.Cast, exp.TryCast)
"""Expressions that ANSI mode lets fail."""

Args = Mapping[str, object] | Sequence[object] | None
"""Values of parameters: by name, or in order."""


class Engine:
    """A catalog and a Spark session, in which statements are executed."""

    def __init__(self, context: Context):
        self._context = context
        self._noted_ansi = False

    def __reduce__(self):
        raise InterfaceError("an engine cannot be copied or pickled", hint="connect() makes another one")

    def __repr__(self) -> str:
        how = (
            "closed" if self._context.session.closed else "Spark runs" if self.has_started else "Spark has not started"
        )
        return f"<cepsql engine: {how}>"

    def _repr_html_(self) -> str:
        """Return the engine's relations as HTML for a notebook."""
        from cepsql.render.html import html_text

        closed = self._context.session.closed
        relations = () if closed else sorted(self.catalog, key=lambda relation: relation.name)
        return html_text("\n".join([repr(self), *(f"{kind(each)} {each.name}" for each in relations)]))

    @property
    def catalog(self) -> Catalog:
        """The definitions: streams, tables, views, sinks and queries by name."""
        return self._context.catalog

    @property
    def restrictions(self) -> Restrictions | None:
        """What statements and definitions may name; None: all that this process has a right to."""
        return self._context.restrictions

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of cepsql that SET has given."""
        return self._context.settings

    @property
    def spark(self) -> "SparkSession":
        """The Spark session, made when first used, and again if the Java that we started has ended.

        Raises OperationalError if Java or Spark cannot be started, or runs with other settings that cannot be changed.
        """
        return self._context.spark

    def check_open(self) -> None:
        """Raise InterfaceError if the engine is closed, or was made before this process was forked."""
        self._context.check_open()

    @property
    def has_started(self) -> bool:
        """Whether there is a Spark session, so that statements need not wait for it."""
        return self._context.session.running is not None

    def zone_name(self) -> str | None:
        """Return the session's time zone; None if only Spark knows it and has not started."""
        return self._context.zone_name()

    @property
    def queries(self) -> "Queries":
        """The standing queries: `engine.queries["fraud"].stop()`."""
        return self._context.queries

    @property
    def home(self) -> "Home":
        """The keeper of the standing queries, made when first used."""
        return self._context.home

    def open_home(self, adopts: Callable[[], bool] | None = None, lease: float | None = None) -> "Home":
        """Make `home`, in which this process takes over all queries of the catalog while `adopts` says so.

        adopts: None: it takes over none, and starts those that it is told to in the engine's session.
        lease: seconds after which another process may take over what this one, if it has died, ran.
        """
        return self._context.open_home(adopts, lease)

    def warm(self) -> None:
        """Start Spark and its Python workers now, so that the first query need not wait for them."""
        spark = self.spark
        from cepsql.spark.staging.warm import warm

        warm(spark)

    def query(self, text: str, args: Args = None, **frames: object) -> Query:
        """Return the query at the end of a text; it is lazy. Definitions before it act at once.

        args, frames: as for `sql`.
        Raises InterfaceError unless the last statement, and only that, is a query; and what `sql` raises.
        """
        self.check_open()
        parsed = self.parsed(text)
        queries = [statement for statement in parsed if isinstance(statement, st.ParsedQuery | st.Print)]
        if len(queries) != 1 or parsed[-1] is not queries[0]:
            raise InterfaceError(
                "query() takes a single query, with definitions before it",
                hint="sql() executes any statements",
                text=text,
            )
        (*_, last) = self._executed_in_turn(parsed, text, args, frames)
        if not isinstance(last, Query):
            raise InterfaceError("PRINT of a query gives no query", hint="sql() executes it", text=text)
        return last

    def sql(self, text: str, args: Args = None, **frames: object) -> Query | Answer:
        """Execute all statements of a text; return the result of the last one.

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
        """Execute the statements of a text one by one; yield the result of each before the next is executed.

        args, frames: as for `sql`.
        """
        self.check_open()
        yield from self._executed_in_turn(self.parsed(text), text, args, frames)

    def parsed(self, text: str) -> list[st.Statement]:
        """Return the statements of a text, parsed with the settings of this engine; raises Error."""
        return self._context.parsed(text)

    def executed(self, statement: st.Statement, text: str, args: Args = None) -> Query | Answer:
        """Execute a statement that `parsed` returned; arguments and errors as of `execute`."""
        self.check_open()
        (done,) = self._executed_in_turn([statement], text, args, {})
        return done

    def prepared_lookup(self, statement: st.Statement) -> PreparedLookup:
        """Return a statement as one that looks rows of a view up, again and again, if it is one."""
        return PreparedLookup(self._context, statement)

    def _executed_in_turn(
        self, parsed: Sequence[st.Statement], text: str, args: Args, frames: Mapping[str, object]
    ) -> Iterator[Query | Answer]:
        spark_frames = self._context.frames(frames)
        values = named_values(parsed, {} if args is None else args)
        for statement in parsed:
            with in_text(text):
                if isinstance(statement, st.CreateView | st.CreateQuery | st.CreateMaterializedView):
                    refuse_parameters(statement, "a stored definition", statement.name.span)
                    if self.catalog.store is not None:
                        refuse_relative_files(statement.query)
                done = execute(self._context, bind_parameters(statement, values), spark_frames)
            yield done

    def check(self, text: str, args: Args = None) -> None:
        """Read and analyse the statements of a text, but run none; definitions take effect. Spark is not started.

        Raises what executing them would raise before anything runs.
        """
        self.check_open()
        self._context.checking = True
        try:
            parsed = self.parsed(text)
            values = named_values(parsed, {} if args is None else args)
            for statement in parsed:
                with in_text(text):
                    check(self._context, bind_parameters(statement, values))
        finally:
            self._context.checking = False

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
        from cepsql.spark.frames.user_frames import spark_frame

        self.catalog.add(registered(name, spark_frame(spark, name, frame), watermark), replace=True)

    def notices(self, query: Query) -> tuple[str, ...]:
        """Return notices for the user before a query runs, each once per engine."""
        session = self._context.session
        ansi_is_set = ANSI in session.settings or session.user_session is not None
        if ansi_is_set or self._noted_ansi or query.plan.query.expression.find(*_FAILING) is None:
            return ()
        self._noted_ansi = True
        return (
            "1/0, overflows and casts that fail give NULL here; SET spark.sql.ansi.enabled = true makes them errors",
        )

    def loss(self, text: str) -> str | None:
        """Return what a statement would drop for good, such as a query's state; None for nothing.

        Nothing is executed. Errors of the statement are not reported here.
        Raises OperationalError if the catalog cannot be reached.
        """
        self.check_open()
        if "drop" not in text.lower():
            return None
        from cepsql.standing.losses import loss

        try:
            (statement,) = self.parsed(text)
        except Error:
            return None
        return loss(self._context, statement)

    def prepared(self, name: st.Name) -> st.Prepare:
        """Return the prepared statement of that name; raises ProgrammingError if it is unknown."""
        return self._context.prepared.named(name)

    def subscribe(self, name: str, since: str | None = None, last: int = 0) -> "Subscription":
        """Follow a materialized view or a standing query, also one that another process runs.

        A view gives its current rows, then its changes; a query the rows that leave it from now on.
        since: a token of an earlier subscription, to resume after it, even if everything was restarted.
        last:  how many of the rows that a query keeps come first.
        Returns an iterator, and an async iterator, over `Changes`: an Arrow table and the token after it. It ends when
        it is closed, as by `with`. It raises OperationalError for changes that are older than those that are kept.
        Raises ProgrammingError for an unknown name or an invalid token.
        """
        self.check_open()
        from cepsql.standing.subscription import subscribe

        return subscribe(self._context, name, since, last)

    def subscription(self, text: str) -> "Subscription | None":
        """Return the subscription of a text that is one SUBSCRIBE, else None. Raises Error as `subscribe`."""
        self.check_open()
        if not text.lstrip().upper().startswith("SUBSCRIBE"):
            return None
        parsed = self.parsed(text)
        if len(parsed) != 1 or not isinstance(parsed[0], st.Subscribe):
            return None
        from cepsql.standing.subscription import subscribe

        with in_text(text):
            return subscribe(self._context, parsed[0].name.text, parsed[0].since, span=parsed[0].name.span)

    def cancel(self) -> None:
        """Stop every bounded job and INSERT that runs in this engine now; standing queries go on."""
        self.check_open()
        context = self._context
        if context.inserting is not None:
            context.inserting.stop()
        if context.session.running is not None:
            from cepsql.spark.run.runs import cancel

            cancel(context.session.running)

    def close(self, at_exit: bool = False) -> None:
        """Stop what runs in this engine, and Spark if an engine started it and no other uses it. Can be repeated.

        at_exit: this process ends now: do not wait for Java, which stops by itself, nor for queries that start.
        A closed engine and its queries raise InterfaceError. In a process forked from its own it stops nothing.
        """
        self._context.close(at_exit)

    def __enter__(self) -> "Engine":
        self.check_open()
        return self

    def __exit__(self, *_) -> None:
        self.close()
