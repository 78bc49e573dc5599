"""Row patterns in windows: a match begins with the first row of its frame, and reads no row outside of the frame."""

from dataclasses import replace

from cepsql.pattern.program import Measure, Navigation, Scalar
from cepsql.scalar.expressions import Call

UNBOUNDED = 2**40
"""More rows than can follow the first one in a frame."""

MAX_DISTANCE = 16
"""So many rows back at most a PREV is written as LAST, for which the search may know a quicker way."""


def framed_condition(condition: Scalar | None, after: int | None) -> Scalar | None:
    """Return a condition in which PREV and NEXT read rows of the frame only.

    after: how many rows follow the first one in the frame, None for all of the partition.
    """
    match condition:
        case Call(_, arguments):
            return replace(condition, arguments=tuple(framed_condition(each, after) for each in arguments))
        case Navigation(_, None, False, offset, shift) if shift < 0 and offset - shift <= MAX_DISTANCE:
            # All rows from the first of the frame to the one under test are rows of the match.
            return replace(condition, offset=offset - shift, shift=0)
        case Navigation():
            return _framed(condition, after)
    return condition


def framed_measure(measure: Measure, after: int | None) -> Measure:
    """Return a measure that reads rows of the frame only; `after` as above."""
    source = measure.source
    return replace(measure, source=_framed(source, after)) if isinstance(source, Navigation) else measure


def _framed(source: Navigation, after: int | None) -> Navigation:
    if source.shift < 0 or (source.shift > 0 and after is not None):
        return replace(source, frame=UNBOUNDED if after is None else after)
    return source
