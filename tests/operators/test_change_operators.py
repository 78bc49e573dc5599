"""Operators over changes: whoever applies the changes of each micro-batch has what the SQL gives over the tables."""

import statistics
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from chance import examples
from change_streams import Running, applied, canonical, changes, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.errors import OperationalError
from cepsql.operators.changing.change_rows import IDENTITY, KIND, equal_values, identities
from cepsql.operators.changing.partial_groups import PartialGroups
from cepsql.operators.changing.retracting_groups import GroupCall, RetractingGroupsOperator
from cepsql.operators.changing.upserts import GONE, UpsertsOperator
from cepsql.operators.pairing.interval_join import JoinKind
from cepsql.operators.pairing.pair_condition import PairColumn, PairCondition
from cepsql.operators.pairing.table_join import TableJoinOperator
from cepsql.ordered.operator import Change
from cepsql.ordered.row_layout import BEGINNING, Column, OrderColumn, RowLayout
from cepsql.scalar.expressions import Call, Session
from cepsql.scalar.statistics import STATISTICS as SPARK_STATISTICS
from cepsql.scalar.types import BIGINT
from cepsql.scalar.typing import typed

ROW = pa.schema(
    [("k0", pa.string()), ("t", pa.int64()), ("o0", pa.int64()), ("v0", pa.int64()), ("v1", pa.float64()),
     (GONE, pa.bool_())]
)  # fmt: skip
UPSERTS = RowLayout(
    (Column("k0", "k"),), Column("t", "ts"), (OrderColumn("o0", "place"),),
    (Column("v0", "a"), Column("v1", "x"), Column(GONE, "gone")),
)  # fmt: skip
NUMBERS = st.sampled_from([None, 0, 1, 2, -(2**62)])
FLOATS = st.sampled_from([None, -0.0, 0.0, 1.5, 1e300, float("nan")])


@st.composite
def upserts(draw, times):
    """Draw micro-batches of rows that set and delete keys, in the order `o0`."""
    place, batches = 0, []
    for _ in range(draw(st.integers(1, 5))):
        rows = []
        for _ in range(draw(st.integers(0, 5))):
            place += 1
            row = {"k0": draw(st.sampled_from("abc")), "t": draw(times), "o0": place}
            rows.append(
                row | {"v0": draw(NUMBERS), "v1": draw(FLOATS), GONE: draw(st.sampled_from([None, False, True]))}
            )
        batches.append(rows)
    return batches


def contents(rows) -> dict:
    """Return the last row of each key that is not deleted, by a plain loop."""
    table: dict = {}
    for row in sorted(rows, key=lambda row: (row["t"], row["o0"])):
        table[row["k0"]] = row
    return {key: row for key, row in table.items() if not row[GONE]}


@settings(max_examples=examples(15))
@given(upserts(st.integers(0, 8)))
def test_any_order_within_the_delay_makes_the_same_table(batches):
    running, seen, table, names = (
        Running(UpsertsOperator(UPSERTS, True), ROW, delay=8),
        [],
        Counter(),
        ("k0", "v0", "v1"),
    )
    for rows in batches:
        seen += rows
        before = Counter(table)
        changes = running.take(rows)
        applied(table, changes, names)
        assert table == table_of(contents(seen).values(), names)
        # Nothing comes out that changes nothing, zeros apart.
        assert not changes or before != table


@settings(max_examples=examples(10))
@given(upserts(st.just(0)))
def test_without_event_time_the_later_batch_counts(batches):
    running, seen, table = Running(UpsertsOperator(UPSERTS, False), ROW), [], Counter()
    for rows in batches:
        seen += rows
        applied(table, running.take(rows), ("k0", "v0", "v1"))
        assert table == table_of(contents(seen).values(), ("k0", "v0", "v1"))
    assert running.counts["outdated"] == 0


@settings(max_examples=examples(15))
@given(upserts(st.integers(0, 30)), st.integers(0, 6))
def test_what_is_older_than_the_watermark_never_brings_a_deleted_row_back(batches, delay):
    running, table, outdated = Running(UpsertsOperator(UPSERTS, True), ROW, delay=delay), Counter(), 0
    last_rows: dict = {}
    bound = BEGINNING
    for rows in batches:
        least = {row["k0"]: last_rows.get(row["k0"], {"t": bound})["t"] for row in rows}
        outdated += sum(row["t"] < least[row["k0"]] for row in rows)
        for row in sorted(rows, key=lambda row: (row["t"], row["o0"])):
            if row["t"] >= least[row["k0"]]:
                last_rows[row["k0"]] = row
        bound = max([bound, *(row["t"] - delay for row in rows)])
        last_rows = {key: row for key, row in last_rows.items() if not row[GONE] or row["t"] >= bound}
        applied(table, running.take(rows), ("k0", "v0", "v1"))
        live = [row for row in last_rows.values() if not row[GONE]]
        assert table == table_of(live, ("k0", "v0", "v1"))
    assert running.counts["outdated"] == outdated


