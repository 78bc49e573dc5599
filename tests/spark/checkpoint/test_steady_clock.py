"""Silence is measured by a clock that a wrong system clock does not move."""

import datetime
import json
import time

import pytest

from cepsql.engine import connect
from cepsql.spark.checkpoint import steady_clock
from cepsql.spark.checkpoint.control import ClockReading, end_input, give_heartbeat, last_heartbeat
from cepsql.spark.checkpoint.steady_clock import LONGEST_PAUSE, SteadyClock

SECOND = 1_000_000
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
START = 1_772_442_000 * SECOND


class Clocks:
    """The system clock and the monotonic one, as a test sets them."""

    def __init__(self, monkeypatch):
        self.system, self.monotonic = START, 5 * SECOND
        monkeypatch.setattr(steady_clock, "_system", lambda: self.system)
        monkeypatch.setattr(steady_clock, "_monotonic", lambda: self.monotonic)

    def pass_by(self, micros, step=0):
        self.monotonic += micros
        self.system += micros + step


@pytest.fixture
def clocks(monkeypatch):
    return Clocks(monkeypatch)


def test_steps_of_the_system_clock_change_nothing_and_are_told_once_each(clocks, caplog):
    clock = SteadyClock(None)
    assert clock.read() == ClockReading(START, START)
    for step in (0, DAY, 0, -DAY, 3 * SECOND):
        clocks.pass_by(60 * SECOND, step)
        shown = clock.read()
    assert shown == ClockReading(START + 300 * SECOND, START + 303 * SECOND)
    ahead, back = (record.getMessage() for record in caplog.records)
    assert ahead.startswith("the system clock stepped ahead by 1 day, 0:00:00: it was set")
    assert back.startswith("the system clock stepped back by 1 day, 0:00:00: it was set")


@pytest.mark.parametrize(
    ("pause", "counted", "said"),
    [
        (20 * SECOND, 20 * SECOND, ""),
        (LONGEST_PAUSE, LONGEST_PAUSE, ""),
        (2 * DAY, LONGEST_PAUSE, "the last heartbeat was 2 days, 0:00:00 ago by the system clock, which may be wrong"),
        (-2 * DAY, 0, "the system clock shows 2026-02-28 09:00:00 UTC, and showed 2026-03-02 09:00:00 UTC"),
    ],
)
def test_between_two_runs_the_system_clock_counts_within_bounds(clocks, caplog, pause, counted, said):
    # The clock of the query had come away from that of the system before.
    last = ClockReading(START + DAY, START)
    clocks.system += pause
    assert SteadyClock(last).read().clock == START + DAY + counted
    assert "".join(record.getMessage() for record in caplog.records).startswith(said)
    assert bool(caplog.records) == bool(said)


def test_heartbeats_keep_both_clocks(tmp_path):
    assert last_heartbeat(tmp_path) is None
    give_heartbeat(tmp_path, START)
    assert last_heartbeat(tmp_path) == ClockReading(START, START)
    give_heartbeat(tmp_path, START + SECOND, START - DAY)
    assert last_heartbeat(tmp_path) == ClockReading(START + SECOND, START - DAY)
    # An earlier version wrote the word first.
    (tmp_path / f"heartbeat-{START + 2 * SECOND}.txt").write_text(f"heartbeat {START + 2 * SECOND}\n")
    assert last_heartbeat(tmp_path) == ClockReading(START + 2 * SECOND, START + 2 * SECOND)


def test_spark_does_not_take_control_files_for_old_ones(tmp_path):
    ahead = int(time.time() + 30 * 86_400) * SECOND
    give_heartbeat(tmp_path, ahead, START)
    end_input(tmp_path)
    # Files that are a week older than the newest one are passed over.
    assert {file.stat().st_mtime for file in tmp_path.glob("*.txt")} == {ahead / SECOND}


def test_a_clock_that_jumps_a_day_ahead_and_back_makes_no_row_late(spark, tmp_path, monkeypatch):
    engine = connect(spark)
    engine.sql(
        "CREATE STREAM beats (ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts WITH HEARTBEAT INTERVAL '1' SECOND) "
        f"USING json OPTIONS (path '{tmp_path}')"
    )
    query = engine.query(
        "SELECT n FROM beats MATCH_RECOGNIZE (ORDER BY ts MEASURES A.n AS n PATTERN (A) DEFINE A AS true)"
    )
    begin, step, numbers = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), [0], []
    monkeypatch.setattr(steady_clock, "_system", lambda: time.time_ns() // 1000 + step[0])

    def put(number, hours):
        row = {"ts": (begin + datetime.timedelta(hours=hours)).isoformat(), "n": number}
        (tmp_path / f".{number}").write_text(json.dumps(row))
        (tmp_path / f".{number}").rename(tmp_path / f"{number}.json")

    def until(condition):
        end = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < end and running.error is None
            time.sleep(0.05)

    def watermark_moves():
        before = running.progress.bound
        until(lambda: (running.progress.bound or 0) > before)

    put(1, 0)
    with query.start(lambda rows, batch: numbers.extend(rows["n"].to_pylist())) as running:
        until(lambda: running.progress.rows_read == 1)
        watermark_moves()
        for step[0] in (DAY, 0):
            watermark_moves()
        put(2, 1)
        until(lambda: running.progress.rows_read == 2)
        assert running.progress.rows_late == 0
    assert numbers == [1, 2]
