"""Aggregates of Spark over the list of their values, in the order in which the rows come; None stands for NULL."""

import math
from collections.abc import Callable, Sequence
from functools import cmp_to_key

from cepsql.scalar.values import is_greater


def _variance(sample: bool) -> Callable[[Sequence], float | None]:
    """Return the variance of a sample or a population, rounded as Spark rounds it, which adds value by value."""

    def function(values: Sequence) -> float | None:
        count, average, squares = 0.0, 0.0, 0.0
        for value in values:
            if value is None:
                continue
            count += 1.0
            delta = value - average
            step = delta / count
            average += step
            squares += delta * (delta - step)
        divisor = count - 1.0 if sample else count
        return squares / divisor if divisor > 0 else None

    return function


def _root(function: Callable[[Sequence], float | None]) -> Callable[[Sequence], float | None]:
    def root(values: Sequence) -> float | None:
        variance = function(values)
        return None if variance is None else math.sqrt(variance)

    return root


def _percentile(values: Sequence, fraction: float) -> float | None:
    """Return the value below which a fraction of the values lies, between two of them where it falls there."""
    ordered = sorted((value for value in values if value is not None), key=cmp_to_key(_compared))
    if not ordered:
        return None
    position = (len(ordered) - 1) * fraction
    low, high = math.floor(position), math.ceil(position)
    below, above = ordered[low], ordered[high]
    if low == high or _compared(below, above) == 0:
        return float(below)
    return float(below) + (position - low) * (float(above) - float(below))


def _compared(a: object, b: object) -> int:
    return 1 if is_greater(a, b) else -1 if is_greater(b, a) else 0


def _listagg(texts: Sequence[str | None], separator: str = "") -> str | None:
    given = [text for text in texts if text is not None]
    return separator.join(given) if given else None


STATISTICS: dict[str, Callable] = {
    "var_samp": _variance(True),
    "var_pop": _variance(False),
    "stddev_samp": _root(_variance(True)),
    "stddev_pop": _root(_variance(False)),
    "percentile": _percentile,
    "listagg": _listagg,
}
"""By name."""