CHANGES = pa.schema(
    [("k0", pa.string()), ("t", pa.int64()), ("v0", pa.int64()), ("v1", pa.float64()), ("v2", pa.decimal128(10, 2)),
     (KIND, pa.int8())]
)  # fmt: skip
GROUPS = RowLayout((Column("k0", "g"),), Column("t", "0"), (), tuple(Column(name, name) for name in CHANGES.names[2:]))
WHOLE = RowLayout((), GROUPS.time, (), GROUPS.values)
CALLS = (
    GroupCall("n", "count", "v0"), GroupCall("d", "count", "v1", distinct=True), GroupCall("s", "sum", "v2"),
    GroupCall("m", "avg", "v2"), GroupCall("low", "min", "v0"), GroupCall("high", "max", "v1"),
    GroupCall("f", "sum", "v1"), GroupCall("e", "sum", "v2", distinct=True),
    GroupCall("list", "list", "v2"), GroupCall("set", "list", "v0", distinct=True), GroupCall("mode", "mode", "v0"),
)  # fmt: skip
TYPES = (
    pa.int64(), pa.int64(), pa.decimal128(20, 2), pa.decimal128(14, 6), pa.int64(), pa.float64(), pa.float64(),
    pa.decimal128(20, 2), pa.list_(pa.decimal128(10, 2)), pa.list_(pa.int64()), pa.int64(),
)  # fmt: skip


def group_values(rows) -> tuple:
    def not_null(name):
        return [row[name] for row in rows if row[name] is not None]

    low, floats, exact = not_null("v0"), not_null("v1"), not_null("v2")
    least = sorted(floats, key=lambda x: (x != x, x))
    return (
        len(low), len({canonical(x) for x in floats}), sum(exact, Decimal(0)) if exact else None,
        sum(exact, Decimal(0)) / len(exact) if exact else None, min(low, default=None),
        canonical(least[-1]) if least else None, canonical(sum(floats)) if floats else None,
        sum(set(exact), Decimal(0)) if exact else None, sorted(exact), sorted(set(low)),
        min(low, key=lambda x: (-low.count(x), x), default=None),
    )  # fmt: skip


@settings(max_examples=examples(15))
@given(
    changes(
        {
            "k0": st.sampled_from(["a", "b", None]), "t": st.just(0), "v0": NUMBERS,
            "v1": st.sampled_from([None, -0.0, 0.0, 1.5, 2.25, float("nan")]),
            "v2": st.sampled_from([None, Decimal("0.01"), Decimal("-99999999.99"), Decimal("3.50")]),
        }
    ),
    st.booleans(),
)  # fmt: skip
def test_groups_are_those_of_the_rows_that_are_there(batches, keyed):
    layout = GROUPS if keyed else WHOLE
    schema = CHANGES if keyed else pa.schema([field for field in CHANGES if field.name != "k0"])
    running, groups = Running(RetractingGroupsOperator(layout, CALLS, TYPES), schema), {}
    for batch, there in batches:
        for kind, row in running.take([{n: row[n] for n in schema.names} for row in batch]):
            key = row.get("k0")
            values = tuple(canonical(row[call.name]) for call in CALLS)
            if kind in (Change.DELETE, Change.UPDATE_BEFORE):
                assert groups.pop(key) == values
            else:
                assert key not in groups
                groups[key] = values
        wanted = defaultdict(list)
        for row in there:
            wanted[row["k0"] if keyed else None].append(row)
        groups_by_hand = {key: group_values(rows) for key, rows in wanted.items()}
        if not keyed and not groups_by_hand:
            # Without keys the group is there before its first row.
            groups_by_hand = {None: group_values([])}
        assert {k: rounded(v) for k, v in groups.items()} == {k: rounded(v) for k, v in groups_by_hand.items()}


