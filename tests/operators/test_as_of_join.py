"""The nearest row before or after, compared with a plain loop, whatever the micro-batches."""

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
from chance import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from late_rows import on_time

from cepsql.operators.pairing.as_of_join import AsOfJoinOperator
from cepsql.operators.pairing.pair_condition import PairColumn, PairCondition
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import END_OF_TIME, Column, OrderColumn, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode
from cepsql.scalar.expressions import STANDARD_SESSION, Call, Literal
from cepsql.scalar.types import BIGINT
from cepsql.scalar.typing import typed

KEYS = (Column("k0", ""),)
LEFT = RowLayout(KEYS, Column("t", ""), (), (Column("v0", ""),))
RIGHT = RowLayout(KEYS, Column("t", ""), (OrderColumn("o0", "", descending=True),), (Column("v0", ""),))
SCHEMAS = (
    pa.schema([("k0", pa.string()), ("t", pa.int64()), ("v0", pa.int64()), ("bucket", pa.int32())]),
    pa.schema([("k0", pa.string()), ("t", pa.int64()), ("o0", pa.bool_()), ("v0", pa.int64()), ("bucket", pa.int32())]),
)
COLUMNS = pa.schema([("t", pa.int64()), ("o0", pa.bool_()), ("v0", pa.int64())])
END = {"t": END_OF_TIME, "bucket": 0}


@st.composite
def batches(draw):
    drawn, number = [], 0
    for n in range(draw(st.integers(1, 6))):
        sides = []
        for side in range(2):
            rows = []
            for _ in range(draw(st.integers(0, 5))):
                row = {"k0": draw(st.sampled_from(["x", "x", "y", None])), "bucket": 0, "v0": number}
                row["t"] = draw(st.integers(4 * n - 4, 4 * n + 5))
                rows.append(row | {"o0": draw(st.booleans())} if side else row)
                number += 1
            sides.append(rows)
        drawn.append(sides)
    return drawn


@dataclass(frozen=True)
class Asked:
    """What is asked of a pair beside its keys and the order of its times."""

    tolerance: int | None
    condition: bool
    versions: bool
    null_safe: bool

    def holds(self, row, other):
        return not self.condition or row["v0"] % 3 != other["v0"] % 3

    def join(self, *arguments):
        remainders = tuple(Call("mod", (PairColumn(side, "v0"), Literal(3))) for side in (0, 1))
        different = typed(Call("ne", remainders), lambda _: BIGINT, STANDARD_SESSION)
        condition = PairCondition(different, STANDARD_SESSION) if self.condition else None
        safe = (0,) if self.null_safe else ()
        return AsOfJoinOperator(
            *arguments, tolerance=self.tolerance, condition=condition, versions=self.versions, null_safe=safe
        )


@st.composite
def asked(draw):
    tolerance, condition = draw(st.none() | st.integers(0, 4)), draw(st.booleans())
    versions = condition and draw(st.booleans())
    return Asked(tolerance, condition, versions, draw(st.booleans()))


def nearest(row, others, forward, strict, deletions, asked):
    """Return the number of the row that a row meets, None for none."""
    step = 1 if forward else -1
    near = [o for o in others if o["k0"] == row["k0"] and step * (o["t"] - row["t"]) >= strict]
    near = [o for o in near if o["k0"] is not None or asked.null_safe]
    if asked.tolerance is not None:
        near = [o for o in near if abs(o["t"] - row["t"]) <= asked.tolerance]
    if not asked.versions:
        near = [o for o in near if asked.holds(row, o)]
    near.sort(key=lambda o: (step * o["t"], step * -o["o0"], step * o["v0"]))
    if not near:
        return None
    first = near[0] if forward else min(near, key=lambda o: (-o["t"], o["o0"], -o["v0"]))
    if asked.versions and not asked.holds(row, first):
        return None
    return None if deletions and first["o0"] else first["v0"]


@settings(max_examples=examples(20))
@given(batches(), st.tuples(st.integers(0, 3), st.integers(0, 3)), st.booleans(), st.booleans(), st.booleans(), asked())
def test_a_plain_loop_gives_the_same(drawn, delays, forward, strict, outer, asked):
    among = asked.condition and not asked.versions
    deletions = not (forward or among)
    assume(forward or not among or asked.tolerance is not None)
    join = asked.join(LEFT, RIGHT, forward, strict, outer, COLUMNS, "o0" if deletions else None)
    stage = Stage(join, (StageInput(delays[0], 0), StageInput(delays[1], 1)), "")
    left, right = on_time(drawn, delays)
    expected = [(row["v0"], nearest(row, right, forward, strict, deletions, asked)) for row in left]
    if not outer:
        expected = [pair for pair in expected if pair[1] is not None]
    state, pairs = None, []
    for sides in [*drawn, ([END], [])]:
        blobs = []
        for side, rows in enumerate(sides):
            batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMAS[side])
            blobs += [row["packet"] for packed in pack([batch], 1, side) for row in packed.to_pylist()]
        advanced = advance(stage, state, blobs)
        state = advanced.state
        rows = advanced.output.to_pylist()
        assert [row["l_t"] for row in rows] == sorted(row["l_t"] for row in rows)
        pairs += [(row["l_v0"], row["r_v0"]) for row in rows]
        decoded = decode(state, join, "")
        held = decoded.operator_state.held
        if held[1] is not None:
            keys = held[1]["k0"].to_pylist()
            assert (among or len(keys) == len(set(keys))) and (asked.null_safe or None not in keys) and not forward
            assert not deletions or not any(held[1]["o0"].to_pylist())
            if asked.tolerance is not None:
                assert min(held[1]["t"].to_pylist()) + asked.tolerance > decoded.bound
    assert Counter(pairs) == Counter(expected)
