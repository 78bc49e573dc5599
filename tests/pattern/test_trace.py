"""The account of a search: its matches are those of find_matches, and what it tells of failures is true."""

from dataclasses import replace

import oracle
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import matches, partition, pattern, program, whole
from strategies import NAMES, bits, conditions, patterns, rows

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.backtracking.search import Outcome
from cepsql.pattern.backtracking.trace import Attempt, trace, trace_attempt
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.program import Bit, Classifier
from cepsql.scalar.expressions import Call, Literal

OPTIONS = st.fixed_dictionaries(
    {
        "skip": st.sampled_from(("past last row", "to next row", "to last")),
        "skip_to": st.just(frozenset([1])),
        "within": st.sampled_from((None, 1, 2, 4)),
        "timeouts": st.booleans(),
    }
)


@settings(max_examples=examples(30))
@given(
    patterns(anchors=False),
    rows(8),
    st.one_of(bits(), conditions()),
    st.sets(st.integers(0, 2)),
    OPTIONS,
    st.integers(0, 20),
)
def test_attempts_are_those_of_the_search(parsed, rows, tests, free, options, bound) -> None:
    tests = [None if v in free else test for v, test in enumerate(tests)]
    asked = program(parsed, tests, NAMES, **options)
    for seen in (whole(rows), partition(rows, 0, 0, bound, sum(row["t"] <= bound for row in rows))):
        search = find_matches(asked, seen)
        made = [a for a in trace(asked, seen).attempts if not a.jumped]
        given_out = [
            (a.start, a.number, a.labels, a.outcome is Outcome.MATCH)
            for a in made
            if a.outcome in (Outcome.MATCH, Outcome.TIMEOUT)
        ]
        assert given_out == matches(search)
        undecided = [a.start for a in made if a.outcome is Outcome.UNDECIDED]
        assert undecided in ([], [int(search.scan[0])])


@settings(max_examples=examples(30))
@given(patterns(), rows(), st.one_of(bits(), conditions()), OPTIONS)
def test_failures_are_told_as_they_are(parsed, rows, tests, options) -> None:
    asked = program(parsed, tests, NAMES, **options)
    failed = [a for a in trace(asked, whole(rows)).attempts if a.outcome is Outcome.NONE and not a.jumped]
    best = max(map(_furthest, failed), default=0)
    for attempt in failed:
        failure = trace_attempt(asked, whole(rows), attempt.start, attempt.number)
        taken, refused = _paths(asked, rows, attempt)
        assert failure.labels in taken
        assert max(map(len, taken)) == len(failure.labels) <= best
        for trial in failure.trials:
            if failure.stop == "row":
                assert trial.holds is False
                assert (*failure.labels, trial.variable) in refused
        assert (failure.stop in ("within", "end")) <= bool(failure.trials)


def _furthest(attempt: Attempt) -> int:
    return len(attempt.labels)


def _paths(asked, rows, attempt: Attempt) -> tuple[set, set]:
    """Return all paths from the attempt's start, by brute force, and the steps that were refused."""
    taken, refused, start = {()}, set(), attempt.start

    def accepts(labels) -> bool:
        row = start + len(labels) - 1
        if row >= len(rows) or (asked.within is not None and rows[row]["t"] - rows[start]["t"] >= asked.within):
            return False
        condition = asked.conditions[labels[-1]]
        context = oracle.Context(asked, rows, start, labels, attempt.number)
        holds = condition is None or oracle.evaluate(condition, context) is True
        (taken if holds else refused).add(labels)
        return holds

    assert not list(oracle.labellings(asked.pattern, asked.variables, (), start, len(rows), accepts))
    return taken, refused


def test_starts_that_a_skip_jumped_over() -> None:
    asked = program(pattern("A+ B"), [Bit(0), Bit(1)])
    seen = whole([{"t": t, "m": mask} for t, mask in enumerate((1, 1, 2, 1))])
    attempts = [(a.start, a.outcome, a.labels, a.jumped) for a in trace(asked, seen).attempts]
    assert attempts == [
        (0, Outcome.MATCH, (0, 0, 1), False),
        (1, Outcome.MATCH, (0, 1), True),
        (2, Outcome.NONE, (), True),
        (3, Outcome.NONE, (0,), False),
    ]


def test_an_undecided_attempt_knows_what_it_would_settle_for() -> None:
    asked = program(pattern("A B* C?"), [Bit(0), Bit(1), Bit(2)])
    seen = partition([{"t": 0, "m": 1}, {"t": 1, "m": 2}], 0, 0, 5)
    (attempt,) = trace(asked, seen).attempts
    assert (attempt.outcome, attempt.stop, attempt.fallback) == (Outcome.UNDECIDED, "future", (0, 1))
    assert [trial.variable for trial in attempt.trials] == [1, 2]
    (attempt,) = trace(asked, replace(seen, bound=END_OF_TIME)).attempts[:1]
    assert (attempt.outcome, attempt.labels) == (Outcome.MATCH, (0, 1))


def test_every_row_of_a_free_variable_is_told() -> None:
    asked = program(pattern("A B*? C"), [Bit(0), None, Bit(2)])
    seen = whole([{"t": t, "m": mask} for t, mask in enumerate((1, 2, 2))])
    attempt = trace_attempt(asked, seen, 0, 1)
    assert (attempt.outcome, attempt.stop, attempt.labels) == (Outcome.NONE, "end", (0, 1, 1))


def test_an_endless_search_is_given_up() -> None:
    asked = program(pattern("(A | B)+ C"), [None, None, Bit(0)], step_budget=100)
    seen = whole([{"t": t, "m": 0} for t in range(30)])
    assert {a.outcome for a in trace(asked, seen).attempts} == {Outcome.NONE}
    # What follows depends on how every row was called.
    back = Call("eq", (Classifier(None, True), Literal("C")))
    history = Call("ne", (Classifier(frozenset({0, 1}), False, 0, -40), Literal("A")))
    asked = replace(asked, conditions=(None, None, Call("and", (back, history))))
    seen = whole([{"t": t, "m": 0} for t in range(60)])
    attempts = trace(asked, seen).attempts
    assert (attempts[0].outcome, attempts[0].stop, len(attempts[0].labels)) == (Outcome.GIVEN_UP, "steps", 60)
    assert [attempt.start for attempt in attempts] == list(range(60))
    assert attempts[-1].outcome is Outcome.NONE
    assert {attempt.number for attempt in attempts} == {1}
