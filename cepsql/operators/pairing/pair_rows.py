"""The output rows of joins: the columns of two sides next to each other."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.plain_columns import integers, take_rows
from cepsql.ordered.row_layout import RowLayout
from cepsql.ordered.sorting import by_time

LEFT, RIGHT = "l_", "r_"
"""What the names of the columns of either side begin with in the output."""


def pairs(
    layouts: Sequence[RowLayout], left: pa.Table, one: np.ndarray, right: pa.Table, other: np.ndarray
) -> pa.Table:
    """Return pairs as rows: the keys, `t`, which is the later of the two times, and the columns of both sides.

    one, other: the places of the rows of each pair in `left` and in `right`.
    """
    keys, own = layouts[0].key_names, [own_columns(layouts[0], left), own_columns(layouts[1], right)]
    mine, theirs = take_rows(left.select([*keys, *own[0]]), one), take_rows(right.select(own[1]), other)
    columns = {name: mine[name] for name in keys}
    columns["t"] = pa.array(np.maximum(integers(mine["t"]), integers(theirs["t"])))
    columns |= {LEFT + name: mine[name] for name in own[0]}
    columns |= {RIGHT + name: theirs[name] for name in own[1]}
    return pa.table(columns)


def in_order(tables: list[pa.Table], time: str) -> pa.Table:
    """Lay output rows one after another in the order of a time; those of each table that are in order stay so."""
    return by_time(pa.concat_tables(tables), time) if tables else pa.table({})


def alone(layout: RowLayout, rows: pa.Table, prefix: str, missing: pa.Schema | None) -> pa.Table:
    """Return rows of one side as output, `t` being their own time.

    prefix:  of the side.
    missing: the columns of the other side, which are NULL; None if the output has none of them.
    """
    columns = {name: rows[name] for name in layout.key_names}
    columns["t"] = rows["t"]
    own = {prefix + name: rows[name] for name in own_columns(layout, rows)}
    if missing is None:
        return pa.table(columns | own)
    other = RIGHT if prefix == LEFT else LEFT
    nothing = {other + field.name: pa.nulls(rows.num_rows, field.type) for field in missing}
    return pa.table(columns | (own | nothing if prefix == LEFT else nothing | own))


def own_columns(layout: RowLayout, table: pa.Table) -> list[str]:
    """Return the columns of a side that are neither keys nor marks."""
    names = ["t", *(column.name for column in (*layout.order, *layout.values))]
    return [*names, "m"] if "m" in table.column_names and layout.predicates else names
