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
_lock = threading.Lock()
_limits: list[int] = []
"""Python's own recursion limit, once for each block that runs now."""


@contextlib.contextmanager
def deep_stack(place: Place = None) -> Iterator[None]:
    """Let functions over SQL trees call themselves more often within the block than Python lets others.

    Raises NotSupportedError at `place` where even that is not enough.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else sys.getrecursionlimit())
        sys.setrecursionlimit(max(_STACK, _limits[0]))
    try:
        yield
    except RecursionError:
        raise too_deep(_asked(place)) from None
    finally:
        with _lock:
            usual = _limits.pop()
            if not _limits:
                sys.setrecursionlimit(usual)


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


@contextlib.contextmanager
def guarded(place: Place = None) -> Iterator[None]:
    """Guard a call into sqlglot.

    Lets errors of ours, and sqlglot's own about syntax, names and what a dialect lacks, through. All else that it fails
    with, which is where its functions are given what they don't expect, raises ProgrammingError at `place`.
    """
    with deep_stack(place):
        try:
            yield
        except (Error, ParseError, OptimizeError, UnsupportedError, RecursionError):
            raise
        except Exception as error:
            raise not_understood(_asked(place)) from error


def _asked(place: Place) -> Span | None:
    return place() if callable(place) else place


def too_deep(place: Span | None) -> NotSupportedError:
    """Make the error for SQL that is nested too deeply."""
    return NotSupportedError(
        "the SQL is nested too deeply", place, f"at most {MAX_NESTING} brackets may stand in one another"
    )


def not_understood(place: Span | None) -> ProgrammingError:
    """Make the error for SQL that cannot be made sense of."""
    return ProgrammingError("syntax error: this is not understood", place, "are arguments missing, or of another form?")
