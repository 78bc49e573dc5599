"""A look at what a source holds now, before any query reads it: PRINT."""

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepsql.analysis.sql.properties import DELETED
from cepsql.catalog import Relation, Source
from cepsql.language.tokens import quoted
from cepsql.spark.frames.key_columns import ARRIVAL
from cepsql.spark.sources.source import MALFORMED, WHOLE, is_kafka, malformed_known, read_at_rest, read_source

_SHOWN = "malformed"


def at_rest(relation: Relation) -> Relation:
    """Return a stream as a table of the rows that are there now; other relations, and streams that can only be
    followed, as they are."""
    if not isinstance(relation, Source) or not relation.streaming or not read_at_rest(relation):
        return relation
    return replace(relation, streaming=False, watermark=None, late_rows=None, key=(), deletion=None, backfill=None)


def peeked(spark: SparkSession, source: Source) -> DataFrame | None:
    """Return the rows of a source that are there now, as they are read; None if it can only be followed.

    Where malformed rows are known, the last column, `malformed`, has the text of those that are.
    Raises what reading the source raises.
    """
    if not read_at_rest(source):
        return None
    bounded = replace(source, streaming=False)
    if not (malformed_known(source) or is_kafka(source)):
        return read_source(spark, replace(bounded, late_rows=None)).drop(ARRIVAL, DELETED)
    # With a table of late rows the texts of malformed rows are read, too.
    frame = read_source(spark, replace(bounded, late_rows=source))
    if MALFORMED not in frame.columns:
        return frame.drop(WHOLE, ARRIVAL, DELETED)
    text = F.when(F.col(MALFORMED), F.coalesce(F.col(f"{WHOLE}.record"), F.lit("yes"))).alias(_SHOWN)
    return frame.select(*(quoted(column.name) for column in source.columns), text)
