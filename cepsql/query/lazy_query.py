"""`Query`: what `engine.query` returns."""

import contextlib
import io
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.base.cached_property import cached_property
from cepsql.catalog import Registered, Sink, Source
from cepsql.errors import InterfaceError, NotSupportedError
from cepsql.explain.match_key import Key, asked_match
from cepsql.explain.railroad import draw
from cepsql.explain.text import explain_logical
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.plan.start_places import started_at
from cepsql.plan.view_sources import view_sources
from cepsql.query.converted_rows import first_rows, pandas_rows, polars_rows
from cepsql.query.drawn_series import drawn_series
from cepsql.query.planned_query import PlannedQuery
from cepsql.query.query_host import QueryHost
from cepsql.query.scan_obstacle import scan_obstacle
from cepsql.query.spark_rows import SparkRows
from cepsql.query.start_arguments import StartArguments, check_arguments

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame, Row, SparkSession

    from cepsql.explain.match_explanation import MatchExplanation
    from cepsql.render.shown_rows import ShownRows
    from cepsql.spark.building.frame_options import FrameOptions
    from cepsql.spark.run.standing_query import StandingQuery
    from cepsql.spark.sources.watching.reading_start import ReadingStart
    from cepsql.views.reading import Reading
    from cepsql.views.recent_rows import LastRows

_MOST_ROWS = 2**31 - 1
"""The greatest number of rows that Spark can be told to give."""


