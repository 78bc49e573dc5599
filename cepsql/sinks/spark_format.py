"""Whatever Spark can write, by the name of its format."""

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from cepsql.catalog import Sink
from cepsql.errors import NotSupportedError
from cepsql.sinks.fitted import FittedSink
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
        self._options = dict(sink.options)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch; Delta Lake is told its number, so that it knows one that comes again."""
        counted = Observation()
        writer = frame.observe(counted, F.count(F.lit(1)).alias("rows")).write.format(self.sink.format)
        writer = writer.mode("append").options(**self._options)
        if self.sink.format.lower() == "delta":
            writer = writer.option("txnAppId", f"{self.writer.query}/{self.writer.checkpoint}")
            writer = writer.option("txnVersion", batch)
        try:
            writer.save()
        except PySparkException as failure:
            raise translate_failure(failure, self._secrets) from failure
        return counted.get["rows"]
