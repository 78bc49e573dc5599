"""Micro-batches of changes for operators over tables that change, and what applying their output gives."""

import tempfile
from collections import Counter
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from cepsql.operators.changing.change_rows import IDENTITY, KIND
from cepsql.operators.changing.changing_groups import EVER
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.ordered.operator import Change
from cepsql.ordered.packet import pack
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode

GONE_KINDS = (Change.DELETE, Change.UPDATE_BEFORE)


class Running:
    """A stage of one bucket that is fed rows by input, and writes its state between micro-batches."""

    def __init__(self, operator, *schemas, delay=0):
        inputs = tuple(StageInput(delay, side) for side in range(len(operator.sides)))
        self.stage, self.schemas, self.state = Stage(operator, inputs, "", EVER), schemas, None
        self.counts = Counter()
        self._files = tempfile.TemporaryDirectory(prefix="cepsql-test-")
        self.folder = StateFolder(Path(self._files.name), least=1500)

    def take(self, *sides):
        packets = []
        for number, (rows, schema) in enumerate(zip(sides, self.schemas, strict=True)):
            routed = schema.append(pa.field("bucket", pa.int32()))
            batch = pa.RecordBatch.from_pylist([row | {"bucket": 0} for row in rows], schema=routed)
            packed = pack(iter([batch]), 1, number, self.stage.operator.sides[number].reduction)
            packets += [row["packet"] for made in packed for row in made.to_pylist()]
        advanced = advance(self.stage, self.state, packets, self.folder)
        self.state = advanced.state
        self.counts.update(advanced.counts.counters)
        rows = advanced.output.to_pylist()
        kinds = [] if advanced.changes is None else advanced.changes.to_pylist()
        return [(Change(kind), row) for kind, row in zip(kinds, rows, strict=True)]

    def remembered(self, section):
        """Return the rows that are remembered of all keys, None for none."""
        keyed = decode(self.state, self.stage.operator, "", self.folder).operator_state.keyed
        hashes = [level.hashes for level in keyed.levels]
        return keyed.of(np.unique(np.concatenate(hashes))).get(section) if hashes else None


def applied(table: Counter, changes, names) -> None:
    """Apply changes to the rows of a table; those of an identity stand together, what was before what is."""
    for _, group in groupby(changes, lambda change: change[1][IDENTITY]):
        kinds = [kind for kind, _ in group]
        assert kinds == sorted(kinds, key=lambda kind: kind not in GONE_KINDS)
        removed = sum(kind in GONE_KINDS for kind in kinds)
        updates = min(removed, len(kinds) - removed)
        assert kinds.count(Change.UPDATE_BEFORE) == kinds.count(Change.UPDATE_AFTER) == updates
    for kind, row in changes:
        table[tuple(repr(canonical(row[name])) for name in names)] += -1 if kind in GONE_KINDS else 1
    assert all(number >= 0 for number in table.values())
    for values in [values for values, number in table.items() if not number]:
        del table[values]


def table_of(rows, names) -> Counter:
    return Counter(tuple(repr(canonical(row[name])) for name in names) for row in rows)


@st.composite
def changes(draw, fields):
    """Draw micro-batches of changes: rows that are added, and rows that were added before and are taken away."""
    there: list[dict] = []
    batches = []
    for _ in range(draw(st.integers(1, 6))):
        batch = []
        for _ in range(draw(st.integers(0, 5))):
            if there and draw(st.booleans()):
                row = there.pop(draw(st.integers(0, len(there) - 1)))
                batch.append(row | {KIND: draw(st.sampled_from([Change.DELETE, Change.UPDATE_BEFORE]))})
            else:
                row = {name: draw(values) for name, values in fields.items()}
                there.append(row)
                batch.append(row | {KIND: draw(st.sampled_from([Change.INSERT, Change.UPDATE_AFTER]))})
        batches.append((draw(st.permutations(batch)), list(there)))
    return batches


def canonical(value):
    """Return a value as it is compared: one NaN, one zero."""
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value
