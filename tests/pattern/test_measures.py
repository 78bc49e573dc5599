"""measure_table against measures evaluated match by match."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Context, evaluate

from cepsql.errors import DataError, NotSupportedError
from cepsql.ordered.row_layout import END_OF_TIME, Column
from cepsql.pattern.aggregates import aggregate
from cepsql.pattern.ir import Variable
from cepsql.pattern.measures import measure_table
from cepsql.pattern.ordered_rows import Matches, Partitions
from cepsql.pattern.program import Aggregate, Classifier, Complete, MatchNumber, MatchProgram, Measure, Navigation
from cepsql.scalar.values import decimal_div

NAMES = ("A", "B", "C")
TYPES = {
    "v0": pa.int32(),
    "v1": pa.float64(),
    "v2": pa.string(),
    "v3": pa.decimal128(5, 2),
    "v4": pa.bool_(),
    "v5": pa.timestamp("us", "UTC"),
    "v6": pa.date32(),
    "v7": pa.float32(),
    "v8": pa.decimal128(38, 0),
    "v9": pa.binary(),
    "t": pa.int64(),
}
SAMPLES = {
    "v0": [0, 1, -3, 2**31 - 1],
    "v1": [0.0, 1.5, -2.0, math.nan, math.inf],
    "v2": ["", "b", "a", "é"],
    "v3": [Decimal("1.50"), Decimal("-2.25"), Decimal("0.01")],
    "v4": [True, False],
    "v5": [1, 10**6, -5],
    "v6": [0, 19000, -1],
    "v7": [0.5, math.nan, 3.0],
    "v8": [Decimal(10**37), Decimal(-7), Decimal(10**38 - 1)],
    "v9": [b"", b"\xff", b"a"],
    "t": [5, 7],
}
NUMBERS = ["v0", "v1", "v3", "v7", "t"]
SUM_TYPES = {
    "v0": pa.int64(),
    "v1": pa.float64(),
    "v3": pa.decimal128(15, 2),
    "v7": pa.float64(),
    "t": pa.int64(),
    "v8": pa.decimal128(38, 0),
}
AVERAGE_TYPES = {"v3": pa.decimal128(9, 6), "v8": pa.decimal128(38, 4)}

sets = st.none() | st.sets(st.integers(0, 2), min_size=1, max_size=2).map(frozenset)
rows = {"variables": sets, "first": st.booleans(), "offset": st.integers(0, 2), "shift": st.integers(-2, 2)}
sources = st.one_of(
    st.builds(Navigation, st.sampled_from([*TYPES]), **rows),
    st.builds(Classifier, **rows),
    st.builds(Aggregate, st.just("count"), st.none() | st.sampled_from([*TYPES]), sets, st.booleans()),
    st.builds(Aggregate, st.sampled_from(["sum", "avg"]), st.sampled_from(NUMBERS), sets, st.booleans()),
    st.builds(Aggregate, st.sampled_from(["min", "max"]), st.sampled_from([*TYPES]), sets, st.booleans()),
    st.sampled_from([MatchNumber(), Complete()]),
)


def make_program(*measure_sources):
    measures = tuple(Measure(f"m{i}", source) for i, source in enumerate(measure_sources))
    nothing = (None,) * len(NAMES)
    return MatchProgram(Variable("A"), NAMES, nothing, (Column("k0", "k"),), None, (), (), (), measures)


@st.composite
def cases(draw):
    random = draw(st.randoms(use_true_random=False))
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    starts = np.cumsum([0, *sizes])
    count = int(starts[-1])
    arrays = {
        name: pa.array([random.choice([None, *SAMPLES[name]]) for _ in range(count)], type)
        for name, type in TYPES.items()
    }
    keys = [f"k{p}" if p else None for p, size in enumerate(sizes) for _ in range(size)]
    ends = np.array([random.randint(s, s + size) for s, size in zip(starts.tolist(), sizes, strict=False)], np.int64)
    table = pa.table({"k0": pa.array(keys, pa.string()), **arrays})
    partitions = Partitions(table, starts, starts[:-1], ends, np.zeros(len(sizes), np.int64), END_OF_TIME)
    drawn = []
    for p, (begin, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=False)):
        for number, start in enumerate(range(begin, end), 1):
            if random.random() < 0.6:
                labels = [random.randrange(3) for _ in range(random.randint(0, end - start))]
                drawn.append((p, start, len(labels), number, random.random() < 0.8, labels))
    columns = list(zip(*drawn, strict=True)) or [()] * 6
    arrays = [np.array(column, np.int64) for column in columns[:4]]
    labels = np.array([label for labels in columns[5] for label in labels], np.int64)
    return partitions, Matches(*arrays, np.array(columns[4], bool), labels), columns[5]


def expected(source, program, partitions, matches, labels, i):
    p = matches.partition[i]
    begin, end = int(partitions.starts[p]), int(partitions.ends[p])
    rows = partitions.rows.slice(begin, end - begin).to_pylist()
    context = Context(program, rows, int(matches.start[i]) - begin, tuple(labels[i]), int(matches.number[i]))
    if isinstance(source, Complete):
        return bool(matches.complete[i])
    if isinstance(source, Aggregate) and source.function == "avg" and source.column in AVERAGE_TYPES:
        total, count = (
            evaluate(Aggregate(f, source.column, source.variables, source.distinct), context) for f in ("sum", "count")
        )
        type = AVERAGE_TYPES[source.column]
        return None if count == 0 else decimal_div(total, Decimal(count), type.precision, type.scale)
    return evaluate(source, context)


def type_of(source):
    match source:
        case Navigation(column) | Aggregate("min" | "max", column):
            return TYPES[column]
        case Aggregate("sum", column):
            return SUM_TYPES[column]
        case Aggregate("avg", column):
            return AVERAGE_TYPES.get(column, pa.float64())
        case Classifier():
            return pa.string()
        case Complete():
            return pa.bool_()
    return pa.int64()


def comparable(value):
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@settings(max_examples=examples(23))
@given(cases(), st.lists(sources, min_size=1, max_size=5))
def test_measures_are_those_of_single_matches(case, measure_sources):
    partitions, matches, labels = case
    program = make_program(*measure_sources)
    table = measure_table(program, partitions, matches)
    assert table.column_names == ["k0", *(f"m{i}" for i in range(len(measure_sources)))]
    assert table.column("k0").to_pylist() == [None if p == 0 else f"k{p}" for p in matches.partition.tolist()]
    for i, source in enumerate(measure_sources):
        column = table.column(f"m{i}")
        assert column.type == type_of(source)
        values = [expected(source, program, partitions, matches, labels, m) for m in range(len(labels))]
        assert list(map(comparable, column.to_pylist())) == list(map(comparable, values)), source


def measure(array, function, sizes, distinct=False):
    """Aggregate the values of matches of the given sizes, all rows mapped to A."""
    starts = np.array([0, len(array)])
    partitions = Partitions(
        pa.table({"k0": [1] * len(array), "v0": array}), starts, starts[:-1], starts[1:], np.zeros(1, np.int64), 0
    )
    length = np.array(sizes)
    begin = np.cumsum(length) - length
    count, zeros = len(sizes), np.zeros(len(sizes), np.int64)
    labels = np.zeros(sum(sizes), np.int64)
    matches = Matches(zeros, begin, length, np.arange(count) + 1, np.ones(count, bool), labels)
    program = make_program(Aggregate(function, "v0", frozenset({0}), distinct))
    return measure_table(program, partitions, matches).column("m0").to_pylist()


def test_doubles_are_added_from_left_to_right():
    values = np.random.default_rng(1).random(1000) * 10.0 ** np.random.default_rng(2).integers(-9, 9, 1000)
    total, means = 0.0, []
    for value in values.tolist():
        total += value
    means.append(total / 1000)
    assert measure(pa.array(values), "sum", [1000]) == [total]
    assert measure(pa.array(values), "avg", [1000]) == means


def test_sums_beyond_their_type_wrap_around_or_are_null():
    big = [2**63 - 1, 1, 2**63 - 1, -1, -(2**63), -1]
    assert measure(pa.array(big), "sum", [2, 2, 2]) == [-(2**63), 2**63 - 2, 2**63 - 1]
    digits = pa.array([Decimal(10**38 - 1), Decimal(1), Decimal(10**38 - 1), Decimal(-1)], pa.decimal128(38, 0))
    assert measure(digits, "sum", [2, 2]) == [None, Decimal(10**38 - 2)]
    assert measure(digits, "avg", [2, 2]) == [None, None]
    places = pa.array([Decimal(10**28 - 1), Decimal(1), Decimal(1), Decimal(1)], pa.decimal128(38, 10))
    assert measure(places, "sum", [2, 2]) == [None, Decimal(2)]
    assert measure(pa.array([Decimal("0.5")] * 2, pa.decimal128(38, 38)), "sum", [1, 1]) == [Decimal("0.5")] * 2


@pytest.mark.parametrize("values", [[2**63 - 1, 1, -1], [Decimal(10**38 - 1), Decimal(1), Decimal(1)]])
def test_sums_beyond_their_type_are_errors_in_ansi_mode(values):
    column = pa.array(values, pa.decimal128(38, 0) if isinstance(values[0], Decimal) else None)
    groups = np.zeros(3, np.int64)
    with pytest.raises(DataError, match="a sum is beyond the range of its type"):
        aggregate("sum", column, groups, 1, ansi=True)
    aggregate("sum", column[1:], groups[1:], 1, ansi=True)


def test_equal_values_count_once_when_distinct():
    values = pa.array([0.0, -0.0, math.nan, -math.nan, None, 1.0])
    assert measure(values, "count", [6, 0], distinct=True) == [3, 0]
    assert measure(pa.array([2, 2, 3, 2]), "sum", [2, 2], distinct=True) == [2, 5]


def test_decimal_means_round_half_up():
    values = pa.array([Decimal("0.01")] + [Decimal("0.00")] * 2 + [Decimal("-0.05"), Decimal("0.00")] * 3)
    assert measure(values.cast(pa.decimal128(5, 2)), "avg", [3, 6]) == [Decimal("0.003333"), Decimal("-0.025000")]


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_text_has_no_sum(function):
    with pytest.raises(NotSupportedError, match="string"):
        measure(pa.array(["1"]), function, [1])


def test_try_avg_of_a_sum_beyond_its_type_is_null():
    column, groups = pa.array([Decimal("0.6")] * 2, pa.decimal128(38, 38)), np.zeros(2, np.int64)
    assert aggregate("try_avg", column, groups, 1, ansi=True).to_pylist() == [None]
    assert aggregate("try_avg", column, groups, 1, distinct=True, ansi=True).to_pylist() == [Decimal("0.6")]


@pytest.mark.parametrize(("function", "distinct"), [("count", True), ("max", False)])
def test_values_that_arrow_does_not_tell_apart_are_refused(function, distinct):
    column, groups = pa.array([[1], [1]]), np.zeros(2, np.int64)
    with pytest.raises(NotSupportedError, match="array<bigint> values of a match"):
        aggregate(function, column, groups, 1, distinct)
