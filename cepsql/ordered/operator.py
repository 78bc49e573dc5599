"""What an operator of the ordered stage is: the stage owns order and state, the operator what rows mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa

from cepsql.ordered.row_layout import END_OF_TIME, RowLayout

NEVER = END_OF_TIME + 1
"""The deadline of rows that only a new row makes worth another look."""


class Change(IntEnum):
    """What an output row does to the result."""

    INSERT = 0
    DELETE = 1
    UPDATE_BEFORE = 2
    UPDATE_AFTER = 3


@dataclass(frozen=True)
class OrderedRows:
    """Rows sorted by partition, and by event time and the other columns of their order inside each.

    rows:    the columns of a layout and the marks of the operator, one chunk a column.
    starts:  where each partition's rows begin, and the number of rows at the end (int64).
    pending: the first row of each partition that is not there only for what comes after it (int64).
    """

    rows: pa.Table
    starts: np.ndarray
    pending: np.ndarray


@dataclass(frozen=True)
class Keep:
    """Which of the rows it was given an operator must see again.

    pending: the first such row of each partition (int64).
    reach:   how many rows before these come again with them, if they are there.
    marks:   new values of mark columns, one a row; the other marks keep theirs.
    among:   whether to keep each row (bool) where rows between others go, too; then `reach` is 0.
    """

    pending: np.ndarray
    reach: int = 0
    marks: Mapping[str, pa.Array] = field(default_factory=dict)
    among: np.ndarray | None = None


@dataclass(frozen=True)
class Step:
    """What an operator made of ordered rows.

    output:   the rows to give out; a table without columns for none.
    keep:     one entry a side: what must be seen again, None for nothing.
    sections: what to remember beside rows, in place of all that was remembered before.
    counts:   counters of the operator to be added to; those left out stay.
    changes:  what each output row does, an int8 `Change` each; None if all are inserted.
    deadlines: for each thing in `sections` that is to come out, the bound at which it does (int64); None for no such.
    """

    output: pa.Table
    keep: Sequence[Keep | None]
    sections: Mapping[str, pa.Table] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    changes: pa.Array | None = None
    deadlines: np.ndarray | None = None


class Operator(Protocol):
    """A function of ordered rows with a memory; frozen, picklable data.

    sides:    the layouts of the relations that it reads; the key columns of all have the same names and types.
    sections: the names of what it remembers beside rows, and the version of each.
    marks:    for each side the columns that it keeps of its own beside rows; NULL in rows that it sees the first time.
    counters: the names of what it counts.
    hold:     how many microseconds the event time of an output row may lie behind the bound at which it comes out, at
              most; None where there is no limit.
    changing: whether it gives out other rows than inserted ones.
    by_key:   each row that it remembers in sections belongs to a key, whose columns it has, and `advance` needs those
              of the keys of its rows only; it has no deadlines.
    """

    @property
    def sides(self) -> tuple[RowLayout, ...]: ...

    @property
    def sections(self) -> Mapping[str, int]: ...

    @property
    def marks(self) -> tuple[Mapping[str, pa.DataType], ...]: ...

    @property
    def counters(self) -> tuple[str, ...]: ...

    @property
    def hold(self) -> int | None: ...

    @property
    def changing(self) -> bool: ...

    @property
    def by_key(self) -> bool: ...

    def forgets(self, section: str, rows: pa.Table, bound: int) -> np.ndarray | None:
        """Tell which rows that it remembers by key make no difference once the bound is there; None: all do."""
        ...

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        """Tell for each partition of kept rows when it must be seen again although no row of it came.

        That is the least bound at which it gives something that it did not give before; END_OF_TIME if only the end of
        the input does that, NEVER if not even that. At END_OF_TIME every partition that has a deadline is seen.
        """
        ...

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        """Take rows that the bound's move from `old` to `new` released, with all kept rows of their partitions.

        rows: for each side, None for no rows. Partition i of each side has the same key; one of them may be empty. Rows
              with t > old are seen the first time. Every row still to come has t > new (END_OF_TIME: none comes).
        Where a stage lets rows come at once, only the marks tell which are seen the first time.
        It is called for every micro-batch, also where there are no rows.
        sections: all that it remembers; by key, what it remembers of the keys of these rows, and so are those returned.
        """
        ...


class WholeSections:
    """A part of an operator that is given all that it remembers."""

    by_key: ClassVar[bool] = False

    def forgets(self, section: str, rows: pa.Table, bound: int) -> np.ndarray | None:
        return None


class KeyedSections(WholeSections):
    """A part of an operator that remembers by key, each key for as long as it has rows."""

    by_key: ClassVar[bool] = True

    def lasting(self, section: str, rows: pa.Table, bound: int) -> pa.Table:
        """Return the rows of a section without those that `forgets` tells of."""
        forgotten = self.forgets(section, rows, bound)
        return rows if forgotten is None or not forgotten.any() else rows.filter(pa.array(~forgotten))


def is_keyed(operator: Operator) -> bool:
    """Tell whether what an operator remembers is kept by key; without key columns there is one key, and all is its."""
    return operator.by_key and bool(operator.sides[0].key_names)
