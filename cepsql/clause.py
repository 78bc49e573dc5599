"""MATCH_RECOGNIZE for people who only want the clause: a DataFrame in, a DataFrame out."""

from typing import TYPE_CHECKING

from cepsql.engine import Query, connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match_recognize(frame: "DataFrame", clause: str, watermark: tuple[str, str] | None = None) -> "DataFrame":
    """Return the matches of a row pattern in a DataFrame.

    clause:    what stands between the parentheses of MATCH_RECOGNIZE: "PARTITION BY ... PATTERN ... DEFINE ...".
    watermark: for a streaming frame, its event-time column and how late rows may be, such as ("ts", "10 seconds");
               by default what `frame.withWatermark` said.
    Raises Error, with positions in `clause` prefixed by "SELECT * FROM input MATCH_RECOGNIZE (".
    """
    engine = connect(frame.sparkSession, catalog="")
    engine.register("input", frame, watermark)
    query = engine.sql(f"SELECT * FROM input MATCH_RECOGNIZE (\n{clause}\n)")
    assert isinstance(query, Query)
    return query.df
