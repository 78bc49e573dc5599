"""Several stages in one task give what each gives by itself of what the one below gave."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from ordered_samples import INPUT_SCHEMA, STAGE, inputs, packets

from cepsql.errors import OperationalError
from cepsql.ordered import one_task
from cepsql.ordered.one_task import Channel, Dataflow, advance_all
from cepsql.ordered.packet import Packet, pack, pack_in_task
from cepsql.ordered.stage import Advanced, StageInput, advance

UPPER = replace(STAGE, inputs=(StageInput(0, chained=True),))
BOTH = replace(STAGE, inputs=(StageInput(0, chained=True), StageInput(0, chained=True)))


def _passed(number: int, as_bytes: bool = False):
    """Return a channel that hands on the rows of a stage as they are."""

    def packed(advanced: Advanced) -> list[bytes | Packet]:
        if not advanced.output.num_rows:
            return []
        rows = [{**row, "bucket": 0} for row in advanced.output.to_pylist()]
        table = pa.RecordBatch.from_pylist(rows, schema=INPUT_SCHEMA)
        if not as_bytes:
            return list(pack_in_task([table], number))
        return [packet for batch in pack([table], 1, number) for packet in batch["packet"].to_pylist()]

    return packed


FLOW = Dataflow((STAGE, UPPER, BOTH), ((Channel(1, _passed(0)), Channel(2, _passed(0))), (Channel(2, _passed(1)),), ()))
APART = (_passed(0, as_bytes=True), _passed(1, as_bytes=True))


def _came(tasks) -> list[bytes]:
    rows = [{**row, "bucket": 0} for task in tasks for row in task]
    return packets(rows, 1).get(0, [])


@pytest.mark.parametrize("many_bytes", [0, 2**30], ids=["threads", "one-thread"])
@given(batches=inputs())
def test_stages_in_one_task_give_what_each_gives_alone(many_bytes, batches):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_task, "_MANY_BYTES", many_bytes)
        _check_together(batches)


def _check_together(batches) -> None:
    together, states = None, [None, None, None]
    for tasks in batches:
        came = [_came(tasks), [], []]
        seen, together = advance_all(FLOW, together, {0: came[0]})
        for number, (stage, channels) in enumerate(zip(FLOW.stages, FLOW.channels, strict=True)):
            if not came[number]:
                assert number not in seen
                continue
            alone = advance(stage, states[number], came[number])
            states[number] = alone.state
            for channel in channels:
                came[channel.above] += APART[number](alone)
            given_out, seconds = seen[number]
            # No NaN equals another one.
            assert str(given_out.output.to_pylist()) == str(alone.output.to_pylist())
            assert given_out.counts == alone.counts and seconds >= 0
    assert together is None or one_task._split(together, 3) == states


def test_a_state_of_other_operators_is_refused():
    _, state = advance_all(FLOW, None, {})
    with pytest.raises(OperationalError, match="of 3 operators in one task, the query has 2"):
        advance_all(Dataflow(FLOW.stages[:2], FLOW.channels[:2]), state, {})


def test_an_error_of_a_stage_is_raised_whichever_thread_meets_it(monkeypatch):
    monkeypatch.setattr(one_task, "_MANY_BYTES", 0)
    rows = [{"k0": 1.0, "t": 1, "o0": 1, "v0": "a", "m": 1, "bucket": 0, "malformed": None}]
    _, state = advance_all(FLOW, None, {0: packets(rows, 1)[0]})
    other = Dataflow((STAGE, replace(UPPER, identity="another"), BOTH), FLOW.channels)
    with pytest.raises(OperationalError, match="another text"):
        advance_all(other, state, {0: packets(rows, 1)[0], 1: packets(rows, 1)[0]})


def test_more_than_spark_keeps_is_refused(monkeypatch):
    monkeypatch.setattr(one_task, "_MOST_BYTES", 100)
    rows = [{"k0": 1.0, "t": 1, "o0": 1, "v0": "a", "m": 1, "bucket": 0, "malformed": None}]
    with pytest.raises(OperationalError, match="more than Spark keeps") as refused:
        advance_all(FLOW, None, {0: packets(rows, 1)[0]})
    assert "cepsql.one_task" in refused.value.hint
