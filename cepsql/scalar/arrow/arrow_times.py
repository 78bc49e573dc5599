"""Differences of times, dates plus days, and day-time intervals, as Arrow columns."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.errors import OperationalError
from cepsql.scalar.arrow.column_values import Value, arrow_type
from cepsql.scalar.expressions import Apply, Session
from cepsql.scalar.types import DATE, DATETIMES, INT, Type


def is_interval(kind: Type) -> bool:
    """Tell whether a type is a day-time interval."""
    return kind.name == "interval"


def is_of_times(node: Apply) -> bool:
    """Tell whether + or - takes times of one type, dates and days, or intervals, independently of the time zone."""
    kinds = [argument.type for argument in node.arguments]
    if is_interval(node.type):
        return all(map(is_interval, kinds)) or (kinds[0] in DATETIMES and kinds[0] == kinds[-1])
    return node.type in (DATE, INT) and kinds[0] == DATE and set(kinds) <= {DATE, INT}


def of_times(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return the kernel of an operation that `is_of_times`; `function` is its checked arithmetic on integers.

    The kernel raises OperationalError for an interval that is too long, as Spark does.
    """

    def kernel(node: Apply, session: Session, *values: Value) -> Value:
        days = node.type in (DATE, INT)
        numbers = [pc.cast(counted(value), pa.int64()) for value in values]
        try:
            result = function(*numbers)
        except pa.ArrowInvalid as error:
            raise OperationalError("an interval is longer than what INTERVAL can hold") from error
        # Days wrap around, as Java's integers do.
        return pc.cast(pc.cast(result, pa.int32(), safe=False) if days else result, arrow_type(node.type))

    return kernel


def days_between(node: Apply, session: Session, a: Value, b: Value) -> Value:
    """Return the time between two dates."""
    days = pc.subtract(pc.cast(counted(a), pa.int64()), pc.cast(counted(b), pa.int64()))
    return pc.cast(pc.multiply(days, DAY), arrow_type(node.type))


def counted(value: Value) -> Value:
    """Return times and intervals in microseconds, dates in days, and other values unchanged."""
    kind = value.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pc.cast(value, pa.int64())
    return pc.cast(value, pa.int32()) if pa.types.is_date32(kind) else value
