"""Ctrl-C while statements run."""

import signal
import threading
import time
from collections.abc import Callable

AGAIN = 2.0
_POLL, _AGAIN = 0.1, 0.3


def interruptible(
    work: Callable[[threading.Event], None], cancel: Callable[[], None], ignored: threading.Event | None = None
) -> bool:
    """Run `work` to its end in a thread of its own while this thread owns SIGINT; tell whether it was interrupted.

    The first Ctrl-C sets the event that `work` was given, then calls `cancel` to end what blocks, again and again until
    the work has ended. A second one within two seconds abandons the work and raises KeyboardInterrupt. What `work`
    raises is raised here. The work has a thread of its own, because a signal that breaks off a call to the JVM would
    leave the connection in an unknown state.
    ignored: while it is set, Ctrl-C is another program's.
    """
    stop = threading.Event()
    pressed: list[float] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            work(stop)
        except BaseException as error:
            failure.append(error)

    def on_signal(number, frame) -> None:
        if ignored is not None and ignored.is_set():
            return
        now = time.monotonic()
        if pressed and now - pressed[-1] < AGAIN:
            raise KeyboardInterrupt
        pressed.append(now)
        stop.set()

    thread = threading.Thread(target=target, name="cepsql-statement", daemon=True)
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        thread.start()
        _wait(thread, stop, cancel)
    finally:
        signal.signal(signal.SIGINT, before)
    if failure:
        raise failure[0]
    return stop.is_set()


def _wait(thread: threading.Thread, stop: threading.Event, cancel: Callable[[], None]) -> None:
    while thread.is_alive() and not stop.is_set():
        thread.join(_POLL)
    while thread.is_alive():
        # What blocks may begin only now.
        cancel()
        thread.join(_AGAIN)
