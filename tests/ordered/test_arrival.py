"""Rows of one time come in the order of their source, whatever tasks and micro-batches they came in."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import PassOn

from cepsql.ordered.arrival import ORIGIN, ORIGIN_TYPE, PLACE, Origin, OriginRun, origin_column, partition_part
from cepsql.ordered.operator import NEVER, Keep, Step
from cepsql.ordered.packet import open_packet, pack
from cepsql.ordered.row_layout import END_OF_TIME, Column, OrderColumn, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.ordered.state import decode

LAYOUT = RowLayout((Column("k0", ""),), Column("t", ""), values=(Column("v0", ""),), by_arrival=True)
SCHEMA = pa.schema([("k0", pa.string()), ("t", pa.int64()), ("v0", pa.int64()), ("bucket", pa.int32())])
ORIGINS = [Origin(5, "b", 0), Origin(5, "b", 7), Origin(5, "a", 0), Origin(4, "c", 0), None]
DELAY = 3


@dataclass(frozen=True)
class InOrder(PassOn):
    """Gives out the rows of each key in the end, and keeps them until then."""

    sides = (LAYOUT,)

    def deadlines(self, held, side):
        return np.full(len(held.pending), END_OF_TIME if held.rows.num_rows else NEVER)

    def advance(self, rows, sections, old, new):
        (ordered,) = rows
        if ordered is None or new == END_OF_TIME:
            return Step(pa.table({}) if ordered is None else ordered.rows, [None])
        return Step(pa.table({}), [Keep(ordered.starts[:-1])])


@dataclass(frozen=True)
class Passing(PassOn):
    """Gives out rows as soon as they are released."""

    layout: RowLayout = LAYOUT

    @property
    def sides(self):
        return (self.layout,)


@st.composite
def files(draw):
    """Draw the rows of the files of two inputs: (input, origin, rows), with many equal times."""
    rows = st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 2), st.integers(0, 3)), max_size=6)
    pairs = [(input, origin) for input in range(2) for origin in ORIGINS]
    return [(*pair, draw(rows)) for pair in draw(st.permutations(pairs))]


def batch(origin: Origin | None, rows: list[tuple], encoded: bool, places: range | None = None) -> pa.RecordBatch:
    columns = [pa.array([row[i] for row in rows], SCHEMA.field(i).type) for i in range(3)]
    made = pa.RecordBatch.from_arrays([*columns, pa.array([0] * len(rows), pa.int32())], schema=SCHEMA)
    if encoded:
        made = made.append_column(ORIGIN, origin_column(origin, len(rows)))
    else:
        value = None if origin is None else origin._asdict()
        made = made.append_column(ORIGIN, pa.array([value] * len(rows), ORIGIN_TYPE))
    return made if places is None else made.append_column(PLACE, pa.array(list(places), pa.int64()))


def run(stage: Stage, tasks: list[list[tuple[int, list[pa.RecordBatch]]]], piece_rows: int = 4) -> list[dict]:
    """Run micro-batches of tasks, then end the input; return all that came out."""
    output, state = [], None
    sign = pa.RecordBatch.from_pylist([{"t": END_OF_TIME, "bucket": 0}], schema=SCHEMA)
    ends = [(0, [sign])]
    for came in [*tasks, ends]:
        packets = [
            packet
            for input, batches in came
            for packed in pack(batches, 1, input, piece_rows=piece_rows)
            for packet in packed["packet"].to_pylist()
        ]
        advanced = advance(stage, state, packets)
        state = advanced.state
        output += advanced.output.to_pylist()
    assert not decode(state, stage.operator, "").origins
    return output


@given(files(), st.data())
@settings(max_examples=examples(20))
@pytest.mark.parametrize("operator", [InOrder(), Passing()], ids=["kept", "passed on"])
def test_rows_of_one_time_come_in_the_order_of_their_source(operator, given_files, data):
    stage = Stage(operator, (StageInput(DELAY), StageInput(DELAY)), "")
    tasks: list[list] = [[]]
    for input, origin, rows in given_files:
        if data.draw(st.booleans()):
            tasks.append([])
        cut = data.draw(st.integers(0, len(rows)))
        encoded = data.draw(st.booleans())
        parts = [batch(origin, part, encoded) for part in (rows[:cut], rows[cut:]) if part]
        if parts:
            tasks[-1].append((input, parts))
    output = run(stage, tasks)
    expected = [
        (key, time, origin is not None, input if origin else 0, origin or (), place if origin else value, value)
        for input, origin, rows in given_files
        for place, (key, time, value) in enumerate(rows)
    ]
    for key in "xy":
        own = [(t, v) for k, t, *_, v in sorted(expected) if k == key]
        assert [(row["t"], row["v0"]) for row in output if row["k0"] == key] == own
    assert {tuple(row) for row in output} <= {("k0", "t", "v0")}


def test_order_columns_come_before_arrival():
    layout = replace(LAYOUT, values=(), order=(OrderColumn("v0", "", descending=True),))
    rows = [("x", 1, 2), ("x", 1, 5), ("x", 1, 2)]
    output = run(Stage(Passing(layout), (StageInput(0),), ""), [[(0, [batch(ORIGINS[0], rows, True)])]])
    assert [row["v0"] for row in output] == [5, 2, 2]


def test_a_partition_of_kafka_that_several_tasks_read():
    """Its records come in the order of their offsets, beyond 2**42, too."""
    first = 2**42 - 2
    tasks = []
    for offset in (first + 2, first, first + 3, first + 1):
        part, place = partition_part(3, offset)
        rows = [("x", 1, first - offset)]
        tasks.append([(0, [batch(Origin(0, "topic", part), rows, True, range(place, place + 1))])])
    output = run(Stage(Passing(), (StageInput(DELAY),), ""), tasks)
    assert [row["v0"] for row in output] == [0, -1, -2, -3]


def test_waiting_rows_of_an_earlier_version_come_before_new_ones():
    """A state of version 5 has rows that do not know their places."""
    stage = Stage(Passing(), (StageInput(DELAY),), "")
    old = Stage(Passing(replace(LAYOUT, by_arrival=False)), (StageInput(DELAY),), "")
    plain = batch(None, [("x", 1, 7), ("x", 1, 6)], True).drop_columns([ORIGIN])
    (before,) = [packet for packed in pack([plain], 1) for packet in packed["packet"].to_pylist()]
    state = advance(old, None, [before]).state.replace(b"CEPS\x06", b"CEPS\x05")
    packets = [
        packet
        for rows in ([("x", 1, 9), ("x", 1, 8)], [("x", END_OF_TIME, 0)])
        for packed in pack([batch(ORIGINS[0], rows, True)], 1)
        for packet in packed["packet"].to_pylist()
    ]
    output = advance(stage, state, packets).output
    assert output["v0"].to_pylist() == [6, 7, 9, 8]


def test_packets_tell_the_runs_of_the_rows_that_are_left():
    def without_three(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        mask = np.array([value != 3 for value in rows["v0"].to_pylist()])
        return rows.filter(pa.array(mask)), np.zeros(0, np.int64)

    a, b = ORIGINS[:2]
    batches = []
    for origin, values in ((a, range(4)), (b, range(4, 5)), (None, range(5, 7)), (a, range(7, 9))):
        made = batch(origin, [("x", 1, value) for value in values], True)
        buckets = pa.array([value % 2 for value in values], pa.int32())
        batches.append(made.set_column(made.schema.get_field_index("bucket"), "bucket", buckets))
    packed = [packet for one in pack(batches, 3, reduction=without_three) for packet in one["packet"].to_pylist()]
    even, odd, nothing = map(open_packet, packed)
    assert even.rows["v0"].to_pylist() == [0, 2, 4, 6, 8]
    assert even.runs == [(2, OriginRun(a, 0)), (1, OriginRun(b, 4)), (1, OriginRun(None, 5)), (1, OriginRun(a, 7))]
    assert odd.rows["v0"].to_pylist() == [1, 5, 7]
    assert odd.runs == [(1, OriginRun(a, 0)), (1, OriginRun(None, 5)), (1, OriginRun(a, 7))]
    assert nothing.rows is None and not nothing.runs
    assert even.rows.column_names == ["k0", "t", "v0"]


@pytest.mark.parametrize("name", ["a", "ab", "abc", "abcdefg", "ä"])
def test_rows_behind_the_runs_of_a_packet_lie_on_whole_words(name):
    rows = pa.record_batch({"k0": ["p"], "t": [1], "v0": [1.5], "bucket": pa.array([0], pa.int32())})
    origin = pa.array([Origin(5, name, 0)._asdict()], ORIGIN_TYPE)
    placed = rows.append_column(ORIGIN, origin).append_column(PLACE, pa.array([0], pa.int64()))
    (packets,) = pack([placed], 1)
    read = open_packet(packets["packet"][0].as_py())
    assert read.runs and read.rows["v0"].chunk(0).to_numpy().flags.aligned
