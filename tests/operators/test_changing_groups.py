"""Groups that change: whoever applies the changes of a micro-batch has the aggregates of all rows so far."""

from collections import defaultdict
from dataclasses import replace

import pyarrow as pa
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_samples import BUCKETS, LAYOUT, inputs, packets
from test_deduplicate import END, key_of
from test_frame_rows import used_rows

from cepsql.operators.changing.changing_groups import EVER, ChangingGroupsOperator
from cepsql.operators.changing.partial_groups import PartialGroups
from cepsql.operators.running import RunningCall
from cepsql.ordered.operator import Change
from cepsql.ordered.row_layout import Column
from cepsql.ordered.stage import Stage, StageInput, advance

CALLS = tuple(RunningCall(name, name, "o0", rows=True) for name in ("count", "sum", "avg", "min", "max"))


def by_hand(rows: list[dict]) -> dict[tuple, tuple]:
    groups = defaultdict(list)
    for row in rows:
        groups[key_of(row)].append(row["o0"])
    results = {}
    for key, values in groups.items():
        not_null = [value for value in values if value is not None]
        mean = sum(not_null) / len(not_null) if not_null else None
        edges = (min(not_null), max(not_null)) if not_null else (None, None)
        results[key] = (len(not_null), sum(not_null) if not_null else None, mean, *edges)
    return results


ADDED_UP = replace(
    LAYOUT, order=(), values=(Column("o0", "seq"),), predicates=(), joins=True,
    reduction=PartialGroups((("o0", pa.int32()),), *[frozenset({"o0"})] * 3),
)  # fmt: skip


@settings(max_examples=examples(40))
@given(inputs(), st.integers(0, 6), st.sampled_from([LAYOUT, ADDED_UP]))
def test_changes_add_up_to_the_groups(batches, delay, layout):
    number = pa.int64()
    operator = ChangingGroupsOperator(layout, CALLS, (number, number, pa.float64(), pa.int32(), pa.int32()))
    stage = Stage(operator, (StageInput(delay),), "", EVER)
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    result: dict[tuple, tuple] = {}
    for count, tasks in enumerate([*batches, [[END]]], 1):
        packed = [packets(rows, BUCKETS, reduction=layout.reduction) for rows in tasks]
        for bucket in range(BUCKETS):
            advanced = advance(stage, states[bucket], [blob for task in packed for blob in task.get(bucket, [])])
            states[bucket] = advanced.state
            for row in advanced.output.to_pylist():
                key, values = key_of(row), tuple(row[call.name] for call in CALLS)
                if row["change"] == Change.UPDATE_BEFORE:
                    assert result.pop(key) == values
                else:
                    assert row["change"] in (Change.INSERT, Change.UPDATE_AFTER)
                    assert key not in result
                    result[key] = values
        assert result == by_hand(used_rows(batches[:count], EVER))
