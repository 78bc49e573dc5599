"""Compile a row pattern to a small instruction program."""

from dataclasses import dataclass
from itertools import permutations

from cepsql.errors import NotSupportedError
from cepsql.pattern import ir
from cepsql.pattern.ir import (
    Alternate,
    Anchor,
    Concat,
    Empty,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Variable,
    children,
    walk,
)

MAX_INSTRUCTIONS = 20_000
MAX_PERMUTED = 6


@dataclass(frozen=True)
class Instruction:
    """One step of a program; after it comes the next one unless it says otherwise.

    row x y        consume a row mapped to variable x; y is 1 inside an exclusion
    split x y      go on at x, and if that fails at y
    jump x         go on at x
    begin x        an iteration of the loop with bit x begins: nothing consumed so far
    end x y        an iteration ends: go on at y if it consumed nothing
    anchor x       go on only at the start (0) or the end (1) of the partition
    accept         the match is complete
    """

    operation: str
    x: int = 0
    y: int = 0


@dataclass(frozen=True)
class Code:
    """A compiled row pattern; it begins at instruction 0. Paths are tried in the order of the standard's preference."""

    instructions: tuple[Instruction, ...]
    variables: tuple[str, ...]
    pattern: Pattern


def compile_pattern(pattern: Pattern, variables: tuple[str, ...]) -> Code:
    """Compile a pattern whose variables are named in `variables` (position = index).

    Counted repetitions are unrolled, PERMUTE is expanded to the alternation of all orders.
    Raises NotSupportedError above MAX_INSTRUCTIONS instructions or MAX_PERMUTED arguments of PERMUTE.
    """
    compiler = _Compiler(pattern, {name: index for index, name in enumerate(variables)})
    compiler.write(pattern)
    compiler.emit("accept")
    return Code(tuple(compiler.instructions), tuple(variables), pattern)


def dump(code: Code) -> str:
    """Write a program, one numbered instruction a line.

    >>> print(dump(compile_pattern(Repeat(Variable("A"), 1, None), ("A",))))
    0 row A
    1 split 0 2
    2 accept
    """
    return "\n".join(f"{pc} {_describe(i, code.variables)}" for pc, i in enumerate(code.instructions))


def successors(code: Code, pc: int) -> tuple[int, ...]:
    """Return the instructions that may follow the one at `pc`."""
    instruction = code.instructions[pc]
    match instruction.operation:
        case "accept":
            return ()
        case "jump":
            return (instruction.x,)
        case "split":
            return (instruction.x, instruction.y)
        case "end":
            return (instruction.y, pc + 1)
    return (pc + 1,)


def first_variables(code: Code) -> frozenset[int]:
    """Return the variables that can consume the first row of a match."""
    return frozenset(i.x for i in _before_first_row(code) if i.operation == "row")


def nullable(code: Code) -> bool:
    """Tell whether a match may have no rows."""
    return any(i.operation == "accept" for i in _before_first_row(code))


def _before_first_row(code: Code) -> list[Instruction]:
    """Return the instructions that are reached without consuming a row."""
    reached, waiting = {0}, [0]
    while waiting:
        pc = waiting.pop()
        if code.instructions[pc].operation != "row":
            fresh = [target for target in successors(code, pc) if target not in reached]
            reached.update(fresh)
            waiting += fresh
    return [code.instructions[pc] for pc in reached]


