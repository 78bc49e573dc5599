"""The columns by which rows of Spark tell a stage where they come from and their place there."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepsql.analysis.sql import properties
from cepsql.ordered import arrival
from cepsql.spark.jvm.row_origins import SEPARATOR, origin_marks

_ORIGIN_FIELD = "origin_"
_MARKS = "runs_of_"


def with_placed_columns(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return these columns of a frame, in SQL, and where its rows stand in their source, if it tells.

    Only `with_origins` may read the latter, from the rows as they are.
    """
    return frame.select(*map(F.expr, columns), *_placed(frame))


def _placed(frame: DataFrame) -> list[Column]:
    if properties.ORIGIN not in frame.columns:
        return []
    origin = frame.schema[properties.ORIGIN].dataType
    assert isinstance(origin, StructType)
    place = [F.expr(properties.PLACE).alias(arrival.PLACE)] if properties.PLACE in frame.columns else []
    fields = {name: f"{properties.ORIGIN}.{name}" for name in origin.names}
    name = arrival.URL if arrival.URL in fields else "name"
    marks = origin_marks(frame.sparkSession, fields["rank"], fields["part"], fields[name])
    if marks is not None:
        return [marks.alias(_MARKS + name), *place]
    # The fields are columns of their own: Spark takes twice as long for each row that has a struct.
    return [*(F.expr(sql).alias(_ORIGIN_FIELD + name) for name, sql in fields.items()), *place]


def with_origins(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task with the column ORIGIN of `cepsql.ordered.arrival` in place of those that tell of it."""
    last = None
    for batch in batches:
        marks = next((name for name in batch.schema.names if name.startswith(_MARKS)), None)
        if marks is not None:
            origins = _read_marks(batch[marks], marks.removeprefix(_MARKS), last)
            last = origins.values[-1].as_py() if batch.num_rows else last
            yield batch.drop_columns([marks]).append_column(arrival.ORIGIN, origins)
            continue
        fields = [name for name in batch.schema.names if name.startswith(_ORIGIN_FIELD)]
        if not fields:
            yield batch
            continue
        columns, names = [batch[name] for name in fields], [name.removeprefix(_ORIGIN_FIELD) for name in fields]
        missing = columns[0].is_null() if columns[0].null_count else None
        origin = pa.StructArray.from_arrays(columns, names, mask=missing)
        yield batch.drop_columns(fields).append_column(arrival.ORIGIN, origin)


def _read_marks(marks: pa.Array, name: str, last: dict | None) -> pa.RunEndEncodedArray:
    """Return the origins of rows by what `origin_marks` tells of them; `last` is that of the row before them."""
    begins = np.flatnonzero(marks.is_valid().to_numpy(zero_copy_only=False))
    values = [_origin(text, name) for text in marks.drop_null().to_pylist()]
    if len(marks) and (not len(begins) or begins[0]):
        values.insert(0, last)
        begins = np.insert(begins, 0, 0)
    kind = pa.struct([("rank", pa.int64()), (name, pa.string()), ("part", pa.int64())])
    ends = np.append(begins[1:], len(marks))[: len(begins)]
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values, kind))


def _origin(text: str, name: str) -> dict | None:
    if not text:
        return None
    rank, part, parts = text.split(SEPARATOR, 2)
    return {"rank": int(rank), "part": int(part), name: parts}
