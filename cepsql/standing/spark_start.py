"""An interruptible wait for the start of Spark."""

import threading
from collections.abc import Callable

_POLL_SECONDS = 0.1


def await_start(start: Callable[[], object], enough: Callable[[], bool]) -> None:
    """Call `start` in a thread of its own and wait for it, or until `enough` returns true; the thread then continues.

    Raises the error of `start`.
    """
    failed: list[Exception] = []

    def run() -> None:
        try:
            start()
        except Exception as error:
            failed.append(error)

    starting = threading.Thread(target=run, name="cepsql-start", daemon=True)
    starting.start()
    while starting.is_alive() and not enough():
        starting.join(_POLL_SECONDS)
    if failed:
        raise failed[0]
