"""The help of `\\h` about a statement or clause: its form in the grammar, and an example."""

from dataclasses import dataclass

from cepsql.frontends.shell.form_lines import WIDTH
from cepsql.frontends.shell.grammar_forms import form, keywords_of, used_rules


@dataclass(frozen=True)
class Topic:
    """A statement or clause: its rules in the grammar, and an example; `text`: a form that replaces the rules."""

    rules: tuple[str, ...]
    example: str
    text: str = ""


_STREAM = """CREATE STREAM ticks (sym STRING, ts TIMESTAMP, price DOUBLE,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
  USING json OPTIONS (path 'in/');"""

TOPICS = {
    "SELECT": Topic(
        ("query", "from_clause", "join_clause", "nested", "relation", "operator_item"),
        "SELECT sym, price FROM ticks WHERE price > 100 LIMIT 10;",
        "[WITH name AS (query), ...] SELECT expression [AS name], ...\n"
        "FROM relation [MATCH_RECOGNIZE | DEDUPLICATE | WINDOW (...)] [AS alias]\n"
        "  [[LEFT | RIGHT | FULL | CROSS | SEMI | ANTI | ASOF] JOIN relation ON ...]...\n"
        "[WHERE condition] [GROUP BY expression, ...] [HAVING condition]\n"
        "[UNION ALL query] [ORDER BY expression, ...] [LIMIT n] [EMIT ...]\n"
        "over views: [AT WATERMARK] [AFTER 'token'] [FRESH WITHIN interval]",
    ),
    "MATCH_RECOGNIZE": Topic(
        ("match_recognize",),
        "SELECT * FROM ticks MATCH_RECOGNIZE (\n"
        "  PARTITION BY sym ORDER BY ts\n"
        "  MEASURES FIRST(DOWN.price) AS top, LAST(UP.price) AS back\n"
        "  PATTERN (DOWN+ UP+) WITHIN INTERVAL '1' HOUR\n"
        "  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price));",
    ),
    "PATTERN": Topic(
        ("pattern",),
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts\n"
        "  PATTERN (A (B | C){2,} D?) WITHIN INTERVAL '1' HOUR\n  DEFINE B AS price > 9, C AS price < 1);",
        "PATTERN (row pattern), where a row pattern is made of\n"
        "  A             a row of the variable A\n"
        "  A B           a row of A, then one of B\n"
        "  A | B         one or the other, tried in this order\n"
        "  (A B)         a group\n"
        "  A* A+ A?      any number; one or more; one or none\n"
        "  A{2} A{2,5}   so many; also A{2,} and A{,5}\n"
        "  A*? A+? A??   as few rows as possible, after any of these\n"
        "  PERMUTE(A, B) in any order\n"
        "  {- A -}       not among the rows of ALL ROWS PER MATCH\n"
        "  ^ $ ()        begin and end of the partition; no row",
    ),
    "OVER": Topic(
        ("window_pattern",),
        "SELECT sym, low OVER w FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts\n"
        "  MEASURES LAST(DOWN.price) AS low ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING\n"
        "  PATTERN (TOP DOWN+) DEFINE DOWN AS price < PREV(price));",
    ),
    "WINDOW": Topic(
        ("window", "window_function"),
        "SELECT sym, window_end, MAX(price) FROM ticks WINDOW TUMBLING (SIZE 1 HOUR)\n"
        "GROUP BY sym, window_start, window_end;",
    ),
    "EMIT": Topic(
        ("emit",),
        "SELECT sym, COUNT(*) FROM ticks GROUP BY sym, window(ts, '1 hour')\n"
        "EMIT CHANGES ALLOWED LATENESS INTERVAL '5' MINUTES;",
    ),
    "DEDUPLICATE": Topic(
        ("deduplicate",),
        "SELECT * FROM ticks\nDEDUPLICATE (PARTITION BY sym ORDER BY ts WITHIN INTERVAL '1' HOUR);",
    ),
    "CREATE STREAM": Topic(("create_stream",), _STREAM),
    "WATERMARK": Topic(("watermark",), _STREAM),
    "CREATE TABLE": Topic(
        ("create_table", "create_as"), "CREATE TABLE shares USING csv OPTIONS (path 'shares.csv', header 'true');"
    ),
    "CREATE VIEW": Topic(("create_view",), "CREATE VIEW dear AS SELECT * FROM ticks WHERE price > 100;"),
    "CREATE MATERIALIZED VIEW": Topic(
        ("create_materialized",),
        "CREATE MATERIALIZED VIEW spent PRIMARY KEY (city) AS\n"
        "SELECT city, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES;",
    ),
    "CREATE VIEW GROUP": Topic(
        ("create_group",),
        "CREATE VIEW GROUP sales OPTIONS (trigger '1 second');\n"
        "CREATE MATERIALIZED VIEW spent IN sales AS\n"
        "SELECT city, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES;\n"
        "START VIEW GROUP sales;",
    ),
    "CREATE SINK": Topic(
        ("create_sink",),
        "CREATE SINK alerts (sym STRING, ts TIMESTAMP, PRIMARY KEY (sym, ts))\n"
        "  USING sqlite OPTIONS (path 'alerts.db', create_table 'true');",
    ),
    "CREATE QUERY": Topic(
        ("create_query",), "CREATE QUERY dear_ticks INTO alerts AS\nSELECT sym, ts FROM ticks WHERE price > 100;"
    ),
    "START QUERY": Topic(("control",), "STOP QUERY dear_ticks WITH SAVEPOINT 'before upgrade';"),
    "ALTER QUERY": Topic(("alter",), "ALTER QUERY dear_ticks SET (trigger '5 seconds');"),
    "DROP": Topic(("drop", "drop_savepoint"), "DROP VIEW IF EXISTS dear;"),
    "INSERT": Topic(("insert",), "INSERT INTO alerts SELECT sym, ts FROM ticks;"),
    "PREPARE": Topic(
        ("prepare", "execute", "execute_text", "deallocate"),
        "PREPARE dear FROM SELECT * FROM ticks WHERE price > ?;\nEXECUTE dear USING 100;",
    ),
    "SHOW": Topic(
        ("show", "show_extended", "show_functions", "show_create", "show_history"), "SHOW FUNCTIONS LIKE 'date*';"
    ),
    "DESCRIBE": Topic(("describe", "describe_query"), "DESCRIBE EXTENDED ticks;"),
    "PRINT": Topic(("print",), "PRINT ticks LIMIT 5;"),
    "SUMMARIZE": Topic(("summarize",), "SUMMARIZE ticks;"),
    "SUBSCRIBE": Topic(("subscribe",), "SUBSCRIBE spent SINCE '8c51bcbc-13';"),
    "WAIT FOR": Topic(
        ("wait_for",),
        "WAIT FOR spent UNTIL 'orders@insert-1-5f0c.csv' TIMEOUT INTERVAL '2' SECONDS;",
    ),
    "EXPLAIN": Topic(
        (
            "explain",
            "explain_query",
            "explain_picture",
            "explain_match",
            "explain_analyze",
            "explain_replace",
            "explain_replace_view",
        ),
        "EXPLAIN MATCH QUERY dear_ticks FOR KEY ('ACME');",
    ),
    "SET": Topic(("set", "reset"), "SET cepsql.strict = true;"),
}
"""The topics of the help by name."""

