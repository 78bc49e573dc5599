"""test_rows against conditions evaluated row by row."""

import math
import operator as operators
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.errors import DataError, NotSupportedError
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern import vector
from cepsql.pattern.ir import Variable
from cepsql.pattern.leaf_types import column_types, leaf_types
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Aggregate, Bit, MatchProgram, Navigation
from cepsql.scalar.arrow.column_values import plain_values
from cepsql.scalar.expressions import Call, Literal, Session, leaves
from cepsql.scalar.python import PythonSource, compile_node
from cepsql.scalar.typing import typed
from cepsql.scalar.zone import Zone

# Clocks there skip the hour from 2 to 3 on 31 March 2024, and show it twice on 27 October.
_SUMMER = 1_711_850_400_000_000, 1_729_994_400_000_000
BERLIN = Zone((_SUMMER[0] + 3_600_000_000, _SUMMER[1] + 3_600_000_000), (3_600_000_000, 7_200_000_000, 3_600_000_000))

SCHEMA = pa.schema(
    {
        "v0": pa.int64(),
        "v1": pa.float64(),
        "v2": pa.string(),
        "v3": pa.decimal128(9, 2),
        "v4": pa.bool_(),
        "v5": pa.timestamp("us", "UTC"),
        "v6": pa.int32(),
        "v7": pa.date32(),
        "v8": pa.float32(),
        "v9": pa.timestamp("us"),
        "m": pa.int64(),
    }
)
SAMPLES = {
    "v0": [0, 1, -3, 7, 2**62, -(2**63)],
    "v1": [0.0, -0.0, 1.5, -2.0, math.nan, math.inf, -math.inf, 1e300],
    "v2": ["", "a", "b", "ab", "é", "\U00010000", "\uffff"],
    "v3": [Decimal("0.00"), Decimal("1.50"), Decimal("-2.25"), Decimal("9999999.99")],
    "v4": [True, False],
    "v5": [0, 10**6, -5, *(1_711_846_800_000_000 + k * 600_000_000 for k in range(-9, 9))],
    "v6": [0, 2**31 - 1, -(2**31), 5],
    "v7": [0, 1, -1, 19_813],
    "v8": [0.0, 0.5, math.nan, 3.0],
    "v9": [0, -7, *(1_711_850_400_000_000 + k * 600_000_000 for k in range(-9, 9))],
}
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "nseq"]


def navigation(*columns):
    return st.builds(Navigation, st.sampled_from(columns), shift=st.sampled_from([0, 0, 0, -1, -2, 1, 2]))


def call(operations, *arguments):
    return st.builds(lambda o, a: Call(o, a), st.sampled_from(operations), st.tuples(*arguments))


def cast(target, argument):
    return st.builds(lambda a: Call("cast", (a,), target), argument)


integers = st.deferred(
    lambda: (
        navigation("v0", "v6")
        | st.sampled_from([0, 1, -2, 5, 2**40, None]).map(Literal)
        | call(["add", "sub", "mul", "mod", "coalesce", "greatest", "least"], integers, integers)
        | call(["neg", "abs"], integers)
        | call(["case"], booleans, integers, booleans, integers, integers)
        | call(["case"], booleans, integers, integers)
        | cast("smallint", doubles)
        | cast("bigint", doubles)
        | cast("int", booleans)
    )
)
doubles = st.deferred(
    lambda: (
        navigation("v1", "v8")
        | st.sampled_from([0.0, 2.0, -1.5, math.nan, None]).map(Literal)
        | call(["add", "sub", "mul", "div", "mod", "coalesce", "greatest", "least"], doubles, doubles | integers)
        | call(["div"], integers, integers)
        | call(["neg", "abs"], doubles)
        | call(["case"], booleans, doubles, doubles)
        | cast("float", integers)
        | cast("double", integers)
    )
)
strings = navigation("v2") | st.sampled_from(["a", "ab", "é", None]).map(Literal)
decimals = st.deferred(
    lambda: (
        navigation("v3")
        | st.sampled_from([Decimal("1.5"), Decimal(0), None]).map(Literal)
        | call(["add", "mul", "div"], decimals, decimals)
    )
)
days = navigation("v7") | call(["add", "sub"], navigation("v7"), st.integers(-3, 3).map(Literal))
times = navigation("v5", "v9") | cast("timestamp", days) | cast("timestamp_ntz", navigation("v5"))
intervals = call(["sub"], navigation("v5", "v9"), times) | call(["sub"], navigation("v7"), navigation("v7"))
booleans = st.deferred(
    lambda: (
        navigation("v4")
        | st.builds(Bit, st.integers(0, 2))
        | st.sampled_from([True, False, None]).map(Literal)
        | st.one_of(
            *(
                call(COMPARISONS, kind, kind)
                for kind in (integers, doubles, strings, decimals, booleans, days, times, intervals)
            )
        )
        | call(COMPARISONS, integers, doubles)
        | call(COMPARISONS, days, times)
        | call(["in"], integers, integers, integers)
        | call(["and", "or"], booleans, booleans)
        | call(["and", "or"], booleans, booleans, booleans)
        | call(["not"], booleans)
        | call(["isnull"], integers | strings | decimals | doubles | booleans)
        | call(["coalesce"], booleans, booleans)
        | call(["case"], booleans, booleans, booleans)
    )
)


