"""endless_variables against what the matcher decides: an endless pattern never gives a match before the end."""

import random
from dataclasses import replace

import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import matches, partition, pattern, program
from strategies import NAMES, patterns

from cepsql.pattern.endless import endless_variables
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.program import Bit

# Of A, B and C only B and C have a condition.
CASES = {
    "A*": ("A",),
    "B*": (),
    "B A* C": ("A",),
    "B A*? C": (),
    "B A+": ("A",),
    "B A{2,}": ("A",),
    "B A{2,5} C": (),
    "B | A+ C": (),
    "A+ C | B": (),
    "(A | B)* C": ("A",),
    "(A B)* C": (),
    "B (A*? A)+ C": ("A",),
    "PERMUTE(B, A+)": ("A",),
    "B {- A* -} C": ("A",),
}


@pytest.mark.parametrize("text", CASES)
def test_examples(text: str) -> None:
    parsed = pattern(text)
    assert endless_variables(program(parsed, [None, Bit(1), Bit(2)], NAMES)) == CASES[text]
    assert endless_variables(program(parsed, [None, Bit(1), Bit(2)], NAMES, within=5)) == ()
    assert endless_variables(replace(program(parsed, [None, Bit(1), Bit(2)], NAMES), frame=5)) == ()


@settings(max_examples=examples(45))
@given(patterns(anchors=False), st.tuples(*[st.sampled_from((None, Bit(v))) for v in range(3)]))
def test_nothing_is_decided_exactly_where_it_is_endless(parsed, conditions) -> None:
    asked = program(parsed, conditions, NAMES)
    generator = random.Random(1)
    all_matches = []
    for _ in range(12):
        rows = [{"t": t, "v0": 0, "v1": 0, "f": 0.0, "m": generator.randrange(8)} for t in range(10)]
        # Rows that satisfy nothing end every loop that can end.
        rows += [{"t": 10 + t, "v0": 0, "v1": 0, "f": 0.0, "m": 0} for t in range(4)]
        all_matches += matches(find_matches(asked, partition(rows, 0, 0, 20, len(rows))))
    if endless_variables(asked):
        assert all_matches == []
