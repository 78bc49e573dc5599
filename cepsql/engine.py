"""The front door: statements in, lazy queries and answers out. Shell, command line and programs use this alone."""

import contextlib
import io
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from cepsql.analysis.explain import explain_logical, explain_pattern, explain_rewritten
from cepsql.analysis.intervals import interval_micros
from cepsql.analysis.parameters import bind_parameters
from cepsql.analysis.plan import Plan, plan_query
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import table_name
from cepsql.catalog import Catalog, ColumnDefinition, Registered, Relation, Source, View, Watermark
from cepsql.errors import Error, InterfaceError, NotSupportedError, ProgrammingError, suggestion
from cepsql.language import statements as st
from cepsql.language.translate import statements

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from cepsql.spark.query import StandingQuery

SETTINGS = {"cepsql.buckets": "groups that the keys of a pattern are spread over; fixed for the life of a checkpoint"}
"""Settings of cepsql itself, with what they mean; SET passes all others to Spark."""


@dataclass(frozen=True)
class Answer:
    """What a statement that is no query says: rows of a small table, or a message, or both."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple, ...] = ()
    message: str = ""


def connect(
    spark: "SparkSession | None" = None, master: str | None = None, conf: Mapping[str, str] | None = None
) -> "Engine":
    """Make an engine; no JVM starts before a statement needs one.

    spark:  the session to use, whose tables and views can be queried too; None for one of our own.
    master: where our own session runs, such as "local[2]" or "spark://host:7077".
    conf:   Spark settings for our own session.
    """
    return Engine(spark, master, dict(conf or {}))


class Engine:
    """A catalog and a Spark session, in which statements are executed."""

    def __init__(self, spark: "SparkSession | None", master: str | None, conf: dict[str, str]):
        self.catalog = Catalog()
        self.settings: dict[str, str] = {}
        self._given, self._master, self._conf = spark, master, conf
        self._spark = spark
        self._lock = threading.Lock()
        self._standing: list[StandingQuery] = []

    @property
    def spark(self) -> "SparkSession":
        """The Spark session, started when first asked for.

        Raises OperationalError if Java or Spark cannot be started.
        """
        with self._lock:
            if self._spark is None:
                from cepsql.spark.session import session

                self._spark = session(None, self._master, self._conf)
            return self._spark

    def sql(self, text: str, args: Mapping[str, object] | None = None) -> "Query | Answer":
        """Execute all statements of a text; return what the last one gives.

        args: values for named parameters `:name`.
        Definitions act at once; a query is lazy. Raises Error.
        """
        result: Query | Answer | None = None
        for item in self.execute(text, args):
            result = item
        if result is None:
            raise InterfaceError("the text has no statement", text=text)
        return result

    def execute(self, text: str, args: Mapping[str, object] | None = None) -> Iterator["Query | Answer"]:
        """Execute the statements of a text one by one; give what each says, before the next is executed."""
        for statement in statements(text):
            try:
                yield self._execute(bind_parameters(statement, args or {}))
            except Error as error:
                error.text = error.text or text
                raise

    def register(self, name: str, frame: "DataFrame", watermark: tuple[str, str] | None = None) -> None:
        """Give a DataFrame a name that statements can use; an existing name is replaced.

        watermark: for a streaming frame, its event-time column and how late rows may be, such as ("ts", "10 seconds").
        """
        columns = _frame_columns(frame)
        mark = None
        if watermark is not None:
            column, delay = watermark
            if column.lower() not in (c.name.lower() for c in columns):
                known = suggestion(column, [c.name for c in columns], "columns")
                raise ProgrammingError(f"{name} has no column {column}", hint=known)
            mark = Watermark(column, interval_micros(exp.Interval(this=exp.Literal.string(delay))))
        self.catalog.add(Registered(name, columns, frame, frame.isStreaming, mark), replace=True)

    def cancel(self) -> None:
        """Stop every bounded job that runs in this engine now; standing queries go on."""
        if self._spark is not None:
            self._spark.interruptTag(_JOB_TAG)

    def close(self) -> None:
        """Stop the standing queries of this engine, and Spark if the engine started it."""
        for standing in self._standing:
            standing.stop()
        self._standing.clear()
        if self._spark is not None and self._given is None:
            self._spark.stop()
            self._spark = None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _execute(self, statement: st.Statement) -> "Query | Answer":
        match statement:
            case st.Query():
                return Query(self, plan_query(statement, self._lookup))
            case st.CreateSource():
                return self._create_source(statement)
            case st.CreateView():
                return self._create_view(statement)
            case st.Drop(kind, name, if_exists):
                return self._drop(kind, name, if_exists)
            case st.Show(kind):
                return self._show(kind)
            case st.Describe(name):
                return self._describe(name)
            case st.Explain(query, part):
                return self._explain(Query(self, plan_query(query, self._lookup)), part)
            case st.SetOption(key, value):
                return self._set(key, value)
            case st.ResetOption(key):
                return self._reset(key)

    # Names

    def _lookup(self, table: exp.Table) -> Relation:
        name = table_name(table)
        relation = self.catalog.find(name)
        if relation is None and self._given is not None and self._given.catalog.tableExists(name):
            frame = self._given.table(name)
            relation = Registered(name, _frame_columns(frame), frame, frame.isStreaming)
        return relation or self.catalog.get(name, span_of(table))

    def view_plan(self, view: View) -> Plan:
        """Plan the query of a view."""
        (query,) = statements(view.sql)
        return plan_query(query, self._lookup)

    # Definitions

    def _create_source(self, create: st.CreateSource) -> Answer:
        kind = "stream" if create.streaming else "table"
        if create.if_not_exists and self.catalog.find(create.name.text):
            return Answer(message=f"{create.name.text} exists already")
        source = Source(
            create.name.text, create.columns, create.format, create.options, create.streaming, _watermark(create)
        )
        if not source.columns:
            from cepsql.spark.source import read_source

            source = replace(source, columns=_frame_columns(read_source(self.spark, source)))
        self.catalog.add(source, create.replace, create.name.span)
        return Answer(message=f"{kind} {source.name} created")

    def _create_view(self, create: st.CreateView) -> Answer:
        if create.if_not_exists and self.catalog.find(create.name.text):
            return Answer(message=f"{create.name.text} exists already")
        plan = plan_query(create.query, self._lookup)
        if create.name.text.lower() in plan.relations:
            raise ProgrammingError(f"view {create.name.text} would read itself", create.name.span)
        if plan.limit is not None:
            raise NotSupportedError("LIMIT in a view over a stream is not supported", create.name.span)
        view = View(create.name.text, create.sql, plan.columns, plan.streaming, plan.watermark)
        self.catalog.add(view, create.replace, create.name.span)
        return Answer(message=f"view {view.name} created")

    def _drop(self, kind: str, name: st.Name, if_exists: bool) -> Answer:
        relation = self.catalog.find(name.text)
        if relation is None and if_exists:
            return Answer(message=f"there is no {kind} {name.text}")
        relation = self.catalog.get(name.text, name.span)
        if _kind(relation) != kind:
            raise ProgrammingError(
                f"{name.text} is a {_kind(relation)}, not a {kind}",
                name.span,
                f"DROP {_kind(relation).upper()} {name.text}",
            )
        self.catalog.remove(name.text)
        return Answer(message=f"{kind} {relation.name} dropped")

    # Questions

    def _show(self, kind: str) -> Answer:
        found = sorted((r for r in self.catalog if _kind(r) + "s" == kind), key=lambda r: r.name)
        if kind == "views":
            return Answer(("name", "query"), tuple((view.name, " ".join(view.sql.split())) for view in found))
        rows = tuple((r.name, getattr(r, "format", "DataFrame"), ", ".join(c.name for c in r.columns)) for r in found)
        return Answer(("name", "format", "columns"), rows)

    def _describe(self, name: st.Name) -> Answer:
        relation = self.catalog.get(name.text, name.span)
        mark = relation.watermark
        rows = []
        for column in relation.columns:
            notes = [f"AS {column.expression}"] if column.expression else []
            if mark is not None and mark.column.lower() == column.name.lower():
                notes.append(f"event time, watermark {mark.delay / 1_000_000:g} seconds behind")
            rows.append((column.name, column.type.lower(), "; ".join(notes)))
        return Answer(("column", "type", "note"), tuple(rows))

    def _explain(self, query: "Query", part: str | None) -> Answer:
        sections = {
            "rewritten": explain_rewritten,
            "logical": explain_logical,
            "pattern": explain_pattern,
            "physical": lambda _: query.explain_spark(),
        }
        chosen = [part] if part else list(sections)
        texts = [f"== {name} ==\n{sections[name](query.plan)}" for name in chosen]
        return Answer(("plan",), tuple((line,) for line in "\n".join(texts).splitlines()))

    # Settings

    def _set(self, key: str | None, value: str | None) -> Answer:
        if key is None:
            rows = tuple((name, self.settings.get(name), meaning) for name, meaning in SETTINGS.items())
            return Answer(("setting", "value", "meaning"), rows)
        if key.startswith("cepsql."):
            self._check_setting(key, value)
        if value is None:
            current = self.settings.get(key) if key in SETTINGS else self.spark.conf.get(key, None)
            return Answer(("setting", "value"), ((key, _shown(key, current)),))
        if key in SETTINGS:
            self.settings[key] = value
        else:
            self._set_spark(key, value)
        return Answer(message=f"{key} set")

    def _reset(self, key: str | None) -> Answer:
        if key is None:
            self.settings.clear()
        elif key in SETTINGS:
            self.settings.pop(key, None)
        else:
            self.spark.conf.unset(key)
        return Answer(message=f"{key or 'settings'} reset")

    def _check_setting(self, key: str, value: str | None) -> None:
        if key not in SETTINGS:
            raise ProgrammingError(f"there is no setting {key}", hint=suggestion(key, SETTINGS, "settings"))
        if value is not None and not (value.isdigit() and int(value) > 0):
            raise ProgrammingError(f"{key} must be a whole number above zero")

    def _set_spark(self, key: str, value: str) -> None:
        from cepsql.spark.failures import translate_failure

        try:
            self.spark.conf.set(key, value)
        except Exception as failure:
            raise translate_failure(failure) from None


_JOB_TAG = "cepsql"


class Query:
    """A query that has not run: a streaming or batch DataFrame on demand, its rows, or a standing query."""

    def __init__(self, engine: Engine, plan: Plan):
        self._engine, self.plan = engine, plan
        self._frame: DataFrame | None = None

    def __repr__(self) -> str:
        return f"<cepsql query, {'streaming' if self.streaming else 'bounded'}>\n{explain_logical(self.plan)}"

    @property
    def streaming(self) -> bool:
        """Whether the rows are a stream."""
        return self.plan.streaming

    @property
    def limit(self) -> int | None:
        """LIMIT of a query over a stream: how many rows to take before stopping it."""
        return self.plan.limit

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before the query runs for long."""
        return self.plan.notices

    @property
    def df(self) -> "DataFrame":
        """The DataFrame, streaming or not; it composes with any PySpark code. Starts Spark."""
        if self._frame is None:
            self._frame = self.build()
        return self._frame

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and Spark types of the columns. Starts Spark."""
        return [(field.name, field.dataType.simpleString()) for field in self.df.schema.fields]

    def build(self, control: str | None = None, replaced: "dict[str, DataFrame] | None" = None) -> "DataFrame":
        """Build the DataFrame anew; see `cepsql.spark.build.build`."""
        from cepsql.spark.build import build

        buckets = self._engine.settings.get("cepsql.buckets")
        return build(self._engine.spark, self.plan, self._engine.view_plan, control, buckets and int(buckets), replaced)

    def collect(self) -> "list[Row]":
        """Return all rows of a bounded query.

        Raises InterfaceError for a stream, OperationalError if Spark fails.
        """
        return self._run(lambda: self.df.collect())

    @property
    def malformed(self) -> int:
        """How many malformed rows the last run of a bounded query left out."""
        from cepsql.spark.observed import observed_sum

        return 0 if self._frame is None or self.streaming else observed_sum(self._frame, "malformed")

    def arrow(self) -> "pa.Table":
        """Return all rows of a bounded query as an Arrow table; errors as for `collect`."""
        return self._run(lambda: self.df.toArrow())

    def start(
        self,
        on_rows: "Callable[[pa.Table, int], None] | None" = None,
        *,
        drain: bool = False,
        checkpoint: str | None = None,
        trigger: str | None = None,
    ) -> "StandingQuery":
        """Start the query over its streams.

        on_rows:    called with the rows and the number of every micro-batch that has rows; None: `rows()` gives them.
        drain:      end when all input that is there now is processed and decided (the checkpoint is finished then).
        checkpoint: folder from which a later start goes on; None: nothing is kept.
        trigger:    time between micro-batches such as "5 seconds"; None: as soon as there is input.
        Raises InterfaceError for a bounded query.
        """
        if not self.streaming:
            raise InterfaceError("a bounded query cannot be started", hint="collect() gives its rows, df its DataFrame")
        from cepsql.spark.checkpoint import discard, open_checkpoint
        from cepsql.spark.query import start
        from cepsql.spark.row_queue import RowQueue
        from cepsql.spark.sink import RowSink

        folder = open_checkpoint(checkpoint, self.fingerprint())
        try:
            frame = self.build(folder.control)
        except BaseException:
            discard(folder)
            raise
        sink = RowQueue() if on_rows is None else RowSink(on_rows)
        standing = start(frame, sink, folder, drain, trigger or "0 seconds", secrets=self._secrets())
        self._engine._standing.append(standing)
        return standing

    def fingerprint(self) -> str:
        """Return a text that changes whenever a checkpoint of the query could no longer be gone on from."""
        buckets = self._engine.settings.get("cepsql.buckets", "")
        matches = [f"{match.program.fingerprint()} {match.watermark}" for match in self.plan.matches]
        plain = [] if matches else [self.plan.expression.sql()]
        return "; ".join([*matches, *plain, f"buckets {buckets}"])

    def _secrets(self) -> list[str]:
        from cepsql.spark.failures import is_secret

        options = [o for r in self.plan.relations.values() if isinstance(r, Source) for o in r.options]
        return [value for name, value in options if is_secret(name)]

    def explain_spark(self) -> str:
        """Return Spark's plan of the query as text; of a stream the analyzed one, for each batch is planned anew."""
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            self.df.explain(mode="extended" if self.streaming else "formatted")
        if not self.streaming:
            return text.getvalue().rstrip()
        analyzed = text.getvalue().split("== Analyzed Logical Plan ==")[-1].split("== Optimized Logical Plan ==")[0]
        return analyzed.strip()

    def _run(self, action):
        if self.streaming:
            raise InterfaceError("the rows of a stream never end", hint="start() gives a standing query")
        from cepsql.spark.failures import translate_failure

        spark = self._engine.spark
        spark.addTag(_JOB_TAG)
        try:
            return action()
        except Error:
            raise
        except Exception as failure:
            raise translate_failure(failure) from failure
        finally:
            spark.removeTag(_JOB_TAG)


