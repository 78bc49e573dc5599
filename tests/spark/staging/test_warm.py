"""Python's workers start beside what the caller does, once for each Spark of ours."""

import threading
from types import SimpleNamespace

from py4j.protocol import Py4JNetworkError

from cepsql.engine import connect
from cepsql.spark.staging import warm


class Context:
    """Stands for a SparkContext."""


def _wait() -> None:
    for thread in threading.enumerate():
        if thread.name == "cepsql-warm":
            thread.join()


def test_the_first_worker_starts_beside_the_caller_once(monkeypatch):
    came = []
    monkeypatch.setattr(warm, "warm", lambda spark, workers: came.append((spark, workers)))
    one, other = SimpleNamespace(sparkContext=Context()), SimpleNamespace(sparkContext=Context())
    for spark in (one, one, other):
        warm.warm_beside(spark)
        _wait()
    assert came == [(one, 1), (other, 1)]


def test_a_spark_that_is_stopped_meanwhile_is_no_error(monkeypatch):
    def stopped(spark, workers):
        raise Py4JNetworkError("Answer from Java side is empty")

    raised = []
    monkeypatch.setattr(warm, "warm", stopped)
    monkeypatch.setattr(threading, "excepthook", raised.append)
    warm.warm_beside(SimpleNamespace(sparkContext=Context()))
    _wait()
    assert raised == []


def test_workers_of_a_session_that_is_given_are_left_alone(spark, monkeypatch):
    came = []
    monkeypatch.setattr(warm, "warm_beside", came.append)
    with connect(spark, catalog="") as engine:
        assert engine.spark is spark
    with connect(catalog="") as engine:
        assert engine.spark is spark
    assert came == []


def test_workers_run_a_task_each(spark):
    before = _tasks_done(spark)
    warm.warm(spark)
    assert _tasks_done(spark) == before + 2


def _tasks_done(spark) -> int:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return sum(jobs.apply(number).numCompletedTasks() for number in range(jobs.size()))
