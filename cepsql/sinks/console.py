"""Rows written to standard output."""

import sys

from pyspark.sql import DataFrame

from cepsql.catalog import Sink
from cepsql.render import FORMATS, renderer
from cepsql.sinks.fitted import FittedSink
from cepsql.sinks.sink_options import Options
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.jvm.lent_settings import setting


class ConsoleSink(FittedSink):
    """Writes rows to standard output; option: format, one of `cepsql.render.FORMATS` (default table)."""

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        self._format = Options(sink, ["format"]).choice("format", FORMATS)
        self._begun = False

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch."""
        rows = to_arrow(frame)
        columns = column_types(frame)
        form = renderer(self._format, columns, setting(frame.sparkSession, "spark.sql.session.timeZone"))
        lines = [*([] if self._begun else form.header), *form.rows(rows)] if rows.num_rows else []
        self._begun = self._begun or bool(lines)
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()
        return rows.num_rows
