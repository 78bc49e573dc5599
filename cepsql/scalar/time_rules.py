"""Type rules of operations on dates, times and intervals."""

from cepsql.errors import NotSupportedError
from cepsql.scalar.coercion import cast, implicit_cast, refused
from cepsql.scalar.expressions import Apply, Constant, Node, Session
from cepsql.scalar.time_patterns import is_supported
from cepsql.scalar.types import (
    BIGINT,
    DATE,
    DATETIMES,
    DOUBLE,
    FRACTIONS,
    INT,
    INTEGERS,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Type,
    is_decimal,
    is_number,
)

_DAYS = Type("interval", 0, 0)


def of_times(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """+, -, * and / of dates, times and intervals."""
    left, right = operands
    first, second = left.type, right.type
    if operation == "add" and (second in DATETIMES or (second.name == "interval" and first.name != "interval")):
        if second in DATETIMES:
            return _moved(operation, right, left, session)
        return _moved(operation, left, right, session)
    if operation in ("add", "sub") and first in DATETIMES and second not in DATETIMES:
        return _moved(operation, left, right, session)
    if operation == "sub" and first in DATETIMES and second in DATETIMES:
        return _between(left, right, session)
    if operation in ("add", "sub") and first.name == second.name == "interval":
        kind = Type("interval", min(first.precision, second.precision), max(first.scale, second.scale))
        return Apply(operation, operands, kind)
    if operation == "mul" and second.name == "interval":
        left, right, first, second = right, left, second, first
    if operation in ("mul", "div") and first.name == "interval" and is_number(second):
        if operation == "div" and is_decimal(second):
            raise refused(operation, operands)
        factor = cast(right, DOUBLE, session) if second in FRACTIONS else right
        return Apply(f"{operation} interval", (left, factor), INTERVAL)
    raise refused(operation, operands)


def move_days(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """DATE_ADD and DATE_SUB."""
    day, count = operands
    if count.type not in (TINYINT, SMALLINT, INT, VOID):
        raise refused(operation, operands)
    day = implicit_cast(day, DATE, session, operation.upper())
    return Apply("add" if operation == "date_add" else "sub", (day, cast(count, INT, session)), DATE)


def count_days(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """DATEDIFF."""
    return Apply("sub", tuple(implicit_cast(node, DATE, session, "DATEDIFF") for node in operands), INT)


def count_units(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """TIMESTAMPDIFF of local times."""
    ends = []
    for node in operands:
        if node.type not in (*DATETIMES, VOID):
            raise refused("timestampdiff", operands)
        ends.append(cast(cast(node, TIMESTAMP, session), TIMESTAMP_NTZ, session))
    return Apply(operation, tuple(ends), BIGINT)


def part_of_time(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """HOUR, MINUTE and SECOND of a local time."""
    (time,) = operands
    if time.type != TIMESTAMP_NTZ:
        time = cast(implicit_cast(time, TIMESTAMP, session, operation.upper()), TIMESTAMP_NTZ, session)
    return Apply(operation, (time,), INT)


def written(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """DATE_FORMAT of a local time."""
    time, pattern = operands
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str) or not is_supported(pattern.value):
        raise NotSupportedError("DATE_FORMAT with a pattern of other than numbers", hint="yyyy MM dd HH mm ss SSSSSS")
    instant = implicit_cast(time, TIMESTAMP, session, "DATE_FORMAT")
    return Apply(operation, (cast(instant, TIMESTAMP_NTZ, session), pattern), STRING)


def instant(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """TIMESTAMP_SECONDS, TIMESTAMP_MILLIS and TIMESTAMP_MICROS of a whole number."""
    if len(operands) != 1 or operands[0].type not in (*INTEGERS, VOID):
        raise refused(operation, operands)
    return Apply(operation, (cast(operands[0], BIGINT, session),), TIMESTAMP)


def _moved(operation: str, time: Node, by: Node, session: Session) -> Node:
    """Return a time plus or minus an interval, or a DATE plus or minus days."""
    if time.type == DATE and by.type in (TINYINT, SMALLINT, INT, VOID):
        return Apply(operation, (time, cast(by, INT, session)), DATE)
    if by.type.name != "interval" or time.type not in DATETIMES:
        raise refused(operation, (time, by))
    if time.type == DATE and by.type == _DAYS:
        return Apply(operation, (time, Apply("days", (by,), INT)), DATE)
    time = cast(time, TIMESTAMP, session) if time.type == DATE else time
    return Apply(f"{operation} interval", (time, by), time.type)


def _between(left: Node, right: Node, session: Session) -> Node:
    """Return the interval between two local times."""
    if left.type == right.type == DATE:
        return Apply("between days", (left, right), _DAYS)
    if DATE in (left.type, right.type):
        kind = right.type if left.type == DATE else left.type
        left, right = cast(left, kind, session), cast(right, kind, session)
    if session.zone.fixed and left.type == right.type == TIMESTAMP:
        return Apply("sub", (left, right), INTERVAL)
    sides = [cast(node, TIMESTAMP_NTZ, session) if node.type == TIMESTAMP else node for node in (left, right)]
    return Apply("sub", tuple(sides), INTERVAL)
