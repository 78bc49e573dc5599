"""Totals of a standing query from what Spark observes in its batches."""

import datetime
import json
import logging
import threading
from dataclasses import replace
from types import SimpleNamespace

from ordered_samples import PassOn
from pyspark.sql import Row

from cepsql.catalog.working_for import QUERY
from cepsql.frontends.runner.logged_notices import Notices, alone
from cepsql.ordered.counts import COUNTS, Counts, Tally
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, UNTIMED
from cepsql.ordered.stage import Stage, StageInput
from cepsql.spark.checkpoint.progress import Progress
from cepsql.spark.checkpoint.saved_progress import KeptProgress
from cepsql.spark.run.late_counts import LEFT_OUT
from cepsql.spark.run.progress_watch import Watch
from cepsql.spark.staging.observations import BELOW_MATCH, OBSERVATION, SAID
from cepsql.spark.staging.spark_stage import observed_counts

NAMES = ("read", "used", "late", "malformed", "null_time", "null_key", "matches", "timeouts", "misplaced", "given_up")


def event(batch=7, operators=(), sources=(), watermark=None, **observed) -> SimpleNamespace:
    rows = {name: Row(**values) for name, values in observed.items()}
    states = [
        SimpleNamespace(
            operatorName=name, numRowsDroppedByWatermark=rows, numRowsTotal=1, memoryUsedBytes=2,
            allUpdatesTimeMs=100, allRemovalsTimeMs=20, commitTimeMs=3,
        )
        for name, rows in operators
    ]  # fmt: skip
    return SimpleNamespace(
        batchId=batch,
        batchDuration=500,
        durationMs={"addBatch": 400, "latestOffset": 100},
        timestamp="2026-03-02T09:00:00.000Z",
        processedRowsPerSecond=None,
        observedMetrics=rows,
        sources=[
            SimpleNamespace(startOffset=None, endOffset=offset, latestOffset=latest) for offset, latest in sources
        ],
        stateOperators=states,
        eventTime={"watermark": watermark} if watermark else {},
    )


def stage(*numbers: int | None, bound: int | None = 3) -> dict:
    return dict(zip(NAMES, numbers + (0,) * (len(NAMES) - len(numbers)), strict=True)) | {"bound": bound}


def follow(watch: Watch, batch: int, **observed: dict) -> None:
    watch.reach(observed, batch, 0)
    watch.add(event(batch, **observed))


def counted(watch: Watch) -> tuple[int, ...]:
    progress = watch.progress
    return progress.rows_read, progress.rows_used, progress.rows_late, progress.rows_malformed, progress.rows_null_time


def test_a_plain_query():
    watch = Watch()
    for batch in range(2):
        watch.add(event(batch, a={"read": 5, "malformed": 1}, b={"read": 2, "malformed": None}))
    assert counted(watch) == (14, 12, 0, 2, 0)
    assert (watch.progress.batches, watch.progress.seconds, watch.progress.watermark) == (2, 1.0, None)


def test_what_spark_leaves_out_is_not_used():
    watch = Watch()
    joined = {"a": {"read": 9, "malformed": 1}, f"{LEFT_OUT}_1": {"late": 2, "null_time": 1}}
    watch.add(event(0, operators=[("dedupe", 1), ("stateStoreSave", 40), ("symmetricHashJoin", 2)], **joined))
    assert counted(watch) == (9, 2, 5, 1, 1)


def test_counts_go_on_from_the_checkpoint(tmp_path):
    first, later = stage(4, 1, 1, 1, 1), stage(4, 1, 1, 1, 1, 0, 2, bound=5)
    kept_progress = KeptProgress(tmp_path, None)
    watch = Watch("", kept_progress.begun)
    kept_progress.keep(0, watch.reach({"m": stage(*[None] * 10, bound=None)}, 0, 0))
    kept_progress.keep(1, watch.reach({"m": first}, 1, 0))
    kept_progress.keep(2, watch.reach({"m": later}, 2, 0))
    # Whether Spark has committed the batch on record, or was killed before.
    for committed, numbers, batches in [(2, (8, 2, 2, 2, 2), 3), (1, (4, 1, 1, 1, 1), 2)]:
        again = Watch("", KeptProgress(tmp_path, committed).begun)
        assert (counted(again), again.progress.batches) == (numbers, batches)
    again.add(event(2, m=later))
    assert (counted(again), again.progress.matches, again.progress.bound) == ((8, 2, 2, 2, 2), 2, 5)


