"""The stage under any operator: several inputs, two relations, deadlines, kinds of change."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, INPUT_SCHEMA, LAYOUT, STAGE, PassOn

from cepsql.errors import OperationalError
from cepsql.ordered import stage as ordered_stage
from cepsql.ordered.counts import Counts, Tally
from cepsql.ordered.operator import NEVER, Change, Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Column, RowLayout
from cepsql.ordered.stage import Stage, StageInput, advance

END = {"t": END_OF_TIME, "bucket": 0}


def packed(rows: list[dict], number: int, schema: pa.Schema = INPUT_SCHEMA) -> dict[int, list[bytes]]:
    """Pack one task's rows of an input."""
    packets: dict[int, list[bytes]] = {}
    for batch in pack([pa.RecordBatch.from_pylist(rows, schema=schema)], BUCKETS, number):
        for row in batch.to_pylist():
            packets.setdefault(row["bucket"], []).append(row["packet"])
    return packets


def play(stage: Stage, batches, schema: pa.Schema = INPUT_SCHEMA):
    """Advance all buckets through batches of rows by input; yield output rows and what each bucket says."""
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    for inputs in batches:
        blobs = [packed(rows, number, schema) for number, rows in enumerate(inputs)]
        advanced = []
        for bucket in range(BUCKETS):
            mine = [blob for task in reversed(blobs) for blob in task.get(bucket, [])]
            advanced.append(advance(stage, states[bucket], mine))
            states[bucket] = advanced[-1].state
        yield [row for one in advanced for row in one.output.to_pylist()], advanced


def by_hand(batches, delays: list[int]) -> tuple[list[list[dict]], list[Counts], list[int]]:
    """Return the rows of each input that are not late, its counts, and the bound after each batch."""
    greatest, bound = [BEGINNING] * len(delays), BEGINNING
    used, counts, bounds = [[] for _ in delays], [Counts() for _ in delays], []
    for inputs in batches:
        for number, rows in enumerate(inputs):
            good = [row for row in rows if not row["malformed"] and row["t"] is not None]
            on_time = [row for row in good if row["t"] > bound]
            used[number] += on_time
            counts[number] += Counts(
                read=len(rows),
                used=len(on_time),
                late=len(good) - len(on_time),
                malformed=sum(bool(row["malformed"]) for row in rows),
                null_time=sum(row["t"] is None and not row["malformed"] for row in rows),
                null_key=sum(row["k0"] is None for row in good),
            )
            greatest[number] = max([greatest[number], *(row["t"] for row in good)])
        reached = [g - delay for g, delay in zip(greatest, delays, strict=True)]
        bound = bound if BEGINNING in greatest else max(bound, min(reached))
        bounds.append(bound)
    return used, counts, bounds


def place(row: dict) -> tuple:
    """Sort by t, then o0 DESC NULLS LAST, then v0 and m, whatever input the row came from."""
    tie = 2 if row["o0"] is None else -row["o0"]
    return row["t"], tie, row["v0"] is not None, row["v0"] or "", row["m"]


@st.composite
def united(draw, inputs: int = 3):
    """Draw micro-batches of rows for inputs of the same columns, some of which may be idle for long."""
    batches = []
    for n in range(draw(st.integers(1, 5))):
        batch = []
        for number in range(inputs):
            rows = []
            for _ in range(draw(st.integers(0, 4))):
                key, bucket = draw(st.sampled_from([(1.0, 0), (2.0, 1), (None, 1)]))
                row = {"k0": key, "bucket": bucket, "malformed": draw(st.sampled_from([None, False, True]))}
                row["t"] = draw(st.none() | st.integers(3 * n - 3, 3 * n + 4 + number))
                row["o0"] = draw(st.none() | st.integers(0, 1))
                row["v0"] = draw(st.sampled_from([None, "a", "b"]))
                row["m"] = draw(st.integers(0, 1))
                rows.append(row)
            batch.append(rows)
        batches.append(batch)
    return batches


