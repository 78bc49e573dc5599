"""CAST of Arrow columns, with the results that Spark gives."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.errors import OperationalError
from cepsql.scalar.arrow.arrow_times import is_interval
from cepsql.scalar.arrow.column_values import Value, all_rows, arrow_type, one_for_all
from cepsql.scalar.expressions import Apply, Session
from cepsql.scalar.types import BOOLEAN, DATE, DATETIMES, FRACTIONS, INTEGERS, STRING, TIMESTAMP, Type, is_decimal

_NUMBERS = (*INTEGERS, *FRACTIONS)
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def castable(node: Apply) -> bool:
    """Tell whether a cast gives what Spark's gives."""
    source, target = node.arguments[0].type, node.type
    if is_decimal(target):
        if source in INTEGERS:
            return target.precision - target.scale >= _WHOLE_DIGITS[source.name]
        return is_decimal(source) and (
            target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        )
    if source in DATETIMES:
        return target in DATETIMES
    if is_interval(source):
        return is_interval(target)
    if target == STRING:
        return source in INTEGERS or source == BOOLEAN
    return source in (BOOLEAN, *_NUMBERS) and target in (BOOLEAN, *_NUMBERS)


def always_castable(node: Apply) -> bool:
    """Tell whether TRY_CAST is a cast that never fails."""
    order = (*INTEGERS, *FRACTIONS)
    source, target = node.arguments[0].type, node.type
    return source in order and target in order and order.index(source) <= order.index(target)


def cast_column(node: Apply, session: Session, a: Value) -> Value:
    """Cast a column.

    Raises OperationalError for a date beyond the ends of TIMESTAMP.
    """
    source, kind = node.arguments[0].type, arrow_type(node.type)
    if is_interval(source):
        return a
    if source in DATETIMES:
        return _between_times(source, node.type, session, a)
    if node.type == BOOLEAN:
        return pc.not_equal(a, pa.scalar(0, a.type))
    if source in FRACTIONS and node.type in INTEGERS:
        return _truncated(kind, a)
    return pc.cast(a, kind, safe=False)


def _truncated(type: pa.DataType, a: Value) -> Value:
    """Convert as Java does: towards zero, NaN to 0, saturated as INT or BIGINT, then reduced to the low bits."""
    values = all_rows(a, 1)
    numbers = np.nan_to_num(values.fill_null(0).to_numpy().astype(np.float64), nan=0.0)
    bits = 64 if type == pa.int64() else 32
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    inside = (numbers > low) & (numbers < high)
    whole = np.where(inside, numbers, 0).astype(np.int64)
    whole = np.where(inside, whole, np.where(numbers >= high, high, low))
    result = pa.array(whole.astype(type.to_pandas_dtype()), mask=values.is_null().to_numpy(zero_copy_only=False))
    return one_for_all(result, a)


def _between_times(source: Type, target: Type, session: Session, a: Value) -> Value:
    """Convert between dates, instants and local times."""
    values = all_rows(a, 1)
    null = values.is_null().to_numpy(zero_copy_only=False)
    numbers = values.view(pa.int32() if source == DATE else pa.int64()).fill_null(0).to_numpy().astype(np.int64)
    if source == DATE:
        if np.any(np.abs(numbers) > (2**63 - 1) // DAY):
            raise OperationalError("a date is beyond what a TIMESTAMP can hold")
        local = numbers * DAY
    else:
        local = session.zone.clocks(numbers) if source == TIMESTAMP else numbers
    if target == DATE:
        result = pa.array((local // DAY).astype(np.int32), mask=null)
    else:
        result = pa.array(session.zone.instants(local) if target == TIMESTAMP else local, mask=null)
    result = result.view(arrow_type(target))
    return one_for_all(result, a)
