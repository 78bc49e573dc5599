"""The batch job over sorted rows in any batches."""

import math

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM, bag, pairs
from ordered_samples import SCHEMA, inputs
from test_match_operator import one_pass

from cepsql.operators.matching.match_operator import MatchOperator
from cepsql.ordered.sorted_run import run_sorted


def sorted_rows(batches) -> list[dict]:
    """Sort as Spark does: by key, NULL first and NaN last, then by time and the other columns."""
    rows = [row for tasks in batches for task in tasks for row in task]

    def rank(row):
        key, order = row["k0"], (row["o0"] is None, -(row["o0"] or 0), row["v0"] is not None, row["v0"] or "", row["m"])
        number = (0, 0) if key is None else (2, 0) if math.isnan(key) else (1, key)
        return (number, row["t"] is not None, row["t"] or 0, *order)

    return sorted(rows, key=rank)


@settings(max_examples=examples(15))
@given(inputs(), st.integers(1, 7), st.integers(1, 10))
def test_equals_one_pass(batches, size, chunk_rows):
    rows = sorted_rows(batches)
    cut = [pa.RecordBatch.from_pylist(rows[i : i + size], schema=SCHEMA) for i in range(0, len(rows), size)]
    chunks = []

    def recorded(program, partitions):
        chunks.append(partitions.rows.num_rows)
        return pairs(program, partitions)

    sorted_batches = list(run_sorted(MatchOperator(PROGRAM, recorded), iter(cut), chunk_rows))
    expected = one_pass([row for row in rows if row["t"] is not None])
    assert (bag(pa.Table.from_batches(sorted_batches)) if sorted_batches else {}) == expected
    assert all(chunk >= chunk_rows for chunk in chunks[:-1])
    assert all(batch.num_rows for batch in sorted_batches)


def test_no_input_gives_no_output():
    assert list(run_sorted(MatchOperator(PROGRAM, pairs), iter([]))) == []
    empty = pa.RecordBatch.from_pylist([], schema=SCHEMA)
    assert list(run_sorted(MatchOperator(PROGRAM, pairs), iter([empty]))) == []
