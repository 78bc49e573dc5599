"""Spark's messages about stand-in columns, in the words of the statement."""

import re
from collections.abc import Mapping

from pyspark.errors import AnalysisException

from cepsql.analysis.row_pattern.match_lists import ELEMENT
from cepsql.errors import Error
from cepsql.plan.tree.nodes import Node, matches_of
from cepsql.plan.tree.stand_ins import stand_ins
from cepsql.spark.jvm.messages.failures import placed, refused_pieces


def in_words_of_statement(error: Error, failure: Exception, root: Node, sql: str) -> Error:
    """Return the error with columns named as the statement writes them, and its position there.

    error, failure: Spark's failure, translated and original.
    sql:            the statement.
    """
    if not isinstance(failure, AnalysisException):
        return error
    written = _measures(failure, root) or stand_ins(root)
    error.message = _as_written(error.message, written)
    return placed(error, failure, sql, lambda piece: _as_written(piece, written))


def _measures(failure: AnalysisException, root: Node) -> Mapping[str, str]:
    """Return the stand-ins of the match that computes the SQL that Spark rejects, by name."""
    pieces = refused_pieces(failure)
    for match in matches_of(root):
        columns = [*(column.sql for column in match.output), *(aggregate.call for aggregate in match.aggregates)]
        if any(piece.lower() in sql.lower() for piece in pieces for sql in columns):
            return match.written
        # Spark also shows default arguments.
        if match.aggregates and any(f"{ELEMENT}." in piece for piece in pieces):
            return match.written
    return {}


def _as_written(text: str, written: Mapping[str, str]) -> str:
    """Return a text with stand-ins replaced by what the statement has in their place.

    >>> _as_written("(timestamp_micros(a1) + a0)", {"a0": "A.price", "TIMESTAMP_MICROS(a1)": "A.ts"})
    '(A.ts + A.price)'
    """
    pieces = {piece.lower(): said for piece, said in written.items()}
    longest = sorted(pieces, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(piece)}(?!\w)" for piece in longest)
    return re.sub(pattern, lambda match: pieces[match[0].lower()], text, flags=re.IGNORECASE) if pattern else text
