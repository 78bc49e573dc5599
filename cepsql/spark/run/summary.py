"""SUMMARIZE: a row for each column of a relation, with what its values are like."""

import math

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, NumericType, StructType, VariantType

from cepsql.language.tokens import quoted

_LONGEST = 60


def summarized(frame: DataFrame) -> tuple[tuple[tuple[object, ...], ...], int]:
    """Return a row for each column of a bounded frame, which is read once, and the number of its rows.

    A row has the column's name and type, its least and its greatest value as text, about how many different ones there
    are, the mean to six digits, and how many are NULL.
    """
    named = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    asked = [F.count(F.lit(1))]
    for number, field in enumerate(named.schema.fields):
        value = F.col(quoted(f"c{number}"))
        text = F.lit(None).cast("string")
        ordered = _is_ordered(field.dataType)
        least, greatest = (_text(F.min(value)), _text(F.max(value))) if ordered else (text, text)
        different = F.approx_count_distinct(value) if not _holds_map(field.dataType) else F.lit(None).cast("bigint")
        mean = F.avg(value).cast("double") if isinstance(field.dataType, NumericType) else F.lit(None).cast("double")
        asked += [F.count(value), least, greatest, different, mean]
    (row,) = named.select(*(column.alias(f"a{i}") for i, column in enumerate(asked))).collect()
    count, rows = row[0], []
    for number, field in enumerate(frame.schema.fields):
        values, low, high, unlike, average = row[1 + 5 * number : 6 + 5 * number]
        kind = field.dataType.simpleString()
        unlike = None if unlike is None else min(unlike, values)
        rows.append((field.name, kind, low, high, unlike, _rounded(average), count - values))
    return tuple(rows), count


def _rounded(mean: float | None) -> float | None:
    """Round a mean to six digits, but to no more than a whole number: seven columns are to fit a screen.

    >>> _rounded(12.6390700000003), _rounded(1234567.89), _rounded(-0.00012345678), _rounded(0.0), _rounded(None)
    (12.6391, 1234568.0, -0.000123457, 0.0, None)
    """
    if not mean or not math.isfinite(mean):
        return mean
    return round(mean, max(0, 5 - math.floor(math.log10(abs(mean)))))


def _text(value):
    text = value.cast("string")
    return F.when(F.length(text) > _LONGEST, F.concat(F.left(text, F.lit(_LONGEST)), F.lit("..."))).otherwise(text)


def _is_ordered(kind: DataType) -> bool:
    return not isinstance(kind, BinaryType | VariantType) and not _holds_map(kind)


def _holds_map(kind: DataType) -> bool:
    """Tell whether values have a part that cannot be compared."""
    match kind:
        case MapType() | VariantType():
            return True
        case ArrayType(elementType=inner):
            return _holds_map(inner)
        case StructType(fields=fields):
            return any(_holds_map(field.dataType) for field in fields)
    return False
