"""The bounded queries that run in this process, and how they are cancelled from another thread."""

import itertools
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepsql.errors import OperationalError
from cepsql.spark.jvm.classic import has_java
from cepsql.spark.jvm.interrupts import held_interrupts
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.jvm.tasks import Tasks, tagged_tasks
from cepsql.spark.run.run_once import cancel_runs

_AGAIN_SECONDS = 0.2

_TRIES = 5
"""How often at least jobs are cancelled."""


class Run:
    """A query that runs, whose jobs carry a tag by which Spark finds them from any thread."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        self._tag = f"cepsql-{uuid.uuid4()}"
        self._cancelled, self._over = threading.Event(), threading.Event()

    @contextmanager
    def tagged(self) -> Iterator[None]:
        """Tag the jobs that this thread starts within the block."""
        # A tag of the session is known only to the thread that set it; over Spark Connect there is no other.
        owner = self.spark.sparkContext if has_java(self.spark) else None
        add, remove = (owner.addJobTag, owner.removeJobTag) if owner else (self.spark.addTag, self.spark.removeTag)
        add(self._tag)
        try:
            yield
        finally:
            # Java may have died.
            with suppress(PySparkException, Py4JError, OSError):
                remove(self._tag)

    def interruptible(self) -> AbstractContextManager[None]:
        """Let Ctrl-C cancel the run within the block, which then raises KeyboardInterrupt."""
        return held_interrupts(self.cancel)

    def tasks(self) -> Tasks | None:
        """Return how many tasks of its jobs are done, and how many there are; None if that is not known."""
        return tagged_tasks(self.spark, self._tag)

    def cancel(self) -> None:
        """Cancel its jobs, now and until it is over, for Spark may be between two of them; wait for nothing."""
        if not self._cancelled.is_set():
            self._cancelled.set()
            threading.Thread(target=self._cancel_jobs, name="cepsql-cancel", daemon=True).start()

    def end(self) -> None:
        """Say that it is over."""
        self._over.set()

    def failed(self, failure: Exception) -> Exception:
        """Return what a failure means: if the run was cancelled, that."""
        if not self._cancelled.is_set():
            return failure
        return OperationalError("the query was cancelled", detail=translate_failure(failure).detail)

    def _cancel_jobs(self) -> None:
        classic = has_java(self.spark)
        for tries in itertools.count(1):
            # A Spark that has been stopped has no Java any more.
            with suppress(PySparkException, Py4JError, OSError, AttributeError):
                if classic:
                    self.spark.sparkContext.cancelJobsWithTag(self._tag)
                else:
                    self.spark.interruptTag(self._tag)
            # An interrupted thread is over at once, while its last call of Java may go on to a further job.
            if self._over.is_set() and tries >= _TRIES:
                return
            time.sleep(_AGAIN_SECONDS)


_RUNNING: list[Run] = []


@contextmanager
def running(spark: SparkSession) -> Iterator[Run]:
    """Let `cancel` end what runs within the block: what Spark then raises becomes OperationalError.

    Other threads must start the jobs of the run within its `tagged`.
    """
    run = Run(spark)
    _RUNNING.append(run)
    try:
        with run.tagged():
            yield run
    except Exception as failure:
        meant = run.failed(failure)
        if meant is failure:
            raise
        raise meant from failure
    except BaseException:
        # Ctrl-C, or nobody takes further rows: Java would go on.
        run.cancel()
        raise
    finally:
        _RUNNING.remove(run)
        run.end()


def cancel(spark: SparkSession) -> None:
    """Cancel all bounded queries that run in a session, without waiting for their end."""
    for run in list(_RUNNING):
        if run.spark is spark:
            run.cancel()
    cancel_runs(spark)
