"""find_regular against trying all paths in order of preference."""

import numpy as np
import pyarrow as pa
from chance import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.compile import can_be_empty
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable, variables
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Bit, Classifier, MatchProgram
from cepsql.pattern.scanning.regular import find_regular, is_regular
from cepsql.scalar.expressions import Call, Literal

MANY = tuple("ABCDEFGHIJ")


def make_program(pattern, names, skip="past last row", within=None, conditions=None, timeouts=False):
    conditions = tuple(map(Bit, range(len(names)))) if conditions is None else conditions
    return MatchProgram(pattern, names, conditions, (), None, (), (), (), (), skip, within, timeouts)


def make_partitions(times, scan=None, bound=END_OF_TIME, numbers=None):
    """Lay out partitions, each a list of times; rows up to `bound` may be read."""
    starts = np.cumsum([0] + [len(part) for part in times])
    ends = [s + sum(t <= bound for t in part) for s, part in zip(starts, times, strict=False)]
    rows = pa.table({"t": pa.array([t for part in times for t in part], pa.int64())})
    scan = starts[:-1] if scan is None else scan
    numbers = np.zeros(len(times), np.int64) if numbers is None else numbers
    return Partitions(rows, starts, np.array(scan, np.int64), np.array(ends, np.int64), numbers, bound)


def paths(pattern: Pattern, accepts, row: int):
    """Yield (end, labels) of every way to match from `row` on, the preferred first."""
    match pattern:
        case Variable(name):
            if accepts(name, row):
                yield row + 1, (name,)
        case Empty():
            yield row, ()
        case Exclude(part):
            yield from paths(part, accepts, row)
        case Concat(parts):
            if not parts:
                yield row, ()
                return
            for middle, labels in paths(parts[0], accepts, row):
                for end, others in paths(Concat(parts[1:]), accepts, middle):
                    yield end, labels + others
        case Alternate(parts):
            for part in parts:
                yield from paths(part, accepts, row)
        case Repeat(part, low, high, greedy):
            stop = [(row, ())] if low == 0 else []
            if not greedy:
                yield from stop
            if high != 0:
                rest = Repeat(part, max(low - 1, 0), None if high is None else high - 1, greedy)
                for middle, labels in paths(part, accepts, row):
                    for end, others in paths(rest, accepts, middle):
                        yield end, labels + others
            if greedy:
                yield from stop


def search(program, partitions, tests):
    """Return (matches, scan): matches as (partition, start, number, labels)."""
    names, times = program.variables, partitions.rows.column("t").to_pylist()
    matches, scans = [], []
    for p, (row, end) in enumerate(zip(partitions.scan.tolist(), partitions.ends.tolist(), strict=True)):
        number = int(partitions.numbers[p])
        while row < end:
            deadline = END_OF_TIME if program.within is None else times[row] + program.within
            limit = end + 20 if partitions.bound + 1 < deadline and partitions.bound != END_OF_TIME else end

            def accepts(name, i, deadline=deadline, limit=limit, end=end):
                if i >= end:
                    return i < limit
                variable = names.index(name)
                unknown = tests.unknown is not None and tests.unknown[variable, i]
                return times[i] < deadline and bool(tests.holds[variable, i] or unknown)

            path = next(paths(program.pattern, accepts, row), None)
            if path is None:
                row += 1
                continue
            stop, labels = path
            labels = [names.index(name) for name in labels]
            if stop > end:
                break
            if tests.unknown is not None and any(tests.unknown[v, row + i] for i, v in enumerate(labels)):
                break
            number += 1
            matches.append((p, row, number, labels))
            row = stop if program.skip == "past last row" else row + 1
        scans.append(row)
    return matches, scans


def as_tuples(matches):
    ends = np.cumsum(matches.length)
    return [
        (int(p), int(s), int(n), matches.labels[e - k : e].tolist())
        for p, s, n, k, e in zip(matches.partition, matches.start, matches.number, matches.length, ends, strict=True)
    ]


def patterns(names):
    leaf = st.sampled_from([Variable(name) for name in names])
    bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 3), (2, None), (0, 2), (0, 0), (1, 1)])

    def grow(inner):
        several = st.lists(inner, min_size=2, max_size=4).map(tuple)
        repeat = st.builds(
            lambda p, b, g: Repeat(p, *b, g), inner.filter(lambda p: not can_be_empty(p)), bounds, st.booleans()
        )
        return several.map(Concat) | several.map(Alternate) | repeat | inner.map(Exclude)

    return st.recursive(leaf | leaf | leaf | st.just(Empty()), grow, max_leaves=7)


