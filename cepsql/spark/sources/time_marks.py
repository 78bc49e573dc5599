"""What a stream's WATERMARK FOR says of single rows, as hidden columns: how far ahead, whose, or punctuation."""

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from cepsql.analysis.sql.properties import DELETED, ORIGIN, PLACE
from cepsql.catalog import Watermark
from cepsql.language.tokens import quoted
from cepsql.spark.frames.key_columns import ARRIVAL
from cepsql.spark.frames.operator_rows import column_type, event_time
from cepsql.spark.sources.source import AHEAD, MALFORMED, PRODUCER, REACHED, WHOLE


def with_time_marks(frame: DataFrame, mark: Watermark) -> DataFrame:
    """Return the rows of a stream with a column for each clause of its watermark that needs one.

    AHEAD:    BOOLEAN, the event time lies further ahead of the reference than is allowed.
    PRODUCER: STRING, who made the row.
    REACHED:  BIGINT microseconds, of punctuation only, which has NULL in all other columns then: the greatest event
              time that leads to the watermark of which it speaks, so that rows of its very time may come.
    The reference is by default the time of the micro-batch, which Spark records, so that a restart decides the same.
    """
    if mark.ahead is not None or mark.punctuation is not None:
        time = event_time(frame, quoted(mark.column))
    well = f"NOT {MALFORMED}" if MALFORMED in frame.columns else "true"
    if mark.ahead is not None:
        reference = _reference(frame, mark)
        frame = frame.selectExpr("*", f"({well} AND coalesce({time} > {reference} + {mark.ahead}L, false)) AS {AHEAD}")
        well = f"({well} AND NOT {AHEAD})"
    if mark.punctuation is not None:
        says = f"{well} AND coalesce(({mark.punctuation}), false)"
        reached = f"CASE WHEN {says} THEN {time} - 1L + {mark.delay}L END"
        frame = frame.selectExpr("*", f"{reached} AS {REACHED}")
    if mark.producer is not None:
        frame = frame.selectExpr("*", f"CAST({quoted(mark.producer)} AS STRING) AS {PRODUCER}")
    if mark.punctuation is None:
        return frame
    hidden = (MALFORMED, AHEAD, REACHED, PRODUCER, WHOLE, ARRIVAL, DELETED, ORIGIN, PLACE)
    return frame.selectExpr(
        *(
            name if name in hidden else f"if({REACHED} IS NULL, {quoted(name)}, NULL) AS {quoted(name)}"
            for name in frame.columns
        )
    )


def _reference(frame: DataFrame, mark: Watermark) -> str:
    """Return the SQL of what an event time may be so far ahead of, in microseconds; it is never NULL."""
    zoned = isinstance(column_type(frame, mark.column), TimestampType)
    now = event_time(frame, "current_timestamp()" if zoned else "localtimestamp()")
    return now if mark.reference is None else f"coalesce({event_time(frame, mark.reference)}, {now})"
