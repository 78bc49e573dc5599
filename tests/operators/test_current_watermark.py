"""Each row with the watermark at which its micro-batch began, whatever the tasks, and the same if the batch repeats."""

from dataclasses import replace

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, inputs, packets

from cepsql.operators.changing.changing_groups import EVER
from cepsql.operators.current_watermark import WATERMARK, CurrentWatermarkOperator
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Column
from cepsql.ordered.stage import Stage, StageInput, advance

TIMES = replace(LAYOUT, values=(Column("t", "t"),), any_order=True)
END = {"t": END_OF_TIME, "bucket": 0}


def by_hand(batches, delay: int) -> list[list[tuple]]:
    """Return time and watermark of the rows of each batch."""
    bound, expected = BEGINNING, []
    for tasks in batches:
        good = [r["t"] for task in tasks for r in task if not r["malformed"] and r["t"] is not None]
        expected.append(sorted((t, None if bound == BEGINNING else bound) for t in good))
        bound = max([bound, *(t - delay for t in good)])
    return [[(t, w) for t, w in rows] for rows in expected]


@settings(max_examples=examples(20))
@given(inputs(), st.integers(0, 6))
def test_any_batches(batches, delay):
    stage = Stage(CurrentWatermarkOperator(TIMES), (StageInput(delay),), "", lateness=EVER, endless=True)
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    output = []
    # After the end of the input was told rows may go on.
    for tasks in [*batches, [[END]], *batches[:1]]:
        packed = [packets(rows, BUCKETS) for rows in tasks]
        rows = []
        for bucket in range(BUCKETS):
            blobs = [blob for task in packed for blob in task.get(bucket, [])]
            advanced = advance(stage, states[bucket], blobs)
            again = advance(stage, states[bucket], blobs)
            assert again.output.to_string() == advanced.output.to_string()
            assert again.state == advanced.state
            states[bucket] = advanced.state
            assert advanced.counts.rows.late == 0
            if advanced.output.num_rows:
                assert advanced.output.schema.field(WATERMARK).type == pa.int64()
                rows += [(row["t"], row[WATERMARK]) for row in advanced.output.to_pylist()]
        output.append(sorted(rows, key=repr))
    expected = [sorted(rows, key=repr) for rows in by_hand([*batches, [], *batches[:1]], delay)]
    assert output == expected
