"""Which columns the rows of the ordered stage have, and the numbers that event times are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

END_OF_TIME = 2**62
"""A watermark after which nothing can follow."""

BEGINNING = -END_OF_TIME
"""The greatest event time of no row at all, and the watermark before the first."""

IDLE = BEGINNING + 1
"""The greatest event time of an input that has shown no row, and for which no other one waits."""

UNTIMED = BEGINNING - 1
"""What stands for the watermark of rows that have no event time."""

ROWS = "rows"
"""A BIGINT column of rows that a reduction made of several: of how many."""

COUNTED = "counted"
"""A BIGINT column beside ROWS where rows were REPEATED: how many of them were not."""

REPEATED = "repeated"
"""A BOOLEAN column of packed rows, true in those that stand beside another one of the same record, which counts."""

Reduction = Callable[[pa.RecordBatch], tuple[pa.RecordBatch, np.ndarray]]
"""A step before the shuffle. It takes well-formed rows with an event time, and their `bucket`; it returns the rows that
travel, and the event times (int64) of those that need not: they count as used, or as late, all the same. If the rows
that it returns have ROWS, it takes rows without `bucket`, too, and their t is that until which they count; they have
COUNTED where it took REPEATED."""

Until = Callable[[pa.Table], np.ndarray]
"""Tells the event time (int64) until which each row counts, its own or a later one: at this bound it is late."""


@dataclass(frozen=True)
class Column:
    """A column of the packed rows: its name there and the Spark SQL that computes it from the input relation."""

    name: str
    sql: str


AT_ONCE = Column("t", "CAST(0 AS BIGINT)")
"""The time of rows that are not ordered by one: they are taken whenever they come."""


@dataclass(frozen=True)
class OrderColumn(Column):
    """A further ORDER BY column of a stream."""

    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class RowLayout:
    """The columns of the rows that an operator reads, as an Arrow table has them.

    keys:       k0, k1, ...; rows with equal ones make a partition.
    time:       t, the event time in BIGINT microseconds since the epoch; None in a batch job without one.
    order:      o0, o1, ...: what orders rows of one time.
    values:     v0, v1, ..., which break the ties that are left.
    predicates: Spark SQL of conditions on single rows. Column m, BIGINT, has bit i set where condition i is true; it is
                absent where there are none.
    reduction:  a step before the shuffle, or None.
    until:      tells how long rows without ROWS count; None: until their own time.
    joins:      the reduction makes one row of several, and all rows of a stage's inputs go through it.
    by_arrival: rows of one time, and equal order columns, come in the order in which they stand in their source, where
                that has one.
    any_order:  nothing depends on the order of rows of one time, and they come in any.
    """

    keys: tuple[Column, ...]
    time: Column | None
    order: tuple[OrderColumn, ...] = ()
    values: tuple[Column, ...] = ()
    predicates: tuple[str, ...] = ()
    reduction: Reduction | None = None
    until: Until | None = None
    joins: bool = False
    by_arrival: bool = False
    any_order: bool = False

    @property
    def key_names(self) -> list[str]:
        """The names of the key columns."""
        return [column.name for column in self.keys]

    @property
    def ties(self) -> list[str]:
        """The columns that break ties after the order columns."""
        if self.joins or self.any_order:
            return []
        return [column.name for column in self.values] + (["m"] if self.predicates else [])
