"""WITH UNMATCHED ROWS on a stream: the rows that no match covers, whatever the micro-batches and the skip."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM, bag, stage_of
from ordered_samples import SCHEMA, packets

from cepsql.operators.matching.match_rows import match_rows
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.ordered.sorting import partition_rows
from cepsql.ordered.stage import advance
from cepsql.pattern.ir import Alternate, Concat, Repeat, Variable
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Bit, Classifier, Measure, Navigation, RowValue
from cepsql.scalar.expressions import Call

A, B = Variable("A"), Variable("B")
PATTERNS = (
    Concat((A, Repeat(B, 0, None, False), A)),
    Concat((A, Repeat(B, 1, None))),
    Repeat(A, 0, 2),
    Concat((A, Alternate((B, Concat((A, A)))))),
)
BEFORE = Call("ne", (Navigation("v0"), Navigation("v0", frozenset([0]))), "boolean")

ROWS = st.lists(
    st.tuples(st.sampled_from((0.0, 1.0)), st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 1)), max_size=14
)


def rows_of(drawn) -> list[dict]:
    time, rows = 0, []
    for key, step, value, bit in drawn:
        time += step
        rows.append({"k0": key, "t": time, "o0": None, "v0": value, "m": bit, "bucket": 0})
    return rows


@settings(max_examples=examples(30))
@given(
    ROWS,
    st.sampled_from(PATTERNS),
    st.sampled_from((None, Bit(0), BEFORE)),
    st.sampled_from(("past last row", "to next row", "to last")),
    st.sampled_from((None, 3)),
    st.booleans(),
    st.randoms(),
)
def test_stream_equals_one_pass(drawn, pattern, second, skip, within, timeouts, random) -> None:
    program = replace(
        PROGRAM,
        pattern=pattern,
        conditions=(Bit(0), second),
        measures=(Measure("label", Classifier()), Measure("value", RowValue("v0")), Measure("t", RowValue("t"))),
        skip=skip,
        skip_to=frozenset([1]) if skip == "to last" else frozenset(),
        within=within,
        timeouts=timeouts and within is not None,
        all_rows=True,
        empty="unmatched",
    )
    rows = rows_of(drawn)
    table = pa.Table.from_pylist([{k: v for k, v in row.items() if k != "bucket"} for row in rows], schema=SCHEMA)
    table, starts = partition_rows(table, ["k0"], "t", program.order, ["v0", "m"])
    zeros = 0 * starts[:-1]
    whole = match_rows(program, Partitions(table, starts, starts[:-1], starts[1:], zeros, END_OF_TIME))
    sliced = match_rows(program, Partitions(table, starts, starts[:-1], starts[1:], zeros, END_OF_TIME), slice_rows=2)
    assert bag(sliced.output) == bag(whole.output)
    assert sliced.covered.tolist() == whole.covered.tolist()
    cuts = sorted({0, len(rows), *(random.randint(0, len(rows)) for _ in range(3))})
    state, output = None, Counter()
    for begin, end in [*pairwise(cuts), (0, 0)]:
        batch = rows[begin:end] if end else [{"t": END_OF_TIME, "bucket": 0}]
        # Rows of one time may come in two batches, so the bound stays below them.
        advanced = advance(stage_of(program, 1), state, packets(batch, 1).get(0, []))
        state, output = advanced.state, output + bag(advanced.output)
    assert output == bag(whole.output)
