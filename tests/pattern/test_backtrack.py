"""find_matches and find_backtracking against the oracle: whole inputs, inputs in pieces, and what they cost."""

from dataclasses import replace
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import matches, partition, pattern, program, whole
from oracle import answers
from strategies import NAMES, bits, conditions, patterns, rows

from cepsql.errors import OperationalError
from cepsql.operators.matching.match_rows import match_rows
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern import ir
from cepsql.pattern.backtracking.backtrack import find_backtracking
from cepsql.pattern.backtracking.budget import LEAST_STEPS, Budget
from cepsql.pattern.backtracking.search import Outcome, Search
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Aggregate, Bit, Classifier, MatchProgram, Measure, Navigation
from cepsql.pattern.vector import test_rows as evaluate_rows
from cepsql.scalar.expressions import Call, Literal

OPTIONS = st.fixed_dictionaries(
    {
        "skip": st.sampled_from(("past last row", "to next row")),
        "within": st.sampled_from((None, 1, 2, 4)),
        "timeouts": st.booleans(),
    }
)


def expected(asked: MatchProgram, rows: list[dict]) -> list:
    return [(a.start, a.number, a.labels, a.complete) for a in answers(asked, rows)]


def run(asked: MatchProgram, partitions, engine=find_matches):
    if engine is find_matches:
        return find_matches(asked, partitions)
    return engine(asked, partitions, evaluate_rows(asked, partitions))


def find_with_candidates(asked: MatchProgram, partitions, tests):
    """Find by backtracking, looking for candidates after every failed attempt."""
    return find_backtracking(asked, partitions, tests, dear_steps=0)


@settings(max_examples=examples(45))
@given(patterns(), rows(), st.one_of(bits(), conditions()), OPTIONS)
def test_whole_input(parsed, rows, tests, options) -> None:
    asked = program(parsed, tests, NAMES, **options)
    wanted = expected(asked, rows)
    assert matches(run(asked, whole(rows), find_backtracking)) == wanted
    assert matches(run(asked, whole(rows), find_with_candidates)) == wanted
    assert matches(run(asked, whole(rows))) == wanted


@settings(max_examples=examples(38))
@given(
    patterns(anchors=False),
    rows(8),
    st.one_of(bits(), conditions()),
    OPTIONS,
    st.randoms(),
    st.sampled_from((find_matches, find_with_candidates)),
)
def test_in_pieces(parsed, rows, tests, options, random, engine) -> None:
    asked = program(parsed, tests, NAMES, **options)
    all_matches, scan, number = [], 0, 0
    last = rows[-1]["t"] if rows else 0
    for bound in [*sorted(random.sample(range(last + 3), min(3, last + 3))), END_OF_TIME]:
        row_count = sum(row["t"] <= bound for row in rows)
        visible = rows[: random.randint(row_count, len(rows))]
        result = run(asked, partition(visible, scan, number, bound, row_count), engine)
        all_matches += matches(result)
        scan, number = int(result.scan[0]), int(result.numbers[0])
    assert all_matches == expected(asked, rows)
    assert (scan, number) == (len(rows), len(all_matches))


WORDS = [{"m": mask, "v0": 0, "v1": 0, "f": 0.0} for mask in (0, 1, 2, 3)]
"""Every kind of row for two variables."""


@settings(max_examples=examples(10))
@given(
    patterns(anchors=False).filter(lambda p: "C" not in ir.variables(p)),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.sampled_from(("past last row", "to next row")),
)
def test_matches_are_given_as_soon_as_they_are_certain(parsed, first_rows, skip) -> None:
    asked = program(parsed, [Bit(0), Bit(1)], ("A", "B"), skip=skip)
    first_rows = [{**row, "t": t} for t, row in enumerate(first_rows)]
    early = matches(run(asked, partition(first_rows, 0, 0, len(first_rows) - 1)))
    futures = [tail for length in range(4) for tail in product(WORDS, repeat=length)]
    ends = [expected(asked, first_rows + [{**row, "t": 9} for row in tail]) for tail in futures]
    certain = []
    for position, match in enumerate(ends[0]):
        if any(len(end) <= position or end[position] != match for end in ends):
            break
        certain.append(match)
    # Four rows more are not all futures, so that what seems certain may not be; what is given must be.
    assert early == certain[: len(early)]
    if _longest(parsed) <= 3:
        assert early == certain


