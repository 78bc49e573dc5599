"""Whatever Spark can write, by the name of its format."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession
from pyspark.sql import functions as F

from cepsql.analysis.format_names import SINK_FORMATS, near_format
from cepsql.catalog import Sink
from cepsql.errors import NotSupportedError
from cepsql.sinks.fitted import FittedSink
from cepsql.sinks.text_options import writing_options
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.failures import translate_failure


class SparkSink(FittedSink):
    """Appends each micro-batch by `DataFrame.write`, with the options as they are.

    What Spark writes only as a stream is refused.
    """

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        if sink.key:
            raise NotSupportedError(
                f"sink {sink.name} has a key, by which USING {sink.format} cannot update rows",
                hint="leave PRIMARY KEY out, or take sqlite or postgresql",
            )
        self._path = next((value for name, value in sink.options if name.lower() == "path"), "")
        self._checked = False

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch; Delta Lake is told its number, so that it knows one that comes again."""
        try:
            return self._written_once(frame, batch) if self.sink.format.lower() == "delta" else self._written(frame)
        except (PySparkException, Py4JJavaError) as failure:
            error = translate_failure(failure, self._secrets)
            near = near_format(self.sink.format, SINK_FORMATS) if "data source" in error.message else None
            error.hint = error.hint if near is None else f"did you mean USING {near}?"
            raise error from failure

    def _written(self, frame: DataFrame) -> int:
        counted = Observation()
        self._writer(frame.observe(counted, F.count(F.lit(1)).alias("rows"))).save()
        return counted.get["rows"]

    def _written_once(self, frame: DataFrame, batch: int) -> int:
        application = f"{self.writer.query}/{self.writer.checkpoint}"
        if not self._checked:
            self.check_known(_last_version(frame.sparkSession, self._path, application))
            self._checked = True
        # Of a batch that Delta Lake knows it reads no row, so that none would be counted while it writes.
        kept = frame.persist()
        try:
            rows = kept.count()
            writer = self._writer(kept).option("txnAppId", application)
            writer.option("txnVersion", batch).save()
            return rows
        finally:
            kept.unpersist()

    def _writer(self, frame: DataFrame) -> DataFrameWriter:
        options = writing_options(self.sink, len(frame.columns))
        return frame.write.format(self.sink.format).mode("append").options(**options)


def _last_version(spark: SparkSession, path: str, application: str) -> int:
    """Return the last number that Delta Lake knows of an application at a table, -1 if it knows none."""
    java: Any = spark._jvm
    none = java.scala.Option.empty()
    log = java.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    found = log.update(False, none, none).transactions().get(application)
    return found.get() if found.isDefined() else -1
