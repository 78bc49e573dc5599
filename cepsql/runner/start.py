"""The start of Spark, for which nobody has to wait to its end."""

import threading

from cepsql.engine import Engine


def start_spark(engine: Engine, stop: threading.Event) -> None:
    """Wait until Spark has started, or `stop` is set; Spark then goes on starting.

    Raises Error if it does not start.
    """
    failed: list[Exception] = []

    def start() -> None:
        try:
            _ = engine.spark
        except Exception as error:
            failed.append(error)

    starting = threading.Thread(target=start, name="cepsql-start", daemon=True)
    starting.start()
    while starting.is_alive() and not stop.is_set():
        starting.join(0.1)
    if failed:
        raise failed[0]
