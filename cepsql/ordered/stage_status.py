"""The status of a stage after a micro-batch: the rows in its state, and its next deadline."""

from dataclasses import dataclass

import numpy as np

from cepsql.ordered.held import open_held
from cepsql.ordered.operator import NEVER, Operator
from cepsql.ordered.release import OperatorState
from cepsql.ordered.row_layout import END_OF_TIME


@dataclass(frozen=True)
class Standing:
    """The status of a bucket.

    rows:     the number of rows in the state, and of further output that waits there.
    waiting:  the number of rows above the bound.
    open:     the number of undecided partitions, and of further output that waits.
    deadline: the least bound that decides one of them without a new row, None if only rows or the end do.
    """

    rows: int
    waiting: int
    open: int
    deadline: int | None


def standing(operator: Operator, state: OperatorState, remembered: np.ndarray | None = None) -> Standing:
    """Return the status of a bucket; `remembered` holds the `deadlines` of the operator's last step."""
    waiting = sum(rows.num_rows for rows in state.waiting if rows is not None)
    rows = waiting + sum(rows.num_rows for rows in state.held if rows is not None)
    held = [operator.deadlines(open_held(rows), side) for side, rows in enumerate(state.held) if rows is not None]
    if remembered is not None:
        held.append(remembered)
        rows += len(remembered)
    undecided = np.concatenate([times[times < NEVER] for times in held]) if held else np.zeros(0, np.int64)
    timed = undecided[undecided < END_OF_TIME]
    return Standing(rows, waiting, len(undecided), int(timed.min()) if len(timed) else None)
