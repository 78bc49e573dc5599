"""Event time of inputs that fall silent goes on with the clock."""

from ordered_samples import LAYOUT, PassOn
from test_stage import play

from cepsql.ordered.packet import heartbeat_time
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, IDLE
from cepsql.ordered.stage import Stage, StageInput

MINUTE = 60_000_000
START = 1_700_000_000_000_000


def row(t: int) -> dict:
    return {"t": t, "k0": 1.0, "m": 0, "bucket": 0, "malformed": False}


def beat(clock: int) -> dict:
    return {"t": heartbeat_time(START + clock), "bucket": 0}


def bounds(inputs: tuple[StageInput, ...], *batches: list[list[dict]]) -> list[int]:
    """Return the bound after each batch, which is the same in all buckets."""
    all_bounds = []
    for _, said in play(Stage(PassOn(), inputs, "x"), batches):
        (bound,) = {one.bound for one in said}
        all_bounds.append(bound)
    return all_bounds


def test_time_goes_on_after_a_whole_interval_without_rows():
    inputs = (StageInput(10, heartbeat=MINUTE),)
    assert bounds(
        inputs, [[row(1000)]], [[beat(0)]], [[beat(MINUTE - 1)]], [[beat(MINUTE)]], [[beat(5 * MINUTE)]], [[row(2000)]],
        [[beat(9 * MINUTE)]], [[beat(10 * MINUTE)]],
    ) == [990, 990, 990, 990 + MINUTE, 990 + 5 * MINUTE] + [990 + 5 * MINUTE] * 2 + [990 + 6 * MINUTE]  # fmt: skip


def test_rows_beside_a_heartbeat_say_how_far_the_input_is():
    inputs = (StageInput(0, heartbeat=MINUTE),)
    assert bounds(inputs, [[row(10)]], [[beat(0)]], [[row(20), beat(MINUTE)]], [[beat(2 * MINUTE)]]) == [10, 10, 20, 20]


def test_a_clock_that_was_set_back_begins_anew():
    inputs = (StageInput(0, heartbeat=MINUTE),)
    assert bounds(inputs, [[row(10)]], [[beat(9 * MINUTE)]], [[beat(0)]], [[beat(MINUTE)]]) == [10, 10, 10, 10 + MINUTE]


def test_nobody_waits_for_an_input_that_never_had_a_row():
    inputs = (StageInput(0, heartbeat=MINUTE), StageInput(0, heartbeat=2 * MINUTE))
    assert bounds(
        inputs, [[row(10)], []], [[beat(0)], []], [[beat(MINUTE)], []], [[beat(2 * MINUTE)], []], [[row(50)], [row(5)]]
    ) == [BEGINNING, BEGINNING, BEGINNING, 10 + 2 * MINUTE, 10 + 2 * MINUTE]  # fmt: skip
    # Neither does a stage that reads what this one makes of it.
    assert bounds((StageInput(0, heartbeat=MINUTE),), [[beat(0)]], [[beat(MINUTE)]], [[row(7)]]) == [BEGINNING, IDLE, 7]


def test_an_input_without_heartbeats_is_waited_for():
    inputs = (StageInput(0, heartbeat=MINUTE), StageInput(0))
    assert bounds(inputs, [[row(10)], [row(3)]], [[beat(0)], []], [[beat(MINUTE)], []]) == [3, 3, 3]


def test_a_time_after_the_end_of_time_is_none():
    for _, said in play(Stage(PassOn(), (StageInput(0),), "x"), [[[row(END_OF_TIME + 2**60), row(4)]]]):
        counts = sum((one.counts.rows for one in said[1:]), said[0].counts.rows)
        assert (counts.read, counts.used, counts.null_time) == (2, 1, 1)
        assert {one.bound for one in said} == {4}
    assert LAYOUT.time is not None
