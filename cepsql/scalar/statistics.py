"""Aggregates of Spark over a list of values in the order of their rows; None stands for NULL."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key, reduce
from itertools import groupby
from operator import and_, or_, xor

from cepsql.scalar.values import is_greater


def _steps(values: Sequence) -> Iterator[tuple[float, float]]:
    """Yield for each value its distance from the mean of those before it, and how far it moves the mean."""
    average = 0.0
    for count, value in enumerate(values, 1):
        delta = value - average
        step = delta / count
        average += step
        yield delta, step


def _variance(sample: bool) -> Callable[[Sequence], float | None]:
    """Return the variance of a sample or a population, updated value by value, to round as Spark does."""

    def function(values: Sequence) -> float | None:
        non_null, squares = [value for value in values if value is not None], 0.0
        for delta, step in _steps(non_null):
            squares += delta * (delta - step)
        divisor = len(non_null) - sample
        return squares / divisor if divisor > 0 else None

    return function


def _root(function: Callable[[Sequence], float | None]) -> Callable[[Sequence], float | None]:
    def root(values: Sequence) -> float | None:
        variance = function(values)
        return None if variance is None else math.sqrt(variance)

    return root


def _percentile(values: Sequence, fraction: float) -> float | None:
    """Return the value below which a fraction of the values lies, interpolated between two of them."""
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
    non_null = [text for text in texts if text is not None]
    return separator.join(non_null) if non_null else None


def _moment(power: int) -> Callable[[Sequence], float | None]:
    """Return the skewness or kurtosis, from central moments that are updated value by value, as Spark's are."""

    def function(values: Sequence) -> float | None:
        non_null = [value for value in values if value is not None]
        count, second, third, fourth = len(non_null), 0.0, 0.0, 0.0
        for delta, step in _steps(non_null):
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
        non_null = [value for value in values if value is not None]
        return reduce(combine, non_null) if non_null else None

    return function


def _mode(values: Sequence) -> object:
    """Return the most frequent value, the first of several; Spark leaves open which."""
    non_null = [value for value in values if value is not None]
    if not non_null:
        return None
    keys = [cmp_to_key(_compared)(value) for value in non_null]
    alike = [
        list(places) for _, places in groupby(sorted(range(len(non_null)), key=keys.__getitem__), keys.__getitem__)
    ]
    return non_null[min(alike, key=lambda places: (-len(places), places[0]))[0]]


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