@settings(max_examples=examples(20))
@given(
    changes(
        {
            "k0": st.sampled_from(["a", "b", None]), "t": st.just(0), "v0": NUMBERS, "v1": st.none(),
            "v2": st.sampled_from([None, Decimal("0.01"), Decimal("-99999999.99"), Decimal("3.50")]),
        }
    ),
    st.booleans(),
)  # fmt: skip
def test_totals_are_the_same_of_rows_that_are_added_up_before(batches, keyed):
    layout = GROUPS if keyed else WHOLE
    calls, types = CALLS[:1] + CALLS[2:4], TYPES[:1] + TYPES[2:4]
    reduction = PartialGroups((("v0", pa.int64()), ("v2", pa.decimal128(10, 2))), frozenset({"v2"}))
    schema = CHANGES if keyed else pa.schema([field for field in CHANGES if field.name != "k0"])
    plain = Running(RetractingGroupsOperator(layout, calls, types), schema)
    summed = Running(RetractingGroupsOperator(replace(layout, reduction=reduction, joins=True), calls, types), schema)
    for batch, _ in batches:
        rows = [{name: row[name] for name in schema.names} for row in batch]
        assert in_order(summed.take(rows)) == in_order(plain.take(rows))


def in_order(changes):
    return sorted(changes, key=lambda change: (change[1][IDENTITY], change[0]))


STATISTICS = {
    "var_samp": statistics.variance, "var_pop": statistics.pvariance, "stddev_samp": statistics.stdev,
    "stddev_pop": statistics.pstdev, "percentile": statistics.median,
}  # fmt: skip


@pytest.mark.parametrize("function", STATISTICS)
def test_statistics_of_values_that_come_and_go(function):
    call = GroupCall("x", function, "v1", fraction=0.5 if function == "percentile" else None)
    running, there, group = Running(RetractingGroupsOperator(GROUPS, (call,), (pa.float64(),)), CHANGES), [], None
    for sign, value in [(1, 1.5), (1, None), (1, 4.0), (1, 4.0), (1, 2.0), (1, -8.5), (-1, 4.0), (-1, 1.5), (-1, 2.0)]:
        kind = Change.INSERT if sign > 0 else Change.DELETE
        row = dict.fromkeys(CHANGES.names) | {"k0": "a", "t": 0, "v1": value, KIND: kind}
        for change, output in running.take([row]):
            group = group if change == Change.UPDATE_BEFORE else output["x"]
        if value is not None:
            there.append(value) if sign > 0 else there.remove(value)
        wanted = STATISTICS[function](there) if len(there) > function.endswith("samp") else None
        assert group == (None if wanted is None else pytest.approx(wanted))


def test_nested_times_that_python_does_not_have_tell_rows_apart():
    days = pa.array([[9_000_000], [1], None, [9_000_001]], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
    ids = identities([days], 4).to_pylist()
    assert len(set(ids)) == 4
    assert identities([days.slice(1, 1)], 1).to_pylist() == ids[1:2]


def test_a_column_that_is_always_null_never_changes():
    nothing = pa.nulls(2)
    assert equal_values(nothing, nothing).tolist() == [True, True]


def test_different_values_have_one_zero():
    call = GroupCall("set", "list", "v1", distinct=True)
    running = Running(RetractingGroupsOperator(GROUPS, (call,), (pa.list_(pa.float64()),)), CHANGES)
    row = dict.fromkeys(CHANGES.names) | {"k0": "a", "t": 0, KIND: Change.INSERT}
    ((_, output),) = running.take([row | {"v1": -0.0}])
    assert repr(output["set"]) == "[0.0]"


def test_percentiles_are_rounded_as_those_of_a_match():
    values, fraction = [1.49, 4.01, -3.87], 0.47
    call = GroupCall("x", "percentile", "v1", fraction=fraction)
    running = Running(RetractingGroupsOperator(GROUPS, (call,), (pa.float64(),)), CHANGES)
    rows = [dict.fromkeys(CHANGES.names) | {"k0": "a", "t": 0, "v1": one, KIND: Change.INSERT} for one in values]
    ((_, output),) = running.take(rows)
    assert output["x"] == SPARK_STATISTICS["percentile"](values, fraction) == 1.1684


@settings(max_examples=examples(8))
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("ab"), NUMBERS, st.sampled_from([None, -0.0, 1.5, float("nan")])), max_size=5
        ),
        min_size=1,
        max_size=5,
    )
)
def test_groups_of_rows_that_stay_need_no_values(batches):
    calls = (*(GroupCall(name, name, "v0") for name in ("min", "max")), GroupCall("mean", "avg", "v1"))
    types = (pa.int64(), pa.int64(), pa.float64())
    whole, short = (Running(RetractingGroupsOperator(GROUPS, calls, types, keeps), CHANGES) for keeps in (True, False))
    for batch in batches:
        rows = [
            dict.fromkeys(CHANGES.names) | {"k0": k, "t": 0, "v0": n, "v1": x, KIND: Change.INSERT} for k, n, x in batch
        ]
        assert repr(canonical_rows(short.take(rows))) == repr(canonical_rows(whole.take(rows)))
    values = short.remembered("values v0")
    assert values is None or values.num_rows <= 4


