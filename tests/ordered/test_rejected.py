"""Rows that are not used come out whole, each once, with the reason and the bound; those that are used do not."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, INPUT_SCHEMA, STAGE, inputs

from cepsql.ordered.counts import Counts
from cepsql.ordered.packet import pack
from cepsql.ordered.rejected import WHOLE
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.ordered.stage import StageInput, advance
from cepsql.ordered.state import decode

SCHEMA = INPUT_SCHEMA.append(pa.field(WHOLE, pa.struct([("record", pa.large_string()), ("id", pa.int32())])))
REASONS = {"late": "late", "malformed": "malformed", "no event time": "null_time"}


def packets(rows: list[dict], whole: bool = True) -> dict[int, list[bytes]]:
    """Pack one task's rows, three a batch and few a packet."""
    schema = SCHEMA if whole else INPUT_SCHEMA
    batches = [pa.RecordBatch.from_pylist(rows[i : i + 3], schema=schema) for i in range(0, len(rows), 3)]
    packed: dict[int, list[bytes]] = {}
    for batch in pack(batches, BUCKETS, piece_rows=4):
        for row in batch.to_pylist():
            packed.setdefault(row["bucket"], []).append(row["packet"])
    return packed


@settings(max_examples=examples(30))
@given(inputs(), st.integers(0, 6))
def test_rejected_rows_are_those_not_used(batches, delay):
    stage = replace(STAGE, inputs=(StageInput(delay),))
    ids, states, bounds = 0, dict.fromkeys(range(BUCKETS)), dict.fromkeys(range(BUCKETS), -END_OF_TIME)
    rejected, counts, seen = Counter(), Counts(), {}
    for tasks in [*batches, [[{"t": END_OF_TIME, "bucket": 0}]]]:
        for row in (row for rows in tasks for row in rows):
            row[WHOLE] = {"record": f"text {ids}" if row.get("malformed") else None, "id": ids}
            seen[ids], ids = row, ids + 1
        packed = [packets(rows) for rows in tasks]
        for bucket in range(BUCKETS):
            blobs = [blob for task in packed for blob in task.get(bucket, [])]
            advanced, again = (advance(stage, states[bucket], blobs) for _ in range(2))
            assert again.rejected == advanced.rejected
            (rejected_rows,) = advanced.rejected
            for row in [] if rejected_rows is None else rejected_rows.to_pylist():
                original = seen.pop(row[WHOLE]["id"])
                assert original[WHOLE] == row[WHOLE] and original["bucket"] == bucket
                assert row["watermark"] == (bounds[bucket] if row["reason"] == "late" else None)
                assert row["reason"] != "late" or original["t"] <= bounds[bucket]
                rejected[REASONS[row["reason"]]] += 1
            states[bucket], bounds[bucket] = advanced.state, advanced.bound
            counts += advanced.counts.rows
            stored = decode(advanced.state, stage.operator, stage.identity)
            parts = (*stored.operator_state.held, *stored.operator_state.waiting)
            assert all(WHOLE not in part.column_names for part in parts if part is not None)
    assert all(rejected[name] == getattr(counts, name) for name in REASONS.values())
    assert len(seen) - 1 == counts.used


def test_rows_that_do_not_travel_whole_cost_nothing_more():
    rows = [{"k0": 1.0, "t": t, "m": 0, "bucket": 0, "malformed": t == 3} for t in range(6)]
    plain = packets(rows, whole=False)
    assert [len(blob) for blob in plain[1]] == [104]
    assert advance(STAGE, None, plain[0]).rejected == (None,)
