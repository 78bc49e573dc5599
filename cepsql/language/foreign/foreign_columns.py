"""Columns that every relation of another engine has, and what takes their place."""

from cepsql.language.foreign.esper import STREAMS

NO_COLUMNS = {
    "LOCALTIMESTAMP": "localtimestamp()",
    "LOCALTIME": "date_format(current_timestamp(), 'HH:mm:ss')",
    # ksqlDB
    "ROWTIME": "the column that WATERMARK FOR names is the event time of a stream",
    "WINDOWSTART": "window_start, of a relation with WINDOW TUMBLING (...) behind it in FROM",
    "WINDOWEND": "window_end, of a relation with WINDOW TUMBLING (...) behind it in FROM",
    "ROWPARTITION": "part INT METADATA FROM 'partition' in CREATE STREAM is the partition of a record",
    "ROWOFFSET": "place BIGINT METADATA FROM 'offset' in CREATE STREAM is the offset of a record",
    # Trino
    "AUTO": "GROUP BY ALL groups by all items that are no aggregates",
    # Esper
    **STREAMS,
    # Oracle
    "ROWNUM": "LIMIT n takes the first rows, ROW_NUMBER() OVER (ORDER BY x) numbers them",
    "ROWID": "ROW_NUMBER() OVER (ORDER BY x) numbers rows",
    "LEVEL": "SELECT explode(sequence(1, 5)) gives numbers, WITH RECURSIVE a hierarchy",
    "SYSDATE": "current_timestamp()",
    "SYSTIMESTAMP": "current_timestamp()",
    # BigQuery, whose units of time are no texts
    **dict.fromkeys(
        ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"),
        "a unit of time is a text in date_trunc('HOUR', ts), and stands first in timestampadd(HOUR, 1, ts)",
    ),
}
"""By their names in capital letters."""
