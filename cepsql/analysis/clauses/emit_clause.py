"""What is asked of EMIT: when groups come out, and for how long they may change."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog.view_store import OPERATION as OPERATION
from cepsql.errors import ProgrammingError, Span
from cepsql.language.statements import EmitClause
from cepsql.ordered.operator import Change

CLOSE, CHANGES, EVERY = "close", "changes", "every"

INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER = "+I", "-D", "-U", "+U"
"""Values of OPERATION: a new row, one that is gone, one that changed as it was, and as it is."""

OPERATIONS = {
    Change.INSERT: INSERT,
    Change.DELETE: DELETE,
    Change.UPDATE_BEFORE: UPDATE_BEFORE,
    Change.UPDATE_AFTER: UPDATE_AFTER,
}
"""The value of OPERATION for what an output row of an operator does."""

GONE, THERE = (DELETE, UPDATE_BEFORE), (INSERT, UPDATE_AFTER)
"""Those whose row is in the result no more, and those whose row is in it from then on."""


@dataclass(frozen=True)
class Emission:
    """When groups come out.

    kind:     CLOSE, once, when they are over; CHANGES, whenever they change; EVERY, as they are then when event time
              has gone on by `every` microseconds, and when they are over.
    lateness: how many microseconds after they are over a row may come that still counts.
    """

    kind: str
    every: int | None
    lateness: int

    @property
    def changing(self) -> bool:
        """Whether a group may come out more than once."""
        return self.kind != CLOSE


ON_CLOSE = Emission(CLOSE, None, 0)
"""What holds without EMIT."""


def plan_emission(clause: EmitClause) -> Emission:
    """Plan an EMIT clause; raises ProgrammingError for lengths that are not constant, or too short."""
    every = _micros(clause.every, clause.span)
    if every is not None and every <= 0:
        raise ProgrammingError("EMIT EVERY needs a time longer than zero", _place(clause.every, clause.span))
    lateness = _micros(clause.lateness, clause.span) or 0
    if lateness < 0:
        raise ProgrammingError("the allowed lateness is not less than zero", _place(clause.lateness, clause.span))
    return Emission(clause.kind, every, lateness)


def _micros(interval: exp.Expr | None, place: Span) -> int | None:
    return None if interval is None else interval_micros(interval, _place(interval, place))


def _place(part: exp.Expr | None, place: Span) -> Span | None:
    return place if part is None else span_of(part, place)
