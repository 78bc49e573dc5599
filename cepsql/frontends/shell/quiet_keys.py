"""Keys that are typed while a statement runs: they wait for the prompt, and do not stand among the rows."""

import contextlib
import sys
import termios
from collections.abc import Iterator


@contextlib.contextmanager
def unechoed() -> Iterator[None]:
    """Let the terminal of standard input write no key within the block; what is typed is read after it.

    Nothing happens where standard input is no terminal.
    """
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (AttributeError, ValueError, OSError, termios.error):
        yield
        return
    quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