def test_rows_out_count_with_their_batch_which_may_fail_after_them(tmp_path):
    kept_progress = KeptProgress(tmp_path, None)
    watch = Watch("", kept_progress.begun)
    for batch in range(2):
        kept_progress.keep(batch, watch.reach({"m": stage(3)}, batch, 2 * (batch + 1)))
        assert (watch.progress.rows_read, watch.progress.rows_out) == (3 * batch, 2 * batch)
        if batch == 0:
            watch.add(event(batch, m=stage(3)))
    # Spark has not committed the second one, which comes again.
    again = KeptProgress(tmp_path, 0).begun
    assert (again.rows_out, again.rows_read) == (watch.progress.rows_out, watch.progress.rows_read) == (2, 3)


def test_a_damaged_record_of_counts_does_not_keep_a_query_from_going_on(tmp_path, caplog):
    (tmp_path / "progress.json").write_text("{")
    assert KeptProgress(tmp_path, 4).begun == Progress()
    assert "the totals of the query start over" in caplog.text


def test_counters_and_inputs_have_their_names():
    def several(read: int, duplicates: int) -> dict:
        own = {"read": read, "used": read, "late": 0, "malformed": 0, "null_time": 0, "null_key": 0, "timeless": 0}
        counts = {name: number for name, number in own.items() if name != "timeless"}
        own |= {f"input{n} {s} {name}": number for n, s in enumerate("st") for name, number in counts.items()}
        own |= {"duplicates": duplicates}
        return own | {"bound": 3}

    watch = Watch()
    watch.add(event(0, m=several(2, 1)))
    assert (watch.progress.counters, watch.progress.rows_read) == ({"duplicates": 1}, 2)
    watch.add(event(1, m=several(3, 1), other=several(5, 5)))
    assert watch.progress.counters == {"duplicates": 7}
    assert watch.progress.inputs == {"s": Counts(10, 10), "t": Counts(10, 10)}


def test_results_that_another_operator_no_longer_waited_for_are_counted_apart():
    stage = Stage(PassOn(), (StageInput(0, name="s"), StageInput(0, chained=True)), "x")
    tally = Tally((Counts(read=3, used=2, late=1), Counts(read=4, used=2, late=2)), {})
    counts = observed_counts(stage, tally)
    assert (counts["read"], counts["late"], counts["late_results"]) == (3, 1, 2)
    assert "late_results" not in observed_counts(stage, replace(tally, inputs=(Counts(), Counts(read=4, used=4))))


def test_operators_of_one_input_each_are_told_apart_by_its_name():
    watch = Watch()
    below = {f"{BELOW_MATCH}_1 s": {"read": 9, "malformed": 2}, f"{LEFT_OUT} 0": {"late": 0}}
    for batch in range(2):
        watch.add(
            event(batch, **below, **{"cepsql_match_7 s": stage(5, 3, 1, 0, 1), "cepsql_match_8 s 2": stage(4, 4)})
        )
    assert watch.progress.inputs == {"s": Counts(14, 6, 2, 4, 2), "s 2": Counts(8, 8)}
    assert counted(watch) == (22, 14, 2, 4, 2)


def test_what_buckets_say_is_put_together():
    said = [
        {"read": 3, "late": 1, "bound": 5, "deadline": 9, "rows": 2, "merged": 1},
        {"read": 4, "late": 0, "bound": 7, "deadline": None, "rows": 3, "merged": 1},
        {"read": 0, "late": 0, "bound": 6, "deadline": 8, "rows": 0, "merged": 0},
    ]
    watch = Watch()
    # What stages in one task say is observed under the name of the last one.
    other = {"read": 0, "late": 0, "bound": 3, "rows": 1, "merged": 5, OBSERVATION: "below"}
    texts = [json.dumps(one) for one in ({**one, OBSERVATION: "m"} for one in said)]
    watch.add(event(0, m={SAID: [*texts, json.dumps(other)]}))
    progress = watch.progress
    assert (progress.rows_read, progress.rows_late, progress.counters) == (7, 1, {"merged": 7})
    assert (progress.bound, progress.next_deadline, progress.state_rows) == (7, 8, 6)
    watch.add(event(1, m={SAID: []}))
    assert (watch.progress.rows_read, watch.progress.bound, watch.progress.batches) == (7, 7, 2)


def test_a_row_below_a_subquery_is_counted_once():
    watch = Watch()
    below = {f"{BELOW_MATCH}_1": {"read": 9, "malformed": 2}}
    watch.add(event(**below, m=stage(5, 3, 1, 0, 1)))
    assert counted(watch) == (7, 3, 1, 2, 1)


def test_a_batch_counts_once_whoever_tells_of_it():
    watch = Watch()
    batches = [event(number, a={"read": 10**number}) for number in range(4)]
    watch.add(batches[0])
    watch.complete(SimpleNamespace(recentProgress=batches[:3]), 100)
    for late in batches:
        watch.add(late)
    assert (counted(watch)[0], watch.progress.batches) == (1111, 4)