def canonical_rows(changes):
    return [(kind, {name: canonical(value) for name, value in row.items()}) for kind, row in changes]


def rounded(values: tuple) -> tuple:
    mean = values[3]
    return (*values[:3], None if mean is None else round(mean, 5), *values[4:])


def test_a_sum_that_outgrows_its_type_is_an_error():
    running = Running(RetractingGroupsOperator(GROUPS, (GroupCall("s", "sum", "v0"),), (pa.int64(),)), CHANGES)
    row = dict.fromkeys(CHANGES.names) | {"k0": "a", "t": 0, "v0": 2**62, KIND: Change.INSERT}
    assert running.take([row])[0][1]["s"] == 2**62
    with pytest.raises(OperationalError, match="outgrows its type BIGINT"):
        running.take([row])


SIDE = pa.schema(
    [("k0", pa.string()), ("t", pa.int64()), ("v0", pa.int64()), (IDENTITY, pa.string()), (KIND, pa.int8())]
)  # fmt: skip
SIDE_LAYOUT = RowLayout(
    GROUPS.keys, GROUPS.time, (), tuple(Column(name, name) for name in SIDE.names[2:])
)  # fmt: skip
COLUMN = pa.schema([("v0", pa.int64())])
SIDE_ROWS = {
    "k0": st.sampled_from(["a", "b", None]), "t": st.just(0), "v0": st.sampled_from([None, 1, 2]),
    IDENTITY: st.sampled_from("pqr"),
}  # fmt: skip


def joined(left, right, kind, less=False, null_safe=False) -> list[tuple]:
    """Return the rows of a join, by a plain loop; `less`: of pairs whose left value is less than the right one."""

    def meet(row, other):
        if row["k0"] != other["k0"] or (row["k0"] is None and not null_safe):
            return False
        return not less or (None not in (row["v0"], other["v0"]) and row["v0"] < other["v0"])

    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        wanted = kind == JoinKind.SEMI
        return [(row["v0"],) for row in left if any(meet(row, other) for other in right) == wanted]
    pairs = [(row["v0"], other["v0"]) for row in left for other in right if meet(row, other)]
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        pairs += [(row["v0"], None) for row in left if not any(meet(row, other) for other in right)]
    if kind == JoinKind.FULL:
        pairs += [(None, row["v0"]) for row in right if not any(meet(other, row) for other in left)]
    return pairs


SESSION = Session(ansi=True)
COLUMNS_OF_PAIRS = [PairColumn(side, "c") for side in range(2)]
LESS = PairCondition(typed(Call("lt", tuple(COLUMNS_OF_PAIRS)), lambda _: BIGINT, SESSION), SESSION)
ASKED = pa.schema([("c", pa.int64())])


@settings(max_examples=examples(23))
@given(changes(SIDE_ROWS), changes(SIDE_ROWS), st.sampled_from(list(JoinKind)), st.booleans(), st.booleans())
def test_joins_are_those_of_the_rows_that_are_there(lefts, rights, kind, less, null_safe):
    side, layout, further, keys = SIDE, SIDE_LAYOUT, {}, {"null_safe": frozenset({0} if null_safe else ())}
    if less:
        # What the condition reads travels beside what comes out.
        side = SIDE.append(pa.field("c", pa.int64()))
        layout = RowLayout(GROUPS.keys, GROUPS.time, (), (*SIDE_LAYOUT.values, Column("c", "c")))
        further = {"condition": LESS, "asked": (ASKED, ASKED)}
    running = Running(TableJoinOperator(layout, layout, kind, (COLUMN, COLUMN), **further, **keys), side, side)
    names = ("l_v0",) if kind in (JoinKind.SEMI, JoinKind.ANTI) else ("l_v0", "r_v0")
    table: Counter = Counter()
    there: list[list[dict]] = [[], []]
    for number in range(max(len(lefts), len(rights))):
        batch_of_sides = []
        for side, batches in enumerate((lefts, rights)):
            batch, there[side] = batches[number] if number < len(batches) else ((), there[side])
            batch_of_sides.append([row | {"c": row["v0"]} if less else row for row in batch])
        applied(table, running.take(*batch_of_sides), names)
        assert table == Counter(tuple(map(repr, row)) for row in joined(*there, kind, less, null_safe))
