"""The columns by which rows of Spark tell a stage where they come from and their place there."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepsql.analysis.sql import properties
from cepsql.ordered import arrival

_ORIGIN_FIELD = "origin_"


def placed_columns(frame: DataFrame) -> list[str]:
    """Return the SQL of where the rows of a frame stand in their source, if it tells, as `with_origins` knows it.

    The fields of ORIGIN are columns of their own: Spark takes twice as long for each row that has a struct.
    """
    if properties.ORIGIN not in frame.columns:
        return []
    origin = frame.schema[properties.ORIGIN].dataType
    assert isinstance(origin, StructType)
    fields = [f"{properties.ORIGIN}.{name} AS {_ORIGIN_FIELD}{name}" for name in origin.names]
    place = [f"{properties.PLACE} AS {arrival.PLACE}"] if properties.PLACE in frame.columns else []
    return [*fields, *place]


def with_origins(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with the column ORIGIN of `cepsql.ordered.arrival` in place of those that have its fields."""
    for batch in batches:
        fields = [name for name in batch.schema.names if name.startswith(_ORIGIN_FIELD)]
        if not fields:
            yield batch
            continue
        columns, names = [batch[name] for name in fields], [name.removeprefix(_ORIGIN_FIELD) for name in fields]
        missing = columns[0].is_null() if columns[0].null_count else None
        origin = pa.StructArray.from_arrays(columns, names, mask=missing)
        yield batch.drop_columns(fields).append_column(arrival.ORIGIN, origin)