def _longest(parsed: ir.Pattern) -> float:
    """Return how many rows a match can have at most."""
    match parsed:
        case ir.Variable():
            return 1
        case ir.Alternate(parts):
            return max(map(_longest, parts))
        case ir.Repeat(part, _, high):
            inner = _longest(part)
            return 0 if inner == 0 or high == 0 else float("inf") if high is None else inner * high
    return sum(map(_longest, ir.children(parsed)))


@settings(max_examples=examples(15))
@given(patterns(anchors=False), st.lists(rows(4), max_size=4), st.one_of(bits(), conditions()), OPTIONS)
def test_partitions_do_not_meet(parsed, parts, tests, options) -> None:
    asked = program(parsed, tests, NAMES, **options)
    together = whole([row for part in parts for row in part])
    starts = np.cumsum([0] + [len(part) for part in parts])
    zeros = np.zeros(len(parts), np.int64)
    split = Partitions(together.rows, starts, starts[:-1], starts[1:], zeros, END_OF_TIME)
    wanted = [
        (a + int(first), *rest)
        for first, part in zip(starts, parts, strict=False)
        for a, *rest in expected(asked, part)
    ]
    assert matches(run(asked, split, find_backtracking)) == wanted


def _steps(text: str, holds: list[list[bool]], tests=None) -> int:
    """Return the steps that all attempts on a partition take."""
    parsed = pattern(text)
    asked = program(parsed, tests)
    count = len(holds[0])
    partitions = whole([{"t": t, "v0": t % 7} for t in range(count)])
    search = Search(asked, partitions, RowTests(np.array(holds), None))
    search.enter(0)
    for start in range(count):
        search.attempt(start, 1)
    return search.steps


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("(A+)+ B", (True, False)),
        ("A+ B+ C+ E", (True, True, True, False)),
        ("(A*)* B", (True, False)),
        ("((A | B)+ | C+)+ D", (True, True, True, False)),
        ("(A+)+ B?? (C | A*)* D", (True, True, True, False)),
    ],
)
def test_steps_grow_with_the_rows(text: str, holds: tuple[bool, ...]) -> None:
    small, large = (_steps(text, [[hold] * count for hold in holds]) for count in (1250, 5000))
    assert large < 4.5 * small


def test_steps_grow_with_the_rows_where_conditions_read_the_last_row() -> None:
    rising = Call("ge", (Navigation("v0"), Navigation("v0", frozenset({0}), False, 1)))
    either = Call("or", (rising, Literal(True)))
    tests = [either, None, None]
    small, large = (_steps("A+ B+ C", [[True] * count] * 2 + [[False] * count], tests) for count in (500, 2000))
    assert large < 4.5 * small


def test_a_reluctant_loop_over_any_rows_goes_straight_to_its_end() -> None:
    """WITHIN makes what failed for one start worth nothing to the next, so each would look at a window of rows."""
    count = 3000
    asked = program(pattern("A B*? C"), within=500)
    holds = np.array([[True] * count, [True] * count, [False] * count])
    search = Search(asked, whole([{"t": t} for t in range(count)]), RowTests(holds, None))
    search.enter(0)
    for start in range(count):
        search.attempt(start, 1)
    assert search.steps < 10 * count


def test_paths_that_differ_in_what_is_read_later_are_kept_apart() -> None:
    after_b = Call("not", (Call("isnull", (Navigation("v0", frozenset({1})),)),))
    asked = program(pattern("(A | B) C"), [None, None, after_b])
    assert matches(find_matches(asked, whole([{"t": t, "v0": t} for t in range(2)]))) == [(0, 1, (1, 2), True)]


def exponential(**options) -> MatchProgram:
    """Make a program whose search must tell all ways to call the rows A and B apart: C asks for all of them."""
    back = Call("eq", (Classifier(None, True), Literal("C")))
    history = Call("ne", (Classifier(frozenset({0, 1}), False, 0, -40), Literal("A")))
    rest = Call("or", (Call("and", (back, history)), Bit(0)))
    return program(pattern("(A | B)+ C"), [Bit(1), Bit(1), rest], step_budget=10_000, **options)


