"""How far inputs with producers are: the slowest that is waited for decides."""

from dataclasses import dataclass, field

import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.errors import OperationalError
from cepsql.ordered import reached
from cepsql.ordered.reached import reached_after
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, IDLE
from cepsql.ordered.stage import StageInput

IDLE_AFTER = 10


@dataclass(frozen=True)
class Told:
    """What a packet says of time."""

    producers: dict[str | None, int] = field(default_factory=dict)
    heartbeat: int = BEGINNING
    ended: bool = False

    @property
    def greatest(self) -> int:
        return max(self.producers.values(), default=BEGINNING)


def greatest(stage_input: StageInput, *batches: list[Told]) -> list[int]:
    """Return how far an input is after each batch."""
    positions, seen = (reached.Reached(),), []
    for batch in batches:
        positions = reached_after((stage_input,), positions, [batch])
        seen.append(positions[0].greatest)
    return seen


def test_the_slowest_producer_decides():
    stage_input = StageInput(0, by_producer=True)
    said = [Told({"a": 10, None: 3}), Told({"a": 2, "b": 8})], [Told({None: 50})], [Told({"c": 1})], [Told({"c": 30})]
    assert greatest(stage_input, *said, [Told(ended=True)]) == [3, 8, 1, 8, END_OF_TIME]


def test_a_silent_producer_is_not_waited_for_after_a_while():
    stage_input = StageInput(0, by_producer=True, idle=IDLE_AFTER)
    ticks = [[Told({"a": 100 + clock}, clock)] for clock in (0, 9, 10, 19, 20)]
    assert greatest(stage_input, [Told({"a": 100, "b": 5})], *ticks) == [5, 5, 5, 109 + 1, 119, 120]
    # One that comes back is waited for again.
    assert greatest(stage_input, [Told({"a": 9, "b": 5})], *ticks, [Told({"b": 7})])[-1] == 7
    # Of the last ones to fall silent the fastest says how far the input is.
    silence = [[Told(heartbeat=0)], [Told(heartbeat=9)], [Told(heartbeat=10)], [Told(heartbeat=99)]]
    assert greatest(stage_input, [Told({"a": 9, "b": 5})], *silence) == [5, 5, 5, 9, 9]


def test_heartbeats_go_on_from_where_the_producers_are():
    stage_input = StageInput(0, heartbeat=20, by_producer=True, idle=IDLE_AFTER)
    beats = [[Told(heartbeat=clock)] for clock in (0, 10, 19, 20, 30)]
    assert greatest(stage_input, [Told({"a": 9, "b": 5})], *beats) == [5, 5, 9, 9, 9 + 20, 9 + 20]
    assert greatest(stage_input, *beats, [Told({"a": 3})]) == [BEGINNING] * 3 + [IDLE] * 2 + [3]
    # A micro-batch of other inputs, or of malformed rows, takes nothing of it back.
    later = [[Told()], [Told(heartbeat=50)]]
    assert greatest(stage_input, [Told({"a": 9})], *beats, *later) == [9] * 4 + [9 + 20] * 3 + [9 + 50]


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)), st.none() | st.integers(0, 40)),
        max_size=8,
    )
)
def test_any_batches_against_a_plain_loop(batches):
    greatest_of, last, expected, clock = {}, {}, [], 0
    for times, later in batches:
        for name, time in times.items():
            greatest_of[name] = max(time, greatest_of.get(name, BEGINNING))
            last.pop(name, None)
        fastest = max(greatest_of.values(), default=BEGINNING)
        if later is not None:
            clock += later
            for name in [name for name in greatest_of if name not in times]:
                if clock - last.setdefault(name, clock) >= IDLE_AFTER:
                    del greatest_of[name], last[name]
        before = expected[-1] if expected else BEGINNING
        expected.append(min(greatest_of.values()) if greatest_of else max(before, fastest))
    clocks, at = [], 0
    for _, later in batches:
        at += later or 0
        clocks.append(BEGINNING if later is None else at)
    said = [[Told(times, clock)] for (times, _), clock in zip(batches, clocks, strict=True)]
    assert greatest(StageInput(0, by_producer=True, idle=IDLE_AFTER), *said) == expected


def test_too_many_producers_are_refused(monkeypatch):
    monkeypatch.setattr(reached, "MAX_PRODUCERS", 2)
    stage_input = StageInput(0, by_producer=True, name="readings")
    assert greatest(stage_input, [Told({"a": 1})], [Told({"b": 1})]) == [1, 1]
    with pytest.raises(OperationalError, match="readings has more than 2 producers") as caught:
        greatest(stage_input, [Told({"a": 1, "b": 2})], [Told({"c": 3})])
    assert "IDLE TIMEOUT" in caught.value.hint
