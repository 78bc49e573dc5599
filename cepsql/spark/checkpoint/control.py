"""The control folder of a standing query: files written there end its input, or say that the clock goes on."""

import re
import time
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepsql.catalog import Watermark
from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.ordered.packet import heartbeat_time
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, write_whole
from cepsql.spark.frames.operator_rows import column_type
from cepsql.spark.jvm.spark_plan import analyzed, has_more_matches

_END = "end.txt"
_HEARTBEATS = "heartbeat-*.txt"
_KEPT_HEARTBEATS = 20
_SAYS_END = "value = 'end'"
END_MICROS = 568_971_820_800_000_000
"""The year 20000: later than every row, and than the end of every window of one."""
_LAST_YEAR = 9999

ABOVE_WATERMARK = "spark_partition_id() >= 0"
"""A condition that always holds, but counts as not deterministic, so that the optimizer moves no other one below it.

Below a watermark the conditions of the user would drop the rows that are there only to move it.
"""


@dataclass(frozen=True)
class ClockReading:
    """What a query was told at a heartbeat, in microseconds since 1970.

    clock:  what the clock of the query showed.
    system: what the system clock showed.
    """

    clock: int
    system: int


def end_input(control: CheckpointPath) -> None:
    """Tell the query that reads this folder that no row follows; the file appears there whole or not at all."""
    last = last_heartbeat(control)
    # Spark passes over a file that is much older than the newest one, and the clock of the query may be ahead.
    changed = None if last is None else max(time.time(), last.clock / 1_000_000)
    write_whole(control / _END, "end\n", changed)


def says_end(watermark: str) -> bool:
    """Tell whether a watermark, as Spark writes it in the progress of a query, is that of the end of the input."""
    return int(watermark.partition("-")[0]) > _LAST_YEAR


def give_heartbeat(control: CheckpointPath, clock: int, system: int | None = None) -> None:
    """Tell the query that reads this folder what its clock shows, and the system clock if that is another one.

    Both are in microseconds since 1970. Those that came long ago are removed; Spark's log of the folder still knows
    them.
    """
    for old in sorted(control.glob(_HEARTBEATS), key=_clock)[: -_KEPT_HEARTBEATS or None]:
        old.unlink(missing_ok=True)
    # The query reads the last word.
    text = f"{clock if system is None else system} heartbeat {clock}\n"
    write_whole(control / _HEARTBEATS.replace("*", str(clock)), text, clock / 1_000_000)


def last_heartbeat(control: CheckpointPath) -> ClockReading | None:
    """Return the last heartbeat that was given in this folder, None if there was none.

    Raises OSError if it cannot be read.
    """
    last = max(control.glob(_HEARTBEATS), key=_clock, default=None)
    if last is None:
        return None
    system = last.read_text("utf-8").partition(" ")[0]
    return ClockReading(_clock(last), int(system) if system.isdecimal() else _clock(last))


def control_times(spark: SparkSession, control: str) -> DataFrame:
    """Return the stream of what the folder says: `t` BIGINT, as `cepsql.ordered.packet.pack` understands it."""
    clock = f"{heartbeat_time(0)}L + CAST(substring_index(value, ' ', -1) AS BIGINT)"
    return spark.readStream.text(control).selectExpr(f"if({_SAYS_END}, {END_OF_TIME}L, {clock}) AS t")


def system_times(spark: SparkSession, control: str) -> DataFrame:
    """Return the stream of what the system clock showed at heartbeats: `clock` BIGINT, in microseconds since 1970."""
    heartbeats = spark.readStream.text(control).where(f"NOT {_SAYS_END}")
    return heartbeats.selectExpr("CAST(substring_index(value, ' ', 1) AS BIGINT) AS clock")


def control_time(path: str) -> int:
    """Return the t of the row that stands for a file of the folder, as `cepsql.ordered.packet.pack` understands it."""
    name = path.rpartition("/")[2]
    return END_OF_TIME if name == _END else heartbeat_time(_number(name))


def _clock(path: CheckpointPath) -> int:
    return _number(path.name)


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name))


def is_ended(control: CheckpointPath) -> bool:
    """Tell whether `end_input` was called for this folder."""
    return (control / _END).exists()


def check_ended(frame: DataFrame, stages: int) -> None:
    """Refuse to drain a frame that holds more of our stages than a control folder ends, for they would keep rows back.

    Raises NotSupportedError.
    """
    plan = analyzed(frame)
    if plan is not None and has_more_matches(plan, stages):
        raise NotSupportedError(
            "a query over a registered DataFrame with a MATCH_RECOGNIZE of its own cannot be drained: nothing ends the "
            "input of that one",
            hint="give the inner query a name with CREATE VIEW in place of register(), or start without drain",
        )


def with_watermark(frame: DataFrame, watermark: Watermark, control: str | None = None) -> DataFrame:
    """Return the frame with Spark's watermark, which the end of the input moves past every row.

    So windows and joins of Spark's give out what they hold when the query that reads the folder `control` is drained.
    """
    column, delay = quoted(watermark.column), f"{watermark.delay} microseconds"
    if control is None:
        return frame.withWatermark(column, delay)
    last = F.timestamp_micros(F.lit(END_MICROS + watermark.delay)).cast(column_type(frame, watermark.column))
    end = frame.sparkSession.readStream.text(control).where(_SAYS_END).select(last.alias(watermark.column))
    ended = frame.unionByName(end, allowMissingColumns=True).withWatermark(column, delay)
    # A condition on the event time stays above the watermark, so that the row moves it before it is dropped.
    return ended.where(~F.col(column).eqNullSafe(last)).where(ABOVE_WATERMARK)
