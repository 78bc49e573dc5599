"""The output rows of a stage and plain SQL over them, computed with Arrow where they are read next."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from sqlglot import exp, parse_one

from cepsql.language.tokens import DIALECT
from cepsql.ordered.packet import PACKET_DDL, Packet, pack_in_task
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, IDLE, RowLayout
from cepsql.ordered.stage import Advanced
from cepsql.plan.tree.markers import BOUND
from cepsql.plan.tree.nodes import ChangeOperator
from cepsql.readers.scan.between import projected_rows
from cepsql.readers.scan.layout import readable_type
from cepsql.readers.scan.murmur import bucket_numbers, is_hashed
from cepsql.readers.scan.projection import Projection
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import Columns, both, plain_table, projected, projection
from cepsql.scalar.expressions import Constant, Session
from cepsql.scalar.expressions import Node as Expression
from cepsql.scalar.types import BIGINT, parse_type
from cepsql.spark.frames.column_types import struct_of
from cepsql.spark.frames.operator_rows import layout_fields
from cepsql.spark.frames.packet_files import Packing
from cepsql.spark.frames.worker import settle
from cepsql.spark.jvm.classic import has_java
from cepsql.spark.sources.arrow_scan import scan_session, session_obstacle

CHANGE = "__change"
"""The TINYINT column of the output with each row's `cepsql.ordered.operator.Change`, if not all rows are inserts."""


@dataclass(frozen=True)
class StageRows:
    """Output rows of a stage, under plain SQL that only filters them and computes columns.

    stage:  its `bound` and `output`, as `spark_stage.run_stage` returns them; None: their reader runs in the task of
            the stage.
    schema: of the rows in `output`.
    output: the columns that the SQL above reads, as Spark SQL with their names.
    hold:   how many microseconds the event time of rows may lie behind the watermark at which they come out.
    above:  the queries over the rows, each over the one before.
    labelled: how many of the queries precede the labelling of changes with their operation; None: no labelling.
    node:   the operator whose rows these are, if `stage` is None.
    """

    stage: DataFrame | None
    schema: StructType
    output: tuple[str, ...]
    hold: int
    above: tuple[exp.Query, ...] = ()
    labelled: int | None = None
    node: ChangeOperator | None = None

    def under(self, query: exp.Query) -> "StageRows | None":
        """Return the rows of a query over these, None if it does more than filter them and compute columns."""
        try:
            plain_table(query)
        except Unlike:
            return None
        return replace(self, above=(*self.above, query))

    def with_operations(self) -> "StageRows":
        """Return the rows with the operation of each change, in place of the hidden columns."""
        return replace(self, labelled=len(self.above))


def arrow_session(spark: SparkSession) -> Session | None:
    """Return the rules of a session, None if Arrow can't follow them."""
    if not has_java(spark) or session_obstacle(spark) is not None:
        return None
    return scan_session(spark)


def given_columns(schema: StructType, output: Sequence[str], session: Session) -> Columns:
    """Return the columns of an operator's output as expressions over the stage's rows; raises Unlike."""
    own = _carried(schema)
    select = parse_one(f"SELECT {', '.join(output)} FROM stage", read=DIALECT, into=exp.Select)
    _, columns = projected(select, own, session)
    # Markers are not rows.
    columns[BOUND] = Constant(None, BIGINT)
    return columns


def _carried(schema: StructType) -> Columns:
    """Return the columns of a schema, unchanged."""
    carried = Columns()
    for column in schema.fields:
        type_name = column.dataType.simpleString()
        carried.carry(column.name, readable_type(type_name), type_name)
    return carried


def selected(queries: Sequence[exp.Query], columns: Columns, session: Session) -> tuple[Expression | None, Columns]:
    """Return the condition and the columns of queries, each over the one before, as expressions; raises Unlike."""
    condition = None
    for query in queries:
        more, columns = projected(query, columns, session)
        condition = both(condition, more)
    return condition, columns


