"""Rows that can change no match, so that they need not travel to the matcher."""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from cepsql.pattern.ir import Alternate, Concat, Pattern, Repeat, Variable
from cepsql.pattern.program import Aggregate, Bit, Classifier, MatchNumber, MatchProgram, Navigation, Scalar
from cepsql.scalar.expressions import Call, Literal, leaves

_MOST = 64
"""Masks after which a condition counts as one that every row may satisfy."""


@dataclass(frozen=True)
class AliveRows:
    """The step before the shuffle that leaves out dead rows; `masks` as `dead_rows` gives them."""

    masks: tuple[int, ...]

    def __call__(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        """Return the rows that are alive, and the times (int64) of the others."""
        mask = rows["m"].to_numpy(zero_copy_only=False)
        alive = np.logical_or.reduce([mask & bits == bits for bits in self.masks])
        return rows.filter(pa.array(alive)), rows["t"].filter(pa.array(~alive)).to_numpy()


def dead_rows(program: MatchProgram) -> tuple[int, ...] | None:
    """Return masks of the predicate column `m`: a row is alive if it has all bits of one of them, else it is dead.

    None if every row may matter. Dead rows may be left out of a partition: the matches, their measures and numbers,
    and the time at which they are decided stay the same.

    That is so for patterns of the form `X1 G1 X2 G2 ... Xn`: each X is one row, of a variable or one of several, and
    each G is `U*` or `U*?` of a variable U without condition that nothing reads. A match from a given first row is
    then a choice of ascending rows for X2 ... Xn. Any rows may lie between them, so the choices that satisfy the
    conditions do not depend on dead rows, which satisfy no X. Preference goes by the rows chosen, in their order, the
    nearer or the farther first, which leaving out others does not change. WITHIN compares two chosen rows. So the
    proof needs that no condition and no measure reads a row by its place among others: PREV and NEXT, rows of a gap,
    or all rows of the match.
    """
    steps = _steps(program.pattern)
    if steps is None or program.all_rows or program.timeouts:
        return None
    chosen = frozenset(program.variables.index(name) for names, _ in steps for name in names)
    gaps = frozenset(program.variables.index(gap) for _, gap in steps if gap is not None)
    if chosen & gaps or any(program.conditions[gap] is not None for gap in gaps) or program.skip_to & gaps:
        return None
    conditions = [program.conditions[variable] for variable in sorted(chosen)]
    read = chain(*map(leaves, conditions), (measure.source for measure in program.measures))
    if not all(_reads_chosen(leaf, chosen) for leaf in read):
        return None
    masks = set().union(*map(_necessary, conditions))
    return None if 0 in masks else tuple(sorted(masks))


def _steps(pattern: Pattern) -> list[tuple[tuple[str, ...], str | None]] | None:
    """Return the variables of each X and that of the gap behind it, None at the end; None for other forms."""
    parts = pattern.parts if isinstance(pattern, Concat) else (pattern,)
    if len(parts) % 2 == 0:
        return None
    steps = [names for part in parts[::2] if (names := _row(part))]
    gaps = [name for part in parts[1::2] if (name := _gap(part))]
    if len(steps) + len(gaps) < len(parts):
        return None
    return list(zip(steps, [*gaps, None], strict=True))


def _row(part: Pattern) -> tuple[str, ...] | None:
    if isinstance(part, Variable):
        return (part.name,)
    if isinstance(part, Alternate):
        names = tuple(choice.name for choice in part.parts if isinstance(choice, Variable))
        return names if len(names) == len(part.parts) else None
    return None


def _gap(part: Pattern) -> str | None:
    if isinstance(part, Repeat) and isinstance(part.part, Variable) and (part.low, part.high) == (0, None):
        return part.part.name
    return None


def _reads_chosen(leaf: object, chosen: frozenset[int]) -> bool:
    """Tell whether a leaf reads only rows chosen for an X; the row under test and the last row of a match are such."""
    match leaf:
        case Navigation(_, variables, first, offset, shift) | Classifier(variables, first, offset, shift):
            if shift:
                return False
            return variables <= chosen if variables is not None else not first and not offset
        case Aggregate(_, _, variables):
            return variables is not None and variables <= chosen
        case Literal() | Bit() | MatchNumber():
            return True
    return False


def _necessary(condition: Scalar | None) -> set[int]:
    """Return masks one of which a row has in full wherever the condition is true."""
    match condition:
        case Bit(index):
            return {1 << index}
        case Call("and", arguments):
            masks = {0}
            for argument in arguments:
                masks = {mask | more for mask in masks for more in _necessary(argument)}
            return masks if len(masks) <= _MOST else {0}
        case Call("or", arguments):
            return set().union(*map(_necessary, arguments))
    return {0}
