"""A match program compiled for the search: numbered instructions, condition functions, and the state of each."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import pyarrow as pa

from cepsql.ordered.ordinal import nested_key
from cepsql.pattern.backtracking.registers import Register, live
from cepsql.pattern.backtracking.steps import compile_steps
from cepsql.pattern.compile import Instruction, compile_pattern, successors
from cepsql.pattern.conditions import split
from cepsql.pattern.leaf_types import ColumnTypes, column_types, is_plain, value_type
from cepsql.pattern.program import MatchProgram

ROW, SPLIT, LEAP, JUMP, BEGIN, END, START_ANCHOR, END_ANCHOR, ACCEPT, FAIL = range(10)
_OPERATIONS = {"row": ROW, "split": SPLIT, "jump": JUMP, "begin": BEGIN, "end": END, "accept": ACCEPT}


def search_plan(program: MatchProgram, rows: pa.Table) -> "SearchPlan":
    """Return the plan of a program for rows with these columns, made once in a process."""
    return _search_plan(program, column_types(program, rows.schema), program.cache_key())


@lru_cache(maxsize=64)
def _search_plan(program: MatchProgram, types: ColumnTypes, key: str) -> "SearchPlan":
    return SearchPlan(program, types, key)


class SearchPlan:
    """A program ready to run: lists with one entry an instruction, and one more for failure.

    flat: several ways lead to it, and the row alone is the state there.
    deep: several ways lead to it, and the state is more than the row.
    pickers: the function that picks the live registers, None without any.
    marks: the label of a row consumed there, as in `Matches.labels`.
    leaps: for LEAP, the variable to look for, and the label of the rows before it.

    A LEAP is the split of `X*? Y` where X accepts every row and changes no register: it may go straight to the next row
    that can be Y.
    """

    def __init__(self, program: MatchProgram, types: ColumnTypes, key: str):
        rests = tuple(split(condition)[1] for condition in program.conditions)
        self.code = code = compile_pattern(program.pattern, program.variables)
        self.steps = compile_steps(rests, program.variables, types, program.session, key)
        self.operations = [*map(_operation, code.instructions), FAIL]
        self.leaps: list[Any] = [self._leap(program, pc) for pc in range(len(code.instructions))]
        loops = (BEGIN, END)
        self.xs = [1 << i.x if _operation(i) in loops else i.x for i in code.instructions]
        self.ys = [i.y for i in code.instructions]
        hidden = len(program.variables) if program.all_rows else 0
        self.marks = [i.x + hidden * i.y for i in code.instructions]
        for pc, leap in enumerate(self.leaps):
            if leap is not None:
                self.leaps[pc] = leap[0], self.marks[leap[1]]
                self.operations[pc] = LEAP
        entries = Counter(target for pc in range(len(code.instructions)) for target in successors(code, pc))
        entries[0] += 1
        needed = live(code, rests, self.steps.registers)
        plain = BEGIN not in self.operations
        self.flat = [entries[pc] > 1 and plain and not live_here for pc, live_here in enumerate(needed)] + [False]
        self.deep = [entries[pc] > 1 and not flat for pc, flat in enumerate(self.flat)]
        nested = _nested_places(self.steps.registers, types)
        self.pickers: list[Any] = [_picker(sorted(places), nested) if places else None for places in needed]

    def _leap(self, program: MatchProgram, pc: int) -> tuple[int, int] | None:
        """Return the variable Y and the instruction of X if a split is a LEAP, otherwise None."""
        code = self.code.instructions
        if code[pc].operation != "split" or code[pc].y != pc + 1:
            return None
        wanted, taken = code[code[pc].x], code[pc + 1]
        if (wanted.operation, taken.operation) != ("row", "row") or code[pc + 2] != Instruction("jump", pc):
            return None
        free = program.conditions[taken.x] is None and not any(r.changed_by(taken.x) for r in self.steps.registers)
        return (wanted.x, pc + 1) if free else None


def _nested_places(registers: Sequence[Register], types: ColumnTypes) -> frozenset[int]:
    """Return the places of the registers whose values are not hashable in Python: arrays, structs and the like."""
    types_by_column = dict(types)
    read = [(place, column) for place, r in enumerate(registers) for column in (r.column, r.by) if column is not None]
    return frozenset(place for place, column in read if not is_plain(value_type(column, types_by_column)))


def _picker(places: Sequence[int], nested: frozenset[int]) -> Callable:
    """Return the function that picks the registers at these places, which identify a state."""
    if nested.isdisjoint(places):
        return itemgetter(*places)

    def picked(registers: tuple) -> tuple:
        return tuple(nested_key(registers[p], equal_zeros=False) if p in nested else registers[p] for p in places)

    return picked


def _operation(instruction: Instruction) -> int:
    if instruction.operation == "anchor":
        return END_ANCHOR if instruction.x else START_ANCHOR
    return _OPERATIONS[instruction.operation]
