"""No match comes out further behind the bound than the hold of its program."""

import random

import pyarrow as pa
from chance import examples
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from strategies import NAMES, bits, conditions, patterns

from cepsql.errors import NotSupportedError, OperationalError
from cepsql.operators.matching.hold import fixed_length, hold
from cepsql.operators.matching.match_operator import MatchOperator
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Column
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.pattern import ir
from cepsql.pattern.frame import framed_condition
from cepsql.pattern.program import MatchProgram, Measure, Navigation, RowValue

A, B, C = (ir.Variable(name) for name in NAMES)


@st.composite
def programs(draw) -> MatchProgram:
    all_rows = draw(st.booleans())
    pattern = draw(st.one_of(patterns(anchors=False), loops(), fixed()))
    empty = draw(st.sampled_from(("show", "omit", "unmatched", "each"))) if all_rows else "show"
    has_exclusion = any(isinstance(node, ir.Exclude) for node in ir.walk(pattern))
    timeouts = empty != "each" and draw(st.booleans())
    assume(empty not in ("unmatched", "each") or not has_exclusion)
    frame = draw(st.none() | st.integers(0, 3)) if empty == "each" else None
    tested = draw(st.one_of(bits(), conditions()))
    if empty == "each":
        tested = tuple(framed_condition(condition, frame) for condition in tested)
    within = draw(st.integers(1, 6)) if timeouts else draw(st.none() | st.integers(1, 6))
    skip = draw(st.sampled_from(("past last row", "to next row", "to last")))
    return MatchProgram(
        pattern=pattern,
        variables=NAMES,
        conditions=tested,
        keys=(Column("k0", "k"),),
        time=Column("t", "ts"),
        order=(),
        values=tuple(Column(name, name) for name in ("v0", "v1", "f")),
        predicates=("a", "b", "c"),
        measures=(Measure("t", RowValue("t") if all_rows else Navigation("t")),),
        skip=skip,
        skip_to=frozenset([1]) if skip == "to last" else frozenset(),
        within=within,
        timeouts=timeouts,
        all_rows=all_rows,
        empty=empty,
        frame=frame,
    )


def loops() -> st.SearchStrategy[ir.Pattern]:
    """Patterns whose matches have different lengths."""
    some = [ir.Repeat(A, 1, None), ir.Concat((A, ir.Repeat(B, 0, None))), ir.Alternate((ir.Concat((A, B)), C))]
    some += [ir.Concat((A, ir.Repeat(B, 0, None, greedy), C)) for greedy in (True, False)]
    some += [ir.Alternate((ir.Concat((A, ir.Repeat(B, 0, None, False), C)), ir.Concat((B, C))))]
    return st.sampled_from(some)


def fixed() -> st.SearchStrategy[ir.Pattern]:
    """Patterns all of whose matches have one length."""
    some = [ir.Concat((A, B)), ir.Concat((A, ir.Alternate((B, C)), A)), ir.Alternate((B, C)), ir.Repeat(A, 3, 3)]
    some += [ir.Permute((A, B, C)), ir.Concat((ir.Exclude(A), ir.Repeat(ir.Alternate((A, B)), 2, 2))), ir.Empty()]
    return st.sampled_from(some)


INTEGERS = [(name, pa.int64()) for name in ("k0", "t", "v0", "v1", "m")]
SCHEMA = pa.schema([*INTEGERS, ("f", pa.float64()), ("bucket", pa.int32())])


@settings(max_examples=examples(15))
@given(programs(), st.integers(0, 2**32))
def test_no_match_is_given_out_later_than_its_hold(program, seed):
    limit = hold(program)
    assume(limit is not None)
    state, bound = None, BEGINNING
    for batch in batches(random.Random(seed)):
        packets = [p for packed in pack([batch], 1) for p in packed["packet"].to_pylist()]
        try:
            advanced = advance(Stage(MatchOperator(program), (StageInput(0),), ""), state, packets)
        except (NotSupportedError, OperationalError):
            reject()
        times = advanced.output["t"].drop_null().to_pylist() if advanced.output.num_rows else []
        assert all(time > bound - limit for time in times), (times, bound)
        state, bound = advanced.state, advanced.bound


def batches(chance: random.Random):
    """Yield batches of rows of two keys in order of time, cut only between different times, then the end of input."""
    time, rows = 0, []
    for _ in range(16):
        step = chance.choice((0, 1, 1, 2, 4))
        if step and chance.random() < 0.6:
            yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
            rows = []
        time += step
        row = {"k0": chance.randint(0, 1), "t": time, "m": chance.getrandbits(3), "bucket": 0}
        row |= {"v0": chance.choice((None, 0, 1, 2)), "v1": chance.randint(0, 3), "f": chance.choice((None, 0.0, 1.5))}
        rows.append(row)
    yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    yield pa.RecordBatch.from_pylist([{"t": END_OF_TIME, "bucket": 0}], schema=SCHEMA)


def test_the_bounds_are_those_of_the_docstring():
    def limit(pattern, **changes):
        measures = (Measure("t", Navigation("t")),)
        program = MatchProgram(pattern, NAMES, (None,) * 3, (), Column("t", "ts"), (), (), (), measures)
        return hold(MatchProgram(**{**program.__dict__, **changes}))

    greedy, pair = ir.Concat((A, ir.Repeat(B, 1, None))), ir.Concat((A, B))
    assert limit(pair) == limit(pair, within=5) == 0
    assert limit(pair, within=5, timeouts=True) == limit(pair, within=5, all_rows=True) == limit(greedy, within=5) == 5
    assert limit(greedy) is limit(pair, all_rows=True) is None
    assert limit(pair, within=5, measures=(Measure("n", Navigation("t", shift=1)),)) is None
    assert fixed_length(ir.Repeat(ir.Alternate((pair, ir.Repeat(C, 2, 2))), 3, 3)) == 6
