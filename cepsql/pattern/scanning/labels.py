"""Which variable each row of a match was mapped to, from the spans that a regular expression captured."""

from collections.abc import Sequence

import numpy as np

from cepsql.pattern.compile import Code, compile_pattern
from cepsql.pattern.ir import Alternate, Concat, Empty, Exclude, Pattern, Repeat, Variable, variables
from cepsql.pattern.scanning.pattern_regex import Element


def label(
    elements: Sequence[Element], names: tuple[str, ...], spans: np.ndarray, starts: np.ndarray, holds: np.ndarray
) -> np.ndarray:
    """Return the variable index of every row of every match, concatenated.

    names:  the variables; position = index.
    spans:  [matches, groups + 1, 2], where the whole match and each capture group begin and end.
    starts: the first row of each match.
    holds:  bool, [variables, rows].
    Captures tell where each element of the pattern begins and ends. What a quantified group did inside its rows is
    what it prefers among all ways to match exactly these rows.
    """
    lengths = _lengths(elements, spans)
    ends = np.cumsum(lengths).reshape(lengths.shape)
    indexes = {name: index for index, name in enumerate(names)}
    firsts = [indexes[variables(element.part)[0]] for element in elements]
    labels = np.repeat(np.tile(firsts, len(spans)), lengths.ravel())
    match_begins = ends[:, -1:] - lengths.sum(axis=1, keepdims=True)
    for element, length, end in zip(elements, lengths.T, ends.T, strict=True):
        begin = end - length
        first_row = starts + begin - match_begins[:, 0]
        if word := _word(element.part):
            if len(word) > 1:
                offsets = ranges(np.zeros_like(begin), length)
                labels[ranges(begin, length)] = np.array([indexes[name] for name in word])[offsets % len(word)]
        elif choices := _choices(element.part):
            order = [indexes[name] for name in choices]
            labels[ranges(begin, length)] = _first_that_holds(order, holds, ranges(first_row, length))
        else:
            code = compile_pattern(element.part, names)
            for i in np.flatnonzero(length):
                rows = holds[:, first_row[i] : first_row[i] + length[i]]
                labels[begin[i] : end[i]] = _preferred_path(code, rows)
    return labels


def ranges(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return begin, begin + 1, ... for each (begin, length), concatenated.

    >>> ranges(np.array([5, 9]), np.array([2, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    return np.repeat(begins - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)


def _lengths(elements: Sequence[Element], spans: np.ndarray) -> np.ndarray:
    """Return how many rows each element has in each match, [matches, elements]."""
    lengths = np.zeros((len(spans), len(elements)), np.int64)
    rest = spans[:, 0, 1] - spans[:, 0, 0]
    others = None
    for i, element in enumerate(elements):
        if element.length is not None:
            lengths[:, i] = element.length
        elif element.group is not None:
            lengths[:, i] = spans[:, element.group, 1] - spans[:, element.group, 0]
        else:
            others = i
    if others is not None:
        lengths[:, others] = rest - lengths.sum(axis=1)
    return lengths


def _word(part: Pattern) -> tuple[str, ...] | None:
    """Return the variables that an element's rows are mapped to again and again, None if that is not fixed."""
    names = variables(part)
    if len(names) == 1:
        return names
    while isinstance(part, Repeat | Exclude):
        part = part.part
    return _fixed(part)


def _fixed(part: Pattern) -> tuple[str, ...] | None:
    match part:
        case Variable(name):
            return (name,)
        case Empty():
            return ()
        case Exclude(inner):
            return _fixed(inner)
        case Concat(parts):
            words = [_fixed(inner) for inner in parts]
            known = [word for word in words if word is not None]
            return tuple(name for word in known for name in word) if len(known) == len(words) else None
        case Repeat(inner, low, high) if low == high:
            word = _fixed(inner)
            return None if word is None else word * low
    return None


def _choices(part: Pattern) -> tuple[str, ...] | None:
    """Return the variables of which each row of the element has the first that holds, None if it is not so simple."""
    while isinstance(part, Repeat | Exclude):
        part = part.part
    return _single_row(part)


def _single_row(part: Pattern) -> tuple[str, ...] | None:
    match part:
        case Variable(name):
            return (name,)
        case Exclude(inner):
            return _single_row(inner)
        case Alternate(parts):
            choices = [_single_row(inner) for inner in parts]
            known = [names for names in choices if names is not None]
            return tuple(name for names in known for name in names) if len(known) == len(choices) else None
    return None


def _first_that_holds(order: list[int], holds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    chosen = np.full(len(rows), order[-1])
    for variable in reversed(order[:-1]):
        chosen[holds[variable, rows]] = variable
    return chosen


def _preferred_path(code: Code, holds: np.ndarray) -> list[int]:
    """Return the labels of the most preferred path through all the rows; there is one.

    A state that failed once at a row fails there again, so each is tried once: time is code times rows at most.
    """
    rows = holds.T.tolist()
    labels = [0] * len(rows)
    waiting, tried = [(0, 0)], set()
    while waiting:
        pc, row = state = waiting.pop()
        if state in tried:
            continue
        tried.add(state)
        instruction = code.instructions[pc]
        match instruction.operation:
            case "row":
                if row < len(rows) and rows[row][instruction.x]:
                    labels[row] = instruction.x
                    waiting.append((pc + 1, row + 1))
            case "split":
                waiting += [(instruction.y, row), (instruction.x, row)]
            case "jump":
                waiting.append((instruction.x, row))
            case "accept":
                if row == len(rows):
                    return labels
    raise AssertionError(f"no path through {len(rows)} rows")
