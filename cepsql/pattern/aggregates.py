"""Aggregates of many groups of values at once, with Spark's results and types."""

from decimal import Decimal
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import DataError, NotSupportedError
from cepsql.scalar.arrow.column_values import type_of
from cepsql.scalar.values import decimal_div

_SAFE = 2.0**62


def aggregate(
    function: str, values: pa.Array, groups: np.ndarray, size: int, distinct: bool = False, ansi: bool = False
) -> pa.Array:
    """Aggregate the values of each group; NULL values are passed over.

    function: count, sum, avg, try_avg (which is as without `ansi`), min or max.
    groups:   the group of each value, ascending; groups are numbered below `size`.
    Returns one value a group: count as int64; sum as int64, double or decimal(p + 10, s); avg as double or
    decimal(p + 4, s + 4); min and max in the type of the values. A group without values has count 0 and else NULL.
    A sum that is beyond its type wraps around, of decimals it is NULL. Doubles are added in order, NaN is above all.
    Raises NotSupportedError for a type that the function does not take, and with `ansi` DataError for a sum that is
    beyond its type at any value.
    """
    if values.null_count:
        valid = values.is_valid()
        groups, values = groups[valid.to_numpy(zero_copy_only=False)], values.filter(valid)
    if distinct and function in ("count", "sum", "avg", "try_avg"):
        _refuse_nested(f"{function} of DISTINCT", values.type)
        first = _first_occurrences(values, groups)
        groups, values = groups[first], values.take(pa.array(first))
    counts = np.bincount(groups, minlength=size)
    if function == "count":
        return pa.array(counts, pa.int64())
    if function in ("min", "max"):
        _refuse_nested(f"{function} of", values.type)
        return _extreme(function, values, groups, counts)
    if function == "sum":
        return _sum(values, groups, counts, ansi)
    return _average(values, groups, counts, ansi and function == "avg")


def _first_occurrences(values: pa.Array, groups: np.ndarray) -> np.ndarray:
    """Return where, ascending, a value is the first of its kind in its group."""
    if pa.types.is_floating(values.type):
        # Arrow tells values apart by their bits. Adding zero turns minus zero, which equals zero, into zero.
        numbers = values.to_numpy() + 0.0
        values = pa.array(np.where(np.isnan(numbers), np.nan, numbers))
    encoded = values.dictionary_encode()
    pairs = groups * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
    return np.sort(np.unique(pairs, return_index=True)[1])


def _sum(values: pa.Array, groups: np.ndarray, counts: np.ndarray, ansi: bool) -> pa.Array:
    type, none = values.type, counts == 0
    if pa.types.is_decimal(type):
        return _decimal_sum(values, groups, counts, ansi)
    if pa.types.is_floating(type):
        return pa.array(_double_sum(values, groups, counts), mask=none)
    if pa.types.is_duration(type):
        return _integer_sum(values.cast(pa.int64()), groups, counts, True).cast(type)
    if pa.types.is_integer(type):
        return _integer_sum(values, groups, counts, ansi)
    raise _refused("sum", type)


def _average(values: pa.Array, groups: np.ndarray, counts: np.ndarray, ansi: bool) -> pa.Array:
    type = values.type
    if pa.types.is_decimal(type):
        precision, scale = min(type.precision + 4, 38), min(type.scale + 4, 38)
        totals = _decimal_sum(values, groups, counts, ansi).to_pylist()
        means = [
            None if total is None else decimal_div(total, count, precision, scale)
            for total, count in zip(totals, counts.tolist(), strict=True)
        ]
        return pa.array(means, pa.decimal128(precision, scale))
    if pa.types.is_floating(type) or pa.types.is_integer(type):
        return pa.array(_double_sum(values, groups, counts) / np.maximum(counts, 1), mask=counts == 0)
    raise _refused("avg", type)


