"""How far before a match its conditions and measures can read."""

from dataclasses import replace

import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM

from cepsql.operators.matching.reach import least_distances, reach
from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Permute, Repeat, Variable, variables
from cepsql.pattern.program import Classifier, Measure, Navigation
from cepsql.scalar.expressions import Call, Literal

A, B, C = map(Variable, "ABC")
PREVIOUS = Navigation("v0", shift=-3)


def program(pattern, condition=None, measure=None):
    """Make a program whose condition belongs to the pattern's last variable."""
    names = variables(pattern)
    return replace(
        PROGRAM,
        pattern=pattern,
        variables=names,
        conditions=(None,) * (len(names) - 1) + (condition,),
        measures=() if measure is None else (Measure("x", measure),),
    )


@pytest.mark.parametrize(
    ("pattern", "condition", "rows"),
    [
        (A, None, 0),
        (A, PREVIOUS, 3),
        (A, Call("gt", (Literal(1), Call("abs", (PREVIOUS,), "int")), "boolean"), 3),
        (A, Navigation("v0", shift=3), 0),
        (Concat((A, B)), PREVIOUS, 2),
        (Concat((A, Repeat(B, 3, None), C)), PREVIOUS, 0),
        (Concat((Repeat(A, 0, None), B)), PREVIOUS, 3),
        (Permute((A, B)), PREVIOUS, 3),
        (Concat((Alternate((A, Concat((A, A)))), Exclude(B))), PREVIOUS, 2),
        (Concat((A, B)), Navigation("v0", frozenset({0}), shift=-3), 3),
        (Concat((A, B)), Navigation("v0", frozenset({1}), shift=-3), 2),
        (Concat((A, B)), Navigation("v0", frozenset({1}), first=True, offset=1, shift=-3), 1),
        (Concat((A, B)), Navigation("v0", None, first=True, offset=1, shift=-3), 2),
        (Concat((A, A, B)), Navigation("v0", None, offset=1, shift=-3), 2),
        (Concat((A, Repeat(B, 0, 0))), PREVIOUS, 0),
        (Concat((A, B)), Classifier(shift=-3), 0),
        (Concat((Repeat(Anchor(end=False), 0, 1), A)), None, 1),
        (Concat((A, Anchor(end=True))), None, 0),
    ],
)
def test_conditions(pattern, condition, rows):
    assert reach(program(pattern, condition)) == rows


@pytest.mark.parametrize(
    ("measure", "rows"),
    [
        (Navigation("v0", frozenset({1}), shift=-3), 2),
        (Navigation("v0", shift=-3), 3),
        (Navigation("v0", frozenset({0}), offset=2), 0),
    ],
)
def test_measures(measure, rows):
    assert reach(program(Concat((A, B)), measure=measure)) == rows


def patterns():
    leaves = st.sampled_from([A, B, C, Empty(), Anchor(False)])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Concat, st.tuples(inner, inner)),
            st.builds(Alternate, st.tuples(inner, inner)),
            st.builds(Permute, st.tuples(inner, inner)),
            st.builds(Repeat, inner, st.integers(0, 2), st.just(2)),
            st.builds(Exclude, inner),
        ),
        max_leaves=4,
    )


def words(pattern) -> set[str]:
    """Return all label sequences of a pattern without endless loops."""
    match pattern:
        case Variable(name):
            return {name}
        case Concat((a, b)):
            return {x + y for x in words(a) for y in words(b)}
        case Permute((a, b)):
            return words(Concat((a, b))) | words(Concat((b, a)))
        case Alternate((a, b)):
            return words(a) | words(b)
        case Exclude(part):
            return words(part)
        case Repeat(part, low, high):
            all_words, power = set(), {""}
            for n in range(high + 1):
                all_words |= power if n >= low else set()
                power = {x + y for x in power for y in words(part)}
            return all_words
    return {""}


@settings(max_examples=examples(30))
@given(patterns())
def test_least_distance_is_that_of_all_words(pattern):
    expected: dict = {}
    for word in words(pattern):
        for i, name in enumerate(word):
            expected[name] = min(i, expected.get(name, i))
    assert least_distances(pattern) == expected
