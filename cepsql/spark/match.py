"""Row-pattern matching as a Spark DataFrame: over a stream in a keyed ordered stage, over a table by sorting it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, fields
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import MapType

from cepsql.ordered.counts import Counts
from cepsql.ordered.packet import PACKET_DDL, pack
from cepsql.ordered.sorted_run import match_sorted
from cepsql.ordered.stage import advance
from cepsql.pattern.dead_rows import dead_rows
from cepsql.pattern.program import END_OF_TIME, MatchProgram
from cepsql.pattern.program import Column as ProgramColumn
from cepsql.spark.bounds import BOUND, unpack_bounded
from cepsql.spark.buckets import Buckets, balanced_buckets, session_buckets
from cepsql.spark.late_rows import LateFiles, write_rejected
from cepsql.spark.rows import match_schema, program_columns
from cepsql.spark.source import MALFORMED, WHOLE
from cepsql.spark.worker import settle

if TYPE_CHECKING:
    import pandas as pd

COUNTS = tuple(field.name for field in fields(Counts))
TOTALS = tuple(f"total_{name}" for name in COUNTS)

_MAX_OUTPUT_BYTES = 32 * 2**20


def match_stream(
    frame: DataFrame,
    program: MatchProgram,
    delay: int,
    observation: str,
    control: str | None = None,
    buckets: Buckets | None = None,
    late: LateFiles | None = None,
    hold: int | None = None,
    read: Callable[[int], DataFrame] | None = None,
) -> DataFrame:
    """Return the matches in a streaming frame: k* and the measures, as soon as they are decided.

    delay:       how many microseconds rows may come after later ones.
    observation: name under which each batch's progress shows `cepsql.ordered.counts.Counts`, summed, the same since the
                 checkpoint began with `total_` before their names, and `bound`, the event time in microseconds up to
                 which rows were released.
    control:     folder in which `cepsql.spark.control.end_input` ends the input; None: it never ends.
    buckets:     how keys are spread, the same for the life of a checkpoint; default `session_buckets`.
    late:        where rows that are not used are written; the frame then has `__whole`.
    hold:        of the program (`cepsql.ordered.hold`), where something follows that needs to know how far the matches
                 are: then rows of `cepsql.spark.bounds.BOUND`, and nothing else, come between them.
    read:        makes the packets for so many buckets without Spark's rows, of which only the types are then used.
    A BOOLEAN column `__malformed` of the frame marks rows that are only counted. A column BOUND marks rows that say how
    far the frame is; then `delay` must be 0.
    """
    schema = match_schema(frame, program)
    buckets = buckets or session_buckets(frame.sparkSession)
    numbers = ", ".join(map(str, balanced_buckets(buckets)))
    packets = _packets(frame, program, control, buckets.count, late) if read is None else read(buckets.count)
    packets = packets.selectExpr(f"array({numbers})[bucket] AS bucket", "packet")
    batches = packets.groupBy("bucket").applyInPandasWithState(
        partial(_advance, program, delay, late), _output_ddl(), "state BINARY", "append", GroupStateTimeout.NoTimeout
    )
    counted = [F.expr(f"sum({name}) AS {name}") for name in (*COUNTS, *TOTALS)]
    # Without a projection of its own the operator's rows reach Python as a class that Spark cannot cast.
    observed = batches.select("*").observe(observation, *counted, F.expr("max(bound) AS bound"))
    if hold is not None:
        return unpack_bounded(observed, schema, hold)
    return observed.where("output IS NOT NULL").select("output").mapInArrow(_unpack, schema)


def match_table(frame: DataFrame, program: MatchProgram, order: list[str]) -> DataFrame:
    """Return the matches in a bounded frame: k* and the measures.

    order: ORDER BY as Spark SQL, such as "price DESC NULLS LAST"; ties are broken by the program's columns.
    Rows that `__malformed` marks, and rows without event time where the program has a time, take no part.
    """
    schema = match_schema(frame, program)
    if MALFORMED in frame.columns:
        frame = frame.where(f"NOT {MALFORMED}")
    if program.time is not None:
        frame = frame.where(f"({program.time.sql}) IS NOT NULL")
    return sorted_rows(frame, program, order).mapInArrow(partial(match_sorted, program), schema)


def sorted_rows(
    frame: DataFrame, program: MatchProgram, order: list[str], more: Sequence[ProgramColumn] = ()
) -> DataFrame:
    """Return the columns of a program, and `more` columns behind them, sorted by partition and in it by `order`."""
    columns = [*program_columns(frame, program), *(f"({column.sql}) AS `{column.name}`" for column in more)]
    ordering = [_order_key(sql, f"__order{i}") for i, sql in enumerate(order)]
    rows = frame.select(*map(F.expr, columns), *(value for value, _ in ordering))
    keys = [column.name for column in program.keys]
    others = {*keys, *(column.name for column in more)}
    rest = [f for f in rows.schema.fields if not f.name.startswith("__order") and f.name not in others]
    ties = [F.asc_nulls_first(f.name) for f in rest if not isinstance(f.dataType, MapType)]
    spread = rows.repartition(*keys) if keys else rows.repartition(1)
    ordered = spread.sortWithinPartitions(*keys, *(key for _, key in ordering), *ties)
    return ordered.drop(*(f"__order{i}" for i in range(len(order))))


def _packets(
    frame: DataFrame, program: MatchProgram, control: str | None, buckets: int, late: LateFiles | None
) -> DataFrame:
    """Return the rows of a stream in packets."""
    whole = [f"{WHOLE} AS whole"] if late is not None else []
    rows = frame.selectExpr(*program_columns(frame, program), *_routing(frame, program, buckets), *whole)
    if control is not None:
        end = frame.sparkSession.readStream.text(control).selectExpr(f"{END_OF_TIME}L AS t", "0 AS bucket")
        rows = rows.unionByName(end, allowMissingColumns=True)
    # A late row must be whole in the table of late rows, so none may be left out before.
    alive = dead_rows(program) if late is None else None
    return rows.mapInArrow(partial(_pack, buckets, alive), PACKET_DDL)


def _routing(frame: DataFrame, program: MatchProgram, buckets: int) -> list[str]:
    """Return the SQL of the columns that say where a row goes: `bucket`, and `malformed` and `bound` where
    the frame has them."""
    keys = ", ".join(f"({column.sql})" for column in program.keys)
    bucket = f"pmod(hash({keys}), {buckets}) AS bucket" if keys else "0 AS bucket"
    marks = [
        f"{name} AS {short}" for name, short in ((MALFORMED, "malformed"), (BOUND, "bound")) if name in frame.columns
    ]
    return [bucket, *marks]


def _output_ddl() -> str:
    return ", ".join(f"{name} BIGINT" for name in (*COUNTS, *TOTALS)) + ", bound BIGINT, output BINARY"


def _order_key(sql: str, name: str) -> tuple[Column, Column]:
    """Split an ORDER BY item into the value under a name and the sort key of that name."""
    value, direction, nulls = re.fullmatch(r"(?is)(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*", sql).groups()
    direction = (direction or "asc").lower()
    nulls = (nulls or ("first" if direction == "asc" else "last")).lower()
    return F.expr(value).alias(name), getattr(F.col(name), f"{direction}_nulls_{nulls}")()


def _pack(buckets: int, alive: tuple[int, ...] | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return pack(batches, buckets, alive=alive)


def _advance(
    program: MatchProgram,
    delay: int,
    late: LateFiles | None,
    key: tuple,
    frames: Iterator["pd.DataFrame"],
    state: GroupState,
) -> Iterator["pd.DataFrame"]:
    """Take one batch of one bucket: a row of counts, then as many rows of output as its size needs."""
    import pandas as pd

    settle()
    packets = [packet for frame in frames for packet in frame["packet"]]
    advanced = advance(program, delay, state.get[0] if state.exists else None, packets)
    if late is not None and advanced.rejected is not None:
        write_rejected(late, advanced.rejected, f"bucket-{key[0]}")
    state.update((advanced.state,))
    pieces = list(_serialized(advanced.output)) or [None]
    for i, piece in enumerate(pieces):
        counts = [value if i == 0 else 0 for value in (*astuple(advanced.counts), *astuple(advanced.total))]
        row = dict(zip((*COUNTS, *TOTALS), counts, strict=True)) | {"bound": advanced.bound, "output": piece}
        yield pd.DataFrame({name: [value] for name, value in row.items()})


def _serialized(output: pa.Table) -> Iterator[bytes]:
    """Yield the rows as Arrow IPC streams of limited size."""
    if output.num_rows == 0:
        return
    step = max(1, output.num_rows * _MAX_OUTPUT_BYTES // max(1, output.nbytes))
    for start in range(0, output.num_rows, step):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, output.schema) as writer:
            writer.write_table(output.slice(start, step))
        yield sink.getvalue().to_pybytes()


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for batch in batches:
        for data in batch["output"]:
            yield from pa.ipc.open_stream(data.as_buffer())