_OWN = frozenset(rule for topic in TOPICS.values() for rule in topic.rules)
_COLUMN = 18


def statement_help(name: str) -> str:
    """Return the form of a statement or clause with an example, or the names of all topics.

    Any other word is looked up in the grammar: the statement or clause with the fewest parts that contains it.
    """
    wanted = " ".join(name.upper().split())
    topics = [topic for topic in TOPICS if topic == wanted] or [topic for topic in TOPICS if wanted and wanted in topic]
    if not topics and wanted:
        word = wanted.split()[-1]
        topics = sorted((topic for topic in TOPICS if word in topic_keywords(topic)), key=_parts)[:1]
    if not topics:
        begin = f"there is no help for {name}; there is help for" if name else "there is help for"
        return "\n".join([begin, *_names()])
    return "\n\n".join(map(_help, topics))


def topic_keywords(name: str) -> set[str]:
    """Return the keywords in the form of a topic."""
    return keywords_of(set().union(*(used_rules(rule) for rule in TOPICS[name].rules)))


def _parts(name: str) -> int:
    return sum(len(used_rules(rule)) for rule in TOPICS[name].rules)


def _names() -> list[str]:
    names, each = list(TOPICS), WIDTH // _COLUMN
    rows = (names[begin : begin + each] for begin in range(0, len(names), each))
    return ["".join(f"{name:<{_COLUMN}}" for name in row).rstrip() for row in rows]


def _help(name: str) -> str:
    topic = TOPICS[name]
    named = set().union(*(used_rules(rule, _OWN) for rule in topic.rules)) - set(topic.rules)
    more = [f"\\h {title}" for title, other in TOPICS.items() if title != name and named & set(other.rules)]
    see = f"\nsee also {', '.join(more)}" if more else ""
    return f"{topic.text or form(topic.rules, _OWN)}{see}\n\nexample:\n{topic.example}"
