"""What the tests of the match operator share: a program, a small function on ordered rows, and the stage of both."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa

from cepsql.operators.matching.match_operator import MatchOperator
from cepsql.operators.matching.match_rows import Scanned, match_rows
from cepsql.ordered.row_layout import Column, OrderColumn
from cepsql.ordered.stage import Stage, StageInput
from cepsql.pattern.ir import Anchor, Concat, Repeat, Variable
from cepsql.pattern.program import Bit, MatchNumber, MatchProgram, Measure, Navigation

WITHIN = 4

PROGRAM = MatchProgram(
    pattern=Concat((Repeat(Anchor(end=False), 0, 1), Variable("A"), Variable("B"))),
    variables=("A", "B"),
    conditions=(Bit(0), None),
    keys=(Column("k0", "key"),),
    time=Column("t", "ts"),
    order=(OrderColumn("o0", "seq", descending=True, nulls_first=False),),
    values=(Column("v0", "price"),),
    predicates=("price > 0",),
    measures=(
        Measure("before", Navigation("v0", frozenset({0}), first=True, shift=-2)),
        Measure("number", MatchNumber()),
    ),
    within=WITHIN,
)


def pairs(program, partitions) -> Scanned:
    """Match a row with bit 0 and the row after it, if that comes within WITHIN; measure what PREV and ^ would see."""
    columns = partitions.rows.to_pydict()
    output, scans, numbers = [], [], []
    for p, scan in enumerate(partitions.scan):
        start, end, number = int(partitions.starts[p]), int(partitions.ends[p]), int(partitions.numbers[p])
        row = int(scan)
        while row < end:
            if not columns["m"][row]:
                row += 1
            elif row + 1 < end and columns["t"][row + 1] - columns["t"][row] < WITHIN:
                number += 1
                before = [columns["v0"][i] if i >= start else "none" for i in (row - 2, row - 1)]
                output.append((columns["k0"][row], columns["t"][row], columns["v0"][row + 1], *before, number))
                row += 2
            elif row + 1 < end or columns["t"][row] + WITHIN <= partitions.bound + 1:
                row += 1
            else:
                break
        scans.append(row)
        numbers.append(number)
    fields = [("k0", pa.float64()), ("t", pa.int64()), ("next", pa.string())]
    fields += [("before2", pa.string()), ("before1", pa.string()), ("number", pa.int64())]
    table = pa.Table.from_pylist(
        [dict(zip([f for f, _ in fields], r, strict=True)) for r in output], schema=pa.schema(fields)
    )
    return Scanned(table, np.array(scans, np.int64), np.array(numbers, np.int64), len(output), 0)


def bag(table: pa.Table) -> Counter:
    """Return the rows as a multiset in which NaN equals NaN."""
    return Counter(
        tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row.values()) for row in table.to_pylist()
    )


def stage_of(program=PROGRAM, delay=0, function=match_rows) -> Stage:
    """Return the stage that runs a program over one stream."""
    return Stage(MatchOperator(program, function), (StageInput(delay),), program.state_id)
