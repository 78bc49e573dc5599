"""Random programs of operators over operators, each written as subqueries, as CTEs, with names that clash, as views."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

COLUMNS = "(k STRING, x BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)"
KEYED = "(k STRING, x BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (k))"
TABLE = "(k STRING, x BIGINT)"
STREAMS = "ab"
VERSIONS, AT_REST = "c", "d"
FORMS = ("subqueries", "ctes", "views")
CLASHING = "clashing ctes"
"""A form in which each SELECT names its parts in a WITH of its own, where they have the names of streams."""

_GROUP = "GROUP BY k, window_start, window_end"
_NEAR = "r.k = l.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECONDS"
_PATTERN = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS ts, LAST(B.x) AS x PATTERN (A B+? C) "
    "WITHIN INTERVAL '20' SECONDS DEFINE B AS x >= FIRST(A.x), C AS x < LAST(B.x)) AS m"
)

UNARY = {
    "rows": "SELECT k, x + 1 AS x, ts FROM {0} WHERE x > 0",
    "stars": "SELECT * FROM {0}",
    "distinct": "SELECT DISTINCT k, x, ts FROM {0}",
    "sums of rows": "SELECT k, SUM(x) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) AS x, ts FROM {0}",
    "sums of a time": "SELECT k, SUM(x) OVER (PARTITION BY k ORDER BY ts "
    "RANGE BETWEEN INTERVAL '10' SECONDS PRECEDING AND CURRENT ROW) AS x, ts FROM {0}",
    "first of each": "SELECT k, x, ts FROM {0} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) <= 2",
    "tumbling": f"SELECT k, window_end AS ts, SUM(x) AS x FROM {{0}} WINDOW TUMBLING (SIZE 10 SECONDS) {_GROUP}",
    "tumbling by begin": f"SELECT k, window_start AS ts, COUNT(*) AS x FROM {{0}} WINDOW TUMBLING (SIZE 10 SECONDS) "
    f"{_GROUP}",
    "hopping": "SELECT k, window_end AS ts, MAX(x) AS x FROM {0} "
    f"WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) {_GROUP}",
    "session": f"SELECT k, window_end AS ts, COUNT(DISTINCT x) AS x FROM {{0}} "
    f"WINDOW SESSION (GAP 5 SECONDS PARTITION BY k) {_GROUP}",
    "window(...)": "SELECT k, window.end AS ts, SUM(x) AS x FROM {0} GROUP BY k, window(ts, '10 seconds')",
    "rows of windows": "SELECT k, x, ts FROM {0} WINDOW TUMBLING (SIZE 10 SECONDS)",
    "deduplicate": "SELECT k, x, ts FROM {0} DEDUPLICATE (PARTITION BY k, x ORDER BY ts) AS o",
    "deduplicate within": "SELECT k, x, ts FROM {0} "
    "DEDUPLICATE (PARTITION BY k ORDER BY ts WITHIN INTERVAL '10' SECONDS) AS o",
    "pattern": f"SELECT k, x, ts FROM {{0}} {_PATTERN}",
    "pattern in a window": "SELECT k, LENGTH(label OVER w) AS x, ts FROM {0} WINDOW w AS (PARTITION BY k ORDER BY ts "
    "MEASURES CLASSIFIER() AS label ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (A B*) DEFINE B AS x > PREV(x))",
}
BINARY = {
    "join": f"SELECT l.k, l.x + r.x AS x, l.ts FROM {{0}} AS l JOIN {{1}} AS r ON {_NEAR}",
    "join by the right": f"SELECT l.k, r.x, r.ts FROM {{0}} AS l JOIN {{1}} AS r ON {_NEAR}",
    "left join": f"SELECT l.k, COALESCE(r.x, 0) AS x, l.ts FROM {{0}} AS l LEFT JOIN {{1}} AS r ON {_NEAR}",
    "anti join": f"SELECT l.k, l.x, l.ts FROM {{0}} AS l LEFT ANTI JOIN {{1}} AS r ON {_NEAR}",
    "exists": f"SELECT l.k, l.x, l.ts FROM {{0}} AS l WHERE EXISTS (SELECT 1 FROM {{1}} AS r WHERE {_NEAR})",
    "not exists": f"SELECT l.k, l.x, l.ts FROM {{0}} AS l WHERE NOT EXISTS (SELECT 1 FROM {{1}} AS r WHERE {_NEAR})",
    "asof": "SELECT l.k, r.x, l.ts FROM {0} AS l ASOF JOIN {1} AS r MATCH_CONDITION (l.ts >= r.ts) ON r.k = l.k",
    "union": "SELECT k, x, ts FROM {0} UNION ALL SELECT k, x, ts FROM {1}",
    "later": f"SELECT l.k, l.x, GREATEST(l.ts, r.ts) AS ts FROM {{0}} AS l JOIN {{1}} AS r ON {_NEAR}",
}
OF_VERSIONS = {
    "version": "SELECT l.k, l.x + COALESCE(r.x, 0) AS x, l.ts FROM {0} AS l "
    "LEFT JOIN {1} FOR SYSTEM_TIME AS OF l.ts AS r ON r.k = l.k",
    "version that is there": "SELECT l.k, r.x, l.ts FROM {0} AS l "
    "JOIN {1} FOR SYSTEM_TIME AS OF l.ts AS r ON r.k = l.k",
}
"""Of a stream with a key on the right."""

READERS = {
    "all": "SELECT * FROM {0}",
    "some": "SELECT k, x AS v FROM {0} WHERE x > 1",
    "groups": "SELECT k, COUNT(*) AS n, SUM(x) AS x FROM {0} GROUP BY k EMIT CHANGES",
    "distinct counts": "SELECT k, COUNT(DISTINCT x) AS n FROM {0} GROUP BY k EMIT CHANGES",
    "medians": "SELECT k, MEDIAN(x) AS n FROM {0} GROUP BY k EMIT CHANGES",
    "top": "SELECT k, x FROM {0} ORDER BY x DESC, k LIMIT 2 EMIT CHANGES",
    "ranks": "SELECT k, x, ts FROM {0} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, ts) = 1 EMIT CHANGES",
    "minutes": "SELECT k, window_end, SUM(x) AS x FROM {0} WINDOW TUMBLING (SIZE 1 MINUTE) " + _GROUP,
    "corrected minutes": "SELECT k, window_end, SUM(x) AS x FROM {0} WINDOW TUMBLING (SIZE 1 MINUTE) "
    + _GROUP
    + " EMIT CHANGES",
}
FURTHER_UNARY = {
    "cumulating": "SELECT k, window_end AS ts, COUNT(*) AS x FROM {0} "
    f"WINDOW CUMULATING (SIZE 20 SECONDS, STEP 10 SECONDS) {_GROUP}",
    "filled": "SELECT k, window_end AS ts, COUNT(*) AS x FROM {0} "
    f"WINDOW TUMBLING (SIZE 10 SECONDS) FILL (0 FOR AT MOST INTERVAL '20' SECONDS) {_GROUP}",
    "session of all": "SELECT MIN(k) AS k, window_end AS ts, SUM(x) AS x FROM {0} "
    "WINDOW SESSION (GAP 5 SECONDS) GROUP BY window_start, window_end",
    "session_window(...)": "SELECT k, session_window.end AS ts, COUNT(*) AS x FROM {0} "
    "GROUP BY k, session_window(ts, '5 seconds')",
    "rows of sessions": "SELECT k, x, ts FROM {0} WINDOW SESSION (GAP 5 SECONDS PARTITION BY k)",
    "first of windows": "SELECT k, x, ts FROM {0} WINDOW TUMBLING (SIZE 10 SECONDS) QUALIFY ROW_NUMBER() OVER "
    "(PARTITION BY window_start, window_end ORDER BY x DESC, k, ts) <= 2",
    "before": "SELECT k, x - COALESCE(LAG(x) OVER (PARTITION BY k ORDER BY ts), 0) AS x, ts FROM {0}",
    "numbers": "SELECT k, x, ts, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n FROM {0} QUALIFY n % 2 = 1",
    "not seen": "SELECT k, x, ts FROM {0} QUALIFY NOT MIGHT_HAVE_SEEN(x) OVER (PARTITION BY k ORDER BY ts)",
    "exploded": "SELECT k, y AS x, ts FROM {0} LATERAL VIEW explode(array(x, x + 1)) AS y",
    "beside a table": "SELECT l.k, l.x + r.x AS x, l.ts FROM {0} AS l JOIN d AS r ON r.k = l.k",
    "in a table": "SELECT k, x, ts FROM {0} WHERE k IN (SELECT k FROM d)",
    "all rows": "SELECT k, n AS x, ts FROM {0} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES SUM(x) AS n "
    "ALL ROWS PER MATCH PATTERN (A B+) WITHIN INTERVAL '20' SECONDS DEFINE B AS x >= PREV(x)) AS m",
}
FURTHER_BINARY = {
    "right join": f"SELECT r.k, COALESCE(l.x, 0) AS x, r.ts FROM {{0}} AS l RIGHT JOIN {{1}} AS r ON {_NEAR}",
    "full join": "SELECT COALESCE(l.k, r.k) AS k, COALESCE(l.x, r.x) AS x, GREATEST(l.ts, r.ts) AS ts "
    f"FROM {{0}} AS l FULL JOIN {{1}} AS r ON {_NEAR}",
    "semi join": f"SELECT l.k, l.x, l.ts FROM {{0}} AS l LEFT SEMI JOIN {{1}} AS r ON {_NEAR}",
    "in": "SELECT l.k, l.x, l.ts FROM {0} AS l WHERE l.k IN "
    "(SELECT r.k FROM {1} AS r WHERE r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECONDS)",
    "using": "SELECT k, l.x, l.ts FROM {0} AS l JOIN {1} AS r USING (k) "
    "WHERE r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECONDS",
    "windows joined": "SELECT l.k, l.x + r.x AS x, l.window_end AS ts FROM {0} WINDOW TUMBLING (SIZE 10 SECONDS) AS l "
    "JOIN {1} WINDOW TUMBLING (SIZE 10 SECONDS) AS r "
    "ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end",
    "left asof": "SELECT l.k, COALESCE(r.x, -1) AS x, l.ts FROM {0} AS l LEFT ASOF JOIN {1} AS r "
    "MATCH_CONDITION (l.ts > r.ts) ON r.k = l.k",
    "asof within": "SELECT l.k, l.x + r.x AS x, l.ts FROM {0} AS l ASOF JOIN {1} AS r MATCH_CONDITION (l.ts >= r.ts) "
    "ON r.k = l.k AND r.ts >= l.ts - INTERVAL '9' SECONDS AND r.x <> l.x",
    "union by name": "SELECT k, x, ts FROM {0} UNION ALL BY NAME SELECT ts, x, k FROM {1}",
}
FURTHER_READERS = {
    "distinct rows": "SELECT DISTINCT k, x FROM {0}",
    "in order": "SELECT k, x, ts FROM {0} ORDER BY ts, k, x",
    "frames": "SELECT k, x, SUM(x) OVER (PARTITION BY k ORDER BY x, ts ROWS 1 PRECEDING) AS n FROM {0} EMIT CHANGES",
    "groups of groups": "SELECT n, COUNT(*) AS c FROM (SELECT k, COUNT(*) AS n FROM {0} GROUP BY k) AS g GROUP BY n "
    "EMIT CHANGES",
    "groups of windows": "SELECT k, MAX(x) AS x FROM (SELECT k, SUM(x) AS x FROM {0} "
    f"WINDOW TUMBLING (SIZE 1 MINUTE) {_GROUP}) AS g GROUP BY k EMIT CHANGES",
    "ranks of groups": "SELECT k, n, RANK() OVER (ORDER BY n DESC) AS r FROM "
    "(SELECT k, COUNT(*) AS n FROM {0} GROUP BY k) AS g QUALIFY r <= 2 EMIT CHANGES",
    "different": "SELECT DISTINCT k, x FROM {0} EMIT CHANGES",
    "changes of windows": "SELECT k, MAX(x) AS x FROM (SELECT k, SUM(x) AS x FROM {0} "
    f"WINDOW TUMBLING (SIZE 1 MINUTE) {_GROUP} EMIT CHANGES) AS g GROUP BY k EMIT CHANGES",
}
READERS_OF_TWO = {
    "known": "SELECT l.k, l.x FROM {0} AS l WHERE EXISTS (SELECT 1 FROM {1} AS r WHERE r.k = l.k AND r.x > l.x) "
    "EMIT CHANGES",
    "unknown": "SELECT l.k, l.x FROM {0} AS l WHERE l.x NOT IN (SELECT r.x FROM {1} AS r) EMIT CHANGES",
    "joined groups": "SELECT l.k, l.x, r.n FROM {0} AS l LEFT JOIN (SELECT k, COUNT(*) AS n FROM {1} GROUP BY k) AS r "
    "ON r.k = l.k EMIT CHANGES",
    "either": "SELECT k, x FROM {0} UNION SELECT k, x FROM {1} EMIT CHANGES",
    "one only": "SELECT k, x FROM {0} EXCEPT SELECT k, x FROM {1} EMIT CHANGES",
    "share": "SELECT l.k, l.x, (SELECT SUM(r.x) FROM {1} AS r WHERE r.k = l.k) AS s FROM {0} AS l EMIT CHANGES",
}
_FUNCTIONS = (
    (r"(\{\d\}) WINDOW TUMBLING \(SIZE (\d+) (\w+)\)", r"TABLE(TUMBLE(TABLE \1, DESCRIPTOR(ts), INTERVAL '\2' \3))"),
    (
        r"(\{\d\}) WINDOW HOPPING \(SIZE (\d+) (\w+), ADVANCE BY (\d+) (\w+)\)",
        r"TABLE(HOP(TABLE \1, DESCRIPTOR(ts), INTERVAL '\4' \5, INTERVAL '\2' \3))",
    ),
    (
        r"(\{\d\}) WINDOW CUMULATING \(SIZE (\d+) (\w+), STEP (\d+) (\w+)\)",
        r"TABLE(CUMULATE(TABLE \1, DESCRIPTOR(ts), INTERVAL '\4' \5, INTERVAL '\2' \3))",
    ),
    (
        r"(\{\d\}) WINDOW SESSION \(GAP (\d+) (\w+) PARTITION BY k\)",
        r"TABLE(SESSION(TABLE \1 PARTITION BY k, DESCRIPTOR(ts), INTERVAL '\2' \3))",
    ),
)
"""Windows as clauses, and as functions of tables."""


def definitions(streams: str, table: str) -> list[str]:
    """Return the statements that define what programs read; the streams have their files in a folder."""
    named = {**dict.fromkeys(STREAMS, COLUMNS), VERSIONS: KEYED}
    streams_sql = [
        f"CREATE STREAM {name} {columns} USING csv OPTIONS (path '{streams}')" for name, columns in named.items()
    ]
    return [*streams_sql, f"CREATE TABLE {AT_REST} {TABLE} USING csv OPTIONS (path '{table}')"]


@dataclass(frozen=True)
class Program:
    """A template of SQL over other programs, or a stream, whose name it then is."""

    sql: str
    below: tuple["Program", ...] = ()

    @property
    def streams(self) -> frozenset[str]:
        """The streams that it reads."""
        return frozenset().union(*(below.streams for below in self.below)) if self.below else frozenset({self.sql})

    def by_functions(self) -> "Program":
        """Return the same program with functions of tables in place of windows as clauses."""
        sql = self.sql
        for clause, function in _FUNCTIONS if self.below else ():
            sql = re.sub(rf"{clause}(?! FILL)", function, sql)
        return replace(self, sql=sql, below=tuple(below.by_functions() for below in self.below))

    def written(self, form: str) -> tuple[list[tuple[str, str]], str]:
        """Return the views that a form of the program needs, as names and texts, and the query."""
        definitions: list[tuple[str, str]] = []
        numbers = count()
        if form == CLASHING:
            return [], self._clashing(numbers)

        def relation(program: Program, named: bool) -> str:
            if not program.below:
                return program.sql
            text = filled(program)
            name = f"w{next(numbers)}"
            if form == "subqueries":
                return f"({text})" if named else f"({text}) AS {name}"
            definitions.append((name, text))
            return name

        def filled(program: Program) -> str:
            return program.sql.format(*map(relation, program.below, program._named()))

        text = filled(self)
        if form == "ctes" and definitions:
            return [], f"WITH {', '.join(f'{name} AS ({body})' for name, body in definitions)} {text}"
        return definitions, text

    def _named(self) -> list[bool]:
        """Tell of each part whether the text names it, or takes no name of it."""
        places = range(len(self.below))
        return [re.search(rf"\{{{place}\}} AS |TABLE \{{{place}\}}", self.sql) is not None for place in places]

    def _clashing(self, numbers: Iterator[int]) -> str:
        """Return the query with a WITH for its parts, which have the names of streams that it does not read itself."""
        free = [name for name in STREAMS if name not in {below.sql for below in self.below}]
        # A later part sees the names of those before it.
        unused_names = iter(["q", *free] if sum(bool(below.below) for below in self.below) > 1 else free)
        parts, names = [], []
        for below, named in zip(self.below, self._named(), strict=True):
            if not below.below:
                names.append(below.sql)
                continue
            name = next(unused_names)
            parts.append(f"{name} AS ({below._clashing(numbers)})")
            number = next(numbers)
            names.append(name if named else f"{name} AS w{number}")
        text = self.sql.format(*names)
        return f"WITH {', '.join(parts)} {text}" if parts else text


def random_program(chance: random.Random, operators: int, further: bool = False) -> Program:
    """Return a program of up to so many operators below what reads them; `further`: of all kinds, not of a few."""
    if further and chance.random() < 0.2:
        split = chance.randint(0, operators)
        reader = chance.choice([*READERS_OF_TWO.values()])
        return Program(reader, (_rows(chance, split, True), _rows(chance, operators - split, True)))
    readers = {**READERS, **FURTHER_READERS} if further else READERS
    return Program(chance.choice([*readers.values()]), (_rows(chance, operators, further),))


def _rows(chance: random.Random, operators: int, further: bool) -> Program:
    if operators == 0:
        return Program(chance.choice(STREAMS))
    unary, binary = (UNARY, BINARY) if not further else (UNARY | FURTHER_UNARY, BINARY | FURTHER_BINARY)
    choose: Callable[[dict[str, str]], str] = lambda texts: chance.choice([*texts.values()])  # noqa: E731
    if operators > 1 and chance.random() < 0.35:
        split = chance.randint(0, operators - 1)
        return Program(choose(binary), (_rows(chance, split, further), _rows(chance, operators - 1 - split, further)))
    if chance.random() < 0.25:
        return Program(choose(binary), (_rows(chance, operators - 1, further), Program(chance.choice(STREAMS))))
    if further and chance.random() < 0.05:
        return Program(choose(OF_VERSIONS), (_rows(chance, operators - 1, True), Program(VERSIONS)))
    return Program(choose(unary), (_rows(chance, operators - 1, further),))
