"""What a stage holds after a micro-batch, and for what it waits."""

from dataclasses import dataclass

import numpy as np

from cepsql.ordered.held import open_held
from cepsql.ordered.operator import NEVER, Operator
from cepsql.ordered.release import Kept
from cepsql.ordered.row_layout import END_OF_TIME


@dataclass(frozen=True)
class Standing:
    """What waits in a bucket.

    rows:     all rows that are kept, and what is remembered beside them to come out.
    waiting:  rows above the bound.
    open:     partitions with something undecided, and what is remembered to come out.
    deadline: the least bound that decides one of them without a new row, None where only rows or the end do.
    """

    rows: int
    waiting: int
    open: int
    deadline: int | None


def standing(operator: Operator, kept: Kept, remembered: np.ndarray | None = None) -> Standing:
    """Tell what an operator and its stage keep; `remembered` are the `deadlines` of its last step."""
    waiting = sum(rows.num_rows for rows in kept.waiting if rows is not None)
    rows = waiting + sum(rows.num_rows for rows in kept.held if rows is not None)
    held = [operator.deadlines(open_held(rows), side) for side, rows in enumerate(kept.held) if rows is not None]
    if remembered is not None:
        held.append(remembered)
        rows += len(remembered)
    undecided = np.concatenate([times[times < NEVER] for times in held]) if held else np.zeros(0, np.int64)
    timed = undecided[undecided < END_OF_TIME]
    return Standing(rows, waiting, len(undecided), int(timed.min()) if len(timed) else None)
