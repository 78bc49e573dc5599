"""How many rows before the start of a match its conditions and measures can read."""

from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable, walk
from cepsql.pattern.program import MatchProgram, Navigation
from cepsql.scalar.expressions import leaves


def reach(program: MatchProgram) -> int:
    """Return how many rows before the first row of a match PREV can reach, at most.

    A variable that stands at least d rows after the start of any match reaches d rows less far. `^` reads whether
    there is a row before: one.
    """
    if program.beside:
        return max(map(reach, program.programs))
    least = {program.variables.index(name): d for name, d in least_distances(program.pattern).items()}
    anchored = any(node == Anchor(end=False) for node in walk(program.pattern))
    furthest = int(anchored)
    for variable, condition in enumerate(program.conditions):
        if variable in least:
            for leaf in leaves(condition):
                furthest = max(furthest, _leaf_reach(leaf, least, least[variable]))
    for measure in program.measures:
        furthest = max(furthest, _leaf_reach(measure.source, least, 0))
    return furthest


def least_distances(pattern: Pattern) -> dict[str, int]:
    """Return for each variable that can occur the least number of rows that come before it in a match.

    >>> least_distances(Concat((Variable("A"), Repeat(Variable("B"), 0, None), Variable("C"))))
    {'A': 0, 'B': 1, 'C': 1}
    """
    return _distances(pattern)[0]


def _leaf_reach(leaf: object, least: dict[int, int], current: int) -> int:
    """Return how far a leaf reads before the match if the row it is read at is at least `current` rows into it."""
    if not isinstance(leaf, Navigation) or leaf.shift >= 0 or leaf.frame is not None:
        return 0
    if leaf.variables is None:
        distance = leaf.offset if leaf.first else max(0, current - leaf.offset)
    else:
        distances = [least[v] for v in leaf.variables if v in least]
        if not distances:
            return 0
        distance = min(distances) + (leaf.offset if leaf.first else 0)
    return max(0, -leaf.shift - distance)


def _distances(pattern: Pattern) -> tuple[dict[str, int], int]:
    """Return the least distances, and the least number of rows of the whole pattern."""
    match pattern:
        case Variable(name):
            return {name: 0}, 1
        case Empty() | Anchor():
            return {}, 0
        case Exclude(part):
            return _distances(part)
        case Repeat(part, low, high):
            distances, length = _distances(part)
            return ({}, 0) if high == 0 else (distances, low * length)
        case Concat(parts):
            return _in_sequence([_distances(p) for p in parts])
        case Alternate(parts):
            inner = [_distances(p) for p in parts]
            return _least([d for d, _ in inner]), min(length for _, length in inner)
        case Permute(parts):
            inner = [_distances(p) for p in parts]
            return _least([d for d, _ in inner]), sum(length for _, length in inner)


def _in_sequence(parts: list[tuple[dict[str, int], int]]) -> tuple[dict[str, int], int]:
    shifted, length = [], 0
    for distances, rows in parts:
        shifted.append({name: length + d for name, d in distances.items()})
        length += rows
    return _least(shifted), length


def _least(parts: list[dict[str, int]]) -> dict[str, int]:
    least: dict[str, int] = {}
    for distances in parts:
        for name, d in distances.items():
            least[name] = min(d, least.get(name, d))
    return least
