"""Lists and maps that Spark knows to have no NULL in them, as columns that may have some."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from cepsql.language.tokens import quoted


def with_nulls_inside(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return a frame whose columns of these names have types that allow NULL in lists, maps and structs.

    Over streams Spark's optimizer forgets that what a window function gave, such as COLLECT_LIST, has none: it then
    stumbles over a cast to a type without, which `array_join(numbers, ',')` has in it.
    """
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    wanted = {name: _with_nulls(kinds[name]) for name in names}
    changed = {name: F.col(quoted(name)).cast(kind) for name, kind in wanted.items() if kind != kinds[name]}
    return frame.withColumns(changed) if changed else frame


def _with_nulls(kind: DataType) -> DataType:
    match kind:
        case ArrayType():
            return ArrayType(_with_nulls(kind.elementType), True)
        case MapType():
            return MapType(kind.keyType, _with_nulls(kind.valueType), True)
        case StructType():
            return StructType([StructField(f.name, _with_nulls(f.dataType), True, f.metadata) for f in kind.fields])
    return kind