def test_a_trigger_without_input_takes_no_batch_away():
    watch = Watch()
    idle = event(1)
    del idle.durationMs["addBatch"]
    watch.complete(SimpleNamespace(recentProgress=[event(0, a={"read": 1}), idle, event(1, a={"read": 10})]), 100)
    assert (counted(watch)[0], watch.progress.batches) == (11, 2)


def test_how_far_kafka_is_behind():
    watch = Watch()
    watch.add(event(0, sources=[('{"logOffset": 3}', None)], a={"read": 1}))
    assert watch.progress.records_behind is None
    watch.add(event(1, sources=[('{"t": {"0": 5}}', '{"t": {"0": 9}}'), ('{"logOffset": 3}', None)], a={"read": 1}))
    assert watch.progress.records_behind == 4


def test_batches_that_spark_has_forgotten_are_awaited():
    watch = Watch()
    batches = [event(number, a={"read": 10**number}) for number in range(4)]
    watch.add(batches[0])

    def events():
        watch.add(batches[1])
        watch.ended.set()

    threading.Timer(0.2, events).start()
    watch.complete(SimpleNamespace(recentProgress=batches[2:]), 2)
    assert counted(watch)[0] == 1111


def test_what_was_given_up_is_told(caplog):
    watch = Watch("A (B | C)*")
    watch.add(event(m=stage(*[0] * 8, 1, 2)))
    assert [record.getMessage() for record in caplog.records] == [
        "batch 7: the pattern A (B | C)* took too many steps from 2 rows, which count as not matched; see SET "
        "cepsql.step_budget",
        "batch 7: AFTER MATCH SKIP of the pattern A (B | C)* led nowhere once; matching went on",
    ]
    assert (watch.progress.misplaced_skips, watch.progress.attempts_given_up) == (1, 2)


def test_the_watermark_is_a_time_or_none():
    watch = Watch()
    for bound, ended, shown in [
        (BEGINNING, False, None),
        (3_000_000, False, datetime.datetime(1970, 1, 1, 0, 0, 3, tzinfo=datetime.UTC)),
        (END_OF_TIME, True, datetime.datetime(1970, 1, 1, 0, 0, 3, tzinfo=datetime.UTC)),
    ]:
        watch.add(event(watch.progress.batches, m=stage(bound=bound)))
        assert (watch.progress.watermark, watch.progress.ended) == (shown, ended)


def test_without_event_time_there_is_no_watermark():
    # An earlier version took the one time of all rows for one.
    watch = Watch(begun=Progress(bound=0))
    for batch, (bounds, shown) in enumerate(
        [((UNTIMED,), None), ((UNTIMED, 5), 5), ((UNTIMED, UNTIMED), None), ((END_OF_TIME,), None)]
    ):
        watch.add(event(batch, **{f"m{i}": stage(1, bound=bound) for i, bound in enumerate(bounds)}))
        assert (watch.progress.bound, watch.progress.ended) == (shown, bounds == (END_OF_TIME,))


def test_the_rate_falls_once_no_batch_is_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("cepsql.spark.run.progress_watch.time", SimpleNamespace(monotonic=lambda: now[0]))
    watch = Watch()
    assert watch.rate(busy=False) == 0
    watch.add(event(0, m=stage(50)))
    assert watch.rate(busy=False) == watch.progress.rows_per_second == 100
    now[0] += 9
    assert watch.rate(busy=False) == 100
    now[0] += 2
    assert (watch.rate(busy=False), watch.rate(busy=True)) == (0, 100)


def test_the_watermark_of_spark_counts_where_no_stage_has_one():
    watch = Watch()
    watch.add(event(0, watermark="1970-01-01T00:00:00.000Z", a={"read": 1}))
    assert watch.progress.watermark is None
    watch.add(event(1, watermark="2026-01-31T12:00:00.500Z", a={"read": 1}))
    assert watch.progress.watermark == datetime.datetime(2026, 1, 31, 12, 0, 0, 500_000, tzinfo=datetime.UTC)
    assert not watch.progress.ended


def test_the_end_of_the_input_is_no_watermark_of_spark(caplog):
    watch = Watch()
    for batch, watermark in enumerate(("2026-01-31T12:00:00.500Z", "+20000-01-01T00:00:00.000Z")):
        watch.add(event(batch, watermark=watermark, a={"read": 1}))
    assert watch.progress.watermark == datetime.datetime(2026, 1, 31, 12, 0, 0, 500_000, tzinfo=datetime.UTC)
    assert watch.progress.ended
    assert caplog.records == []


