"""Random programs of operators over operators, each written as subqueries, as CTEs and as views."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

COLUMNS = "(k STRING, x BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)"
STREAMS = "ab"
FORMS = ("subqueries", "ctes", "views")

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


@dataclass(frozen=True)
class Program:
    """A template of SQL over other programs, or a stream, whose name it then is."""

    sql: str
    below: tuple["Program", ...] = ()

    @property
    def streams(self) -> frozenset[str]:
        """The streams that it reads."""
        return frozenset().union(*(below.streams for below in self.below)) if self.below else frozenset({self.sql})

    def written(self, form: str) -> tuple[list[tuple[str, str]], str]:
        """Return the views that a form of the program needs, as names and texts, and the query."""
        definitions: list[tuple[str, str]] = []
        numbers = count()

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
            named = [f"{{{place}}} AS " in program.sql for place in range(len(program.below))]
            return program.sql.format(*map(relation, program.below, named))

        text = filled(self)
        if form == "ctes" and definitions:
            return [], f"WITH {', '.join(f'{name} AS ({body})' for name, body in definitions)} {text}"
        return definitions, text


def random_program(chance: random.Random, operators: int) -> Program:
    """Return a program of up to so many operators below what reads them."""
    return Program(chance.choice([*READERS.values()]), (_rows(chance, operators),))


def _rows(chance: random.Random, operators: int) -> Program:
    if operators == 0:
        return Program(chance.choice(STREAMS))
    choose: Callable[[dict[str, str]], str] = lambda known: chance.choice([*known.values()])  # noqa: E731
    if operators > 1 and chance.random() < 0.35:
        split = chance.randint(0, operators - 1)
        return Program(choose(BINARY), (_rows(chance, split), _rows(chance, operators - 1 - split)))
    if chance.random() < 0.25:
        return Program(choose(BINARY), (_rows(chance, operators - 1), Program(chance.choice(STREAMS))))
    return Program(choose(UNARY), (_rows(chance, operators - 1),))