def _refuse_nested(aggregate: str, type: pa.DataType) -> None:
    """Raise NotSupportedError for values that Arrow does not tell apart."""
    if pa.types.is_nested(type):
        raise NotSupportedError(f"{aggregate} {type_of(type)} values of a match", hint="take their texts: to_json(x)")


def _refused(function: str, type: pa.DataType) -> NotSupportedError:
    return NotSupportedError(f"{function} of {type_of(type)} values of a match", hint="cast the column to a number")


def _double_sum(values: pa.Array, groups: np.ndarray, counts: np.ndarray) -> np.ndarray:
    # bincount adds from left to right; reduceat would add in pairs and round differently.
    with np.errstate(all="ignore"):
        sums = np.bincount(groups, weights=values.to_numpy().astype(np.float64), minlength=len(counts))
    return sums.astype(np.float64)


def _integer_sum(values: pa.Array, groups: np.ndarray, counts: np.ndarray, strict: bool) -> pa.Array:
    integers = values.to_numpy().astype(np.int64)
    totals = np.zeros(len(counts), np.int64)
    filled = counts > 0
    totals[filled] = np.add.reduceat(integers, (np.cumsum(counts) - counts)[filled]) if len(integers) else 0
    if strict:
        bounds = np.bincount(groups, weights=np.abs(integers.astype(np.float64)), minlength=len(counts))
        for group in np.flatnonzero(bounds >= _SAFE):
            if not all(-(2**63) <= total < 2**63 for total in accumulate(integers[groups == group].tolist())):
                raise _beyond()
    return pa.array(totals, mask=~filled)


def _beyond() -> DataError:
    return DataError("a sum is beyond the range of its type", hint="cast the values to a wider type")


def _decimal_sum(values: pa.Array, groups: np.ndarray, counts: np.ndarray, ansi: bool) -> pa.Array:
    precision, scale = min(values.type.precision + 10, 38), values.type.scale
    wide = pa.table({"group": pa.array(groups), "value": values.cast(pa.decimal256(76, scale))})
    sums = wide.group_by("group", use_threads=False).aggregate([("value", "sum")])
    totals = sums.column("value_sum").combine_chunks()
    limit = pa.scalar(Decimal(10) ** (precision - scale), pa.decimal256(76, scale))
    fits = pc.less(pc.abs(totals), limit) if len(totals) else pa.array([], pa.bool_())
    if ansi and not pc.all(fits).as_py():
        raise _beyond()
    totals = pc.if_else(fits, totals, pa.scalar(None, totals.type)).cast(pa.decimal128(precision, scale))
    places = np.zeros(len(counts), np.int64)
    places[sums.column("group").to_numpy()] = np.arange(len(totals))
    return totals.take(pa.array(places, mask=counts == 0))


def _extreme(function: str, values: pa.Array, groups: np.ndarray, counts: np.ndarray) -> pa.Array:
    filled = counts > 0
    if not filled.any():
        return pa.nulls(len(counts), values.type)
    begins = (np.cumsum(counts) - counts)[filled]
    # A maximum takes NaN from anywhere, fmin only where there is nothing else: NaN is above all.
    best = np.maximum if function == "max" else np.fmin
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.to_numpy()
        results = np.zeros(len(counts), numbers.dtype)
        results[filled] = best.reduceat(numbers, begins)
        return pa.array(results, values.type, mask=~filled)
    ranks, firsts = _ranked(values)
    places = np.zeros(len(counts), np.int64)
    places[filled] = firsts[best.reduceat(ranks, begins)]
    return values.take(pa.array(places, mask=~filled))


def _ranked(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each value among those that occur, and for each rank the first place that has it."""
    encoded = values.dictionary_encode()
    indices = encoded.indices.to_numpy()
    order = np.asarray(pc.sort_indices(encoded.dictionary))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    firsts = np.empty(len(order), np.int64)
    firsts[indices[::-1]] = np.arange(len(indices))[::-1]
    return ranks[indices], firsts[order]
