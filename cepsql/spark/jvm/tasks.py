"""How much of its work Spark has done, in tasks.

Relies on: `_jsc.sc().statusTracker()` knows jobs by tag and group, and their stages.
"""

from collections.abc import Iterable
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from cepsql.spark.jvm.classic import has_java

Tasks = tuple[int, int]
"""How many tasks are done, and how many there are as far as Spark has planned."""


def tagged_tasks(spark: SparkSession, tag: str) -> Tasks | None:
    """Return the tasks of the jobs with a tag; None if there are none, and over Spark Connect."""
    return _counted(spark, lambda tracker: tracker.getJobIdsForTag(tag))


def grouped_tasks(spark: SparkSession, group: str) -> Tasks | None:
    """Return the tasks of the jobs of a group, such as a streaming query's run, that are not done.

    None if there are none, and over Spark Connect.
    """
    return _counted(spark, lambda tracker: set(tracker.getJobIdsForGroup(group)) & set(tracker.getActiveJobIds()))


def _counted(spark: SparkSession, jobs_of) -> Tasks | None:
    if not has_java(spark):
        return None
    # Java may have died.
    with suppress(Py4JError, OSError):
        tracker = spark.sparkContext._jsc.sc().statusTracker()
        jobs = [_of_job(tracker, job) for job in jobs_of(tracker)]
        done, planned = (sum(numbers) for numbers in zip(*jobs, strict=True)) if jobs else (0, 0)
        return (done, planned) if planned else None
    return None


def _of_job(tracker, job: int) -> Tasks:
    info = tracker.getJobInfo(job)
    stages: Iterable[int] = info.get().stageIds() if info.isDefined() else ()
    planned = [stage.get() for stage in map(tracker.getStageInfo, stages) if stage.isDefined()]
    done = sum(stage.numCompletedTasks() for stage in planned)
    # A job that has ended may have skipped stages whose rows another one had made.
    running = info.isDefined() and info.get().status().name() == "RUNNING"
    return done, sum(stage.numTasks() for stage in planned) if running else done
