"""A plan becomes a DataFrame: relations are read, matches found, and Spark runs the SQL around them."""

import itertools
from collections.abc import Callable
from enum import Enum, auto

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from cepsql.analysis.after_match import is_matched
from cepsql.analysis.hidden_column import carry_column
from cepsql.analysis.match import MatchPlan
from cepsql.analysis.plan import Plan
from cepsql.analysis.resolve import catalog_tables, flatten_names, table_name
from cepsql.catalog import Registered, Relation, Source, View
from cepsql.errors import OperationalError
from cepsql.language.tokens import DIALECT
from cepsql.pattern.program import MatchProgram
from cepsql.scan.choose import choose_scan
from cepsql.spark.arrow_scan import scan_packets
from cepsql.spark.bounds import BOUND, with_match_watermark
from cepsql.spark.buckets import Buckets
from cepsql.spark.checkpoint import SPARK_SCAN
from cepsql.spark.conditions import in_session
from cepsql.spark.control import with_watermark
from cepsql.spark.failures import translate_failure
from cepsql.spark.late_rows import LateFiles, divert, late_files
from cepsql.spark.list_aggregates import check_streaming, has_list_aggregates, with_aggregates, without_lists
from cepsql.spark.match import match_stream, match_table
from cepsql.spark.progress import BELOW_MATCH, CHAINED
from cepsql.spark.settings import is_chain
from cepsql.spark.source import MALFORMED, WHOLE, observe_source, quoted, read_source

MATCH_OBSERVATION = "cepsql_match"
"""What the observations of match operators begin with, but of those over the matches of others (`CHAINED`)."""

SOURCE_OBSERVATION = "cepsql_source"
"""What the observations of plain streams begin with."""

_numbers = itertools.count()


class Wanted(Enum):
    """How the rows of matches of a stream are wanted: alone, with markers, or with Spark's watermark."""

    ROWS = auto()
    MARKERS = auto()
    WATERMARK = auto()


def build(
    spark: SparkSession,
    plan: Plan,
    view_plan: Callable[[View], Plan],
    control: str | None = None,
    buckets: Buckets | None = None,
    replaced: dict[str, DataFrame] | None = None,
    limits: Callable[[MatchProgram], MatchProgram] = lambda program: program,
    scan: str = SPARK_SCAN,
) -> DataFrame:
    """Return the DataFrame of a plan: streaming if the plan is.

    view_plan: plans a view's query.
    control:   folder through which the input of a match over a stream can be ended.
    buckets:   how the keys of a match over a stream are spread; default `session_buckets`.
    replaced:  DataFrames that stand in for sources of these names (tests feed streams so).
    limits:    gives a program the limits of its search.
    scan:      who reads the files below a match over a stream: ARROW_SCAN or SPARK_SCAN.
    Raises OperationalError and ProgrammingError for what Spark refuses.
    """
    builder = _Builder(spark, plan.streaming, view_plan, control, buckets, replaced or {}, limits, scan)
    frame = builder.query(plan)
    if frame.isStreaming and has_list_aggregates(frame) and not is_chain(frame):
        builder.aggregate = without_lists
        check_streaming(builder.query(plan))
    return frame


def match_input(
    spark: SparkSession,
    plan: Plan,
    match: MatchPlan,
    view_plan: Callable[[View], Plan],
    replaced: dict[str, DataFrame] | None = None,
) -> DataFrame:
    """Return the rows that a match of a plan reads, if it reads no other match; arguments and errors as for `build`."""
    builder = _Builder(spark, plan.streaming, view_plan, None, None, replaced or {}, write_late=False)
    return builder._match_input(match, plan, {})


