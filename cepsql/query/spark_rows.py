"""The rows of a query as Spark finds them."""

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, TypeVar

from cepsql.catalog import Sink, Source
from cepsql.errors import InterfaceError
from cepsql.plan.view_sources import view_sources
from cepsql.query.converted_rows import no_python_type
from cepsql.query.planned_query import PlannedQuery

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

    from cepsql.spark.run.runs import Run

_T = TypeVar("_T")


class SparkRows:
    """The DataFrame of a query, once it is built, and what its last run left: counts, and how far it is."""

    def __init__(self, planned: PlannedQuery):
        self._planned = planned
        self.built: DataFrame | None = None
        self._ran: DataFrame | None = None
        self._run: Run | None = None
        self._warned = False

    @property
    def frame(self) -> "DataFrame":
        """The DataFrame, streaming or not; it is built when first asked for."""
        self._planned.host.check_open()
        if self.built is None:
            self.built = self._planned.build()
        return self.built

    @property
    def malformed(self) -> int:
        """How many malformed rows the last run left out."""
        from cepsql.spark.run.observed import observed_sum

        return 0 if self._ran is None else observed_sum(self._ran, "malformed")

    @property
    def tasks(self) -> tuple[int, int] | None:
        """How many of Spark's tasks are done for `pieces`, and how many there are; None if that is not known."""
        run = self._run
        return None if run is None else run.tasks()

    def columns(self) -> list[tuple[str, str]]:
        """Return names and Spark types of the columns."""
        frame = self.frame
        from cepsql.spark.frames.column_types import column_types

        return column_types(frame)

    def empty(self) -> "pa.Table":
        """Return a table of these columns without rows."""
        frame = self.frame
        from cepsql.spark.frames.arrow_rows import arrow_schema

        return arrow_schema(frame.schema).empty_table()

    def collected(self) -> "list[Row]":
        """Return all rows; raises DataError for a value without a type in Python."""
        from pyspark.errors import PySparkNotImplementedError

        try:
            return self.frame.collect()
        except (ValueError, OverflowError, PySparkNotImplementedError) as failure:
            raise no_python_type(failure) from failure

    def arrow(self) -> "pa.Table":
        """Return all rows as an Arrow table."""
        from cepsql.spark.frames.arrow_rows import to_arrow

        return to_arrow(self.frame)

    def pieces(self, limit: int | None) -> "Generator[pa.Table, None, None]":
        """Yield the rows in tables as they are found, at least one; `limit`: Spark computes no more rows."""
        spark = self._planned.host.spark
        from cepsql.spark.jvm.messages.failures import translated_failures
        from cepsql.spark.run.row_pieces import RowPieces
        from cepsql.spark.run.runs import running

        with translated_failures(self._planned.plan.text), running(spark) as run, self._forgotten_on_failure():
            self._run = run
            self._forget_rows_of_views()
            self.warn_of_tables()
            pieces = RowPieces(self.frame if limit is None else self.frame.limit(limit), run)
            try:
                yield from pieces
            finally:
                self._ran, self._run = pieces.executed, None

    def run(self, action: Callable[[], _T], sink: Sink | None = None) -> _T:
        """Return what an action over the rows of a bounded query gives, which can be cancelled meanwhile.

        sink: where it writes them.
        Raises InterfaceError for a stream, and what Spark's failures mean.
        """
        self.check_bounded()
        spark = self._planned.host.spark
        from cepsql.spark.jvm.lent_settings import stage_settings
        from cepsql.spark.jvm.messages.failures import translated_failures
        from cepsql.spark.jvm.messages.full_disk import full_disks_named
        from cepsql.spark.run.runs import running

        with (
            full_disks_named(spark, sink),
            translated_failures(self._planned.plan.text),
            running(spark) as run,
            stage_settings(run.spark),
            run.interruptible(),
            self._forgotten_on_failure(),
        ):
            self._forget_rows_of_views()
            self._ran = self.frame
            self.warn_of_tables()
            return action()

    def check_bounded(self) -> None:
        """Raise InterfaceError for a stream."""
        if self._planned.plan.streaming:
            raise InterfaceError("the rows of a stream never end", hint="start() gives a standing query")

    def warn_of_tables(self) -> None:
        """Warn, once, of files of tables whose columns are not where the tables say."""
        if not self._warned:
            self._warned = True
            from cepsql.spark.sources.watching.csv_headers import CsvHeaders, files_with_headers
            from cepsql.spark.sources.watching.notices import warn_of_headers

            origins = self._planned.valued.origins
            tables = (one for one in origins if isinstance(one, Source) and not one.streaming)
            warn_of_headers(CsvHeaders(files_with_headers(tables)).misplaced_there())

    def _forget_rows_of_views(self) -> None:
        """Forget a DataFrame that has the rows which views had when it was made."""
        if view_sources(self._planned.plan):
            self.built = None

    @contextlib.contextmanager
    def _forgotten_on_failure(self) -> Iterator[None]:
        """Forget a DataFrame that failed or was cancelled: Spark would only repeat what it failed with."""
        try:
            yield
        except BaseException:
            self.built = None
            raise
