"""The rows of a DataFrame as an Arrow table, or as batches in its tasks."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from cepsql.errors import NotSupportedError
from cepsql.ordered.plain_columns import plain_schema
from cepsql.render.variant import is_variant

if TYPE_CHECKING:
    import pandas as pd

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return all rows; times are in the session's time zone, where Spark itself always says UTC.

    Arrow does not get INTERVAL YEAR TO MONTH from Spark: such columns are text, as Spark writes it.
    """
    return handed_out(collected(arrow_columns(frame)), frame)


def to_pandas(table: pa.Table) -> "pd.DataFrame":
    """Return the rows as a DataFrame of pandas. Raises ValueError for values that it has no type for.

    Integers with NULL among them are of its nullable types: the floats that they would be cannot hold each of them.
    """
    import pandas as pd

    types = {
        pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()
    }  # fmt: skip
    frame = table.to_pandas()
    for number, column in enumerate(table.columns):
        if column.type in types and column.null_count:
            frame.isetitem(number, column.to_pandas(types_mapper=types.get))
    return frame


def collected(frame: DataFrame) -> pa.Table:
    """Return all rows, as `DataFrame.toArrow` does where no VARIANT is NULL.

    Spark gives a NULL one parts that are NULL, and says that they never are, at which PySpark fails.
    """
    if "variant" not in frame.schema.simpleString():
        return frame.toArrow()
    written = map_rows(frame, _written, "rows BINARY").toArrow()["rows"]
    batches = [batch for rows in written for batch in pa.ipc.open_stream(rows.as_buffer())]
    return pa.Table.from_batches(batches) if batches else frame.limit(0).toArrow()


def _written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (pa.RecordBatch.from_arrays([pa.array([serialized(batch)], pa.binary())], ["rows"]) for batch in batches)


def serialized(batch: pa.RecordBatch) -> bytes:
    """Return the batch as a stream of Arrow."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def arrow_columns(frame: DataFrame) -> DataFrame:
    """Return the frame with INTERVAL YEAR TO MONTH as text, and with structs of which any part may be NULL.

    A struct that is NULL has parts that are, also where Spark says that they never are: PySpark fails at those.
    """
    types = [field.dataType for field in frame.schema.fields]
    wanted = [StringType() if isinstance(kind, YearMonthIntervalType) else _with_loose_structs(kind) for kind in types]
    if wanted == types:
        return frame
    numbered = frame.toDF(*(f"__{i}" for i in range(len(types))))
    columns = [F.col(f"__{i}") for i in range(len(types))]
    changed = [c if kind == own else c.cast(kind) for c, kind, own in zip(columns, wanted, types, strict=True)]
    return numbered.select(*changed).toDF(*frame.columns)


def _with_loose_structs(kind: DataType) -> DataType:
    """Return a type where any part of a struct may be NULL."""
    match kind:
        case ArrayType():
            return ArrayType(_with_loose_structs(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(kind.keyType, _with_loose_structs(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType(
                [StructField(f.name, _with_loose_structs(f.dataType), True, f.metadata) for f in kind.fields]
            )
    return kind


def map_rows(
    frame: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """Return what a function makes of the rows of each task, as `DataFrame.mapInArrow` does, which looks columns up by
    their names: it takes a point in one for one between names, and cannot tell equal names apart."""
    names = frame.columns
    if has_plain_names(names):
        # Spark plans one frame less, in each micro-batch.
        return frame.mapInArrow(function, schema)
    return frame.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(partial(_named, function, names), schema)


def has_plain_names(names: Sequence[str]) -> bool:
    """Tell whether Spark finds columns by these names without quotes, each as one."""
    return all(map(_PLAIN_NAME.fullmatch, names)) and len({name.lower() for name in names}) == len(names)


def _named(
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    names: list[str],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    return function(batch.rename_columns(names) for batch in batches)


def handed_out(table: pa.Table, frame: DataFrame) -> pa.Table:
    """Return the rows of a frame as whoever asked for them gets them.

    Times are in the time zone of the frame's session. The parts of a VARIANT may be NULL, as they are where it is NULL.
    """
    return in_zone(table, zone_of(frame))


def zone_of(frame: DataFrame) -> str:
    """Return the time zone of the frame's session."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    return zone


def in_zone(table: pa.Table, zone: str) -> pa.Table:
    """Return the rows of a frame as `handed_out` does, with times in a time zone."""
    for i, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            kind = pa.timestamp(kind.unit, zone)
        elif pa.types.is_nested(kind):
            kind = _with_loose_variants(kind)
        if kind != field.type:
            table = table.set_column(i, field.with_type(kind), table.column(i).cast(kind))
    return table


def _with_loose_variants(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return pa.map_(
            *(field.with_type(_with_loose_variants(field.type)) for field in (kind.key_field, kind.item_field))
        )
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_loose_variants(kind.value_type)))
    if not pa.types.is_struct(kind):
        return kind
    if is_variant(kind):
        return pa.struct([field.with_nullable(True) for field in kind])
    return pa.struct([field.with_type(_with_loose_variants(field.type)) for field in kind])


def refuse_months(
    schema: StructType,
    place: str = "a pattern, or in another operator over a stream,",
    hint: str = "let a subquery count their months: CAST(CAST(x AS INTERVAL MONTH) AS INT)",
) -> None:
    """Raise NotSupportedError for columns that are, or hold, an INTERVAL YEAR TO MONTH: Arrow does not get them.

    place, hint: where they are not supported, and what helps.
    """
    kinds = [field.dataType.simpleString() for field in schema.fields]
    if any("interval year" in kind or "interval month" in kind for kind in kinds):
        raise NotSupportedError(f"INTERVAL YEAR TO MONTH values in {place} are not supported", hint=hint)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the types that the tasks of a stage get and give; times are in UTC.

    Raises NotSupportedError for what they cannot get.
    """
    refuse_months(schema)
    convert: Any = to_arrow_schema
    # Before PySpark 4.2 it is UTC always.
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(convert).parameters else {}
    return convert(schema, **zone)


def plain_types(fields: Sequence[StructField]) -> tuple[pa.DataType, ...]:
    """Return the types that the columns of operators have in a stage; raises what `arrow_schema` raises."""
    return tuple(plain_schema(arrow_schema(StructType([*fields]))).types)
