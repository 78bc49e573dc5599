"""Patterns whose matches are never decided on a stream without WITHIN: a preferred loop takes every row for ever."""

from cepsql.pattern.compile import Code, compile_pattern, successors
from cepsql.pattern.program import MatchProgram
from cepsql.scalar.expressions import Literal


def endless_variables(program: MatchProgram) -> tuple[str, ...]:
    """Return the variables of the loops because of which no match is decided before the input ends; none if some is.

    A greedy loop that every row satisfies prefers one more row, so a path that leaves it is never the most preferred
    one for certain. No match is decided if every way through the pattern leaves such a loop.
    """
    if program.within is not None or program.frame is not None:
        return ()
    code = compile_pattern(program.pattern, program.variables)
    loops = {}
    for pc, instruction in enumerate(code.instructions):
        if instruction.operation == "split":
            taking = _rows_back_to(code, pc, program)
            if taking:
                loops[pc] = taking
    reached, waiting, met = {0}, [0], []
    while waiting:
        pc = waiting.pop()
        targets = successors(code, pc)
        if pc in loops:
            met += loops[pc]
            targets = targets[:1]
        fresh = [target for target in targets if target not in reached]
        reached.update(fresh)
        waiting += fresh
    if any(code.instructions[pc].operation == "accept" for pc in reached):
        return ()
    return tuple(dict.fromkeys(program.variables[variable] for variable in met))


def _rows_back_to(code: Code, split: int, program: MatchProgram) -> list[int]:
    """Return the variables without a condition through which the preferred branch of a split leads back to it."""
    preferred = code.instructions[split].x
    reached, waiting, taken = {preferred}, [preferred], []
    while waiting:
        pc = waiting.pop()
        instruction = code.instructions[pc]
        if instruction.operation in ("accept", "anchor"):
            continue
        if instruction.operation == "row":
            if program.conditions[instruction.x] not in (None, Literal(True)):
                continue
            taken.append(instruction.x)
        fresh = [target for target in successors(code, pc) if target not in reached]
        reached.update(fresh)
        waiting += fresh
    return taken if split in reached else []