@settings(max_examples=examples(20))
@given(united(), st.lists(st.integers(0, 5), min_size=3, max_size=3))
def test_inputs_of_the_same_columns_come_out_in_one_order(batches, delays):
    stage = replace(STAGE, inputs=tuple(StageInput(delay) for delay in delays))
    used, expected, bounds = by_hand(batches, delays)
    given_out, tally = [], Tally((Counts(),) * 3, {"rows": 0})
    for number, (output, buckets) in enumerate(play(stage, [*batches, [[END], [], []]])):
        given_out += output
        tally = sum((one.counts for one in buckets), tally)
        if number < len(bounds):
            assert {one.bound for one in buckets} <= {bounds[number], BEGINNING}
            assert all(row["t"] <= bounds[number] for row in output)
    assert list(tally.inputs) == expected
    assert all(c.read == c.used + c.late + c.malformed + c.null_time for c in tally.inputs)
    assert tally.counters == {"rows": len(given_out)}
    for key in (1.0, 2.0, None):
        rows = [place(row) for mine in used for row in mine if row["k0"] == key]
        assert [place(row) for row in given_out if row["k0"] == key] == sorted(rows)


def row(t: int, key: float = 1.0, **values) -> dict:
    return {"k0": key, "t": t, "m": 0, "bucket": 0, **values}


def test_rows_are_copied_out_of_many_packets(monkeypatch):
    stage = replace(STAGE, inputs=(StageInput(2), StageInput(0)))
    batches = [[[row(t) for t in (5, 9, 7, 8)], [row(9), row(6)]], [[row(3), row(11)], [row(12)]], [[END], []]]
    expected = [(output, [one.counts for one in steps]) for output, steps in play(stage, batches)]
    monkeypatch.setattr(ordered_stage, "MANY_ROWS", 2)
    assert [(output, [one.counts for one in steps]) for output, steps in play(stage, batches)] == expected


def test_an_idle_input_holds_the_others_back_until_the_end():
    stage = replace(STAGE, inputs=(StageInput(2), StageInput(0)))
    batches = [[[row(5)], []], [[row(90)], []], [[], [row(7)]], [[], [row(1)]], [[END], []]]
    steps = [([r["t"] for r in output], one.bound) for output, (one, _) in play(stage, batches)]
    assert steps == [([], BEGINNING), ([], BEGINNING), ([5, 7], 7), ([], 7), ([90], END_OF_TIME)]


def test_a_control_row_ends_all_inputs_but_chained_ones():
    marked = INPUT_SCHEMA.append(pa.field("bound", pa.int64()))
    stage = replace(STAGE, inputs=(StageInput(2), StageInput(0, chained=True)))

    def bounds(*batches):
        state = None
        for rows, markers in batches:
            blobs = [*packed(rows, 0).get(0, []), *packed(markers, 1, marked).get(0, [])]
            advanced = advance(stage, state, blobs)
            state = advanced.state
            yield advanced.bound, advanced.output.num_rows

    marker, end = {"bound": 4, "bucket": 0}, {"bound": END_OF_TIME, "bucket": 0}
    batches_of_inputs = [
        ([row(5)], [row(3), marker]),
        ([END], []),
        ([], [row(6), {"bound": 6, "bucket": 0}]),
        ([], [end]),
    ]
    assert list(bounds(*batches_of_inputs)) == [(3, 1), (4, 0), (6, 2), (END_OF_TIME, 0)]
    assert list(bounds(([], [row(3), end]), ([row(9)], []))) == [(BEGINNING, 0), (7, 1)]


def test_a_state_of_other_inputs_is_refused():
    state = advance(STAGE, None, packed([row(1)], 0)[0]).state
    with pytest.raises(OperationalError, match="1 inputs, the query 2") as caught:
        advance(replace(STAGE, inputs=(StageInput(0), StageInput(0))), state, [])
    assert "new checkpoint" in caught.value.hint


