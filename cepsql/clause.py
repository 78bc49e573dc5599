"""MATCH_RECOGNIZE for people who only want the clause: a DataFrame in, a DataFrame out."""

from typing import TYPE_CHECKING

from cepsql.engine import connect
from cepsql.errors import Error, InterfaceError, Span
from cepsql.language.tokens import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BEFORE = "SELECT * FROM input MATCH_RECOGNIZE (\n"
_AT_OUR_BRACKET = "syntax error: unexpected )"


def match_recognize(frame: object, clause: str, watermark: tuple[str, str] | None = None) -> "DataFrame":
    """Return the matches of a row pattern in a DataFrame.

    frame:     of Spark, pandas or Polars, or an Arrow table. All but those of Spark need a Spark session, which is
               started if none runs.
    clause:    what stands between the parentheses of MATCH_RECOGNIZE: "PARTITION BY ... PATTERN ... DEFINE ...".
    watermark: for a streaming frame, its event-time column and how late rows may be, such as ("ts", "10 seconds");
               by default what `frame.withWatermark` said.
    Raises Error, with positions in `clause`.
    """
    if not isinstance(clause, str):
        raise InterfaceError(f"the clause is a text, not {clause!r}")
    # A bracket that is open in it would be closed by ours.
    _ = Text(clause).closing
    engine = connect(getattr(frame, "sparkSession", None), catalog="")
    engine.register("input", frame, watermark)
    try:
        return engine.query(f"{_BEFORE}{clause}\n)").df
    except Error as error:
        raise _in_clause(error, clause) from error.__cause__


def _in_clause(error: Error, clause: str) -> Error:
    """Let an error point into the clause in place of the statement that was made of it."""
    begin = (error.text or "").find(_BEFORE + clause)
    if begin < 0:
        return error
    begin += len(_BEFORE)
    if error.span is not None:
        if error.span.start > begin + len(clause) and error.message == _AT_OUR_BRACKET:
            error.message = "the clause ends too early"
        start, end = (min(max(place - begin, 0), len(clause)) for place in (error.span.start, error.span.end))
        # What is about the statement as a whole has no place in the clause.
        error.span = Span(start, end) if error.span.end > begin else None
    error.text = clause
    return error
