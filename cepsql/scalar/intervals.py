"""Day-time intervals in microseconds: what is added to times, and their multiples."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from cepsql.calendar import DAY
from cepsql.errors import DataError
from cepsql.scalar.zone import Zone

_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)
_ONE = Decimal(1)


def add_interval(zone: Zone | None, time: int, interval: int) -> int:
    """Return the time so much later: whole days by the clock of the zone, the rest by the second hand.

    zone: None for a local time, which knows no other clock.
    """
    if zone is None or zone.fixed:
        return checked(time + interval, "TIMESTAMP")
    days = abs(interval) // DAY * (1 if interval >= 0 else -1)
    return checked(zone.moved(time, days, interval - days * DAY), "TIMESTAMP")


def _sub_interval(zone: Zone | None, time: int, interval: int) -> int:
    return add_interval(zone, time, -interval)


def _times(interval: int, factor: Decimal | float) -> int:
    if isinstance(factor, float):
        return _rounded(interval * factor)
    return _whole(_CONTEXT.multiply(Decimal(interval), Decimal(factor)))


def _divided(interval: int, divisor: Decimal | float) -> int:
    if not divisor:
        raise DataError("an INTERVAL is divided by zero")
    if isinstance(divisor, float):
        return _rounded(interval / divisor)
    return _whole(_CONTEXT.divide(Decimal(interval), Decimal(divisor)))


def _rounded(micros: float) -> int:
    if micros != micros or micros in (float("inf"), float("-inf")):
        raise DataError("an INTERVAL can be multiplied or divided only by a number")
    return _whole(Decimal(micros))


def _whole(micros: Decimal) -> int:
    return checked(int(micros.quantize(_ONE, ROUND_HALF_UP, _CONTEXT)))


def checked(micros: int, kind: str = "INTERVAL") -> int:
    """Return the microseconds of an interval or time. Raises DataError if they are beyond what Spark can hold."""
    if not -(2**63) <= micros < 2**63:
        raise DataError(f"a result is beyond the ends of {kind}")
    return micros


FUNCTIONS: dict[str, Callable] = {
    "add interval": add_interval,
    "sub interval": _sub_interval,
    "mul interval": _times,
    "div interval": _divided,
    "between days": lambda last, first: (last - first) * DAY,
    "days": lambda interval: interval // DAY,
}
"""By the name of the operation."""
