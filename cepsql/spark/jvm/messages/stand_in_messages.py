"""What Spark says of columns that stand for something else, in the words of the statement."""

import re
from collections.abc import Mapping

from pyspark.errors import AnalysisException

from cepsql.analysis.row_pattern.match_lists import ELEMENT
from cepsql.errors import Error
from cepsql.plan.tree.nodes import Node, matches_of
from cepsql.plan.tree.stand_ins import stand_ins
from cepsql.spark.jvm.messages.failures import placed, refused_pieces


def spoken(error: Error, failure: Exception, root: Node, sql: str) -> Error:
    """Let what Spark said of a plan speak of its columns as they were written, and point there; return the error.

    error, failure: what Spark raised, translated and as it was.
    sql:            the statement.
    """
    if not isinstance(failure, AnalysisException):
        return error
    written = _measures(failure, root) or stand_ins(root)
    error.message = _as_written(error.message, written)
    return placed(error, failure, sql, lambda piece: _as_written(piece, written))


def _measures(failure: AnalysisException, root: Node) -> Mapping[str, str]:
    """Return what stands for what in the match that computes the piece of SQL of which Spark complains."""
    pieces = refused_pieces(failure)
    for match in matches_of(root):
        columns = [*(column.sql for column in match.output), *(aggregate.call for aggregate in match.aggregates)]
        if any(piece.lower() in sql.lower() for piece in pieces for sql in columns):
            return match.written
        # Spark names default arguments, too.
        if match.aggregates and any(f"{ELEMENT}." in piece for piece in pieces):
            return match.written
    return {}


def _as_written(text: str, written: Mapping[str, str]) -> str:
    """Return a text in which what was written stands in place of what Spark was given.

    >>> _as_written("(timestamp_micros(a1) + a0)", {"a0": "A.price", "TIMESTAMP_MICROS(a1)": "A.ts"})
    '(A.ts + A.price)'
    """
    pieces = {piece.lower(): said for piece, said in written.items()}
    longest = sorted(pieces, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(piece)}(?!\w)" for piece in longest)
    return re.sub(pattern, lambda match: pieces[match[0].lower()], text, flags=re.IGNORECASE) if pattern else text