@st.composite
def cases(draw, with_unknown=False):
    few = tuple("ABCD")
    pattern = draw(patterns(few).filter(lambda p: not can_be_empty(p)))
    names = variables(pattern)
    if draw(st.integers(0, 9)) == 0:
        names += tuple(name for name in MANY if name not in names)
    within = draw(st.none() | st.integers(1, 12))
    program = make_program(pattern, names, draw(st.sampled_from(["past last row", "to next row"])), within)
    gaps = st.lists(st.sampled_from([0, 0, 1, 1, 2, 5]), max_size=9)
    times = [np.cumsum(part).tolist() for part in draw(st.lists(gaps, min_size=1, max_size=4))]
    count = sum(map(len, times))
    density = draw(st.sampled_from([0.3, 0.6, 0.9]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    holds = random.random((len(names), count)) < density
    unknown = random.random((len(names), count)) < 0.1 if with_unknown else None
    tests = RowTests(holds if unknown is None else holds & ~unknown, unknown)
    assume(is_regular(program, make_partitions(times), tests))
    return program, times, tests


@settings(max_examples=examples(30))
@given(cases(), st.none() | st.integers(0, 20), st.data())
def test_finds_what_is_preferred_and_decided(case, bound, data):
    program, times, tests = case
    bound = END_OF_TIME if bound is None else bound
    partitions = make_partitions(times, bound=bound)
    scan = [data.draw(st.integers(s, e)) for s, e in zip(partitions.starts, partitions.ends, strict=False)]
    partitions = make_partitions(times, scan, bound, np.arange(len(times)))
    result = find_regular(program, partitions, tests)
    assert (as_tuples(result.matches), result.scan.tolist()) == search(program, partitions, tests)
    assert result.matches.complete.all() and len(result.matches.complete) == len(result.matches.start)
    counts = np.bincount(result.matches.partition, minlength=len(times))
    assert (result.numbers == partitions.numbers + counts).all()


@settings(max_examples=examples(15))
@given(cases(with_unknown=True), st.none() | st.integers(0, 20))
def test_a_match_that_relies_on_an_unknown_verdict_waits(case, bound):
    program, times, tests = case
    partitions = make_partitions(times, bound=END_OF_TIME if bound is None else bound)
    result = find_regular(program, partitions, tests)
    assert (as_tuples(result.matches), result.scan.tolist()) == search(program, partitions, tests)


@settings(max_examples=examples(15))
@given(cases(), st.lists(st.integers(0, 20), max_size=4).map(sorted))
def test_rows_in_portions_give_what_all_rows_give(case, bounds):
    program, times, tests = case
    whole = find_regular(program, make_partitions(times), tests)
    matches, scan, numbers = [], None, None
    for bound in [*bounds, END_OF_TIME]:
        result = find_regular(program, make_partitions(times, scan, bound, numbers), tests)
        matches += as_tuples(result.matches)
        scan, numbers = result.scan, result.numbers
    assert sorted(matches) == as_tuples(whole.matches)
    assert (numbers == whole.numbers).all()
    assert (scan == whole.scan).all()


def test_what_is_not_regular():
    a, b = Variable("A"), Variable("B")
    optional = Repeat(a, 0, 1)
    partitions, tests = make_partitions([[0]]), RowTests(np.ones((2, 1), bool), None)
    regular = [a, Concat((a, b)), Repeat(a, 1000, None), Repeat(Alternate((a, b)), 1, None)]
    refused = [
        Empty(),
        optional,
        Concat((a, Repeat(optional, 0, None))),
        Concat((a, Anchor(end=True))),
        Permute((a, b)),
    ]
    refused += [Repeat(a, 1001, None), Repeat(Repeat(a, 40, 40), 40, 40)]
    for pattern, answer in [(p, True) for p in regular[:2] + regular[3:]] + [(p, False) for p in refused]:
        assert is_regular(make_program(pattern, ("A", "B")), partitions, tests) is answer, pattern
    so_far = Call("eq", (Classifier(), Literal("A")))
    assert not is_regular(make_program(a, ("A", "B"), conditions=(None, so_far)), partitions, tests)
    assert not is_regular(make_program(a, ("A", "B"), within=5, timeouts=True), partitions, tests)


def test_too_many_kinds_of_rows_are_not_regular():
    names = tuple(f"V{i}" for i in range(9))
    holds = np.array([[row >> bit & 1 for row in range(512)] for bit in range(9)], bool)
    partitions = make_partitions([list(range(512))])
    assert not is_regular(make_program(Variable("V0"), names), partitions, RowTests(holds, None))
    tests = RowTests(holds & (np.arange(512) < 240), None)
    assert is_regular(make_program(Variable("V0"), names), partitions, tests)


def test_time_keys_that_do_not_fit_64_bits():
    far = 2**61
    program = make_program(Concat((Variable("A"), Variable("A"))), ("A",), within=10)
    partitions = make_partitions([[0, 9, far], [0, 10, 19], [far, far + 1], []])
    tests = RowTests(np.ones((1, 8), bool), None)
    result = find_regular(program, partitions, tests)
    assert as_tuples(result.matches) == [(0, 0, 1, [0, 0]), (1, 4, 1, [0, 0]), (2, 6, 1, [0, 0])]
