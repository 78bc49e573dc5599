"""The start of Spark, for which nobody has to wait to its end."""

import threading

from cepsql.engine import Engine
from cepsql.standing.spark_start import await_start


def start_spark(engine: Engine, stop: threading.Event) -> None:
    """Wait until Spark has started, or `stop` is set; Spark then goes on starting.

    Raises Error if it does not start.
    """
    await_start(lambda: engine.spark, stop.is_set)
