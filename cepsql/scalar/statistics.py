"""Aggregates of Spark over the list of their values, in the order in which the rows come; None stands for NULL."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key, reduce
from itertools import groupby
from operator import and_, or_, xor

from cepsql.scalar.values import is_greater


def _steps(given: Sequence) -> Iterator[tuple[float, float]]:
    """Yield for each value how far it is from the mean of those before it, and how far it moves that."""
    average = 0.0
    for count, value in enumerate(given, 1):
        delta = value - average
        step = delta / count
        average += step
        yield delta, step


def _variance(sample: bool) -> Callable[[Sequence], float | None]:
    """Return the variance of a sample or a population, rounded as Spark rounds it, which adds value by value."""

    def function(values: Sequence) -> float | None:
        given, squares = [value for value in values if value is not None], 0.0
        for delta, step in _steps(given):
            squares += delta * (delta - step)
        divisor = len(given) - sample
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


def _moment(power: int) -> Callable[[Sequence], float | None]:
    """Return the skewness or kurtosis of values, from their central moments, as Spark updates them value by value."""

    def function(values: Sequence) -> float | None:
        given = [value for value in values if value is not None]
        count, second, third, fourth = len(given), 0.0, 0.0, 0.0
        for delta, step in _steps(given):
            second += delta * (delta - step)
            third = third - 3.0 * step * second + delta * (delta * delta - step * step)
            inner = delta * (delta * delta) - step * (step * step)
            fourth = fourth - 4.0 * step * third - 6.0 * (step * step) * second + delta * inner
        if not count or second == 0.0:
            return None
        if power == 3:
            return math.sqrt(count) * third / math.sqrt(second * second * second)
        return count * fourth / (second * second) - 3.0

    return function


def _bits(combine: Callable[[int, int], int]) -> Callable[[Sequence], int | None]:
    def function(values: Sequence[int | None]) -> int | None:
        given = [value for value in values if value is not None]
        return reduce(combine, given) if given else None

    return function


def _mode(values: Sequence) -> object:
    """Return the most frequent value, the first to come of several; Spark leaves open which."""
    given = [value for value in values if value is not None]
    if not given:
        return None
    keys = [cmp_to_key(_compared)(value) for value in given]
    alike = [list(places) for _, places in groupby(sorted(range(len(given)), key=keys.__getitem__), keys.__getitem__)]
    return given[min(alike, key=lambda places: (-len(places), places[0]))[0]]


STATISTICS: dict[str, Callable] = {
    "bit_and": _bits(and_),
    "bit_or": _bits(or_),
    "bit_xor": _bits(xor),
    "kurtosis": _moment(4),
    "skewness": _moment(3),
    "mode": _mode,
    "var_samp": _variance(True),
    "var_pop": _variance(False),
    "stddev_samp": _root(_variance(True)),
    "stddev_pop": _root(_variance(False)),
    "percentile": _percentile,
    "listagg": _listagg,
}
"""By name."""
