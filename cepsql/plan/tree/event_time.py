"""The event time of matches, which windows, joins and further patterns go by."""

from collections.abc import Iterable

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.catalog import Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.matching.hold import hold, looks_ahead
from cepsql.pattern.program import MatchProgram, Navigation


def match_event_time(program: MatchProgram, output: Iterable, time: str | None) -> Watermark | None:
    """Return the column with the event time of a program's matches, and its hold; None if there is none of either.

    output: the columns that the clause gives (`cepsql.analysis.match.match.OutputColumn`); time: the input's event
            time.
    ONE ROW PER MATCH gives the event time as MATCH_ROWTIME(), ALL ROWS PER MATCH as the input's own column.
    """
    delay = hold(program)
    if delay is None:
        return None
    if program.all_rows:
        return next((Watermark(column.name, delay) for column in output if column.name == time), None)
    last = [measure.name for measure in program.measures if measure.source == Navigation("t")]
    given = {sql_of(exp.func("timestamp_micros", exp.column(name))) for name in last}
    return next((Watermark(column.name, delay) for column in output if column.sql in given), None)


def missing_event_time(
    program: MatchProgram, follower: str, place: Span | None
) -> ProgrammingError | NotSupportedError:
    """Make the error that says why matches without event time cannot be followed by `follower`."""
    if looks_ahead(program):
        return NotSupportedError(
            f"{follower} over the matches of a stream needs to know how late they come out",
            place,
            "NEXT in the inner MATCH_RECOGNIZE waits for a row that may never come: leave it out",
        )
    if hold(program) is None:
        return NotSupportedError(
            f"{follower} over the matches of a stream needs to know how late they come out",
            place,
            "a match can wait for ever: add WITHIN to the inner MATCH_RECOGNIZE, such as WITHIN INTERVAL '1' HOUR",
        )
    hint = "add MATCH_ROWTIME() AS rowtime to the inner MEASURES, and keep it unchanged in the subquery"
    if program.all_rows:
        hint = "keep the event time of the stream, unchanged, in the subquery"
    return ProgrammingError(f"{follower} over the matches of a stream needs their event time", place, hint)
