"""Clauses and expressions of other engines that cannot be read, and what to write instead."""

from collections.abc import Callable, Sequence

_FUNCTIONS = "a program gives Spark functions of its own: engine.spark.udf.register('name', function)"

Words = Sequence[str]
"""The tokens of a statement, in capital letters."""


def foreign_clause(words: Words, index: int) -> str | None:
    """Return the hint for what cannot be read at a token, None if it is of no engine that is known."""
    return next((hint for applies, hint in _CLAUSES if applies(words, index)), None)


def _has(*wanted: str) -> Callable[[Words, int], bool]:
    """Make a test for words that follow each other anywhere before the error, or at it."""

    def applies(words: Words, index: int) -> bool:
        last = min(index + 2, len(words))
        return any(tuple(words[i : i + len(wanted)]) == wanted for i in range(last))

    return applies


def _at(word: str) -> Callable[[Words, int], bool]:
    return lambda words, index: word in words[max(0, index - 1) : index + 1]


def _is_version(words: Words, i: int) -> bool:
    """Tell whether AS OF follows a relation, or a query, without the words of the standard before it."""
    return tuple(words[i : i + 2]) == ("AS", "OF") and words[i - 1] != "SYSTEM_TIME"


def _json_pairs(words: Words, index: int) -> str | None:
    """Return the function of JSON whose pairs of KEY and VALUE cannot be read, None for another error."""
    if not (_at("VALUE")(words, index) or _at("KEY")(words, index)):
        return None
    return next((word for word in reversed(words[:index]) if word in ("JSON_OBJECT", "JSON_OBJECTAGG")), None)


_CLAUSES: tuple[tuple[Callable[[Words, int], bool], str], ...] = (
    (_has("SESSION", "WITH", "GAP"), "FROM stream WINDOW SESSION (GAP 10 MINUTES PARTITION BY k)"),
    (_has("WITH", "MUTUALLY"), "WITH RECURSIVE name AS (SELECT ... UNION ALL SELECT ... FROM name)"),
    (_has("MODEL", "DIMENSION"), "window functions read other rows: LAG(x) OVER (PARTITION BY k ORDER BY ts)"),
    (_has("APPENDS", "("), "a stream gives the rows that are added: CREATE STREAM ...; SELECT * FROM stream"),
    (_has("GAP_FILL", "("), "FROM t WINDOW TUMBLING (SIZE 1 MINUTE) FILL (LINEAR) GROUP BY window_start, window_end"),
    (lambda words, index: words[index - 1 : index] in (["TABLE"], ["MODEL"]), _FUNCTIONS),
    (_has("JSON_TABLE", "("), "LATERAL explode(from_json(x, 'ARRAY<STRUCT<a: INT>>')) AS u(y)"),
    (_has("ON", "CONFLICT"), "leave it out: a sink with a PRIMARY KEY in a database updates the rows of its keys"),
    (_has("TRUNC", "("), "date_trunc('DAY', ts), or trunc(day, 'MONTH')"),
    (lambda words, index: words[:2] == ["BY", "NAME"],
     "SELECT gives the columns in the order of the sink: INSERT INTO sink SELECT x, y FROM ..."),
    (_at("PARTITION BY"), "leave it out; CREATE SINK ... (..., PRIMARY KEY (k)) USING kafka gives records a key"),
    (lambda words, index: words[index - 1 : index + 1] == ["/", "/"], "x div y is the whole part of x / y"),
    (
        lambda words, index: words[index : index + 1] == [":"] and "{" in words[:index],
        "named_struct('a', 1, 'b', 2), or map('a', 1)",
    ),
    (lambda words, index: "FOR" in words[index - 2 : index + 1] and "[" in words[:index], "transform(xs, x -> x * 2)"),
    (lambda words, index: words[index - 3 : index - 1] == ["IN", "["], "x BETWEEN 5 AND 10"),
    (_at("POSITIONAL"), "JOIN ... ON a.n = b.n, where ROW_NUMBER() OVER (ORDER BY x) AS n numbers the rows of both"),
    (
        lambda words, index: any(_is_version(words, i) for i in range(index + 1)),
        "FROM view FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 00:00:00' reads a materialized view as it was",
    ),
    (_at("~"), "x RLIKE '^c'"),
    (_at(":="), "named_struct('a', 1, 'b', 2)"),
    (lambda words, index: words[index - 2 : index] == ["*", "*"], "power(x, y)"),
    (_at("RETURNING"), "CAST(get_json_object(x, '$.name') AS INT)"),
    (lambda words, index: "JSON_VALUE" in words[:index] and _at("DEFAULT")(words, index),
     "coalesce(get_json_object(x, '$.name'), '0')"),
    (lambda words, index: _json_pairs(words, index) == "JSON_OBJECTAGG",
     "to_json(map_from_entries(collect_list(struct(k, x))))"),
    (lambda words, index: _json_pairs(words, index) == "JSON_OBJECT", "to_json(named_struct('id', x, 'url', y))"),
    (_at("OPTIONS"), "leave it out; in row patterns A+ takes as many rows as it can, A+? as few"),
)  # fmt: skip
