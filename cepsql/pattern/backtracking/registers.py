"""The values that a search carries along a path to test the conditions ahead."""

from collections.abc import Iterable, Set
from dataclasses import dataclass

from cepsql.pattern.compile import Code, successors
from cepsql.pattern.program import Aggregate, ByVariable, Classifier, MatchNumber, Navigation, Scalar
from cepsql.scalar.expressions import leaves


@dataclass(frozen=True)
class Register:
    """One value that a path carries; `variables` are those whose rows change it (None: all).

    number            the number of the match
    start             the first row of the match
    depth k           rows of the match so far, at most k + 1
    first k, last k   the row k rows after the first, or before the last; negative without such a row
    first label k, last label k   the variable of that row
    labels            the variables of all rows, one character each
    count, sum, minimum, maximum   over the non-null values of `column` (count of None: rows)
    mean sum          the sum for an average: of doubles, except for decimals
    values            the distinct values
    list              the values, in order of arrival
    max_by, min_by    the greatest or least value of `by`
    max_by value, min_by value   the value of `column` in the last row that has it
    checked sum       the sum, infinite once it was out of the range of BIGINT
    distinct sum, distinct mean sum, distinct checked sum   the sums of the distinct values, in order of arrival
    """

    kind: str
    variables: frozenset[int] | None = None
    k: int = 0
    column: str | ByVariable | MatchNumber | None = None
    by: str | None = None

    def changed_by(self, variable: int) -> bool:
        """Tell whether a row mapped to the variable changes the value."""
        return self.kind not in ("number", "start") and (self.variables is None or variable in self.variables)


NUMBER, START, LABELS = Register("number"), Register("start"), Register("labels")


def registers_of(leaf: Scalar) -> tuple[Register, ...]:
    """Return the registers of a leaf of a condition."""
    match leaf:
        case MatchNumber():
            return (NUMBER,)
        case Navigation(_, variables, first, offset, frame=int()):
            return (START, *_row_registers(variables, first, offset))
        case Navigation(_, variables, first, offset, _):
            return _row_registers(variables, first, offset)
        case Classifier(None, False, offset, shift):
            # The row `offset` back must exist even if the label is read nearer to the row under test.
            steps = {offset, offset - shift} if shift > 0 else {offset - shift}
            return tuple(Register("last label", None, k) for k in sorted(steps) if k >= 0)
        case Classifier(variables, first, offset, 0):
            return (Register("first label" if first else "last label", variables, offset),)
        case Classifier(variables, first, offset, _):
            return (START, LABELS, *_row_registers(variables, first, offset))
        case Aggregate("max_by" | "min_by" as function, column, variables, by=by):
            return (Register(f"{function} value", variables, 0, column, by), Register(function, variables, 0, None, by))
        case Aggregate(function, column, variables, distinct):
            number = (NUMBER,) if isinstance(column, MatchNumber) else ()
            return (*_aggregate_registers(function, column, variables, distinct), *number)
    return ()


def _row_registers(variables: frozenset[int] | None, first: bool, offset: int) -> tuple[Register, ...]:
    if variables is not None:
        return (Register("first" if first else "last", variables, offset),)
    if first:
        return (START,)
    return (Register("depth", None, offset),) if offset else ()


def _aggregate_registers(
    function: str, column: str | ByVariable | MatchNumber | None, variables: frozenset[int] | None, distinct: bool
) -> tuple[Register, ...]:
    if function in ("min", "max"):
        return (Register({"min": "minimum", "max": "maximum"}[function], variables, 0, column),)
    if function == "collect_list":
        return (Register("list", variables, 0, column),)
    distinct = distinct and column is not None
    count, word = ("values", "distinct ") if distinct else ("count", "")
    kinds = {
        "count": (count,),
        "sum": (f"{word}sum",),
        "try_sum": (f"{word}checked sum",),
        "avg": (f"{word}mean sum", count),
        "try_avg": (f"{word}mean sum", count),
    }[function]
    return tuple(Register(kind, variables, 0, column) for kind in kinds)


def registers(conditions: Iterable[Scalar | None]) -> tuple[Register, ...]:
    """Return the distinct registers of the conditions."""
    needed: dict[Register, None] = {}
    for condition in conditions:
        for leaf in leaves(condition):
            for register in registers_of(leaf):
                needed.update(dict.fromkeys(_chain(register)))
    return tuple(needed)


def _chain(register: Register) -> list[Register]:
    """Return the register and those that it is updated from: the row before the last was the last one before."""
    if register.kind.startswith("distinct"):
        return [register, Register("values", register.variables, 0, register.column)]
    if register.kind.endswith(" value"):
        return [register, Register(register.kind.removesuffix(" value"), register.variables, 0, None, register.by)]
    if register.kind in ("last", "last label"):
        return [Register(register.kind, register.variables, k) for k in range(register.k, -1, -1)]
    return [register]


def live(code: Code, conditions: tuple[Scalar | None, ...], carried: tuple[Register, ...]) -> list[frozenset[int]]:
    """Return for each instruction the positions in `carried` that a later condition may read.

    Two paths at one instruction and row that agree in these registers have the same future: one of them suffices. This
    is the condition under which Trino merges threads (ThreadEquivalence); the method is liveness analysis as in
    Aho, Lam, Sethi, Ullman, Compilers, 9.2.5: a row of A ends the life of the LAST(A) before it.
    """
    places = {register: place for place, register in enumerate(carried)}
    read = [
        {places[register] for leaf in leaves(condition) for register in registers_of(leaf)} for condition in conditions
    ]
    result: list[frozenset[int]] = [frozenset()] * len(code.instructions)
    changed = True
    while changed:
        changed = False
        for pc in range(len(code.instructions) - 1, -1, -1):
            instruction = code.instructions[pc]
            needed: Set[int] = frozenset().union(*(result[target] for target in successors(code, pc)))
            if instruction.operation == "row":
                needed = _before_row(needed | read[instruction.x], instruction.x, carried, places)
            if needed != result[pc]:
                result[pc], changed = frozenset(needed), True
    return result


def _before_row(
    after: Set[int], variable: int, carried: tuple[Register, ...], places: dict[Register, int]
) -> frozenset[int]:
    """Return the registers from which those in `after` are updated when a row is mapped to the variable."""
    needed = set()
    for place in after:
        register = carried[place]
        if register.kind in ("last", "last label") and register.changed_by(variable):
            if register.k:
                needed.add(places[Register(register.kind, register.variables, register.k - 1)])
        elif register.kind not in ("last", "last label"):
            needed |= {places[feeding] for feeding in _chain(register)}
        else:
            needed.add(place)
    return frozenset(needed)