def _watermark(create: st.CreateSource) -> Watermark | None:
    if create.watermark is None:
        return None
    name, expression = create.watermark
    column = next((c for c in create.columns if c.name.lower() == name.text.lower()), None)
    if column is None:
        known = suggestion(name.text, [c.name for c in create.columns], "columns")
        raise ProgrammingError(f"the stream has no column {name.text}", name.span, known)
    if not column.type.lower().startswith(("timestamp", "date")):
        raise ProgrammingError(
            f"the event time {column.name} is of type {column.type}, not TIMESTAMP",
            name.span,
            "compute one: ts TIMESTAMP AS to_timestamp(text)",
        )
    delayed = expression.unnest()
    if isinstance(delayed, exp.Sub):
        span = span_of(expression, name.span)
        delay = interval_micros(delayed.expression, span)
        delayed = delayed.this
        if delay < 0:
            raise ProgrammingError("a watermark lies behind the event time, not before it", span)
    else:
        delay = 0
    if not isinstance(delayed, exp.Column) or delayed.name.lower() != column.name.lower():
        raise ProgrammingError(
            "a watermark is the event time less a constant interval",
            span_of(expression, name.span),
            f"WATERMARK FOR {column.name} AS {column.name} - INTERVAL '10' SECONDS",
        )
    return Watermark(column.name, delay)


def _frame_columns(frame: "DataFrame") -> tuple[ColumnDefinition, ...]:
    return tuple(ColumnDefinition(field.name, field.dataType.simpleString()) for field in frame.schema.fields)


def _kind(relation: Relation) -> str:
    if isinstance(relation, View):
        return "view"
    return "stream" if relation.streaming else "table"


def _shown(key: str, value: str | None) -> str | None:
    from cepsql.spark.failures import is_secret

    return "*****" if value is not None and is_secret(key) else value