@st.composite
def rows(draw):
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    starts = np.cumsum([0, *sizes])
    count = int(starts[-1])
    random = draw(st.randoms(use_true_random=False))
    arrays = {
        name: pa.array([random.choice([None, *values]) for _ in range(count)], SCHEMA.field(name).type)
        for name, values in SAMPLES.items()
    }
    table = pa.table({**arrays, "m": pa.array([random.randrange(8) for _ in range(count)], pa.int64())})
    ends = np.array([draw(st.integers(s, e)) for s, e in pairwise(starts)], np.int64)
    bound = draw(st.sampled_from([0, END_OF_TIME]))
    return Partitions(table, starts, starts[:-1], ends, np.zeros(len(sizes), np.int64), bound)


def make_program(*conditions, session=None):
    names = tuple(f"V{i}" for i in range(len(conditions)))
    return MatchProgram(Variable("V0"), names, conditions, (), None, (), (), (), (), session=session or Session())


def compile_condition(condition, table, session):
    """Return a function (row, first row, one past the last, what the rows from there on would have) -> is it true."""
    columns = plain_values(table, table.column_names)

    def value(column, shift, row, low, high, unread):
        place = row + shift
        if place < low:
            return None
        return columns[column][place] if place < high else unread.get((column, place))

    def read(source, node):
        leaf = node.leaf
        if isinstance(leaf, Bit):
            return f"columns['m'][row] >> {leaf.index} & 1 == 1"
        return f"value({leaf.column!r}, {leaf.shift}, row, low, high, unread)"

    source = PythonSource(read, session)
    types = leaf_types(dict(column_types(make_program(condition, session=session), table.schema)))
    result = compile_node(typed(condition, types, session), source)
    scope = {**source.globals, "columns": columns, "value": value}
    exec("\n".join(["def test(row, low, high, unread):", *source.lines, f"    return {result} is True"]), scope)
    return scope["test"]


@settings(max_examples=examples(15))
@given(
    st.lists(booleans, min_size=1, max_size=3),
    rows(),
    st.sampled_from([Session(), Session(zone=BERLIN), Session(ansi=True)]),
    st.randoms(use_true_random=False),
)
def test_verdicts_are_those_of_single_rows(conditions, partitions, session, random):
    try:
        tests = vector.test_rows(make_program(*conditions, session=session), partitions)
    except DataError:
        assert session.ansi
        return
    ahead = any(isinstance(leaf, Navigation) and leaf.shift > 0 for c in conditions for leaf in leaves(c))
    guessed = ahead and partitions.bound < END_OF_TIME
    holds = [compile_condition(condition, partitions.rows, session) for condition in conditions]
    assert (tests.unknown is not None) == guessed

    def verdicts_of(hold, row, low, high, futures):
        for unread in futures:
            try:
                yield hold(row, low, high, unread)
            except DataError:
                # Rows that may never come must not fail a query; those that are there must.
                assert guessed and session.ansi

    for p, (low, high) in enumerate(zip(partitions.starts.tolist(), partitions.ends.tolist(), strict=False)):
        for row in range(low, high):
            for v in range(len(conditions)):
                unknown = tests.unknown is not None and tests.unknown[v, row]
                beyond = [(c, i) for c in SAMPLES for i in range(high, high + 3)]
                futures = [{}]
                if partitions.bound < END_OF_TIME:
                    futures += [{key: random.choice([None, *SAMPLES[key[0]]]) for key in beyond} for _ in range(5)]
                verdicts = set(verdicts_of(holds[v], row, low, high, futures))
                assert unknown or verdicts <= {bool(tests.holds[v, row])}, (p, row, v)
                assert not (unknown and tests.holds[v, row])