class Query:
    """A query that has not run: a streaming or batch DataFrame on demand, its rows, or a standing query."""

    def __init__(self, engine: QueryHost, plan: Plan, begins: str | None = None):
        """Make the query of a plan; `begins`: where its first start begins to read Kafka, as in `started_at`."""
        self._engine, self.plan = engine, plan
        self._planned = PlannedQuery(engine, plan, begins)
        self._rows = SparkRows(self._planned)
        self.token: str | None = None
        self.last_rows: LastRows | None = None

    def __reduce__(self):
        raise InterfaceError("a query cannot be copied or pickled", hint="pass on its text, or its rows")

    def __repr__(self) -> str:
        return f"<cepsql query, {'streaming' if self.streaming else 'bounded'}>\n{explain_logical(self.plan)}"

    def _repr_html_(self) -> str:
        """Show in a notebook what the query is; nothing runs."""
        from cepsql.render.html import html_table, html_text

        kind = "a stream" if self.streaming else "bounded"
        columns = [(column.name, column.type.lower()) for column in self.plan.columns]
        drawn = [html_text("\n".join(draw(program.pattern))) for program in self._planned.programs]
        plan = f"<details><summary>plan</summary>{html_text(explain_logical(self.plan))}</details>"
        return f"<p>cepsql query, {kind}</p>{html_table(columns, None)}{''.join(drawn)}{plan}"

    @property
    def streaming(self) -> bool:
        """Whether the rows are a stream."""
        return self.plan.streaming

    @property
    def limit(self) -> int | None:
        """LIMIT of a query over a stream: after so many rows it ends."""
        return self.plan.limit

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before the query runs for long."""
        return self.plan.notices

    def reading_starts(self, checkpoint: str | Path | None = None) -> "list[ReadingStart]":
        """Return where reading of each stream starts; with the folder of a checkpoint, where that resumes."""
        self._engine.check_open()
        from cepsql.spark.sources.watching.reading_start import reading_starts

        folder = None if checkpoint is None else self._planned.checkpoint_path(checkpoint)
        return reading_starts(started_at(self.plan, self._planned.begins).origins, folder)

    @property
    def patterns(self) -> str:
        """The row patterns as text, separated by semicolons."""
        return self._planned.patterns

    @property
    def origins(self) -> list[Source | Registered]:
        """The relations that the query reads, each once; in place of a view those below it."""
        return self.plan.origins

    @property
    def df(self) -> "DataFrame":
        """The DataFrame, streaming or not; it composes with any PySpark code. Starts Spark."""
        return self._rows.frame

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and Spark types of the columns. Starts Spark, unless views answer the query."""
        return self._rows.columns() if self.reading is None else list(self.reading.columns)

    def build(self, options: "FrameOptions | None" = None) -> "DataFrame":
        """Build the DataFrame again; see `cepsql.spark.building.build.build`. Raises Error."""
        return self._planned.build(options)

    def collect(self) -> "list[Row]":
        """Return all rows of a bounded query.

        Raises InterfaceError for a stream, OperationalError if Spark fails or `Engine.cancel` ended it, DataError for a
        value without a type in Python: dates and times beyond the years 1 to 9999, and INTERVAL YEAR TO MONTH.
        """
        return self._rows.run(self._rows.collected)

    @property
    def malformed(self) -> int:
        """How many malformed rows the last run of a bounded query left out."""
        return self._rows.malformed

    @property
    def tasks(self) -> tuple[int, int] | None:
        """How many of Spark's tasks are done for `pieces`, and how many there are; None if that is not known."""
        return self._rows.tasks

    def arrow(self) -> "pa.Table":
        """Return all rows of a bounded query as an Arrow table; errors as for `collect`."""
        answered = self.without_spark()
        return self._rows.run(self._rows.arrow) if answered is None else answered

    @property
    def reading(self) -> "Reading | None":
        """How a query over views is answered without Spark; None: Spark answers it."""
        return self._how_read[0]

    @property
    def spark_reason(self) -> str | None:
        """Why Spark answers a query over views; None if it does not, or the query reads no view."""
        return self._how_read[1]

    @cached_property
    def _how_read(self) -> "tuple[Reading | None, str | None]":
        """How a query over views is answered without Spark, or why Spark answers it."""
        if self.streaming or not view_sources(self.plan):
            return None, None
        from cepsql.query.view_answers import how_read

        return how_read(self._planned)

    def without_spark(self) -> "pa.Table | None":
        """Return the rows of a query over views as `arrow` does, but without Spark; None if only Spark can find them.

        Sometimes only the rows show that, such as numbers whose sum is rounded.
        """
        self._engine.check_open()
        if self.reading is None:
            return None
        from cepsql.query.view_answers import answer_of_views

        return answer_of_views(self._planned, self.reading)

    def to_pandas(self) -> "pd.DataFrame":
        """Return all rows of a bounded query as a pandas DataFrame; errors as for `collect`.

        Integers with NULL among them get pandas' nullable types, such as Int64, because floats can't hold all of them.
        """
        return pandas_rows(self.arrow())

    def to_polars(self) -> "pl.DataFrame":
        """Return all rows of a bounded query as a Polars DataFrame; errors as for `collect`.

        Raises InterfaceError where Polars is not installed, and for two columns of one name, which it cannot have.
        """
        return polars_rows(lambda: [name for name, _ in self.columns], self.arrow)

    def head(self, rows: int = 10) -> "ShownRows":
        """Return the first rows, shown as a table; its `table` has them as Arrow.

        rows: how many, at most. A stream is read as if its current input were all.
        Raises what `arrow` and `start` raise, and InterfaceError if `rows` is not a number of rows.
        """
        if type(rows) is not int or rows < 0:
            raise InterfaceError(f"a number of rows is a whole number from 0, not {rows!r}")
        import pyarrow as pa

        from cepsql.render.shown_rows import ShownRows

        tables = first_rows(self._first_pieces(rows + 1), rows + 1)
        first = pa.concat_tables(tables) if tables else self._rows.empty()
        note = f"the first {rows} row{'' if rows == 1 else 's'}" if first.num_rows > rows else ""
        zone = self._engine.zone_name() if self.reading is not None else None
        if zone is None:
            spark = self._engine.spark
            from cepsql.spark.jvm.lent_settings import setting

            zone = setting(spark, "spark.sql.session.timeZone")
        return ShownRows(self.columns, first.slice(0, rows), note, zone)

    def show(self, rows: int = 20) -> None:
        """Print the first rows as a table; arguments and errors as for `head`."""
        print(self.head(rows))

    def _first_pieces(self, wanted: int) -> "Iterator[pa.Table]":
        """Yield tables with the first rows; the query is ended where no more are taken."""
        if not self.streaming:
            with contextlib.closing(self.pieces(wanted)) as pieces:
                yield from pieces
            return
        with self.start(drain=True) as standing:
            yield from standing.rows()

    def pieces(self, limit: int | None = None) -> "Generator[pa.Table, None, None]":
        """Yield the rows of a bounded query in tables as they are found, at least one, however many rows there are.

        limit: the greatest number of rows; Spark computes no more.
        Closing the iterator ends the query. Errors as for `collect`, and InterfaceError for a limit that is no number
        of rows.
        """
        self._rows.check_bounded()
        if limit is not None and (type(limit) is not int or not 0 <= limit <= _MOST_ROWS):
            raise InterfaceError(f"a limit is a whole number from 0 to {_MOST_ROWS}, not {limit!r}")
        answered = self.without_spark()
        if answered is None:
            yield from self._rows.pieces(limit)
        else:
            yield answered if limit is None else answered.slice(0, limit)

    def start(
        self,
        on_rows: "Callable[[pa.Table, int], None] | None" = None,
        *,
        sink: Sink | str | None = None,
        name: str | None = None,
        epoch: int | None = None,
        drain: bool = False,
        checkpoint: str | Path | None = None,
        trigger: str | None = None,
        upgrades: bool = False,
        resumes: bool = False,
    ) -> "StandingQuery":
        """Start the query over its streams; with LIMIT it ends after so many rows, over all its starts.

        on_rows:    called with the rows and the number of every micro-batch that has rows; a column with a date or time
                    outside the years 1 to 9999 is text there.
        sink:       where rows go instead: the name of a sink made with CREATE SINK, or a `cepsql.catalog.Sink`.
                    Without `on_rows` and `sink`, `rows()` gives them.
        name:       the query's name in the sink, the same at every start; None: a name that the checkpoint keeps.
        epoch:      grows with each owner of the query: a sink refuses writes of an earlier owner, and the checkpoint is
                    taken over from it. None: a checkpoint is never taken over from a running process.
        drain:      end when all input that is there now is processed and decided (the checkpoint is finished then).
        checkpoint: folder from which a later start resumes; None: nothing is kept.
        trigger:    time between micro-batches such as "5 seconds"; None: as soon as there is input.
        upgrades:   resume from the checkpoint of another text of the query, too, if the plans differ only in columns
                    and conditions above the operators.
        resumes:    the checkpoint has been begun; where it is missing, no other one is made in its place.
        Raises InterfaceError for a bounded query, NotSupportedError over Spark Connect, ProgrammingError if there is no
        such sink or the columns do not fit it, OperationalError if the checkpoint is in use, missing or another
        query's, or the sink cannot be reached.
        """
        if not self.streaming:
            raise InterfaceError("a bounded query cannot be started", hint="collect() gives its rows, df its DataFrame")
        check_arguments(on_rows, sink, checkpoint, trigger)
        target = self._engine.sink(sink) if isinstance(sink, str) else sink
        spark = self._engine.spark
        from cepsql.spark.jvm.classic import has_java

        if not has_java(spark):
            raise NotSupportedError(
                "a standing query over Spark Connect is not supported: each batch, its counts and its checkpoint are "
                "handled where Spark's driver runs",
                hint="give a session that is not remote: connect(master='spark://...'), or a SparkSession of that kind",
            )
        from cepsql.query.start_query import start_query

        arguments = StartArguments(on_rows, target, name, epoch, drain, checkpoint, trigger, upgrades, resumes)
        return start_query(self._planned, self._rows, arguments, self.last_rows)

    def write(self, sink: Sink) -> int:
        """Write all rows of a bounded query to a sink, as one batch; return how many there were.

        Raises InterfaceError for a stream, ProgrammingError if the columns do not fit the sink, OperationalError if
        it cannot be reached.
        """
        from cepsql.query.written_rows import write_once

        return write_once(self._planned, self._rows, sink)

    def summary(self) -> tuple[tuple[tuple[object, ...], ...], int]:
        """Return what SUMMARIZE tells of each column of a bounded query, and its number of rows."""
        from cepsql.spark.run.summary import summarized

        return self._rows.run(lambda: summarized(self.df))

    def insert(self, into: Source, names: Sequence[str] = ()) -> int:
        """Insert all rows of a bounded query into a stream or table, in one step; return how many there were.

        names: the columns of the target, in order; none: columns are matched by name, or else by position.
        `token` then identifies the rows, so that WAIT FOR can wait until views have them.
        Raises InterfaceError for a stream, NotSupportedError for a target that takes no rows, ProgrammingError and
        DataError for columns and values that do not fit, OperationalError if it cannot be written to.
        """
        from cepsql.query.written_rows import insert_once

        count, self.token = insert_once(self._planned, self._rows, into, names)
        return count

    def scan_obstacle(self, spark: "SparkSession | None" = None) -> str | None:
        """Return why Spark, not Arrow, would read the files of streams if it were started now.

        spark: the session, whose settings matter, too. Returns None if Arrow would.
        """
        return scan_obstacle(self._planned, self._rows, spark)

    def explain_match(self, key: Key = None) -> "MatchExplanation":
        """Explain which matches the partition of a key has in the current rows, and why no others.

        key: the value of the PARTITION BY column, values in order, or a mapping by column name; None without PARTITION
             BY. Of several MATCH_RECOGNIZE, the one that reads no other is explained.
        Raises ProgrammingError if the key does not fit or no row has it, and what running the query would raise.
        """
        partition, spark = self._planned.partition(key), self._engine.spark
        from cepsql.spark.run.explained_partition import explain_query
        from cepsql.spark.run.runs import running

        with running(spark) as run, run.interruptible():
            return explain_query(run.spark, self._planned.valued, partition)

    def partition_keys(self, most: int = 8) -> "list[tuple[tuple, int]]":
        """Return some keys for `explain_match`, each with its number of rows.

        They come from the current rows; those with the most rows come first.
        most: how many keys.
        Raises as `explain_match` does.
        """
        match, spark = asked_match(self._planned.valued), self._engine.spark
        from cepsql.spark.run.explained_partition import list_keys
        from cepsql.spark.run.runs import running

        with running(spark) as run, run.interruptible():
            return list_keys(run.spark, self._planned.valued, match, most)

    def plot(self, x: str, y: str, most: int = 6) -> "Figure":
        """Draw the matches on their series: y over x for each partition, a colour for each variable.

        All rows that the pattern reads are drawn; without a pattern, the rows of the query. Of a stream, the current
        rows are drawn. Rows without x are left out.
        most: how many partitions are drawn, those with the most matches.
        Raises InterfaceError where matplotlib is not installed or there is no such column, NotSupportedError for
        several MATCH_RECOGNIZE, and what running the query would raise.
        """
        from cepsql.render.plots.matches import draw_matches

        return draw_matches(*drawn_series(self, self._of_statement, x, y), most)

    def drawing(self, x: str, y: str, width: int = 78, height: int = 20) -> str:
        """Draw y over x as text: the matches of the partition with the most, or the rows of a query without a pattern.

        Of a stream, the current rows are drawn. A row in a match is a letter of its variable.
        width, height: of the drawing in characters.
        Raises InterfaceError if there is no such column, or it is neither a number nor a time, and what running the
        query would raise.
        """
        from cepsql.render.plots.characters import draw_characters

        return draw_characters(*drawn_series(self, self._of_statement, x, y), width, height)

    def _of_statement(self, query: st.ParsedQuery) -> "Query":
        return Query(self._engine, self._engine.plan(query))

    def rows_now(self) -> "pa.Table":
        """Return all rows of a bounded query; a stream is read as if its current input were all.

        Raises what `arrow` and `start` raise.
        """
        if not self.streaming:
            return self.arrow()
        import pyarrow as pa

        with self.start(drain=True) as standing:
            tables = list(standing.rows())
        return pa.concat_tables(tables) if tables else self._rows.empty()

    def identity(self) -> dict:
        """Return the identity of the query, as data: a query with another one can't resume from its checkpoint."""
        return self._planned.identity()

    def explain_spark(self) -> str:
        """Return Spark's plan of the query as text; of a stream the analyzed one, since each batch is planned again."""
        frame = self.df
        from cepsql.spark.jvm.messages.failures import translated_failures

        text = io.StringIO()
        with translated_failures(self.plan.text), contextlib.redirect_stdout(text):
            frame.explain(mode="extended" if self.streaming else "formatted")
        if not self.streaming:
            return text.getvalue().rstrip()
        analyzed = text.getvalue().split("== Analyzed Logical Plan ==")[-1].split("== Optimized Logical Plan ==")[0]
        return analyzed.strip()
