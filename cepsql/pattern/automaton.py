"""The automaton of a row pattern without empty steps: one state for each place that consumes a row."""

from dataclasses import dataclass

from cepsql.pattern.compile import Code, Instruction


@dataclass(frozen=True)
class AutomatonStep:
    """A step from one state to the next; it consumes a row of the target's variable, or nothing if that is the end.

    target:    the index of the next state.
    anchors:   "^" and "$" that must hold where the step begins.
    reluctant: a reluctant quantifier continues here although it could have ended.
    """

    target: int
    anchors: frozenset[str] = frozenset()
    reluctant: bool = False


@dataclass(frozen=True)
class AutomatonState:
    """A state: the variable of the last row (None at the begin and the end), and the next steps, preferred ones first;
    `excluded` inside {- -}."""

    variable: str | None
    excluded: bool
    steps: tuple[AutomatonStep, ...]


def automaton(code: Code) -> tuple[AutomatonState, ...]:
    """Return the reachable states: the first is the begin, the last the accepting end.

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
    """Return the ways from an instruction, preferred ones first; `first`: before the first row of a match."""
    ways: list[_Way] = []
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
                _add(ways, way)
            case "row" if "$" not in way.anchors:
                _add(ways, way)
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
    return ways


def _add(ways: list[_Way], way: _Way) -> None:
    """Add a way, unless a preferred one leads to the same place under weaker anchors."""
    if not any(other.pc == way.pc and other.anchors <= way.anchors for other in ways):
        ways.append(way)


def _is_reluctant(split: Instruction, pc: int) -> bool:
    """Tell whether a split prefers to leave a loop or an option; its second way continues."""
    return split.y <= pc or (split.y == pc + 1 and split.x > pc)