def test_what_waits_is_that_of_the_last_batch():
    watch = Watch()
    for waiting, deadline in [(5, 7), (2, None)]:
        held = {"waiting": waiting, "open": 1, "deadline": deadline}
        watch.add(event(watch.progress.batches, m=stage() | held, n=stage()))
    progress = watch.progress
    assert (progress.rows_waiting, progress.open, progress.deadline) == (2, 1, None)


def test_a_large_share_of_late_rows_is_told(caplog):
    watch = Watch("", Progress(rows_read=1000, rows_late=900), late_shares={"orders": 0.05})
    raised = []
    for batch, (read, late) in enumerate([(60, 1), (40, 4), (99, 50), (1, 0), (200, 10), (200, 11)]):
        follow(watch, batch, m={"read": read, "used": read - late, "late": late, "bound": 3})
        raised.append(len(watch.late_alerts))
    assert (watch.progress.late_alerts, raised) == (2, [0, 0, 0, 1, 0, 1])
    messages = [record.getMessage() for record in caplog.records]
    assert [text.split(";")[0] for text in messages] == [
        "batch 3: 50 of the last 100 rows of orders were late, more than 5 %",
        "batch 5: 11 of the last 200 rows of orders were late, more than 5 %",
    ]


def test_each_stream_has_its_own_share_of_late_rows():
    watch = Watch("", late_shares={"orders": 0.5, "payments": 0})
    counts = {f"input{i} {name} {count}": 0 for i, name in enumerate(("orders", "payments")) for count in COUNTS}
    numbers = {"input0 orders read": 100, "input0 orders late": 50, "input1 payments read": 300}
    follow(watch, 0, m=stage(400, 350, 50) | counts | numbers)
    assert watch.progress.late_alerts == 0
    follow(watch, 1, m=stage(101, 100, 1) | counts | {"input1 payments read": 101, "input1 payments late": 1})
    assert watch.progress.late_alerts == 1


def test_a_watermark_ahead_of_the_clock_is_told_once(caplog):
    watch, day = Watch(), 86_400_000_000
    now = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC).timestamp()) * 1_000_000
    for batch, bound in enumerate([BEGINNING, now + day, now + day + 1, now + 9 * day, END_OF_TIME]):
        watch.add(event(batch, m=stage(1, bound=bound)))
        assert bool(caplog.records) == (batch >= 2)
    (record,) = caplog.records
    assert record.getMessage().startswith("the watermark is 2026-03-03 09:00:00 UTC, ahead of the clock")


def test_a_warning_names_its_query(caplog):
    # Its name stands in every message.
    token = QUERY.set("a")
    watch = Watch("A")
    QUERY.reset(token)
    said, logger = [], logging.getLogger("cepsql")
    with alone(Notices(said.append)):
        # Events come in another thread.
        watch.add(event(0, m=stage(1, bound=1_772_442_000_000_000_000)))
        watch.add(event(1, m=stage(*[0] * 9, 2)))
        logger.warning("of no query")
    ahead, given_up, other = said
    assert ahead.startswith("notice: the watermark of query a is +58136-06-14 00:00:00 UTC, ahead of the clock")
    assert given_up.startswith("notice: query a: batch 1: the pattern A took too many steps from 2 rows")
    assert other == "notice: of no query"


def test_a_watermark_of_milliseconds_taken_for_seconds_is_told(caplog):
    watch = Watch()
    watch.add(event(0, m=stage(1, bound=1_772_442_000_000_000_000)))
    (record,) = caplog.records
    assert record.getMessage().startswith("the watermark is +58136-06-14 00:00:00 UTC, ahead of the clock")


def test_operators_add_up_what_they_did_and_say_what_they_hold():
    watch = Watch(observed={"cepsql_match_1": ("__first_0",), "cepsql_match_2": ("__match_1", "__over_2")})
    for batch, rows in enumerate((5, 7)):
        lower = stage(rows) | {"taken": rows, "given_out": 2, "micros": 500_000, "rows": rows, "bytes": 1, "waiting": 3}
        upper = stage(0) | {"taken": 2, "given_out": 1, "micros": 250_000, "rows": 1, "bytes": 2_000_000, "open": 1}
        named = {"cepsql_match_1 ticks": lower, "cepsql_match_2": upper}
        watch.add(event(batch, operators=[("applyInPandasWithState", 0), ("dedupe", 0)], **named))
    assert [str(one) for one in watch.progress.operators] == [
        "__first_0: 12 rows in, 4 rows out, 1.0 s; 7 rows in state (0.0 kB), waiting for the watermark: 3",
        "__match_1 + __over_2: 4 rows in, 2 rows out, 0.5 s; 1 row in state (2.0 MB), undecided keys: 1",
        "Spark's dedupe 1: 0.2 s; 1 row in state (0.0 kB)",
    ]
    assert watch.progress.phases == {"rows": 0.4, "input": 0.1}
    assert watch.progress.counters == {}
