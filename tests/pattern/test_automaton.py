"""The position automaton gives the ways to match in the same order as the pattern itself."""

from collections.abc import Iterator

import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import pattern
from oracle import labellings
from strategies import NAMES, patterns

from cepsql.pattern import ir
from cepsql.pattern.automaton import AutomatonState, automaton
from cepsql.pattern.compile import compile_pattern


@settings(max_examples=examples(45))
@given(patterns(), st.integers(0, 2), st.integers(0, 4))
def test_same_words_in_the_same_order(parsed, start, more) -> None:
    count = start + more
    wanted = labellings(parsed, NAMES, (), start, count, lambda labels: start + len(labels) <= count)
    words = _words(automaton(compile_pattern(parsed, NAMES)), 0, (), start, count)
    assert list(dict.fromkeys(words)) == list(dict.fromkeys(wanted))


def _words(
    states: tuple[AutomatonState, ...], at: int, labels: tuple[int, ...], start: int, count: int
) -> Iterator[tuple]:
    """Yield the words that lead from a state to the end, preferred ones first."""
    for step in states[at].steps:
        row = start + len(labels)
        if ("^" in step.anchors and row > 0) or ("$" in step.anchors and row < count):
            continue
        if step.target == len(states) - 1:
            yield labels
        elif row < count:
            longer = (*labels, NAMES.index(states[step.target].variable))
            yield from _words(states, step.target, longer, start, count)


@pytest.mark.parametrize(
    ("text", "reluctant"),
    [
        ("A*", 0),
        ("A+", 0),
        ("A?", 0),
        ("A B{1,2}", 0),
        ("A*?", 2),
        ("A+?", 1),
        ("A??", 1),
        ("A B{1,2}?", 1),
        ("A|B", 0),
    ],
)
def test_reluctant_steps(text, reluctant) -> None:
    parsed = pattern(text)
    states = automaton(compile_pattern(parsed, ir.variables(parsed)))
    assert sum(step.reluctant for state in states for step in state.steps) == reluctant
