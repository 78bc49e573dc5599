"""The row-pattern matcher in the stage: a stream in any batches gives what one pass gives."""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM
from ordered_samples import inputs
from test_match_operator import END, by_hand, one_pass, run

from cepsql.operators.matching.match_rows import match_rows
from cepsql.pattern.ir import Alternate, Concat, Repeat, Variable
from cepsql.pattern.program import Bit, Classifier, Complete, MatchNumber, Measure, Navigation
from cepsql.scalar.expressions import Call, Literal

A, B, C = map(Variable, "ABC")
MEASURES = (
    Measure("first", Navigation("t", first=True)),
    Measure("last", Navigation("t")),
    Measure("before", Navigation("v0", frozenset({0}), first=True, shift=-2)),
    Measure("by", Classifier()),
    Measure("number", MatchNumber()),
    Measure("complete", Complete()),
)
BEFORE = Call("nseq", (Navigation("v0", shift=-2), Literal("a")))
AFTER = Call("nseq", (Navigation("v0", shift=1), Literal("a")))
EARLIER = Call("eq", (Navigation("v0"), Navigation("v0", frozenset({0}))), "boolean")
EVEN = Call("eq", (Call("mod", (MatchNumber(), Literal(2))), Literal(0)), "boolean")


def program(pattern, *conditions, **changes):
    names = ("A", "B", "C")[: len(conditions)]
    return replace(PROGRAM, pattern=pattern, variables=names, conditions=conditions, measures=MEASURES, **changes)


NOT = Call("not", (Bit(0),))
PROGRAMS = {
    "loop": program(Concat((A, Repeat(B, 0, None), C)), Bit(0), NOT, Bit(0), within=None),
    "overlapping": program(Concat((A, Repeat(B, 0, None), C)), Bit(0), NOT, Bit(0), skip="to next row"),
    "greedy end": program(Concat((A, Repeat(B, 1, None))), NOT, Bit(0)),
    "timeouts": program(Concat((A, B, C)), Bit(0), NOT, Bit(0), timeouts=True),
    "previous": program(Concat((A, B)), None, BEFORE),
    "next": program(Concat((A, B)), None, AFTER),
    "earlier rows": program(Concat((A, Repeat(B, 0, None, False), C)), Bit(0), None, EARLIER),
    "match number": program(Alternate((Concat((A, B)), C)), EVEN, None, Bit(0)),
    "next in measures": replace(
        program(Concat((A, Repeat(B, 1, None), C)), Bit(0), None, NOT),
        measures=(
            Measure("after", Navigation("v0", shift=2)),
            Measure("after first", Navigation("v0", frozenset({0}), shift=3)),
            Measure("number", MatchNumber()),
        ),
    ),
    "next in measures of a search": replace(
        program(Concat((A, Repeat(B, 0, None, False), C)), Bit(0), None, EARLIER),
        measures=(Measure("after", Navigation("v0", shift=2)), Measure("number", MatchNumber())),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=examples(5))
@given(inputs(), st.integers(0, 4))
def test_stream_equals_one_pass(name, batches, delay):
    used, _ = by_hand(batches, delay)
    output = Counter()
    for given_out, _, _ in run([*batches, [[END]]], delay, PROGRAMS[name], match_rows):
        output += given_out
    if used:
        assert output == one_pass(used, PROGRAMS[name], match_rows)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=examples(5))
@given(inputs(), st.integers(1, 5))
def test_slices_give_what_all_rows_give(name, batches, size):
    sliced = partial(match_rows, slice_rows=size)
    whole, parts = run(batches, 1, PROGRAMS[name], match_rows), run(batches, 1, PROGRAMS[name], sliced)
    assert list(parts) == list(whole)


@pytest.mark.parametrize("condition", [None, Call("not", (EARLIER,))])
def test_a_match_waits_for_the_row_that_next_reads_and_no_longer(condition):
    def row(t):
        return {"k0": 1.0, "t": t, "v0": f"at {t}", "m": 0, "bucket": 0}

    measures = (Measure("after", Navigation("v0", shift=1)), Measure("number", MatchNumber()))
    looking = replace(program(Concat((A, B)), None, condition), measures=measures)
    batches = [[[row(t)]] for t in (1, 2, 9)] + [[[row(10)]], [[END]]]
    outputs = [list(output) for output, _, _ in run(batches, 0, looking, match_rows)]
    assert outputs == [[], [], [(1.0, "at 9", 1)], [], [(1.0, None, 2)]]
