"""Rows that `dead_rows` tells apart change nothing: batch by batch, matches and counts are those of all rows."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from matching_samples import stage_of
from ordered_samples import INPUT_SCHEMA

from cepsql.ordered.counts import Counts
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import END_OF_TIME, Column
from cepsql.ordered.stage import advance
from cepsql.pattern.dead_rows import AliveRows, dead_rows
from cepsql.pattern.ir import Alternate, Anchor, Concat, Repeat, Variable
from cepsql.pattern.program import Aggregate, Bit, Classifier, MatchNumber, MatchProgram, Measure, Navigation
from cepsql.scalar.expressions import Call, Literal

A, B, C, D = (Variable(name) for name in "ABCD")
NAMES = ("A", "B", "C", "D")
SCHEMA = pa.schema([(f.name, pa.int64() if f.name == "v0" else f.type) for f in INPUT_SCHEMA])

gaps = st.builds(Repeat, st.sampled_from([B, B, B, D]), st.just(0), st.just(None), st.booleans())
odd_gaps = st.builds(Repeat, st.sampled_from([B, C]), st.integers(0, 1), st.sampled_from([None, 1]), st.booleans())
steps = st.sampled_from([A, C, C, Alternate((A, C)), Alternate((C, A)), D])
patterns = st.one_of(
    st.builds(lambda x, g, y: Concat((x, g, y)), steps, gaps, steps),
    st.builds(lambda x, g, y: Concat((x, g, y)), steps, gaps, steps),
    st.builds(lambda x, g, y, h, z: Concat((x, g, y, h, z)), steps, gaps, steps, gaps, steps),
    st.builds(lambda x, g, y, h, z: Concat((x, g, y, h, z)), steps, gaps, steps, odd_gaps, steps),
    st.builds(lambda x, g, y, z: Concat((x, g, y, z)), steps, gaps, steps, steps),
    st.builds(lambda g, x: Concat((x, g)), gaps, steps),
    st.builds(lambda x, g: Repeat(Concat((x, g)), 1, None), steps, gaps),
    st.builds(lambda x, g, y: Concat((Anchor(False), x, g, y)), steps, gaps, steps),
    steps,
)
some = st.sampled_from([None, frozenset({0}), frozenset({0}), frozenset({2}), frozenset({0, 2}), frozenset({0, 1})])
rows_read = st.builds(
    Navigation, st.sampled_from(["v0", "t"]), some, st.booleans(), st.integers(0, 1), st.sampled_from([0, 0, 0, -1])
)
counted = st.builds(Aggregate, st.sampled_from(["count", "sum"]), st.sampled_from(["v0", "v0"]), some)
classified = st.builds(Classifier, some, st.booleans(), st.integers(0, 1))
compared = st.builds(
    lambda op, a, b: Call(op, (a, b)),
    st.sampled_from(["lt", "ge"]),
    st.just(Navigation("v0")),
    st.one_of(rows_read.filter(lambda n: n.column == "v0"), st.just(Literal(1)), counted),
)
bit = st.integers(0, 2).map(Bit)
conditions = st.one_of(
    bit,
    bit,
    st.builds(lambda a, b: Call("and", (a, b)), bit, compared),
    st.builds(lambda a, b: Call("or", (a, b)), bit, bit),
    st.builds(lambda a, b: Call("or", (a, b)), bit, compared),
)
gap_conditions = st.one_of(st.none(), st.none(), st.none(), conditions)
measures = st.lists(st.one_of(rows_read, rows_read, counted, classified, st.just(MatchNumber())), max_size=3)


@st.composite
def programs(draw):
    pattern = draw(patterns)
    drawn = [draw(conditions), draw(gap_conditions), draw(conditions), draw(gap_conditions)]
    within = draw(st.sampled_from([None, 2, 5]))
    skip = draw(st.sampled_from(["past last row", "past last row", "to next row", "to first", "to last"]))
    return MatchProgram(
        pattern=pattern,
        variables=NAMES,
        conditions=tuple(drawn),
        keys=(Column("k0", "key"),),
        time=Column("t", "ts"),
        order=(),
        values=(Column("v0", "price"),),
        predicates=("p0", "p1", "p2"),
        measures=tuple(Measure(f"m{i}", source) for i, source in enumerate(draw(measures))),
        skip=skip,
        within=within,
        timeouts=within is not None and draw(st.booleans()) and draw(st.booleans()),
        skip_to=frozenset({draw(st.sampled_from([0, 2, 2, 1]))}) if skip in ("to first", "to last") else frozenset(),
    )


@st.composite
def batches(draw):
    drawn = []
    for n in range(draw(st.integers(1, 3))):
        rows = st.fixed_dictionaries(
            {
                "k0": st.sampled_from([1.0, 1.0, 1.0, 2.0, None]),
                "t": st.integers(4 * n - 3, 4 * n + 6) | st.none(),
                "v0": st.integers(0, 3) | st.none(),
                "m": st.sampled_from([0, 0, 1, 1, 2, 4, 3]),
                "bucket": st.just(0),
                "malformed": st.sampled_from([False] * 9 + [True]),
            }
        )
        drawn.append(draw(st.lists(rows, max_size=9)))
    return [*drawn, [{"t": END_OF_TIME, "bucket": 0}]]


def played(program, batches, delay, alive):
    """Return output and counts of each batch."""
    stage, reduction = stage_of(program, delay), None if alive is None else AliveRows(alive)
    state, seen = None, []
    for rows in batches:
        batch = pa.RecordBatch.from_pylist([{"o0": None, **row} for row in rows], schema=SCHEMA).drop_columns(["o0"])
        blobs = [row["packet"] for packed in pack([batch], 1, reduction=reduction) for row in packed.to_pylist()]
        advanced = advance(stage, state, blobs)
        state = advanced.state
        seen.append((Counter(map(repr, advanced.output.to_pylist())), advanced.counts))
    return seen


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.filter_too_much])
@given(programs(), batches(), st.integers(0, 5))
def test_nothing_changes(program, batches, delay):
    alive = dead_rows(program)
    assume(alive is not None)
    assert played(program, batches, delay, alive) == played(program, batches, delay, None)


PROGRAM = MatchProgram(
    pattern=Concat((A, Repeat(B, 0, None, False), C)),
    variables=("A", "B", "C"),
    conditions=(Bit(0), None, Call("and", (Bit(1), Bit(2)))),
    keys=(),
    time=Column("t", "ts"),
    order=(),
    values=(Column("v0", "x"),),
    predicates=("a", "b", "c"),
    measures=(Measure("x", Navigation("v0", frozenset({2}))),),
)


def changed(**changes):
    return dead_rows(replace(PROGRAM, **changes))


def test_what_is_alive():
    assert dead_rows(PROGRAM) == (0b001, 0b110)
    assert changed(conditions=(Bit(0), None, None)) is None
    assert changed(conditions=(Bit(0), None, Call("or", (Bit(1), Bit(2))))) == (0b001, 0b010, 0b100)
    assert changed(pattern=A, measures=()) == (0b001,)


@pytest.mark.parametrize(
    "changes",
    [
        {"pattern": Concat((A, Repeat(B, 1, None), C))},
        {"pattern": Concat((A, Repeat(B, 0, 9), C))},
        {"pattern": Concat((A, Repeat(B, 0, None), C, A))},
        {"pattern": Concat((A, Repeat(B, 0, None)))},
        {"conditions": (Bit(0), Bit(1), Bit(2))},
        {"measures": (Measure("n", Aggregate("count", None)),)},
        {"measures": (Measure("n", Aggregate("count", "v0", frozenset({1}))),)},
        {"measures": (Measure("x", Navigation("v0", shift=-1)),)},
        {"measures": (Measure("x", Navigation("v0", offset=1)),)},
        {"all_rows": True},
        {"within": 5, "timeouts": True},
        {"skip": "to last", "skip_to": frozenset({1})},
    ],
)
def test_what_may_read_dead_rows(changes):
    assert changed(**changes) is None


def test_times_of_dead_rows_tell_late_ones():
    def counts(rows, state):
        batch = pa.RecordBatch.from_pylist(
            [{"k0": 1.0, "t": t, "m": 0, "bucket": 0} for t in rows], schema=SCHEMA
        ).drop_columns(["o0"])
        packets = [
            row["packet"] for packed in pack([batch], 1, reduction=AliveRows((1,))) for row in packed.to_pylist()
        ]
        return advance(stage_of(PROGRAM, 2), state, packets)

    first = counts([5, 1, 7], None)
    second = counts([5, 6, 4, 9], first.state)
    assert first.counts.rows == Counts(read=3, used=3)
    assert (first.bound, second.bound) == (5, 7)
    assert second.counts.rows == Counts(read=4, used=2, late=2)
