"""Statements, commands and prompts of other engines and their shells: which there are, and what does the same here."""

import re

SYNONYMS = {"UNSET": "RESET"}
"""What other engines' statements begin with that say the same."""

CREATED = {
    "SOURCE": "CREATE STREAM name (...) USING format OPTIONS (...)",
    "TEMPORARY": "CREATE VIEW name AS SELECT ... lasts as long as its catalog, that of a process or a file",
}
"""What other engines create, and what says the same."""

_SCRIPT = "\\i FILE in the shell, or cepsql -f FILE, executes a script"
_ALONE = "each statement that changes something is a transaction of its own; START QUERY runs a query"
WRITES = "INSERT INTO sink SELECT ... and CREATE QUERY name INTO sink AS SELECT ... write rows"
ONE_CATALOG = "cepsql --catalog LOCATION opens another catalog; names in one have no further parts"
_JARS = "cepsql --conf spark.jars=FILE gives Spark jars"
_PARTS = "EXPLAIN alone shows the plan and its patterns; EXPLAIN SPARK what Spark executes, EXPLAIN EXTENDED all of it"
_ANALYZE = "EXPLAIN ANALYZE QUERY name shows what a running query has done; EXPLAIN alone shows the plan"
_AGAIN = "CREATE OR REPLACE defines it again"
ELSEWHERE = {
    "RUN": _SCRIPT, "SOURCE": _SCRIPT, "SPOOL": "\\o FILE in the shell writes rows to a file",
    "BEGIN": _ALONE, "COMMIT": _ALONE, "ROLLBACK": _ALONE,
    "USE": ONE_CATALOG, "ADD": _JARS, "ADD JAR": _JARS,
    "COPY": f"SELECT * FROM 'file.csv' reads a file, CREATE TABLE names it; {WRITES}",
    "UPDATE": WRITES, "DELETE": WRITES, "MERGE": WRITES, "TRUNCATE": WRITES,
    "DEFINE": "cepsql -v NAME=VALUE binds :NAME", "DECLARE": "cepsql -v NAME=VALUE binds :NAME",
    "REPLACE": _AGAIN,
    "CLEAR": "Ctrl-L clears the screen", "HISTORY": "Ctrl-R in the shell searches the history",
    "HELP": "\\? in the shell lists its commands, cepsql --help options",
    "EXIT": "\\q leaves the shell; a script ends at its end", "QUIT": "\\q leaves the shell; a script ends at its end",
}  # fmt: skip
"""What statements and commands of other shells begin with, and what does the same here."""

ELSEWHERE_AFTER = {
    "SHOW": {
        **dict.fromkeys(("JOBS", "JOB"), "did you mean QUERIES?"),
        **dict.fromkeys(("DATABASES", "SCHEMAS", "CATALOGS", "DATABASE", "CATALOG", "CURRENT"), ONE_CATALOG),
        **dict.fromkeys(("PROPERTIES", "VARIABLES", "ALL", "CONF"), "SET shows the settings"),
        "TOPICS": "CREATE STREAM ... USING kafka OPTIONS (subscribe 'topic', ...) reads a topic",
        **dict.fromkeys(("JARS", "MODULES"), _JARS),
    },
    "EXPLAIN": dict.fromkeys(("VERBOSE", "CODEGEN", "COST", "PLAN", "TIMESTAMP"), _PARTS),
    "ALTER": dict.fromkeys(("STREAM", "TABLE", "VIEW", "SINK"), _AGAIN),
    "STOP": {"JOB": "did you mean QUERY?"},
}
"""By the word with which a statement begins: what other shells let follow it, and what is meant."""

ANALYZED = ("EXPLAIN", "ANALYZE"), _ANALYZE
"""What a query does not follow, and what is meant."""

PROMPT = re.compile(r"(\w[\w.:@/~-]*(?: \w[\w.:@/~-]*)?(?:\([^()]*\)| \[[^][]*\])?[=*-]*[>#$]) ")
"""What shells write before what is typed: psql, those of Flink, ksqlDB, MariaDB and others."""

UNSUPPORTED = {
    "UPDATE", "DELETE", "MERGE", "TRUNCATE", "USE", "CACHE", "UNCACHE", "LOAD", "ADD", "BEGIN", "COMMIT", "DECLARE",
    "REPLACE",
}  # fmt: skip
"""What statements begin with that Spark's SQL has, and that are refused by their names."""
