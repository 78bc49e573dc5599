"""The automaton of a row pattern without empty steps: one state for each place at which a row can be consumed."""

from dataclasses import dataclass

from cepsql.pattern.compile import Code, Instruction


@dataclass(frozen=True)
class AutomatonStep:
    """A way from one state to the next; it consumes the row that the target names, nothing if that is the last state.

    target:    the index of the next state.
    anchors:   "^" and "$" that must hold where the step begins.
    reluctant: a reluctant quantifier goes on here although it could have ended.
    """

    target: int
    anchors: frozenset[str] = frozenset()
    reluctant: bool = False


@dataclass(frozen=True)
class AutomatonState:
    """A state: the variable that the last row was mapped to (None at the begin and the end), and the ways on, preferred
    ones first; `excluded` inside {- -}."""

    variable: str | None
    excluded: bool
    steps: tuple[AutomatonStep, ...]


def automaton(code: Code) -> tuple[AutomatonState, ...]:
    """Return the states that can be reached: the first is the begin, the last the end, which accepts.

    This is the position automaton (Glushkov 1961) with the steps of a state in the order of preference: the first path
    that reaches the end is the one that the standard prefers.
    """
    begin = -1
    ways, waiting = {}, [begin]
    while waiting:
        place = waiting.pop(0)
        ways[place] = _ways(code, place + 1, first=place == begin)
        for way in ways[place]:
            if code.instructions[way.pc].operation == "row" and way.pc not in (*ways, *waiting):
                waiting.append(way.pc)
    end = len(ways)
    numbers = {place: number for number, place in enumerate(sorted(ways))}
    states = [_state(code, place, ways[place], numbers, end) for place in sorted(ways)]
    return (*states, AutomatonState(None, False, ()))


@dataclass(frozen=True)
class _Way:
    """A path without rows to an instruction that consumes one or accepts."""

    pc: int
    anchors: frozenset[str]
    reluctant: bool


def _state(code: Code, place: int, ways: list[_Way], numbers: dict[int, int], end: int) -> AutomatonState:
    steps = tuple(AutomatonStep(numbers.get(way.pc, end), way.anchors, way.reluctant) for way in ways)
    if place < 0:
        return AutomatonState(None, False, steps)
    row = code.instructions[place]
    return AutomatonState(code.variables[row.x], bool(row.y), steps)


def _ways(code: Code, pc: int, first: bool) -> list[_Way]:
    """Return the ways on from an instruction, preferred ones first; `first` before the first row of a match."""
    found: list[_Way] = []
    seen: dict[tuple[int, int], list[frozenset[str]]] = {}
    stack = [(_Way(pc, frozenset(), False), 0)]
    while stack:
        way, loops = stack.pop()
        pc, before = way.pc, seen.setdefault((way.pc, loops), [])
        if any(anchors <= way.anchors for anchors in before):
            continue
        before.append(way.anchors)
        instruction = code.instructions[pc]
        match instruction.operation:
            case "accept":
                _add(found, way)
            case "row" if "$" not in way.anchors:
                _add(found, way)
            case "anchor" if instruction.x or first:
                sign = "$" if instruction.x else "^"
                stack.append((_Way(pc + 1, way.anchors | {sign}, way.reluctant), loops))
            case "jump":
                stack.append((_Way(instruction.x, way.anchors, way.reluctant), loops))
            case "split":
                later = way.reluctant or _is_reluctant(instruction, pc)
                stack.append((_Way(instruction.y, way.anchors, later), loops))
                stack.append((_Way(instruction.x, way.anchors, way.reluctant), loops))
            case "begin":
                stack.append((_Way(pc + 1, way.anchors, way.reluctant), loops | 1 << instruction.x))
            case "end":
                empty = loops & 1 << instruction.x
                stack.append((_Way(instruction.y if empty else pc + 1, way.anchors, way.reluctant), loops ^ empty))
    return found


def _add(found: list[_Way], way: _Way) -> None:
    """Add a way unless a preferred one leads to the same place at least as often."""
    if not any(other.pc == way.pc and other.anchors <= way.anchors for other in found):
        found.append(way)


def _is_reluctant(split: Instruction, pc: int) -> bool:
    """Tell whether a split leaves a loop or an option first; its second way then goes on."""
    return split.y <= pc or (split.y == pc + 1 and split.x > pc)
