"""What `\\h` says of a statement or clause: its form, and an example."""

HELP = {
    "SELECT": (
        "SELECT ... FROM stream_or_table [MATCH_RECOGNIZE (...)] [WHERE ...]\n  [ORDER BY event_time, ...] [LIMIT n]",
        "SELECT sym, price FROM ticks WHERE price > 100 LIMIT 10;",
    ),
    "MATCH_RECOGNIZE": (
        "FROM source MATCH_RECOGNIZE (\n"
        "  [PARTITION BY column, ...] ORDER BY event_time\n"
        "  [MEASURES expression AS name, ...]\n"
        "  [ONE ROW PER MATCH | ALL ROWS PER MATCH]\n"
        "  [AFTER MATCH SKIP PAST LAST ROW | TO NEXT ROW | TO FIRST variable | TO LAST variable]\n"
        "  PATTERN (row pattern) [WITHIN interval] [SUBSET name = (variables)]\n"
        "  [DEFINE variable AS condition, ...]) [AS alias]",
        "SELECT * FROM ticks MATCH_RECOGNIZE (\n"
        "  PARTITION BY sym ORDER BY ts\n"
        "  MEASURES FIRST(DOWN.price) AS top, LAST(UP.price) AS back\n"
        "  PATTERN (DOWN+ UP+) WITHIN INTERVAL '1' HOUR\n"
        "  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price));",
    ),
    "WINDOW": (
        "FROM source WINDOW TUMBLING ([ON time,] SIZE length [, OFFSET length])\n"
        "  | HOPPING (SIZE length, ADVANCE BY length) | CUMULATING (SIZE length, STEP length)\n"
        "  | SESSION (GAP length [PARTITION BY column, ...])\n"
        "  [FILL (value | PREVIOUS | LINEAR [AS column], ... [FOR AT MOST length])]\n"
        "GROUP BY window_start, window_end [, column ...]",
        "SELECT sym, window_end, MAX(price) FROM ticks WINDOW TUMBLING (SIZE 1 HOUR)\n"
        "GROUP BY sym, window_start, window_end;",
    ),
    "EMIT": (
        "SELECT ... GROUP BY window, ... EMIT ON WINDOW CLOSE | CHANGES | EVERY interval [ALLOWED LATENESS interval]",
        "SELECT sym, COUNT(*) FROM ticks GROUP BY sym, window(ts, '1 hour')\n"
        "EMIT CHANGES ALLOWED LATENESS INTERVAL '5' MINUTES;",
    ),
    "CREATE STREAM": (
        "CREATE [OR REPLACE] STREAM [IF NOT EXISTS] name (column TYPE [AS expression], ...,\n"
        "  WATERMARK FOR column AS column - INTERVAL 'n' unit) USING format [OPTIONS (key 'value', ...)]\n"
        "  [LATE ROWS INTO table USING format OPTIONS (path '...')]",
        "CREATE STREAM ticks (sym STRING, ts TIMESTAMP, price DOUBLE,\n"
        "  WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS) USING json OPTIONS (path 'in/');",
    ),
    "CREATE TABLE": (
        "CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name [(column TYPE, ...)] USING format [OPTIONS (key 'value', ...)]",
        "CREATE TABLE shares USING csv OPTIONS (path 'shares.csv', header 'true');",
    ),
    "CREATE VIEW": (
        "CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS query",
        "CREATE VIEW dear AS SELECT * FROM ticks WHERE price > 100;",
    ),
    "DROP": (
        "DROP STREAM | TABLE | VIEW | SINK | QUERY [IF EXISTS] name [CASCADE]",
        "DROP VIEW IF EXISTS dear;",
    ),
    "CREATE SINK": (
        "CREATE [OR REPLACE] SINK [IF NOT EXISTS] name [(column TYPE, ..., PRIMARY KEY (column, ...))]\n"
        "  USING format [OPTIONS (key 'value', ...)]",
        "CREATE SINK alerts (sym STRING, ts TIMESTAMP, PRIMARY KEY (sym, ts))\n"
        "  USING sqlite OPTIONS (path 'alerts.db', create_table 'true');",
    ),
    "CREATE QUERY": (
        "CREATE [OR REPLACE] QUERY [IF NOT EXISTS] name [INTO sink] [OPTIONS (key 'value', ...)] AS query",
        "CREATE QUERY dear_ticks INTO alerts AS SELECT sym, ts FROM ticks WHERE price > 100;",
    ),
    "START QUERY": ("START | PAUSE | RESUME | RESTART | STOP QUERY name", "START QUERY dear_ticks;"),
    "INSERT": ("INSERT INTO sink query", "INSERT INTO alerts SELECT sym, ts FROM ticks;"),
    "SHOW": (
        "SHOW STREAMS | TABLES | VIEWS | SINKS | QUERIES\nSHOW FUNCTIONS [LIKE 'pattern*']\n"
        "SHOW CREATE STREAM | TABLE | VIEW | SINK | QUERY name\nSHOW QUERY name HISTORY",
        "SHOW FUNCTIONS LIKE 'date*';",
    ),
    "DESCRIBE": ("DESCRIBE [EXTENDED] name\nDESCRIBE [EXTENDED] QUERY name", "DESCRIBE EXTENDED ticks;"),
    "PRINT": ("PRINT name [LIMIT n]", "PRINT ticks LIMIT 5;"),
    "EXPLAIN": (
        "EXPLAIN [REWRITTEN | LOGICAL | PATTERN | PHYSICAL] query\nEXPLAIN MATCH query FOR KEY (value, ...)",
        "EXPLAIN LOGICAL SELECT * FROM ticks;",
    ),
    "SET": ("SET [key [= value]], RESET [key]", "SET cepsql.strict = true;"),
}
"""By name: the form, then an example."""


def statement_help(name: str) -> str:
    """Return the form of a statement or clause with an example, or the names that there are."""
    wanted = " ".join(name.upper().split())
    found = [known for known in HELP if known == wanted] or [known for known in HELP if wanted and wanted in known]
    if not found:
        return f"there is help for {', '.join(HELP)}" + (f", not for {name}" if name else "")
    return "\n\n".join(f"{HELP[known][0]}\n\nexample:\n{HELP[known][1]}" for known in found)
