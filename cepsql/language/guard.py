"""What stands round work on trees of SQL: deep nesting, and whatever else sqlglot fails with, becomes our error."""

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Iterator

from sqlglot.errors import OptimizeError, ParseError, UnsupportedError

from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span

MAX_NESTING = 100
"""How many brackets may stand in one another."""

Place = Span | None | Callable[[], Span | None]
"""Where an error is, or what finds that: most calls succeed, and looking for places takes long."""

_STACK = 12_000
_TOLD = (Error, ParseError, OptimizeError, UnsupportedError)
"""Errors that say what is wrong."""

_lock = threading.Lock()
_limits: list[int] = []
"""Python's own recursion limit, once for each block that runs now."""


class deep_stack:
    """Let functions over SQL trees call themselves more often within the block than Python lets others.

    Raises NotSupportedError at `place` where even that is not enough. A class, for it stands round thousands of blocks.
    """

    def __init__(self, place: Place = None):
        self._place = place

    def __enter__(self) -> None:
        with _lock:
            _limits.append(_limits[0] if _limits else sys.getrecursionlimit())
            sys.setrecursionlimit(max(_STACK, _limits[0]))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self.refuse(error)
        finally:
            with _lock:
                usual = _limits.pop()
                if not _limits:
                    sys.setrecursionlimit(usual)

    def refuse(self, error: BaseException) -> None:
        """Raise ours in place of an error, unless that is to be seen as it is."""
        if isinstance(error, RecursionError):
            raise too_deep(self.place) from None

    @property
    def place(self) -> Span | None:
        """Where an error is."""
        return self._place() if callable(self._place) else self._place


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Let Python not look for garbage within the block, if it does otherwise.

    Trees of SQL are many objects, all in use: looking through them takes a quarter of the time of a plan.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class guarded(deep_stack):
    """Guard a call into sqlglot.

    Lets errors of ours, and sqlglot's own about syntax, names and what a dialect lacks, through. All else that it fails
    with, which is where its functions are given what they don't expect, raises ProgrammingError at `place`.
    """

    def refuse(self, error: BaseException) -> None:
        """Raise ours in place of an error, unless that is to be seen as it is."""
        super().refuse(error)
        if isinstance(error, Exception) and not isinstance(error, _TOLD):
            raise not_understood(self.place) from error


def too_deep(place: Span | None) -> NotSupportedError:
    """Make the error for SQL that is nested too deeply."""
    return NotSupportedError(
        "the SQL is nested too deeply", place, f"at most {MAX_NESTING} brackets may stand in one another"
    )


def not_understood(place: Span | None) -> ProgrammingError:
    """Make the error for SQL that cannot be made sense of."""
    return ProgrammingError("syntax error: this is not understood", place, "are arguments missing, or of another form?")
