"""The control folder of a standing query: a file written there ends its input."""

import os
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepsql.catalog import Watermark

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