@dataclass(frozen=True)
class CountOthers(WholeSections):
    """Gives out every left row three microseconds after its time, with the number of right rows of its key by then."""

    sides = (
        RowLayout((Column("k0", ""), Column("k1", "")), Column("t", "")),
        RowLayout((Column("k0", ""), Column("k1", "")), Column("t", ""), (), (Column("v0", ""),)),
    )
    sections: ClassVar = {}
    marks = ({}, {"seen": pa.bool_()})
    counters = ()
    hold = 3
    changing = False

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        if side:
            return np.full(len(held.starts) - 1, NEVER)
        return held.rows["t"].to_numpy()[held.pending] + 3

    def advance(self, rows, sections, old: int, new: int) -> Step:
        left, right = rows
        keeps, rows_out = [None, None], []
        if right is not None:
            seen = right.rows["seen"].to_pylist()
            times = right.rows["t"].to_pylist()
            assert [mark is None for mark in seen] == [time > old for time in times]
            keeps[1] = Keep(right.starts[:-1], marks={"seen": pa.array([True] * len(seen))})
        if left is not None:
            pending = left.starts[1:].copy()
            for p, (begin, end) in enumerate(zip(left.starts[:-1], left.starts[1:], strict=True)):
                others = [] if right is None else right.rows["t"].to_pylist()[right.starts[p] : right.starts[p + 1]]
                for i in range(end - 1, begin - 1, -1):
                    key, t = left.rows["k0"][i].as_py(), left.rows["t"][i].as_py()
                    if t + 3 <= new:
                        rows_out.append({"k0": key, "t": t, "n": sum(other <= t + 3 for other in others)})
                    else:
                        pending[p] = i
            keeps[0] = Keep(pending)
        return Step(pa.Table.from_pylist(rows_out), keeps)


@settings(max_examples=examples(20))
@given(united(inputs=2), st.integers(0, 3), st.integers(0, 3))
def test_two_relations_meet_by_their_keys(batches, left_delay, right_delay):
    stage = Stage(CountOthers(), (StageInput(left_delay, 0), StageInput(right_delay, 1)), "")
    for rows in (rows for batch in batches for rows in batch):
        for r in rows:
            r["k1"] = "x"
    used, _, _ = by_hand(batches, [left_delay, right_delay])
    schema = pa.schema([*INPUT_SCHEMA, ("k1", pa.string())])
    given_out = [r for output, _ in play(stage, [*batches, [[END], []]], schema) for r in output]
    left, right = used
    expected = [(r["k0"], r["t"], sum(o["k0"] == r["k0"] and o["t"] <= r["t"] + 3 for o in right)) for r in left]
    assert Counter((r["k0"], r["t"], r["n"]) for r in given_out) == Counter(expected)


def test_output_rows_tell_what_they_change():
    class Deleting(PassOn):
        def advance(self, rows, sections, old, new):
            step = super().advance(rows, sections, old, new)
            return replace(step, changes=pa.array([Change.DELETE] * step.output.num_rows, pa.int8()))

    blobs = packed([row(1), row(1)], 0)[0]
    assert advance(replace(STAGE, operator=Deleting()), None, blobs).changes.to_pylist() == [1, 1]
    assert advance(STAGE, None, blobs).changes is None


def test_keys_may_be_missing():
    layout = replace(LAYOUT, keys=())
    operator = type("Keyless", (CountOthers,), {"sides": (layout, layout)})()
    stage = Stage(operator, (StageInput(0, 0), StageInput(0, 1)), "")
    batches = [[[row(1)], [row(2)]], [[row(2)], [row(3)]], [[], []], [[row(5)], [row(9)]], [[END], []]]
    given_out = [(r["t"], r["n"]) for output, _ in play(stage, batches) for r in output]
    assert sorted(given_out) == [(1, 2), (2, 2), (5, 2)]
