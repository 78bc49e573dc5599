"""Functions of other engines, by the names in capital letters that Spark does not know, and what takes their place."""

INSTEAD = {
    # ksqlDB
    "LATEST_BY_OFFSET": "max_by(x, ts) is x at the latest time",
    "EARLIEST_BY_OFFSET": "min_by(x, ts) is x at the earliest time",
    "COUNT_DISTINCT": "COUNT(DISTINCT x), or approx_count_distinct(x)",
    "TOPK": "slice(sort_array(collect_list(x), false), 1, k)",
    "TOPKDISTINCT": "slice(sort_array(collect_set(x), false), 1, k)",
    "EXTRACTJSONFIELD": "get_json_object(x, '$.name') reads a part of JSON",
    "STRINGTOTIMESTAMP": "to_timestamp(x, 'yyyy-MM-dd HH:mm:ss')",
    "PARSE_TIMESTAMP": "to_timestamp(x, 'yyyy-MM-dd HH:mm:ss')",
    "TIMESTAMPTOSTRING": "date_format(ts, 'yyyy-MM-dd HH:mm:ss')",
    "FORMAT_TIMESTAMP": "date_format(ts, 'yyyy-MM-dd HH:mm:ss')",
    # Flink SQL
    "MATCH_PROCTIME": "PROCTIME() is the time at which a row is processed, best as a column of the stream",
    "CURRENT_ROW_TIMESTAMP": "PROCTIME() is the time at which a row is processed",
    "CURRENT_WATERMARK": "it differs with the batches that rows come in: progress shows the watermark, and LATE "
    "ROWS INTO keeps the rows behind it",
    "ROW": "struct(x, y), or named_struct('a', x, 'b', y)",
    "JSON_VALUE": "get_json_object(x, '$.name') reads a part of JSON",
    "JSON_QUERY": "get_json_object(x, '$.name') reads a part of JSON",
    # Trino
    "ARBITRARY": "any_value(x)",
    "APPROX_DISTINCT": "approx_count_distinct(x)",
    "JSON_EXTRACT": "get_json_object(x, '$.name') reads a part of JSON",
    "JSON_EXTRACT_SCALAR": "get_json_object(x, '$.name') reads a part of JSON",
    "TO_UNIXTIME": "unix_timestamp(ts), or unix_micros(ts)",
    "DATE_PARSE": "to_timestamp(x, 'yyyy-MM-dd HH:mm:ss')",
    "PARSE_DATETIME": "to_timestamp(x, 'yyyy-MM-dd HH:mm:ss')",
    "FORMAT_DATETIME": "date_format(ts, 'yyyy-MM-dd HH:mm:ss')",
    "STRPOS": "instr(x, 'part')",
    "DAY_OF_WEEK": "weekday(ts) + 1 is 1 on Mondays, dayofweek(ts) on Sundays",
    "ARRAY_LENGTH": "size(x)",
    "GENERATE_SERIES": "sequence(1, 3)",
    # Oracle
    "NUMTODSINTERVAL": "make_dt_interval(days, hours, minutes, seconds)",
    "TO_DSINTERVAL": "make_dt_interval(days, hours, minutes, seconds)",
    # Others
    "ARG_MAX": "max_by(x, y)",
    "ARG_MIN": "min_by(x, y)",
    "GROUP_CONCAT": "LISTAGG(x, ',')",
}

_GROUP_WINDOWS, _PARTS = ("TUMBLE", "HOP", "SESSION"), ("", "_START", "_END", "_ROWTIME", "_PROCTIME")
GROUP_WINDOWS = frozenset(name + part for name in _GROUP_WINDOWS for part in _PARTS)
"""Flink's older functions of windows, which stand in GROUP BY and beside it."""

NO_GROUP_WINDOWS = "windows of event time are a relation, or written with Spark's function window"
GROUP_WINDOWS_INSTEAD = (
    "FROM TABLE(TUMBLE(TABLE stream, DESCRIPTOR(ts), INTERVAL '10' MINUTES)), or FROM stream WINDOW TUMBLING "
    "(SIZE 10 MINUTES), and GROUP BY window_start, window_end; or GROUP BY window(ts, '10 minutes')"
)
"""What is said of them."""
