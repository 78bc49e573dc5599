"""What Spark refuses in its own terms, said in those of a user of streaming SQL."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cepsql.analysis.row_pattern.scope import MATCH_FUNCTIONS
from cepsql.errors import DatabaseError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.language.foreign.foreign_functions import GROUP_WINDOWS_INSTEAD, NO_GROUP_WINDOWS
from cepsql.plan.refuse import HAVING_INSTEAD, NO_AGGREGATES
from cepsql.spark.jvm.messages.folder_names import MOVE_FOLDERS

_WINDOW = "GROUP BY window(ts, '5 minutes'), ... with the event time of a stream that has a WATERMARK"
_BOUND = "ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL '5' MINUTES AND a.ts + INTERVAL '5' MINUTES"
PATTERN_FUNCTIONS = (*MATCH_FUNCTIONS, "PREV", "NEXT", "FINAL", "RUNNING")
_OF_PATTERNS = "|".join(PATTERN_FUNCTIONS)


@dataclass(frozen=True)
class Explanation:
    """What is wrong, what to do, and a regular expression for the place in the statement.

    condition, text: what Spark's error begins with, its condition and a regular expression in its text.
    of_word:         another message and hint where the place begins with this word, by words in capital letters.
    """

    condition: str
    text: str
    kind: type[DatabaseError]
    message: str
    hint: str
    place: str
    of_word: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def said_at(self, place: str) -> tuple[str, str]:
        """Return the message and the hint for the piece of the statement that is the place."""
        return self.of_word.get(place.split()[0].upper(), (self.message, self.hint))


_EXPLANATIONS = (
    Explanation(
        "STREAMING_OUTPUT_MODE",
        "streaming aggregations",
        NotSupportedError,
        "an aggregate over a stream needs a window of event time: without one no group is ever complete",
        f"{_WINDOW}; EMIT CHANGES at the end of the query gives the values so far, and again what changes of them",
        r"\bGROUP\s+BY\b|\bSELECT\s+DISTINCT\b|\bUNION\b(?!\s+ALL)|\b(?:COUNT|SUM|AVG|MIN|MAX)\s*(?=\()",
        {
            "SELECT": (
                "DISTINCT over a stream needs its event time among the columns: without it rows are compared for ever",
                "select the event time, too; or EMIT CHANGES at the end of the query, which keeps all that was seen",
            ),
            "UNION": (
                "UNION over a stream needs its event time among the columns: without it rows are compared for ever",
                "UNION ALL compares none; SELECT DISTINCT * FROM (... UNION ALL ...) EMIT CHANGES gives each row once",
            ),
        },
    ),
    Explanation(
        "",
        r"Stream-stream \w+ join .*without a watermark",
        NotSupportedError,
        "an outer join of streams needs a bound in event time: without it no row ever has no partner",
        f"both streams need a WATERMARK, and the join a condition on both times: {_BOUND}",
        r"\b(?:LEFT|RIGHT|FULL)(?:\s+(?:OUTER|SEMI|ANTI))?\s+JOIN\b",
    ),
    Explanation(
        "",
        "Stream-stream join without equality",
        NotSupportedError,
        "a join of streams needs an equality of columns in its condition",
        _BOUND,
        r"\bJOIN\b",
    ),
    Explanation(
        "NON_TIME_WINDOW_NOT_SUPPORTED",
        "",
        NotSupportedError,
        "this window function over a stream is not supported",
        "MATCH_RECOGNIZE compares rows with earlier ones; GROUP BY window(ts, ...) makes windows of event time",
        r"\bOVER\b",
    ),
    Explanation(
        "MISSING_GROUP_BY",
        "",
        ProgrammingError,
        "a column beside an aggregate needs GROUP BY",
        f"GROUP BY the column; over a stream with a window of event time beside it: {_WINDOW}",
        r"\b(?:COUNT|SUM|AVG|MIN|MAX)\s*(?=\()",
    ),
    Explanation(
        "INVALID_WHERE_CONDITION",
        r"invalid expressions: (?!(?:pos)?explode|inline|stack)",
        ProgrammingError,
        NO_AGGREGATES,
        HAVING_INSTEAD,
        r"\bWHERE\b",
    ),
    Explanation(
        "",
        "window functions inside WHERE",
        ProgrammingError,
        "WHERE chooses rows before window functions are computed",
        "QUALIFY chooses rows by them: FROM t QUALIFY ROW_NUMBER() OVER (...) = 1",
        r"\bWHERE\b",
    ),
    Explanation(
        "DATATYPE_MISMATCH",
        r"contains\(.*requires the .STRING. type.*ARRAY",
        ProgrammingError,
        "CONTAINS looks into texts",
        "array_contains(xs, x) looks into a list",
        r"\bCONTAINS\s*(?=\()",
    ),
    Explanation(
        "DATATYPE_MISMATCH",
        r"length\(.*requires the .*STRING.*ARRAY",
        ProgrammingError,
        "LENGTH counts the characters of a text",
        "size(xs) counts the values of a list",
        r"\bLEN(?:GTH)?\s*(?=\()",
    ),
    Explanation(
        "UNRESOLVED_ROUTINE",
        r"routine `(?:TUMBLE|HOP|SESSION)(?:_START|_END|_ROWTIME)?`",
        ProgrammingError,
        NO_GROUP_WINDOWS,
        GROUP_WINDOWS_INSTEAD,
        r"\b(?:TUMBLE|HOP|SESSION)\w*(?=\s*\()",
    ),
    Explanation(
        "UNRESOLVED_ROUTINE",
        r"routine `TIMESTAMP(?:DIFF|ADD)`",
        ProgrammingError,
        "a unit of time is needed first, in the singular",
        "units: MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER and YEAR, without quotes",
        r"\bTIMESTAMP(?:DIFF|ADD)(?=\s*\()",
    ),
    Explanation(
        "UNRESOLVED_ROUTINE",
        rf"routine `(?:{_OF_PATTERNS})`",
        ProgrammingError,
        "functions of a row pattern stand in MEASURES and DEFINE of MATCH_RECOGNIZE only",
        "name a measure there, such as CLASSIFIER() AS kind, and select that; LAG(x) OVER (...) reads an earlier row",
        rf"\b(?:{_OF_PATTERNS})(?=\s*\()",
    ),
    Explanation(
        "DATATYPE_MISMATCH",
        r'Input to `in` should all be the same type, but it\'s \["(?!ARRAY)[^\]]*, "ARRAY<',
        ProgrammingError,
        "IN takes values one by one, and here is a list",
        "array_contains(:list, x) tells whether a list has x",
        r"\bIN\s*\(\s*(?::\w+|\?|array\b)",
    ),
    Explanation(
        "",
        "No suitable driver",
        OperationalError,
        "Spark has no JDBC driver for this url",
        "its jar is named by spark.jars or spark.jars.packages, such as org.postgresql:postgresql:42.7.4, and its "
        "class by the option driver, such as 'org.postgresql.Driver'",
        r"\burl\b",
    ),
    Explanation(
        "",
        "Conflicting partition column names|conflicting directory structures|assertion failed: Invalid batch",
        OperationalError,
        "folders named like key=value stand among the files of a source, or name different columns",
        MOVE_FOLDERS,
        r"\bpath\b",
    ),
    Explanation(
        "",
        "State store commit validation failed",
        OperationalError,
        "a table that the query joins has no rows, at which Spark has not run what stands before the join",
        "it does so in a join of more than spark.sql.codegen.maxFields = 100 columns: SET that to 1000, say, or join "
        "fewer columns; or where spark.sql.codegen.wholeStage is false. The query resumes from its checkpoint",
        r"\bJOIN\b",
    ),
)


def explanation(condition: str, text: str) -> Explanation | None:
    """Return what an error of Spark's means to the user, None where its own words do."""
    for pattern in _EXPLANATIONS:
        if condition.startswith(pattern.condition) and re.search(pattern.text, text, re.IGNORECASE):
            return pattern
    return None
