"""The variable of each row of a match, from the capture groups of a regular expression."""

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
    spans:  [matches, groups + 1, 2], the begin and end of the whole match and of each capture group.
    starts: the first row of each match.
    holds:  bool, [variables, rows].
    Captures give the begin and end of each element of the pattern. Inside its rows, a quantified group takes the
    preferred way among all that match exactly these rows.
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
    """Return the number of rows of each element in each match, [matches, elements]."""
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
    """Return the sequence of variables that repeats over an element's rows, None if it varies."""
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
            fixed = [word for word in words if word is not None]
            return tuple(name for word in fixed for name in word) if len(fixed) == len(words) else None
        case Repeat(inner, low, high) if low == high:
            word = _fixed(inner)
            return None if word is None else word * low
    return None


def _choices(part: Pattern) -> tuple[str, ...] | None:
    """Return the variables if each row of the element is mapped to the first one that holds, None otherwise."""
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
            single = [names for names in choices if names is not None]
            return tuple(name for names in single for name in names) if len(single) == len(choices) else None
    return None


def _first_that_holds(order: list[int], holds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    chosen = np.full(len(rows), order[-1])
    for variable in reversed(order[:-1]):
        chosen[holds[variable, rows]] = variable
    return chosen


def _preferred_path(code: Code, holds: np.ndarray) -> list[int]:
    """Return the labels of the preferred path through all the rows, which exists.

    A state that failed at a row fails there again, so each is tried once: time is at most code times rows.
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
