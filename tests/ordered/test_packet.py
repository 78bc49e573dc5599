"""What packets carry, and what they leave out."""

import math
from dataclasses import replace

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import INPUT_SCHEMA, SCHEMA, packets

from cepsql.errors import OperationalError
from cepsql.ordered.counts import Counts
from cepsql.ordered.packet import MAX_INPUTS, PACKET_SCHEMA, open_packet, pack, pack_in_task
from cepsql.ordered.plain_columns import plain_batch
from cepsql.ordered.rejected import WHOLE
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, REPEATED


def row(t, bucket=0, malformed=None, **values):
    return {"k0": 1.0, "t": t, "o0": 0, "v0": "x", "m": 0, "bucket": bucket, "malformed": malformed} | values


ROWS = st.builds(
    row,
    st.none() | st.integers(-5, 5) | st.just(END_OF_TIME),
    st.integers(0, 2),
    st.none() | st.booleans(),
    k0=st.sampled_from([None, 0.0, -0.0, math.nan]),
    v0=st.sampled_from([None, "", "long enough"]),
)


@settings(max_examples=examples(45))
@given(st.lists(ROWS, max_size=12), st.integers(1, 4))
def test_packets_hold_every_row_once(rows, piece_rows):
    packed = packets(rows, 3, piece_rows=piece_rows)
    assert set(packed) == (set(range(3)) if rows else set())
    sums = Counts()
    for bucket, blobs in packed.items():
        opened = [open_packet(blob) for blob in blobs]
        packed_rows = [r for packet in opened if packet.rows is not None for r in packet.rows.to_pylist()]
        mine = [r for r in rows if r["bucket"] == bucket and r["t"] != END_OF_TIME]
        good_rows = [r for r in mine if not r["malformed"] and r["t"] is not None]
        assert [(repr(r["t"]), r["v0"]) for r in packed_rows] == [(repr(r["t"]), r["v0"]) for r in good_rows]
        assert all(r["k0"] is None or repr(r["k0"]) in ("0.0", "nan") for r in packed_rows)
        times = [r["t"] for r in rows if r["t"] != END_OF_TIME and not r["malformed"] and r["t"] is not None]
        assert max(packet.greatest for packet in opened) == max(times, default=BEGINNING)
        # The end of the input hides no time of the rows before it.
        assert any(packet.ended for packet in opened) == any(r["t"] == END_OF_TIME for r in rows)
        counts = sum((packet.counts for packet in opened), Counts())
        assert counts == Counts(
            read=len(mine),
            malformed=sum(bool(r["malformed"]) for r in mine),
            null_time=sum(r["t"] is None and not r["malformed"] for r in mine),
            null_key=sum(r["k0"] is None for r in good_rows),
        )
        sums += counts
    assert sums.read == sum(r["t"] != END_OF_TIME for r in rows)


@given(st.lists(ROWS, min_size=1, max_size=12), st.sampled_from([None, "a", "b"]))
def test_a_packet_in_its_task_is_what_its_bytes_say(rows, producer):
    marks = pa.schema([*INPUT_SCHEMA, (WHOLE, pa.struct([("v", pa.string())])), ("producer", pa.string())])
    marked = [{**r, "bucket": 0, WHOLE: {"v": r["v0"]}, "producer": producer} for r in rows]
    batch = pa.RecordBatch.from_pylist(marked, schema=marks)
    (packed,) = pack([batch], 1)
    said, here = open_packet(packed["packet"][0].as_py()), open_packet(next(pack_in_task([batch])))
    assert repr(here.rows and here.rows.to_pylist()) == repr(said.rows and said.rows.to_pylist())
    assert here.aside == said.aside and here.dead.tolist() == said.dead.tolist()
    assert replace(here, rows=None, aside=None, dead=()) == replace(said, rows=None, aside=None, dead=())


def test_rows_without_a_time_tell_how_far_they_are():
    """What is seen beside them counts, and does not travel."""
    seen = pa.schema([*INPUT_SCHEMA, ("seen", pa.int64())])
    rows = [row(0, seen=7), row(0, seen=None), row(0, seen=END_OF_TIME + 5), row(0, seen=90, malformed=True)]
    for records, greatest in ((rows, 7), (rows[1:], BEGINNING)):
        (packed,) = pack(iter([pa.RecordBatch.from_pylist(records, schema=seen)]), 1)
        packet = open_packet(packed["packet"][0].as_py())
        assert (packet.greatest, packet.rows.num_rows) == (greatest, len(records) - 1)
        assert "seen" not in packet.rows.column_names


def test_a_task_gives_out_packets_for_every_piece():
    batches = [pa.RecordBatch.from_pylist([row(i, i % 2) for i in range(2_000)], schema=INPUT_SCHEMA)] * 3
    assert [len(sizes) for sizes in (sizes_of(batches, 4_000), sizes_of(batches, 6_000))] == [2, 1]
    assert sizes_of(batches, 4_000) == [[2_000, 2_000], [1_000, 1_000]]


def sizes_of(batches, piece_rows):
    packed_batches = list(pack(iter(batches), 2, piece_rows=piece_rows))
    assert all(packets.schema == PACKET_SCHEMA for packets in packed_batches)
    return [[open_packet(p.as_py()).rows.num_rows for p in packets["packet"]] for packets in packed_batches]


