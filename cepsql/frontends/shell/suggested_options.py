"""The formats and options that completion offers, by statement."""

import re

from cepsql.analysis.ddl.source_options import COMMON_FILE_OPTIONS, COMMON_OPTIONS, FILE_FORMATS

FORMATS_OF_RECORDS = ("json", "csv", "avro", "debezium")

SOURCE_OPTIONS = {
    format: (*COMMON_FILE_OPTIONS, *names) if format in FILE_FORMATS else names
    for format, names in COMMON_OPTIONS.items()
}
SINK_OPTIONS: dict[str, tuple[str, ...]] = {
    "postgresql": ("url", "user", "password", "table", "schema", "create_table", "retry_for"),
    "sqlite": ("path", "table", "create_table", "retry_for"),
    "kafka": ("kafka.bootstrap.servers", "topic", "retry_for"),
    "parquet": ("path", "partitionBy", "compression"),
    "json": ("path", "partitionBy", "compression"),
    "csv": ("path", "partitionBy", "compression", "header"),
    "webhook": ("url", "per", "timeout", "retry_for", "header."),
    "python": ("function",),
    "console": ("format",),
    "delta": ("path",),
}
QUERY_OPTIONS = (
    "trigger",
    "start",
    "checkpoint",
    "keep_last",
    "cepsql.one_task",
    "cepsql.scan",
    "cepsql.strict",
    "cepsql.step_budget",
    "cepsql.undecided_rows",
    "cepsql.buckets",
)


def formats(head: str) -> tuple[str, ...]:
    """Return the formats that fit after USING at the end of a text.

    >>> formats("CREATE SINK s USING ")[:2]
    ('postgresql', 'sqlite')
    """
    if re.search(r"\bLATE\s+ROWS\s+INTO\s+\S+\s+USING\s+\Z", head, re.IGNORECASE):
        return ("parquet", "json", "csv")
    return tuple(SINK_OPTIONS if _is_sink(head) else SOURCE_OPTIONS)


def option_names(head: str) -> tuple[str, ...]:
    """Return the names of the options that fit at the end of a text.

    >>> option_names("CREATE QUERY q OPTIONS (")[:2]
    ('trigger', 'start')
    """
    if format_names := re.findall(r"\b(?:USING|FORMAT)\s+(\w+)", head, re.IGNORECASE):
        return (SINK_OPTIONS if _is_sink(head) else SOURCE_OPTIONS).get(format_names[-1].lower(), ())
    return QUERY_OPTIONS if re.search(r"\bQUERY\b", head, re.IGNORECASE) else ()


def _is_sink(head: str) -> bool:
    return bool(re.match(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?SINK\b", head, re.IGNORECASE))
