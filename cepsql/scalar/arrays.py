"""Functions of arrays (tuples) and maps (tuples of pairs) on plain Python values; None stands for NULL."""

from collections.abc import Callable, Sequence
from functools import cmp_to_key

from cepsql.errors import DataError
from cepsql.scalar.values import is_greater


def _same(a: object, b: object) -> bool:
    """Tell whether two values are equal: NaN to itself, and NULL to NULL."""
    return a == b or (a is not None and b is not None and a != a and b != b)


def _in(value: object, values: Sequence) -> bool:
    return any(_same(value, other) for other in values)


def _contains(values: Sequence, value: object) -> bool | None:
    if any(_same(value, other) for other in values if other is not None):
        return True
    return None if None in values else False


def _position(values: Sequence, value: object) -> int:
    return next((i for i, other in enumerate(values, 1) if other is not None and _same(value, other)), 0)


def _overlap(a: Sequence, b: Sequence) -> bool | None:
    """Tell whether two arrays share an element; NULL if only a NULL element might be shared."""
    if any(_in(value, b) for value in a if value is not None):
        return True
    return None if a and b and (None in a or None in b) else False


def _equal(a: Sequence, b: Sequence) -> bool:
    return len(a) == len(b) and all(map(_same, a, b))


def _join(texts: Sequence[str], separator: str, null: str | None = None) -> str:
    """Join texts; NULLs are left out, or replaced by another text."""
    parts = texts if null is not None else [text for text in texts if text is not None]
    return separator.join(null if text is None else text for text in parts)


def _compared(a: object, b: object) -> int:
    return 1 if is_greater(a, b) else -1 if is_greater(b, a) else 0


def _sorted(values: Sequence, ascending: bool = True, nulls_first: bool | None = None) -> tuple:
    non_null = sorted((v for v in values if v is not None), key=cmp_to_key(_compared), reverse=not ascending)
    nulls = [None] * (len(values) - len(non_null))
    return tuple([*nulls, *non_null] if (ascending if nulls_first is None else nulls_first) else [*non_null, *nulls])


def _distinct(values: Sequence) -> tuple:
    distinct: list = []
    for value in values:
        if not _in(value, distinct):
            distinct.append(value)
    return tuple(distinct)


def _best(sign: int) -> Callable[[Sequence], object]:
    def function(values: Sequence) -> object:
        result = None
        for value in values:
            if value is not None and (result is None or _compared(value, result) == sign):
                result = value
        return result

    return function


def _slice(values: Sequence, start: int, length: int) -> tuple:
    if start == 0 or length < 0:
        raise DataError("SLICE begins at 1, or from the end at -1, and its length is not negative")
    begin = start - 1 if start > 0 else len(values) + start
    return tuple(values[begin : begin + length]) if 0 <= begin < len(values) else ()


def element(values: Sequence, index: int, strict: bool) -> object:
    """Return ELEMENT_AT of an array, from 1, or from the end from -1; out of range NULL, or DataError if `strict`."""
    if index == 0:
        raise DataError("ELEMENT_AT counts from 1, or from the end from -1")
    if abs(index) <= len(values):
        return values[index - 1 if index > 0 else index]
    if strict:
        raise DataError(f"the index {index} is beyond an array of {len(values)} elements")
    return None


def item(values: Sequence, index: int, strict: bool) -> object:
    """Return the element at an index from 0; out of range NULL, or DataError if `strict`."""
    if 0 <= index < len(values):
        return values[index]
    if strict:
        raise DataError(f"the index {index} is beyond an array of {len(values)} elements")
    return None


def lookup(pairs: Sequence[tuple], key: object) -> object:
    """Return the value of a key of a map, NULL if the key is missing."""
    return next((value for other, value in pairs if _same(other, key)), None)


def make_map(*parts: object) -> tuple:
    """Return the map of key, value, key, value, ...

    Raises DataError for a NULL key and for a duplicate key.
    """
    keys = parts[::2]
    if None in keys:
        raise DataError("a key of a map is NULL")
    if len(_distinct(keys)) < len(keys):
        raise DataError("a key of a map comes twice")
    return tuple(zip(keys, parts[1::2], strict=True))


def map_of_arrays(keys: Sequence, values: Sequence) -> tuple:
    """Return the map of keys and values; raises DataError as `make_map`, and for arrays of different lengths."""
    if len(keys) != len(values):
        raise DataError("a map needs as many keys as values")
    return make_map(*(part for pair in zip(keys, values, strict=True) for part in pair))


ARRAY_FUNCTIONS: dict[str, Callable] = {
    "array": lambda *values: values,
    "map": make_map,
    "array_equal": _equal,
    "map_from_arrays": map_of_arrays,
    "size": len,
    "array_contains": _contains,
    "array_position": _position,
    "array_join": _join,
    "sort_array": _sorted,
    "array_sort": lambda values: _sorted(values, True, False),
    "array_max": _best(1),
    "array_min": _best(-1),
    "array_distinct": _distinct,
    "array_compact": lambda values: tuple(value for value in values if value is not None),
    "array_reverse": lambda values: tuple(values[::-1]),
    "array_concat": lambda *arrays: tuple(value for values in arrays for value in values),
    "array_append": lambda values, value: None if values is None else (*values, value),
    "array_remove": lambda values, value: tuple(v for v in values if v is None or not _same(v, value)),
    "array_union": lambda a, b: _distinct((*a, *b)),
    "array_intersect": lambda a, b: _distinct([value for value in a if _in(value, b)]),
    "array_except": lambda a, b: _distinct([value for value in a if not _in(value, b)]),
    "arrays_overlap": _overlap,
    "map_keys": lambda pairs: tuple(key for key, _ in pairs),
    "map_values": lambda pairs: tuple(value for _, value in pairs),
    "slice": _slice,
    "lookup": lookup,
}
"""By name. `element_at` and `item` depend on the session; `cepsql.scalar.python` calls them."""
