"""The names of settings: which can be Spark's, and what takes the place of other engines' ones."""

import difflib
from collections.abc import Iterable

OWN = "cepsql."
"""What the names of cepsql's own settings begin with."""

_SPARKS = (
    "spark.", "fs.", "dfs.", "hadoop.", "hive.", "io.", "ipc.", "mapreduce.", "mapred.", "yarn.", "parquet.", "orc.",
    "avro.", "hoodie.", "javax.", "datanucleus.",
)  # fmt: skip
"""What names of Spark's begin with, and of those that it hands on: to Hadoop, to formats of files, to a metastore."""

_INSTEAD = {
    "auto.offset.reset": "CREATE STREAM ... USING kafka ... FROM EARLIEST begins with the first record",
    "execution.runtime-mode": "a query over a STREAM runs until it is stopped, one over TABLEs ends by itself",
    "sql-client.execution.result-mode": "\\live key shows a table that changes in the shell",
    "table.exec.state.ttl": "WITHIN, windows and the bounds of joins say how long rows are kept",
    "table.exec.source.idle-timeout": "CREATE STREAM ... WATERMARK FOR ... WITH IDLE TIMEOUT or WITH HEARTBEAT",
    "table.local-time-zone": "SET spark.sql.session.timeZone = 'Europe/Paris'",
    "timezone": "SET spark.sql.session.timeZone = 'Europe/Paris'",
    "parallelism.default": "SET cepsql.buckets, and spark.sql.shuffle.partitions",
    "execution.checkpointing.interval": "CREATE QUERY ... OPTIONS (trigger '10 seconds')",
}
"""Settings of Flink and ksqlDB, and what takes their place."""


_ELSEWHERE = (
    "table.", "sql-client.", "execution.", "pipeline.", "state.", "restart-strategy", "parallelism", "ksql.",
    "streaming_", "rw_", "cluster", "search_path", "threads", "memory_limit", "query_max", "session.",
)  # fmt: skip
"""What settings of other engines begin with."""


def can_be_sparks(key: str) -> bool:
    """Tell whether a setting may be one of Spark's, or one that it hands on."""
    return key.startswith(_SPARKS)


def setting_hint(key: str, own: Iterable[str]) -> str:
    """Make the hint for a name that is no setting; `own` are cepsql's.

    >>> setting_hint("cepsql.scam", ["cepsql.scan", "cepsql.strict"])
    'did you mean cepsql.scan? settings: cepsql.scan, cepsql.strict'
    """
    if key.lower() in _INSTEAD:
        return _INSTEAD[key.lower()]
    if key.lower().startswith(_ELSEWHERE):
        return "leave it out; SET alone shows the settings of cepsql, and those of Spark begin with spark."
    listed = f"settings: {', '.join(own)}"
    listed = listed if key.startswith(OWN) else f"{listed}, and those of Spark, which begin with spark."
    # What all of them begin with tells none apart.
    near = difflib.get_close_matches(key.removeprefix(OWN).lower(), [name.removeprefix(OWN) for name in own], 1)
    return f"did you mean {OWN}{near[0]}? {listed}" if near else listed