def order(value):
    """Order values so that NaN equals itself and is above all else."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v3", "v4", "v7", "v8"])
@pytest.mark.parametrize("operation", COMPARISONS)
def test_every_pair_of_values_compares_as_it_should(name, operation):
    pairs = [(a, b) for a in [None, *SAMPLES[name]] for b in [None, *SAMPLES[name]]]
    left, right = (pa.array(values, SCHEMA.field(name).type) for values in zip(*pairs, strict=True))
    starts = np.array([0, len(pairs)])
    table = pa.table({"v0": left, "v1": right})
    partitions = Partitions(table, starts, starts[:-1], starts[1:], np.zeros(1, np.int64), END_OF_TIME)
    condition = Call(operation, (Navigation("v0"), Navigation("v1")))
    function = {"nseq": "eq"}.get(operation, operation)
    expected = [
        (a is b and operation == "nseq") if a is None or b is None else getattr(operators, function)(order(a), order(b))
        for a, b in pairs
    ]
    tests = vector.test_rows(make_program(condition, Call("not", (condition,))), partitions)
    assert tests.holds[0].tolist() == expected
    decided = [operation == "nseq" or (a is not None and b is not None) for a, b in pairs]
    assert tests.holds[1].tolist() == [d and not e for d, e in zip(decided, expected, strict=True)]


def test_a_decided_side_makes_the_unknown_one_irrelevant():
    starts = np.array([0, 3])
    table = pa.table({"v0": pa.array([1, 2, 3])})
    partitions = Partitions(table, starts, starts[:-1], starts[1:], np.zeros(1, np.int64), 0)
    now, following = Navigation("v0"), Navigation("v0", shift=1)
    rising = Call("gt", (following, now))
    large, small = Call("gt", (now, Literal(2))), Call("lt", (now, Literal(0)))
    conditions = [Call(o, (rising, other)) for o in ("and", "or") for other in (large, small)]
    tests = vector.test_rows(make_program(*conditions, rising), partitions)
    assert tests.unknown[:, 2].tolist() == [True, False, False, True, True]
    assert tests.holds[:, 2].tolist() == [False, False, True, False, False]
    assert tests.holds[:, 1].tolist() == [False, False, True, True, True]


def test_parts_that_read_the_match_so_far_are_left_out():
    starts = np.array([0, 2])
    table = pa.table({"v0": pa.array([1, 2])})
    partitions = Partitions(table, starts, starts[:-1], starts[1:], np.zeros(1, np.int64), END_OF_TIME)
    so_far = Call("gt", (Aggregate("sum", "v0"), Literal(5)))
    row_only = Call("eq", (Navigation("v0"), Literal(2)))
    program = make_program(Call("and", (so_far, row_only)), so_far, None)
    assert vector.test_rows(program, partitions).holds.tolist() == [[False, True], [True, True], [True, True]]


def test_what_nothing_can_evaluate_is_refused():
    starts = np.array([0, 1])
    partitions = Partitions(pa.table({"v0": [1]}), starts, starts[:-1], starts[1:], np.zeros(1, np.int64), 0)
    condition = Call("eq", (Call("soundex", (Navigation("v0"),)), Literal(1.0)))
    with pytest.raises(NotSupportedError, match="soundex"):
        vector.test_rows(make_program(condition), partitions)
