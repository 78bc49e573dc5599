"""How often Spark looks for input."""

import os
import time

import pytest

import cepsql
from cepsql.spark.jvm.stream_execution import polling_delay
from cepsql.spark.run import polling, standing_query


def delay(standing):
    return polling_delay(standing._query)[0]


def await_delay(standing, least):
    end = time.monotonic() + 60
    while delay(standing) < least and time.monotonic() < end:
        time.sleep(0.02)
    return delay(standing)


@pytest.fixture
def started(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(standing_query, "_ATTEND_SECONDS", 0.05)
    monkeypatch.setattr(polling, "_SHARE", 0.2)
    (tmp_path / "in").mkdir()
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM s (x INT) USING csv OPTIONS (path '{tmp_path}/in')")
    return engine.query("SELECT x FROM s").start


def test_a_query_without_input_looks_for_it_more_seldom(started, spark, tmp_path):
    spark_delay = int(spark.conf.get("spark.sql.streaming.pollingDelay").removesuffix("ms"))
    rows: list[int] = []
    with started(lambda table, _: rows.extend(table["x"].to_pylist())) as standing:
        assert await_delay(standing, 300) >= 300
        assert await_delay(standing, 500) == 500
        (tmp_path / "in" / ".1").write_text("1\n")
        os.rename(tmp_path / "in" / ".1", tmp_path / "in" / "1.csv")
        standing.process_available()
        assert rows == [1]
        # The query has been attended to since, perhaps more than once.
        assert spark_delay <= delay(standing) < 500
        assert await_delay(standing, 500) == 500


def test_one_with_a_trigger_looks_when_that_says_so(started):
    with started(lambda *_: None, trigger="1 second") as standing:
        before = delay(standing)
        time.sleep(1)
        assert delay(standing) == before