class _Builder:
    """Builds one query; every relation that several parts read is read once."""

    def __init__(
        self,
        spark,
        streaming,
        view_plan,
        control,
        buckets,
        replaced,
        limits=lambda program: program,
        scan=SPARK_SCAN,
        write_late=True,
    ):
        self.spark, self.streaming, self.view_plan = spark, streaming, view_plan
        self.control, self.buckets, self.limits = control, buckets, limits
        self.scan, self.write_late = scan, write_late
        self.replaced = {name.lower(): frame for name, frame in replaced.items()}
        self.aggregate = with_aggregates
        self.stages = 0

    def query(self, plan: Plan, wanted: Wanted = Wanted.ROWS, whole: bool = False) -> DataFrame:
        """Build a plan; `wanted` and `whole` as for `_sql`."""
        frames: dict[str, DataFrame] = {}
        if plan.stateful:
            wanted = Wanted.WATERMARK
        for match in plan.matches:
            after = Wanted.MARKERS if match.clause.name in plan.followed else wanted
            frames[match.clause.name] = self._match(match, plan, frames, after)
        return self._sql(plan.carried if wanted is Wanted.MARKERS else plan.expression, plan, frames, wanted, whole)

    def _match(self, match: MatchPlan, plan: Plan, frames: dict[str, DataFrame], wanted: Wanted) -> DataFrame:
        rows = self._match_input(match, plan, frames)
        program = in_session(rows, self.limits(match.program), plan.query.sql)
        if not match.streaming:
            found = match_table(rows, program, list(match.order))
            return self._output(self.aggregate(found, match.aggregates), match)
        if match.event_time is None:
            wanted = Wanted.ROWS
        delay, control = (0, None) if match.chained else (match.watermark.delay, self.control)
        found = match_stream(
            rows,
            program,
            delay,
            self._observation(match),
            control,
            self.buckets,
            late=self._late_files(plan) if WHOLE in rows.columns else None,
            hold=None if wanted is Wanted.ROWS else match.event_time.delay,
            read=None if match.chained else self._file_reader(match, plan),
        )
        found = self.aggregate(found, match.aggregates)
        if wanted is Wanted.ROWS:
            return self._output(found, match)
        marked = self._output(found, match, BOUND)
        return marked if wanted is Wanted.MARKERS else with_match_watermark(marked, match.event_time)

    def _output(self, found: DataFrame, match: MatchPlan, *further: str) -> DataFrame:
        output = [f"{column.sql} AS {quoted(column.name)}" for column in match.output]
        try:
            return found.selectExpr(*output, *further)
        except Exception as failure:
            raise translate_failure(failure) from failure

    def _observation(self, match: MatchPlan) -> str:
        self.stages += 1
        name = CHAINED if match.chained else MATCH_OBSERVATION
        return name if self.stages == 1 else f"{name}_{self.stages}"

    def _file_reader(self, match: MatchPlan, plan: Plan) -> Callable[[int], DataFrame] | None:
        """Return what reads the files of a match with Arrow, None if Spark is to read them."""
        if self.scan == SPARK_SCAN:
            return None
        choice = choose_scan(match.program, match.input, plan.relations)
        if choice.scan is None:
            raise OperationalError(
                f"the checkpoint was begun with the Arrow scan, which cannot go on: {choice.reason}",
                hint="start with a new checkpoint and replay the input",
            )
        return lambda buckets: scan_packets(self.spark, choice.source, choice.scan, buckets, self.control)

    def _match_input(self, match: MatchPlan, plan: Plan, frames: dict[str, DataFrame]) -> DataFrame:
        """Return the rows of a match; straight from a source they keep the mark of malformed rows for counting."""
        tables = catalog_tables(match.input)
        plain = exp.select("*").from_(tables[0].copy()) == match.input if len(tables) == 1 else False
        if plain and table_name(tables[0]) in plan.relations:
            relation = plan.relations[table_name(tables[0])]
            if isinstance(relation, Source | Registered):
                return self._read(relation)
        wanted = Wanted.MARKERS if match.chained else Wanted.ROWS
        return self._sql(match.input, plan, frames, wanted, whole=match.streaming)

    def _late_files(self, plan: Plan) -> LateFiles | None:
        """Return where the late rows of the stream below a match go."""
        relations = list(plan.relations.values())
        below = [self._late_files(self.view_plan(view)) for view in relations if isinstance(view, View)]
        return next((files for files in [*map(late_files, relations), *below] if files is not None), None)

    def _sql(
        self, query: exp.Query, plan: Plan, frames: dict[str, DataFrame], wanted: Wanted, whole: bool = False
    ) -> DataFrame:
        """Run plain SQL over relations and matches, each under a temporary view of a name of its own.

        wanted: how views over matches of a stream are wanted.
        whole:  a match reads the rows: pass on the column `__whole` that a stream with a table of late rows has.
        """
        views: dict[str, str] = {}
        for table in catalog_tables(query):
            name = table_name(table)
            if name not in views:
                frame = frames[name] if name in frames else self._relation(plan.relations[name], wanted, whole)
                if WHOLE in frame.columns:
                    query = carry_column(query, name, WHOLE)
                views[name] = f"__cepsql_{next(_numbers)}"
                frame.createOrReplaceTempView(views[name])
        sql = flatten_names(query, views.__getitem__).sql(dialect=DIALECT)
        try:
            return self.spark.sql(sql)
        except Exception as failure:
            raise translate_failure(failure) from failure
        finally:
            for view in views.values():
                self.spark.catalog.dropTempView(view)

    def _relation(self, relation: Relation, wanted: Wanted, whole: bool) -> DataFrame:
        """Return a relation for plain SQL: without malformed rows, which are counted, and with Spark's watermark."""
        if isinstance(relation, View):
            return self.query(self.view_plan(relation), wanted if is_matched(relation) else Wanted.ROWS, whole)
        frame = self._read(relation)
        if not relation.streaming:
            return frame.where(f"NOT {MALFORMED}").drop(MALFORMED) if MALFORMED in frame.columns else frame
        name = f"{BELOW_MATCH if whole else SOURCE_OBSERVATION}_{next(_numbers)}"
        if WHOLE in frame.columns and self.write_late:
            frame = divert(frame, name, late_files(relation))
        else:
            frame = observe_source(frame, name)
        frame = frame if whole else frame.drop(WHOLE)
        if relation.watermark is None:
            return frame
        return with_watermark(frame, relation.watermark, self.control)

    def _read(self, relation: Source | Registered) -> DataFrame:
        if relation.name.lower() in self.replaced:
            return self.replaced[relation.name.lower()]
        if isinstance(relation, Registered):
            return relation.frame
        frame = read_source(self.spark, relation)
        if self.streaming or MALFORMED not in frame.columns:
            return frame
        # A stream's progress would count the rows of a bounded table again in every batch.
        return frame.observe(f"{SOURCE_OBSERVATION}_{next(_numbers)}", F.count_if(MALFORMED).alias("malformed"))