class _Compiler:
    """The program while it grows."""

    def __init__(self, pattern: Pattern, indexes: dict[str, int]):
        self.pattern, self.indexes = pattern, indexes
        self.instructions: list[Instruction] = []
        self.excluded = 0
        self.loops = 0

    def emit(self, operation: str, x: int = 0, y: int = 0) -> int:
        """Append an instruction and return its place."""
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            raise NotSupportedError(
                f"the pattern {_shortened(self.pattern)} needs more than {MAX_INSTRUCTIONS} steps",
                hint="counted repetitions and PERMUTE are written out; use smaller counts or fewer arguments",
            )
        self.instructions.append(Instruction(operation, x, y))
        return len(self.instructions) - 1

    def split(self, greedy: bool) -> int:
        """Append a choice between what follows and an exit that `leave` fills in."""
        return self.emit("split", 1 if greedy else 0)

    def leave(self, places: list[int]) -> None:
        """Make the exits of the splits and loop ends at `places` lead here."""
        here = len(self.instructions)
        for place in places:
            instruction = self.instructions[place]
            if instruction.operation == "end":
                self.instructions[place] = Instruction("end", instruction.x, here)
            elif instruction.x:
                self.instructions[place] = Instruction("split", place + 1, here)
            else:
                self.instructions[place] = Instruction("split", here, place + 1)

    def write(self, pattern: Pattern) -> None:
        """Append the instructions of a pattern."""
        match pattern:
            case Variable(name):
                self.emit("row", self.indexes[name], int(self.excluded > 0))
            case Empty():
                pass
            case Anchor(end):
                self.emit("anchor", int(end))
            case Concat(parts):
                for part in parts:
                    self.write(part)
            case Alternate(parts):
                self.alternate(parts)
            case Permute(parts):
                self.permute(parts)
            case Exclude(part):
                self.excluded += 1
                self.write(part)
                self.excluded -= 1
            case Repeat(part, low, high, greedy):
                self.repeat(part, low, high, greedy)

    def alternate(self, parts: tuple[Pattern, ...]) -> None:
        """Try the parts from left to right."""
        jumps = []
        for part in parts[:-1]:
            choice = self.split(greedy=True)
            self.write(part)
            jumps.append(self.emit("jump"))
            self.leave([choice])
        self.write(parts[-1])
        for place in jumps:
            self.instructions[place] = Instruction("jump", len(self.instructions))

    def permute(self, parts: tuple[Pattern, ...]) -> None:
        """Try every order of the parts, lexicographically by position."""
        if len(parts) > MAX_PERMUTED:
            raise NotSupportedError(
                f"PERMUTE of {len(parts)} arguments has too many orders",
                hint=f"at most {MAX_PERMUTED} arguments are supported",
            )
        self.alternate(tuple(Concat(order) for order in permutations(parts)))

    def repeat(self, part: Pattern, low: int, high: int | None, greedy: bool) -> None:
        """Write `low` copies that must match, then a loop or the copies that may."""
        if all(isinstance(node, Empty) or children(node) for node in walk(part)):
            return  # Any number of nothings is nothing.
        begin = len(self.instructions)
        for _ in range(low):
            begin = len(self.instructions)
            self.write(part)
        empty = can_be_empty(part)
        if high is None and low > 0 and not empty:
            self.emit("split", begin, len(self.instructions) + 1)
            if not greedy:
                self.instructions[-1] = Instruction("split", len(self.instructions), begin)
        elif high is None:
            loop = self.split(greedy)
            exits = [loop, *self.iteration(part, empty)]
            self.emit("jump", loop)
            self.leave(exits)
        else:
            exits = []
            for left in range(high - low, 0, -1):
                exits.append(self.split(greedy))
                # An empty last iteration leaves the loop anyway.
                exits += self.iteration(part, empty and left > 1)
            self.leave(exits)

    def iteration(self, part: Pattern, watched: bool) -> list[int]:
        """Write one pass through a loop; if watched, return the place that leaves the loop after an empty pass."""
        if not watched:
            self.write(part)
            return []
        # Loops inside this one get other bits; a loop after it may use the same.
        bit, self.loops = self.loops, self.loops + 1
        self.emit("begin", bit)
        self.write(part)
        self.loops = bit
        return [self.emit("end", bit)]


def can_be_empty(pattern: Pattern) -> bool:
    """Tell whether a pattern can match no rows."""
    match pattern:
        case Variable():
            return False
        case Concat(parts) | Permute(parts):
            return all(map(can_be_empty, parts))
        case Alternate(parts):
            return any(map(can_be_empty, parts))
        case Repeat(part, low):
            return low == 0 or can_be_empty(part)
        case Exclude(part):
            return can_be_empty(part)
    return True


def _describe(instruction: Instruction, variables: tuple[str, ...]) -> str:
    x, y = instruction.x, instruction.y
    match instruction.operation:
        case "row":
            return f"row {variables[x]}{' excluded' if y else ''}"
        case "split" | "end":
            return f"{instruction.operation} {x} {y}"
        case "jump" | "begin":
            return f"{instruction.operation} {x}"
        case "anchor":
            return "anchor $" if x else "anchor ^"
    return "accept"


def _shortened(pattern: Pattern) -> str:
    text = ir.dump(pattern)
    return text if len(text) <= 60 else text[:57] + "..."