def packets_of(rows: StageRows, layout: RowLayout, frame: DataFrame) -> "OutputPackets | None":
    """Return how rows become packets for an operator, None if only Spark can compute the operator's input.

    Rows that arrive in the task of the operator need no bucket: there is only one.

    layout: of the operator's input.
    frame:  the rows in Spark, with BOUND if markers come between them.
    """
    session = arrow_session(frame.sparkSession)
    if session is None:
        return None
    try:
        made = projection(
            layout, *selected(rows.above, given_columns(rows.schema, rows.output, session), session), session
        )
    except Unlike:
        return None
    hashed = rows.node is not None or all(is_hashed(key.type) for key in made.keys.values())
    if not hashed or not has_types(made, layout, frame):
        return None
    return OutputPackets(rows.stage, made, rows.hold if BOUND in frame.columns else None)


def has_types(rows: Projection, layout: RowLayout, frame: DataFrame) -> bool:
    """Tell whether the columns of a layout have Spark's types over a frame."""
    fields = layout_fields(frame, layout)
    # The mask comes last.
    pairs = zip(fields, rows.values, strict=False)
    return all(parse_type(field.dataType.simpleString()) == node.type for field, (_, node) in pairs)


@dataclass(frozen=True)
class OutputPackets:
    """Makes packets from a stage's output, without Spark rows.

    hold: of the marker that follows the rows of a task; None: no marker.
    """

    stage: DataFrame | None
    projection: Projection
    hold: int | None

    def __call__(self, packing: Packing) -> DataFrame:
        """Return the packets as PACKET_DDL."""
        assert self.stage is not None
        packed = partial(_packed, self.projection, self.hold, packing)
        return self.stage.mapInArrow(packed, struct_of(PACKET_DDL))


@dataclass(frozen=True)
class TaskPackets:
    """Makes packets from a stage's output of a micro-batch, in its task; picklable. `hold` as in `OutputPackets`."""

    projection: Projection
    hold: int | None
    packing: Packing

    def __call__(self, advanced: Advanced) -> Iterator[Packet]:
        rows = with_changes(advanced)
        pieces = [(advanced.bound, rows)] if rows.num_rows else []
        batches = _routed(self.projection, self.hold, 1, [(advanced.bound, None), *pieces])
        return pack_in_task(batches, self.packing.input, self.packing.reduction)


def with_changes(advanced: Advanced) -> pa.Table:
    """Return a stage's output rows, with CHANGE if they are not all inserts."""
    rows = advanced.output
    return rows if advanced.changes is None or not rows.num_rows else rows.append_column(CHANGE, advanced.changes)


def _packed(
    made: Projection, hold: int | None, packing: Packing, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    settle()
    return packing.packets(_routed(made, hold, packing.buckets, _pieces(batches)))


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table | None]]:
    """Yield the watermark in `bound` and the rows in `output` of a stage."""
    for batch in batches:
        yield max(batch["bound"].to_pylist(), default=BEGINNING), None
        for rows in outputs(batch):
            yield BEGINNING, rows


def _routed(
    made: Projection, hold: int | None, buckets: int, pieces: Iterable[tuple[int, pa.Table | None]]
) -> Iterator[pa.RecordBatch]:
    """Yield rows with their bucket, and a marker at the end, unless `hold` is None.

    pieces: the watermark of the stage, and rows.
    """
    marks = [] if hold is None else [("bound", pa.int64())]
    schema = pa.schema([*made.schema, ("bucket", pa.int32()), *marks])
    bound = BEGINNING
    for reached, rows in pieces:
        bound = max(bound, reached)
        if rows is not None:
            projected = projected_rows(made, rows)
            keys = [projected[name] for name in made.keys]
            bucket = pa.array(bucket_numbers(keys, projected.num_rows, buckets))
            unmarked = [pa.nulls(projected.num_rows, kind) for _, kind in marks]
            yield pa.RecordBatch.from_arrays([*projected.columns, bucket, *unmarked], schema=schema)
    if hold is not None and bound > BEGINNING:
        nothing = [pa.nulls(1, field.type) for field in made.schema]
        reached = bound if bound in (IDLE, END_OF_TIME) else bound - hold
        marker = [*nothing, pa.array([0], pa.int32()), pa.array([reached], pa.int64())]
        yield pa.RecordBatch.from_arrays(marker, schema=schema)


def outputs(batch: pa.RecordBatch) -> Iterator[pa.Table]:
    """Yield the rows in the `output` of a stage."""
    for data in batch["output"]:
        if data.is_valid:
            yield pa.ipc.open_stream(data.as_buffer()).read_all()