def test_rows_keep_their_columns_without_those_for_routing():
    (blob,) = packets([row(1)], 1)[0]
    assert open_packet(blob).rows.schema == SCHEMA


def test_types_are_made_plain():
    strings = ["a", None, "a"]
    columns = {
        "large": pa.array(strings, pa.large_string()),
        "view": pa.array(strings, pa.string_view()),
        "dictionary": pa.array(strings).dictionary_encode(),
        "time": pa.array([1, 2, None], pa.timestamp("us", "Europe/Berlin")),
        "times": pa.array([[1], None, []], pa.list_(pa.field("x", pa.timestamp("us", "Asia/Tokyo")))),
        "struct": pa.array([{"x": "a"}, None, {"x": None}], pa.struct([("x", pa.large_string())])),
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.large_string(), pa.int32())),
    }
    plain = plain_batch(pa.RecordBatch.from_pydict(columns))
    utc = pa.timestamp("us", "UTC")
    types = [pa.string()] * 3 + [utc, pa.list_(utc), pa.struct([("x", pa.string())]), pa.map_(pa.string(), pa.int32())]
    assert plain.schema.types == types
    assert plain["large"].to_pylist() == plain["view"].to_pylist() == plain["dictionary"].to_pylist() == strings
    assert plain["struct"].to_pylist() == [{"x": "a"}, None, {"x": None}]


@pytest.mark.parametrize("input", [0, 255, 256, MAX_INPUTS - 1])
def test_inputs_are_told_apart(input):
    dead = [row(t) for t in (3, 5)]
    batch = pa.RecordBatch.from_pylist(dead, schema=INPUT_SCHEMA)
    (packed,) = pack([batch], 1, input, lambda piece: (piece.slice(0, 0), piece["t"].to_numpy()))
    packet = open_packet(packed["packet"][0].as_py())
    assert (packet.input, packet.dead.tolist(), max(packet.dead)) == (input, [3, 5], 5)


def test_a_packet_of_another_version_is_refused():
    (blob,) = packets([row(1)], 1)[0]
    with pytest.raises(OperationalError, match="format"):
        open_packet(blob[:4] + b"\xff" + blob[5:])


def test_markers_say_how_far_the_rows_are():
    schema = SCHEMA.append(pa.field("bucket", pa.int32())).append(pa.field("bound", pa.int64()))
    rows = [row(9) | {"bound": None}, {"bound": 3, "bucket": 1}, {"bound": 4, "bucket": 0}, row(None) | {"bound": None}]
    for r in rows:
        r.pop("malformed", None)
    (batch,) = pack([pa.RecordBatch.from_pylist(rows, schema=schema)], 2)
    first, second = (open_packet(blob) for blob in batch["packet"].to_pylist())
    assert (first.greatest, second.greatest) == (4, 4)
    assert first.rows.column_names == SCHEMA.names
    assert first.rows["t"].to_pylist() == [9]
    assert second.rows is None
    assert first.counts + second.counts == Counts(read=2, null_time=1)


def test_rows_ahead_and_punctuation_are_counted_only():
    marks = pa.schema([*INPUT_SCHEMA, ("ahead", pa.bool_()), ("producer", pa.string()), ("reached", pa.int64())])
    rows = [
        row(5, producer="a"),
        row(99, ahead=True, producer="b"),
        row(99, malformed=True, ahead=True, producer="c"),
        row(None, reached=40, producer="b"),
        row(None, reached=7, malformed=True, producer="d"),
        row(None, producer="e"),
        row(3, 1, producer=None),
        row(9, 1, producer=None),
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=marks)
    opened_packets = [open_packet(blob) for part in pack([batch], 2) for blob in part["packet"].to_pylist()]
    assert opened_packets[0].counts == Counts(read=6, malformed=2, ahead=1, punctuation=1, null_time=1)
    assert [packet.rows["t"].to_pylist() for packet in opened_packets] == [[5], [3, 9]]
    for packet in opened_packets:
        assert (packet.greatest, packet.producers) == (40, {"a": 5, "b": 40, None: 9})


def test_a_record_with_two_rows_counts_once():
    # As a change does that gives a row another key: the former one goes, too.
    marks = pa.schema([*INPUT_SCHEMA, ("ahead", pa.bool_()), ("reached", pa.int64()), (REPEATED, pa.bool_())])
    records = [row(None), row(99, ahead=True), row(5, malformed=True), row(None, reached=40), row(3), row(4)]
    rows = [
        record | {REPEATED: repeated, WHOLE: {"id": number}}
        for number, record in enumerate(records)
        for repeated in ((True, False) if number < 5 else (False,))
    ]
    schema = marks.append(pa.field(WHOLE, pa.struct([("id", pa.int32())])))
    (part,) = pack([pa.RecordBatch.from_pylist(rows, schema=schema)], 1)
    packet = open_packet(part["packet"][0].as_py())
    assert packet.counts == Counts(read=6, malformed=1, null_time=1, ahead=1, punctuation=1)
    assert packet.rows["t"].to_pylist() == [3, 3, 4]
    aside = [(one["reason"], one[WHOLE]["id"]) for one in packet.aside.to_pylist()]
    assert aside == [("no event time", 0), ("ahead", 1), ("malformed", 2)]
