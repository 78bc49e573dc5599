"""The control folder of a standing query: a file written there ends its input."""

import os
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepsql.catalog import Watermark
from cepsql.errors import NotSupportedError
from cepsql.spark.spark_plan import analyzed, is_match, nodes

_END = "end.txt"
_LAST_DAY = "2262-01-01"
"""Later than every row, and still a time that pandas can hold."""

ABOVE_WATERMARK = "spark_partition_id() >= 0"
"""A condition that always holds, but counts as not deterministic, so that the optimizer moves no other one below it.

Below a watermark the conditions of the user would drop the rows that are there only to move it.
"""


def end_input(control: str | Path) -> None:
    """Tell the query that reads this folder that no row follows; the file appears there whole or not at all."""
    folder = Path(control)
    hidden = folder / f".{_END}"
    hidden.write_text("end\n")
    os.replace(hidden, folder / _END)


def is_ended(control: str | Path) -> bool:
    """Tell whether `end_input` was called for this folder."""
    return (Path(control) / _END).exists()


def check_ended(frame: DataFrame, stages: int) -> None:
    """Refuse to drain a frame that holds more of our stages than a control folder ends, for they would keep rows back.

    Raises NotSupportedError.
    """
    plan = analyzed(frame)
    if plan is not None and sum(map(is_match, nodes(plan))) > stages:
        raise NotSupportedError(
            "a query over a registered DataFrame with a MATCH_RECOGNIZE of its own cannot be drained: nothing ends the "
            "input of that one",
            hint="give the inner query a name with CREATE VIEW in place of register(), or start without drain",
        )


def with_watermark(frame: DataFrame, watermark: Watermark, control: str | None = None) -> DataFrame:
    """Return the frame with Spark's watermark, which the end of the input moves past every row.

    So windows and joins of Spark's give out what they hold when the query that reads the folder `control` is drained.
    """
    delay = f"{watermark.delay} microseconds"
    if control is None:
        return frame.withWatermark(watermark.column, delay)
    last = F.lit(_LAST_DAY).cast(frame.schema[watermark.column].dataType)
    end = frame.sparkSession.readStream.text(control).select(last.alias(watermark.column))
    ended = frame.unionByName(end, allowMissingColumns=True).withWatermark(watermark.column, delay)
    # A condition on the event time stays above the watermark, so that the row moves it before it is dropped.
    return ended.where(~F.col(watermark.column).eqNullSafe(last)).where(ABOVE_WATERMARK)
