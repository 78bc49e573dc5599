"""WITHIN of months and years: as long as the calendar of the session's zone has it, from the first row on."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.row_pattern.scope import FIRST
from cepsql.analysis.sql.constant_intervals import LONGEST_MONTH, interval_months
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.statements import MatchClause, Name
from cepsql.pattern import ir


def with_calendar_within(clause: MatchClause) -> MatchClause:
    """Return a clause whose WITHIN is in days, with its months as a condition on each row; others as they are.

    The days, as many as the months have at most, bound what is kept. Spark computes the condition.
    Raises ProgrammingError for no months at all, NotSupportedError for SHOW TIMEOUT MATCHES.
    """
    months = None if clause.within is None else interval_months(clause.within.unnest())
    if clause.within is None or months is None:
        return clause
    place = span_of(clause.within, clause.span) or clause.span
    if months == 0:
        raise ProgrammingError("WITHIN must be longer than zero", place)
    time = clause.order_by[0].this if clause.order_by else None
    if not isinstance(time, exp.Column) or clause.order_by[0].args.get("desc"):
        raise ProgrammingError(
            "WITHIN of months needs rows in ascending order of time", place, "ORDER BY a TIMESTAMP or DATE column first"
        )
    if clause.rows.timeouts:
        raise NotSupportedError(
            "SHOW TIMEOUT MATCHES with WITHIN of months or years is not supported", place, "give it in days or weeks"
        )
    column = exp.column(time.this.copy())
    first = exp.Anonymous(this=FIRST, expressions=[column.copy()])
    early = exp.LT(this=column, expression=exp.Add(this=first, expression=clause.within.unnest().copy()))
    defined = {name.text: (name, condition) for name, condition in clause.defines}
    names = [name for name in ir.variables(clause.pattern) if name not in defined]
    defines = [
        *((name, exp.and_(condition.copy(), early.copy())) for name, condition in clause.defines),
        *((Name(name, clause.pattern_names.get(name, place)), early.copy()) for name in names),
    ]
    days = exp.Interval(this=exp.Literal.string(str(months * LONGEST_MONTH + 1)), unit=exp.var("DAYS"))
    days.meta.update(clause.within.meta)
    return replace(clause, within=days, defines=tuple(defines))