def test_an_attempt_over_the_budget_is_an_error_if_strict() -> None:
    with pytest.raises(OperationalError, match=r"\(A \| B\)\+ C took more than 10000 steps"):
        find_matches(exponential(strict=True), whole([{"t": t, "m": 2} for t in range(60)]))


def test_an_attempt_over_the_budget_is_given_up() -> None:
    rows = [{"t": t, "m": 2} for t in range(60)] + [{"t": 60, "m": 0}, {"t": 61, "m": 2}, {"t": 62, "m": 1}]
    two = replace(whole(rows), starts=np.array([0, 61, 63]), scan=np.array([0, 61]), ends=np.array([61, 63]))
    two = replace(two, numbers=np.zeros(2, np.int64))
    search = find_matches(exponential(), two)
    assert matches(search) == [(61, 1, (0, 2), True)]
    assert search.scan.tolist() == [61, 63]
    assert 40 < len(search.given_up) < 60


def test_what_was_given_up_behind_a_match_that_waits_counts_once() -> None:
    """The match of the first two rows waits for what NEXT reads, and the others are tried again with it."""
    ahead = Measure("ahead", Navigation("t", shift=70))
    asked = replace(exponential(skip="to next row"), measures=(ahead,))
    rows = [{"t": t, "m": {1: 1, 60: 0}.get(t, 2)} for t in range(61)]
    waits = match_rows(asked, partition(rows, 0, 0, 60))
    assert (waits.scan.tolist(), waits.matches, waits.given_up) == ([0], 0, 0)
    assert match_rows(asked, whole(rows)).given_up > 40


def test_starts_that_share_a_fate_are_given_up_cheaply() -> None:
    steps = {}
    for count in (500, 1000):
        partitions = whole([{"t": t, "m": 2} for t in range(count)])
        asked = exponential(within=100)
        search = Search(asked, partitions, evaluate_rows(asked, partitions))
        search.enter(0)
        outcomes = {search.attempt(start, 1) for start in range(count - 100)}
        assert outcomes == {Outcome.GIVEN_UP}
        steps[count] = search.steps
    assert steps[1000] - steps[500] <= 500 * (LEAST_STEPS + 1)


