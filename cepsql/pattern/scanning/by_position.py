"""Rewrite navigation as PREV if the pattern proves that it always reads the same number of rows back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count

from cepsql.pattern.compile import Code, compile_pattern, successors
from cepsql.pattern.ir import Alternate, Concat, Empty, Exclude, Pattern, Repeat, Variable, variables
from cepsql.pattern.program import MatchProgram, Navigation, Scalar, reads_row_only
from cepsql.pattern.scanning.pattern_regex import is_expressible
from cepsql.scalar.expressions import Call, Literal, Null, leaves

MAX_POSITIONS = 60
"""The most occurrences of variables in an unfolded pattern."""

MAX_DISTANCE = 16
"""The most rows back that a PREV may read in place of other navigation."""

_VARIES = -1

_Reference = tuple[str, frozenset[int] | None, int]
"""`last` or `first`, variables, offset: as in `Navigation`."""

_Distances = dict[_Reference, int | None]
"""How many rows before the next row of the match each reference is; None without such a row, or _VARIES."""


@dataclass(frozen=True)
class ByPosition:
    """A program in which every condition reads the row or its neighbours.

    program:     the same matches as the original, its variables standing for positions of the pattern.
    variable_of: for each of its variables the one of the original program.
    """

    program: MatchProgram
    variable_of: tuple[int, ...]


class _Unresolved(Exception):
    """A condition reads a row at varying distances, or more than one row."""


def by_position(program: MatchProgram, never_null: frozenset[str]) -> ByPosition | None:
    """Return the program with its conditions on the match so far resolved by position; None if that is impossible, or
    no regular expression can find the matches.

    never_null: the columns without a NULL in these rows.
    The first iteration of every loop is unrolled: in `S D+ E` the first D has S before it and no D, each further one
    has a D before it. So LAST(D.x, 1) is no row for the first and PREV(x) for the others.
    """
    return _by_position(program, never_null, program.cache_key())


@lru_cache(maxsize=256)
def _by_position(program: MatchProgram, never_null: frozenset[str], key: str) -> ByPosition | None:
    """Resolve a program once in a process; `key` distinguishes values that are equal in Python, like 1 and 1.0."""
    if not is_expressible(program.pattern):
        return None
    unfolded = _unfolded(program.pattern)
    names = variables(unfolded)
    if len(names) > MAX_POSITIONS:
        return None
    code = compile_pattern(unfolded, names)
    variable_of = [program.variables.index(_original(name)) for name in names]
    distances = _distances(code, variable_of, _references(program))
    resolved: dict[int, tuple[int, Scalar | None]] = {}
    for pc, instruction in enumerate(code.instructions):
        before = distances[pc]
        if instruction.operation == "row" and before is not None:
            variable = variable_of[instruction.x]
            at_row = _after_row(before, variable)
            try:
                condition = _resolve(program.conditions[variable], at_row, never_null)
            except _Unresolved:
                return None
            if resolved.setdefault(instruction.x, (variable, condition)) != (variable, condition):
                return None
    return _joined(program, unfolded, names, resolved)


def needs_match(program: MatchProgram) -> bool:
    """Tell whether a condition reads more of the match than the row under test and its neighbours."""
    return not all(reads_row_only(leaf) for condition in program.conditions for leaf in leaves(condition))


def _unfolded(pattern: Pattern) -> Pattern:
    """Return the pattern with the first iteration of every loop unrolled, and a new name for every variable."""
    numbers = count()

    def unfold(node: Pattern) -> Pattern:
        match node:
            case Variable(name):
                return Variable(f"{name} {next(numbers)}")
            case Concat(parts):
                return Concat(tuple(map(unfold, parts)))
            case Alternate(parts):
                return Alternate(tuple(map(unfold, parts)))
            case Exclude(part):
                return Exclude(unfold(part))
            case Repeat(_, _, 0):
                return Empty()
            case Repeat(part, low, high, greedy) if high is None or high > 1:
                rest = Repeat(part, max(low - 1, 0), None if high is None else high - 1, greedy)
                once = Concat((unfold(part), replace(rest, part=unfold(part))))
                return once if low else Repeat(once, 0, 1, greedy)
            case Repeat(part):
                return replace(node, part=unfold(part))
        return node

    return unfold(pattern)


def _original(name: str) -> str:
    return name.rpartition(" ")[0]


def _references(program: MatchProgram) -> list[_Reference]:
    """Return the references of the conditions, and those from which they are derived: last k from last k - 1."""
    references: dict[_Reference, None] = {}
    for condition in program.conditions:
        for leaf in leaves(condition):
            if isinstance(leaf, Navigation):
                kind = "first" if leaf.first else "last"
                references.update(((kind, leaf.variables, k), None) for k in range(leaf.offset + 1))
    return list(references)


def _distances(code: Code, variable_of: list[int], references: list[_Reference]) -> list[_Distances | None]:
    """Return the distances before each instruction, None for an unreachable one."""
    before: list[_Distances | None] = [None] * len(code.instructions)
    before[0] = dict.fromkeys(references)
    waiting = [0]
    while waiting:
        pc = waiting.pop()
        instruction = code.instructions[pc]
        after = before[pc]
        assert after is not None
        if instruction.operation == "row":
            after = _after_row(after, variable_of[instruction.x])
        for target in successors(code, pc):
            current = before[target]
            merged = after if current is None else _merged(current, after)
            if merged != current:
                before[target] = merged
                waiting.append(target)
    return before


def _merged(a: _Distances, b: _Distances) -> _Distances:
    return {reference: a[reference] if a[reference] == b[reference] else _VARIES for reference in a}


def _after_row(before: _Distances, variable: int) -> _Distances:
    """Return the distances after a row of the variable, which is 1 row back itself."""
    return {reference: _moved(reference, before, variable) for reference in before}


def _moved(reference: _Reference, before: _Distances, variable: int) -> int | None:
    kind, members, k = reference
    if members is not None and variable not in members:
        return _further(before[reference])
    if kind == "last":
        return _further(before["last", members, k - 1]) if k else 1
    if before[reference] is not None:
        return _further(before[reference])
    nearer = before["first", members, k - 1] if k else 1
    return 1 if nearer is not None and nearer != _VARIES else nearer


def _further(distance: int | None) -> int | None:
    if distance is None or distance == _VARIES:
        return distance
    return distance + 1 if distance <= MAX_DISTANCE else _VARIES


def _resolve(node: Scalar | None, at_row: _Distances, never_null: frozenset[str]) -> Scalar | None:
    """Return the condition of a row with navigation resolved; `at_row` counts the row under test as 1 back."""
    match node:
        case Navigation(frame=int()):
            raise _Unresolved
        case Navigation(column, members, first, offset, shift):
            distance = at_row["first" if first else "last", members, offset]
            if distance == _VARIES:
                raise _Unresolved
            return Null(Navigation(column)) if distance is None else Navigation(column, shift=shift - (distance - 1))
        case Call("coalesce", arguments):
            return _coalesce(node, arguments, at_row, never_null)
        case Call("isnull", (argument,)):
            inner = _resolve(argument, at_row, never_null)
            if _is_null(inner):
                return Literal(True)
            return Literal(False) if _never_null(argument, inner, never_null) else replace(node, arguments=(inner,))
        case Call():
            return replace(node, arguments=tuple(_resolve(a, at_row, never_null) for a in node.arguments))
    if node is not None and not reads_row_only(node):
        raise _Unresolved
    return node


def _coalesce(node: Call, arguments: tuple[Scalar, ...], at_row: _Distances, never_null: frozenset[str]) -> Scalar:
    """Resolve COALESCE up to the first argument that is never NULL; only the types of the others matter."""
    remaining: list[Scalar | None] = []
    for argument in arguments:
        inner = _resolve(argument, at_row, never_null)
        if not _is_null(inner):
            remaining.append(inner)
        if _never_null(argument, inner, never_null):
            break
    typed_nulls = {Null(Navigation(value.column)) for value in remaining if isinstance(value, Navigation)}
    types = dict.fromkeys(map(_null_of, arguments))
    return replace(node, arguments=(*remaining, *(null for null in types if null not in typed_nulls)))


def _null_of(node: Scalar) -> Scalar:
    """Return a NULL of the type of an expression."""
    match node:
        case Literal() | Null():
            return node
        case Call():
            return replace(node, arguments=tuple(map(_null_of, node.arguments)))
    return Null(Navigation(node.column) if isinstance(node, Navigation) else node)


def _is_null(node: Scalar | None) -> bool:
    """Tell whether an expression is always NULL."""
    return isinstance(node, Null) or node == Literal(None)


def _never_null(original: Scalar, resolved: Scalar | None, never_null: frozenset[str]) -> bool:
    """Tell whether an expression is never NULL: a column without NULL, in a row of the match."""
    if isinstance(resolved, Literal):
        return resolved.value is not None
    if not isinstance(resolved, Navigation) or not isinstance(original, Navigation):
        return False
    return original.shift == 0 and resolved.column in never_null


def _joined(
    program: MatchProgram,
    unfolded: Pattern,
    names: tuple[str, ...],
    resolved: Mapping[int, tuple[int, Scalar | None]],
) -> ByPosition:
    """Merge positions of one variable with equal conditions into one variable."""
    kinds = list(dict.fromkeys(resolved.values()))
    new_names = {names[x]: f"{program.variables[kind[0]]} {kinds.index(kind)}" for x, kind in resolved.items()}
    order = [f"{program.variables[variable]} {i}" for i, (variable, _) in enumerate(kinds)]
    changed = replace(
        program,
        pattern=_renamed(unfolded, new_names),
        variables=tuple(order),
        conditions=tuple(condition for _, condition in kinds),
    )
    return ByPosition(changed, tuple(variable for variable, _ in kinds))


def _renamed(pattern: Pattern, names: Mapping[str, str]) -> Pattern:
    match pattern:
        case Variable(name):
            return Variable(names[name])
        case Concat(parts) | Alternate(parts):
            return replace(pattern, parts=tuple(_renamed(part, names) for part in parts))
        case Exclude(part) | Repeat(part):
            return replace(pattern, part=_renamed(part, names))
    return pattern
