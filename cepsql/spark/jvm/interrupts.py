"""Ctrl-C in a program that calls Java."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts(pressed_now: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt at the end of the block; a second one does at once.

    pressed_now: called when it is pressed first.
    A signal must not break off what waits for Java: the answer to come would be taken for that to another call, and
    what has begun would stay half done. Where another handler than Python's own is in place, Ctrl-C is left to that.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return
    pressed = threading.Event()

    def press(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            signal.default_int_handler(number, frame)
        pressed.set()
        pressed_now()

    signal.signal(signal.SIGINT, press)
    try:
        yield
    except Exception:
        if not pressed.is_set():
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed.is_set():
        raise KeyboardInterrupt
