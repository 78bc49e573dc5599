"""CPU time that operators over changes take without Spark.

    python tests/bench/change_operators.py [--rows 300000] [--rounds 3]

Groups are computed of rows as they come, and of rows that are added up before the shuffle; a join has one way. Prints
the least CPU seconds of all rounds for each, packing included, and ratios.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path[:0] = [str(Path(__file__).parents[1] / "operators"), str(Path(__file__).parents[1])]

from change_streams import EVER  # noqa: E402 (found by the line above)

from cepsql.operators.changing.change_rows import IDENTITY, KIND  # noqa: E402
from cepsql.operators.changing.changing_groups import ChangingGroupsOperator  # noqa: E402
from cepsql.operators.changing.partial_groups import PartialGroups  # noqa: E402
from cepsql.operators.changing.retracting_groups import GroupCall, RetractingGroupsOperator  # noqa: E402
from cepsql.operators.pairing.interval_join import JoinKind  # noqa: E402
from cepsql.operators.pairing.table_join import TableJoinOperator  # noqa: E402
from cepsql.operators.running import RunningCall  # noqa: E402
from cepsql.ordered.operator import Operator  # noqa: E402
from cepsql.ordered.packet import pack  # noqa: E402
from cepsql.ordered.row_layout import AT_ONCE, Column, RowLayout  # noqa: E402
from cepsql.ordered.stage import Stage, StageInput, advance  # noqa: E402

BATCHES, TASK_ROWS = 2, 20_000
MONEY = pa.decimal128(15, 2)
VALUES = [f"v{i}" for i in range(5)]
CALLS = (*(("sum", name) for name in VALUES[:4]), ("avg", "v0"), ("avg", "v4"), ("count", "v0"))
TYPES = tuple({"sum": pa.decimal128(25, 2), "avg": pa.decimal128(19, 6), "count": pa.int64()}[f] for f, _ in CALLS)


def main() -> None:
    """Measure each operator as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    draw = np.random.default_rng(1)
    lines = _lines(draw, options.rows)
    reduction = PartialGroups(tuple((name, MONEY) for name in VALUES), frozenset(VALUES))
    changed = _layout([*VALUES, KIND], "k0", "k1")
    added = replace(changed, values=changed.values[:-1])
    of_changes = tuple(GroupCall(f"r{i}", function, name) for i, (function, name) in enumerate(CALLS))
    of_rows = tuple(RunningCall(f"r{i}", function, name, rows=True) for i, (function, name) in enumerate(CALLS))
    flags = lines.select(["k0", "k1", "t", *VALUES, KIND, "bucket"])

    def of_groups(layout: RowLayout) -> Operator:
        return RetractingGroupsOperator(layout, of_changes, TYPES, False)

    def of_added(layout: RowLayout) -> Operator:
        return ChangingGroupsOperator(layout, of_rows, TYPES)

    for name, make, layout, rows in (
        ("groups of changes", of_groups, changed, flags),
        ("groups of rows", of_added, added, flags.drop_columns([KIND])),
    ):
        summed = replace(layout, reduction=reduction, joins=True)
        plain, early = ([make(one), [rows]] for one in (layout, summed))
        seconds = [min(_seconds(*given) for _ in range(options.rounds)) for given in (plain, early)]
        ratio = seconds[0] / seconds[1]
        print(f"{name}: {seconds[0]:.2f} s as they come, {seconds[1]:.2f} s added up before: {ratio:.1f}")
    orders = _orders(draw, options.rows // 4)
    items = lines.drop_columns(["k0", "k1"]).append_column("k0", pa.array(draw.integers(0, len(orders), len(lines))))
    sides = [replace(_layout([*names, IDENTITY, KIND], "k0"), any_order=True) for names in (["v0", "v1"], VALUES)]
    schemas = orders.select(["v0", "v1"]).schema, items.select(VALUES).schema
    join = TableJoinOperator(sides[0], sides[1], JoinKind.INNER, schemas)
    print(f"join: {min(_seconds(join, [orders, items]) for _ in range(options.rounds)):.2f} s")


def _layout(values: list[str], *keys: str) -> RowLayout:
    return RowLayout(
        tuple(Column(name, name) for name in keys), AT_ONCE, values=tuple(Column(name, name) for name in values)
    )


def _lines(draw: np.random.Generator, rows: int) -> pa.Table:
    """Return rows with six keys and five sums of money."""
    cents = {name: np.stack([draw.integers(1, 10**7, rows), np.zeros(rows, np.int64)], 1) for name in VALUES}
    money = {
        name: pa.Array.from_buffers(MONEY, rows, [None, pa.py_buffer(halves.tobytes())])
        for name, halves in cents.items()
    }
    keys = {
        "k0": np.array(["A", "N", "R"])[draw.integers(0, 3, rows)],
        "k1": np.array(["F", "O"])[draw.integers(0, 2, rows)],
    }
    return pa.table(keys | money | _around(rows, "l"))


def _orders(draw: np.random.Generator, rows: int) -> pa.Table:
    values = {"v0": draw.integers(0, 1000, rows), "v1": [f"clerk {number}" for number in range(rows)]}
    return pa.table({"k0": np.arange(rows)} | values | _around(rows, "o"))


def _around(rows: int, letter: str) -> dict:
    return {
        "t": np.zeros(rows, np.int64), IDENTITY: [f"{letter}{number}" for number in range(rows)],
        KIND: np.zeros(rows, np.int8), "bucket": np.zeros(rows, np.int32),
    }  # fmt: skip


def _seconds(operator: Operator, tables: list[pa.Table]) -> float:
    """Return the CPU time of some micro-batches of one bucket."""
    stage = Stage(operator, tuple(StageInput(0, side) for side in range(len(tables))), "", EVER)
    begin, state = time.process_time(), None
    for batch in range(BATCHES):
        packets = []
        for side, table in enumerate(tables):
            size = table.num_rows // BATCHES
            rows = table.slice(batch * size, size).combine_chunks().to_batches(max_chunksize=TASK_ROWS)
            for made in pack(iter(rows), 1, side, operator.sides[side].reduction):
                packets += made["packet"].to_pylist()
        state = advance(stage, state, packets).state
    return time.process_time() - begin


if __name__ == "__main__":
    main()