def test_states_of_an_attempt_that_was_given_up_are_tried_again() -> None:
    later = Call("eq", (Navigation("t"), Aggregate("max", "t")))
    for text, condition in (("A+ B", Bit(0)), ("(A | B)+ C", Call("and", (Bit(0), later)))):
        parsed = pattern(text)
        tests = [Bit(1)] * (len(ir.variables(parsed)) - 1) + [condition]
        rows = whole([{"t": t, "m": 1 if t == 9 else 2} for t in range(10)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Budget, "allowed", lambda budget, needed: 15)
            search = run(program(parsed, tests, skip="to next row"), rows, find_backtracking)
        assert len(search.given_up) and len(search.matches.start)
        assert [*search.given_up, *search.matches.start] == list(range(9))


@settings(max_examples=examples(30))
@given(patterns(), rows(), conditions(), OPTIONS, st.integers(3, 15))
def test_what_was_given_up_leaves_no_trace(parsed, rows, tests, options, steps) -> None:
    asked = program(parsed, tests, NAMES, **options)
    partitions = whole(rows)
    row_tests = evaluate_rows(asked, partitions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Budget, "allowed", lambda budget, needed: steps if budget is hurried._budget else 10**9)
        hurried = Search(asked, partitions, row_tests)
        hurried.enter(0)
        for start in range(len(rows)):
            outcome = hurried.attempt(start, 1)
            calm = Search(asked, partitions, row_tests)
            calm.enter(0)
            if outcome is not Outcome.GIVEN_UP:
                assert calm.attempt(start, 1) is outcome
                assert outcome is not Outcome.MATCH or hurried.match == calm.match


def test_start_anchor_on_a_stream() -> None:
    rows = [{"t": 1}, {"t": 2}]
    assert matches(find_matches(program(pattern("^ A")), partition(rows[:1], 0, 0, 1))) == [(0, 1, (0,), True)]
    # The row before the scan is kept, so the next one is known not to be the first.
    assert matches(find_matches(program(pattern("^ A")), partition(rows, 1, 1, 2))) == []


def test_next_waits_for_its_row() -> None:
    rising = Call("gt", (Navigation("v0", frozenset({0}), False, 0, 1), Navigation("v0")))
    asked = program(pattern("A"), [rising])
    rows = [{"t": 1, "v0": 1}, {"t": 2, "v0": 2}]
    assert find_matches(asked, partition(rows[:1], 0, 0, 1)).scan.tolist() == [0]
    assert find_matches(asked, partition(rows, 0, 0, 1, 1)).scan.tolist() == [0]
    search = find_matches(asked, partition(rows, 0, 0, 2))
    assert (matches(search), search.scan.tolist()) == ([(0, 1, (0,), True)], [1])
    assert find_matches(asked, partition(rows, 1, 1, END_OF_TIME)).scan.tolist() == [2]


def test_no_rows() -> None:
    nothing = np.zeros(0, np.int64)
    partitions = Partitions(whole([]).rows, np.array([0]), nothing, nothing, nothing, END_OF_TIME)
    search = find_backtracking(program(pattern("A*")), partitions, RowTests(np.ones((1, 0), bool), None))
    assert (matches(search), search.scan.tolist()) == ([], [])


def test_aggregates_of_nothing() -> None:
    none = Call("eq", (Aggregate("count", "v0", frozenset({1})), Literal(0)))
    asked = program(pattern("A B"), [none, Call("isnull", (Aggregate("sum", "v0", frozenset({1})),))])
    assert matches(find_matches(asked, whole([{"t": 1}, {"t": 2}]))) == [(0, 1, (0, 1), True)]


def test_values_of_other_types() -> None:
    """Decimals keep their digits, times are integers, a sum of more digits than Python's default is exact."""
    large = Decimal("12345678901234567890123456789012345.123")
    rows = pa.table(
        {
            "t": pa.array([1, 2, 3], pa.int64()),
            "v0": pa.array([large, Decimal("0.001"), None], pa.decimal128(38, 3)),
            "v1": pa.array([0, 5, 7], pa.timestamp("us", "UTC")),
            "v2": pa.array([Decimal("1.0"), Decimal("2.0"), Decimal("2.0")], pa.decimal128(3, 1)),
        }
    )
    a = frozenset({0})
    sums = Call("eq", (Aggregate("sum", "v0"), Literal(Decimal("12345678901234567890123456789012345.124"))))
    gap = Call("eq", (Call("sub", (Navigation("v1"), Navigation("v1", a))), Literal(5, "interval day to second")))
    mean = Call("eq", (Aggregate("avg", "v2"), Literal(Decimal("1.66667"))))
    asked = program(pattern("A B C"), [None, Call("and", (sums, gap)), mean])
    starts, scan, ends, numbers = (np.array(values) for values in ([0, 3], [0], [3], [0]))
    partitions = Partitions(rows, starts, scan, ends, numbers, END_OF_TIME)
    assert matches(find_matches(asked, partitions)) == [(0, 1, (0, 1, 2), True)]


@pytest.mark.parametrize("read", [Aggregate("max_by", "v0", by="v1"), Aggregate("collect_list", "v0")])
def test_arrays_that_a_condition_ahead_reads(read) -> None:
    """Paths that meet at a row are told apart by what they have gathered, be it no value of which Python makes sets."""
    arrays = pa.array([[1], [2, 3], None], pa.list_(pa.int64()))
    rows = pa.table({"t": pa.array([1, 2, 3], pa.int64()), "v0": arrays, "v1": pa.array([1, 2, None], pa.int64())})
    asked = program(pattern("(A | B)+ C"), [None, None, Call("eq", (Call("size", (read,)), Literal(2)))])
    starts, scan, ends, numbers = (np.array(values) for values in ([0, 3], [0], [3], [0]))
    partitions = Partitions(rows, starts, scan, ends, numbers, END_OF_TIME)
    assert matches(find_matches(asked, partitions)) == [(0, 1, (0, 0, 2), True)]


def test_candidates_do_not_hide_timeouts() -> None:
    first = Call("ge", (Navigation("v0", frozenset([0]), first=True), Literal(1)))
    asked = program(pattern("A B"), [first, Bit(1)], ("A", "B"), within=2, timeouts=True)
    rows = [{"t": 3 * v, "v0": v, "v1": 0, "f": 0.0, "m": 0} for v in (0, 1)]
    # No row is a B, so no match begins anywhere; but the second row begins a partial one.
    assert matches(run(asked, whole(rows), find_with_candidates)) == [(1, 1, (0,), False)]
