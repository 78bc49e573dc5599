"""Rows that leave by time are, after each micro-batch, those whose time it is among the rows that are there."""

from collections import Counter

import pyarrow as pa
from chance import examples
from change_streams import GONE_KINDS, Running, applied, changes, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.operators.changing.change_rows import IDENTITY, KIND
from cepsql.operators.changing.temporal_filter import ENTER, EXPIRED, LEAVE, TemporalFilterOperator
from cepsql.ordered.operator import Change
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import END_OF_TIME, Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance

SCHEMA = pa.schema(
    [
        ("k0", pa.string()),
        ("t", pa.int64()),
        ("v0", pa.string()),
        (ENTER, pa.int64()),
        (LEAVE, pa.int64()),
        (KIND, pa.int8()),
    ]
)
ROWS = {
    "k0": st.sampled_from("pqr"), "t": st.integers(0, 20), "v0": st.sampled_from([None, "x"]),
    ENTER: st.integers(0, 25), LEAVE: st.integers(0, 25),
}  # fmt: skip
NAMES = ("k0", "v0")


def operator(enters: bool, leaves: bool, retracting: bool, limit: int | None) -> TemporalFilterOperator:
    names = ["v0", *[ENTER] * enters, *[LEAVE] * leaves, *[KIND] * retracting]
    layout = RowLayout((Column("k0", "k"),), Column("t", "t"), values=tuple(Column(name, name) for name in names))
    return TemporalFilterOperator(layout, retracting, limit)


def by_hand(rows, enters: bool, leaves: bool, now: int) -> Counter:
    there = [row for row in rows if (not enters or row[ENTER] <= now) and (not leaves or now < row[LEAVE])]
    return table_of(there, NAMES)


def given_out(taken):
    return [(kind, row | {"k0": row[IDENTITY]}) for kind, row in taken]


@settings(max_examples=examples(150))
@given(changes(ROWS), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([None, 1, 2]))
def test_rows_are_there_while_their_time_lasts(batches, enters, leaves, retracting, limit):
    schema = pa.schema([f for f in SCHEMA if f.name not in [ENTER] * (not enters) + [LEAVE] * (not leaves)])
    if not retracting:
        schema = pa.schema([f for f in schema if f.name != KIND])
    running, table, there, now = Running(operator(enters, leaves, retracting, limit), schema), Counter(), [], -1
    for batch, remaining in batches:
        came = batch if retracting else [row for row in batch if row[KIND] not in GONE_KINDS]
        there = remaining if retracting else [*there, *came]
        now = max([now, *(row["t"] for row in came)])
        before = running.counts[EXPIRED]
        applied(table, given_out(running.take([{f: row[f] for f in schema.names} for row in came])), NAMES)
        assert limit is None or running.counts[EXPIRED] - before <= limit
        while limit is not None and (more := running.take([])):
            assert len(more) <= limit
            applied(table, given_out(more), NAMES)
        assert table == by_hand(there, enters, leaves, now)


def test_what_is_over_is_not_remembered():
    running = Running(operator(True, True, True, None), SCHEMA)
    row = {"k0": "p", "v0": "x", ENTER: 2, LEAVE: 5, KIND: Change.INSERT}
    assert running.take([row | {"t": 1}]) == []
    remembered = len(running.state)
    assert [kind for kind, _ in running.take([row | {"t": 5, "k0": "q", LEAVE: 6}])] == [Change.INSERT]
    assert [kind for kind, _ in running.take([row | {"t": 6, LEAVE: 0}])] == [Change.DELETE]
    assert len(running.state) < remembered
    assert running.take([row | {"t": 6, KIND: Change.DELETE}]) == []


def test_the_end_of_the_input_is_no_time():
    stage = Stage(operator(False, True, True, None), (StageInput(0),), "", 10**15, endless=True)
    schema = pa.schema([*(f for f in SCHEMA if f.name != ENTER), ("bucket", pa.int32())])
    row = {"k0": "p", "v0": "x", LEAVE: 50, KIND: 0, "bucket": 0}
    rows = [row | {"t": 40}, row | {"k0": "q", "t": 60, LEAVE: 70}, row | {"t": END_OF_TIME}]
    packed = pack(iter([pa.RecordBatch.from_pylist(rows, schema=schema)]), 1)
    advanced = advance(stage, None, [packet["packet"] for made in packed for packet in made.to_pylist()])
    assert (advanced.bound, advanced.output[IDENTITY].to_pylist()) == (60, ["q"])
    after = advance(stage, advanced.state, [])
    assert (after.bound, after.output.num_rows) == (60, 0)


def test_clocks_of_other_inputs_do_not_count():
    stage = Stage(
        operator(False, True, True, None), (StageInput(0, untimed=True), StageInput(0, chained=True)), "", 10**15
    )
    schema = pa.schema([*(f for f in SCHEMA if f.name != ENTER), ("bucket", pa.int32())])
    row = {"k0": "p", "v0": "x", LEAVE: 50, KIND: 0, "bucket": 0, "t": 0}

    def packets(number, rows, schema=schema):
        packed = pack(iter([pa.RecordBatch.from_pylist(rows, schema=schema)]), 1, number)
        return [packet["packet"] for made in packed for packet in made.to_pylist()]

    first = advance(stage, None, packets(0, [row]))
    assert first.output.num_rows == 1
    marked = schema.append(pa.field("bound", pa.int64()))
    ticked = advance(stage, first.state, packets(1, [row | {"bound": 50, "k0": None}], marked))
    assert (ticked.bound, ticked.output.num_rows) == (50, 1)
