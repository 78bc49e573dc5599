"""What Esper's EPL has in its queries, and Spark's SQL does not: which construct it is, and what to write instead."""

from collections.abc import Callable

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import Text

_UNITS = {
    **dict.fromkeys(("MSEC", "MILLISECOND", "MILLISECONDS"), "MILLISECONDS"),
    **dict.fromkeys(("SEC", "SECOND", "SECONDS"), "SECONDS"),
    **dict.fromkeys(("MIN", "MINUTE", "MINUTES"), "MINUTES"),
    **dict.fromkeys(("HOUR", "HOURS"), "HOURS"),
    **dict.fromkeys(("DAY", "DAYS"), "DAYS"),
}
_OLD_VIEWS = ("WIN", "STD", "EXT", "STAT")
"""What views are called by in front of a colon: win:time(30 sec)."""

_PATTERN = (
    "FROM stream MATCH_RECOGNIZE (PARTITION BY key ORDER BY ts MEASURES A.ts AS begun, B.ts AS ended "
    "PATTERN (A OTHER*? B) WITHIN INTERVAL '10' MINUTES DEFINE A AS ..., B AS ...)"
)
_ABSENCE = (
    "FROM stream MATCH_RECOGNIZE (PARTITION BY key ORDER BY ts MEASURES A.ts AS begun ONE ROW PER MATCH "
    "SHOW TIMEOUT MATCHES PATTERN (A OTHER*? B) WITHIN INTERVAL '10' MINUTES DEFINE ...) tells what did not come"
)
_OUTPUT = ("SNAPSHOT", "FIRST", "LAST", "ALL", "EVERY", "WHEN", "AFTER")
STREAMS = {
    "ISTREAM": "leave it out: rows that come are what a query gives",
    "RSTREAM": "EMIT CHANGES at the end of a query gives rows that go, too, marked -D or -U in op",
    "IRSTREAM": "EMIT CHANGES at the end of a query gives rows that come and rows that go, marked in op",
}


def esper_construct(text: Text, begin: int) -> NotSupportedError | None:
    """Make the error for the first construct of EPL in the statement that begins at token `begin`, None without one."""
    if text.raw(begin) == "@":
        hint = "CREATE QUERY name INTO sink AS SELECT ... gives a query a name"
        return _error(text, begin, begin + 2, "an annotation", hint)
    i = begin
    while i < len(text) and text.raw(i) != ";":
        construct = _construct(text, i)
        if construct is not None:
            end, name, hint = construct
            return _error(text, i, end, name, hint)
        i += 1
    return None


def _error(text: Text, begin: int, end: int, name: str, hint: str) -> NotSupportedError:
    return NotSupportedError(f"{name} is not supported", text.span(begin, end), hint, text.sql)


def _construct(text: Text, i: int) -> tuple[int, str, str] | None:
    """Return where a construct that begins at a token ends, what it is called, and what takes its place."""
    word, following = text.word(i), text.word(i + 1)
    if text.raw(i) == "#" and following and text.adjoins(i) and text.adjoins(i + 1):
        return i + 2, f"the window #{text.raw(i + 1)}", _window(text, i + 1)
    if word in _OLD_VIEWS and text.raw(i + 1) == ":" and text.raw(i - 1) == ".":
        return i + 3, f"the window {text.slice(i, i + 3)}", _window(text, i + 2)
    if word == "PATTERN" and text.raw(i + 1) == "[":
        inside = range(i + 1, text.closing[i + 1])
        waits = any(text.word(j) == "NOT" or text.word(j) == "INTERVAL" for j in inside)
        return i + 1, "a pattern in square brackets", _ABSENCE if waits else _PATTERN
    if word == "OUTPUT" and following in _OUTPUT:
        return i + 2, f"OUTPUT {following}", _output(text, i)
    if word in STREAMS and text.word(i - 1) == "SELECT" and (following or text.raw(i + 1) == "*"):
        return i + 1, word, STREAMS[word]
    if word == "UNIDIRECTIONAL":
        hint = "FOR SYSTEM_TIME AS OF a.ts, behind the relation that is joined, joins each row with what is known then"
        return i + 1, word, hint
    if word == "FOR" and following == "GROUPED_DELIVERY":
        return i + 2, "FOR GROUPED_DELIVERY", "ORDER BY key in the query of a table at rest, or GROUP BY key"
    if word == "SQL" and text.raw(i + 1) == ":":
        hint = "CREATE TABLE name USING jdbc OPTIONS (url 'jdbc:...', dbtable 'name'), and JOIN name ON ..."
        return i + 3, f"{text.slice(i, i + 3)}", hint
    if word == "MATCHES" and text.word(i - 1) == "ALL" and following == "AFTER":
        return i + 1, "ALL MATCHES", "AFTER MATCH SKIP TO NEXT ROW alone gives a match from each row"
    if word == "INTERVAL" and text.raw(i - 1) == ")" and following in ("DEFINE", ""):
        length = _length(text, i + 1)
        if length is not None and _in_match(text, i):
            return i + 1, "INTERVAL behind PATTERN", f"WITHIN {length}"
    return None


def _in_match(text: Text, i: int) -> bool:
    return any(text.word(begin - 1) == "MATCH_RECOGNIZE" and begin < i < end for begin, end in text.closing.items())


def _window(text: Text, at: int) -> str:
    """Return what takes the place of a view, whose name is token `at`."""
    make = _WINDOWS.get(text.word(at).removesuffix("_ACCUM"))
    arguments = at + 2 if text.raw(at + 1) == "(" else len(text)
    if make is None:
        return (
            "OVER (ORDER BY ts ROWS BETWEEN n PRECEDING AND CURRENT ROW) has frames of rows, and RANGE those of a time"
        )
    return make(text, arguments)


def _of_time(text: Text, at: int) -> str:
    length = _length(text, at) or "INTERVAL '1' MINUTE"
    return f"SUM(x) OVER (ORDER BY ts RANGE BETWEEN {length} PRECEDING AND CURRENT ROW)"


def _of_timed(text: Text, at: int) -> str:
    """Of a view whose first argument is the time."""
    length = _length(text, _second(text, at)) or "INTERVAL '1' MINUTE"
    return f"SUM(x) OVER (ORDER BY {text.raw(at) or 'ts'} RANGE BETWEEN {length} PRECEDING AND CURRENT ROW)"


def _of_batches(text: Text, at: int) -> str:
    size = (_length(text, at) or _length(text, _second(text, at)) or "1 MINUTE").removeprefix("INTERVAL ")
    return f"FROM stream WINDOW TUMBLING (SIZE {size.replace(chr(39), '')}) GROUP BY window_start, window_end"


def _of_length(text: Text, at: int) -> str:
    number = text.raw(at)
    before = str(int(number) - 1) if number.isdigit() else "n"
    return f"SUM(x) OVER (ORDER BY ts ROWS BETWEEN {before} PRECEDING AND CURRENT ROW)"


def _of_length_batch(text: Text, at: int) -> str:
    number = text.raw(at) if text.raw(at).isdigit() else "n"
    return f"FROM stream MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(A.x) AS total PATTERN (A{{{number}}}))"


def _of_last_of_key(text: Text, at: int) -> str:
    key = text.raw(at) or "key"
    return f"QUALIFY ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY ts DESC) = 1 EMIT CHANGES"


def _of_first_of_key(text: Text, at: int) -> str:
    return f"FROM stream DEDUPLICATE (PARTITION BY {text.raw(at) or 'key'} ORDER BY ts)"


def _of_groups(text: Text, at: int) -> str:
    return f"OVER (PARTITION BY {text.raw(at) or 'key'} ORDER BY ts ROWS BETWEEN n PRECEDING AND CURRENT ROW)"


def _of_order(text: Text, at: int) -> str:
    number, key = text.raw(at) or "n", text.raw(_second(text, at)) or "x"
    return f"ORDER BY {key} DESC LIMIT {number} EMIT CHANGES"


def _of_ranks(text: Text, at: int) -> str:
    second = _second(text, at)
    number, order = text.raw(second) or "n", text.raw(_second(text, second)) or "x"
    latest = f"QUALIFY ROW_NUMBER() OVER (PARTITION BY {text.raw(at) or 'key'} ORDER BY ts DESC) = 1"
    return f"FROM (SELECT * FROM stream {latest}) ORDER BY {order} DESC LIMIT {number} EMIT CHANGES"


_WINDOWS: dict[str, Callable[[Text, int], str]] = {
    "TIME": _of_time,
    "TIME_ORDER": _of_timed,
    "TIMETOLIVE": _of_timed,
    "EXT_TIMED": _of_timed,
    "TIME_BATCH": _of_batches,
    "EXT_TIMED_BATCH": _of_batches,
    "LENGTH": _of_length,
    "LENGTH_BATCH": _of_length_batch,
    "LASTEVENT": lambda text, at: "leave it out: SELECT ... FROM stream gives each row as it comes",
    "FIRSTEVENT": lambda text, at: "SELECT ... FROM stream LIMIT 1",
    "KEEPALL": lambda text, at: "leave it out, and write EMIT CHANGES at the end: all rows count then",
    "UNIQUE": _of_last_of_key,
    "LASTUNIQUE": _of_last_of_key,
    "FIRSTUNIQUE": _of_first_of_key,
    "GROUPWIN": _of_groups,
    "SORT": _of_order,
    "RANK": _of_ranks,
}


def _output(text: Text, i: int) -> str:
    """Return what takes the place of OUTPUT ... EVERY."""
    every = next((j for j in range(i, min(i + 4, len(text))) if text.word(j) == "EVERY"), None)
    length = None if every is None else _length(text, every + 1)
    if length is None:
        return "EMIT CHANGES at the end of a query gives each change, EMIT EVERY INTERVAL '10' SECONDS those of a time"
    return f"EMIT EVERY {length} at the end of a query that groups by windows, or EMIT CHANGES for each change"


def _length(text: Text, at: int) -> str | None:
    """Return a length of EPL, such as 30 sec, as an interval; None for anything else."""
    unit = _UNITS.get(text.word(at + 1))
    return f"INTERVAL '{text.raw(at)}' {unit}" if unit is not None and text.raw(at).isdigit() else None


def _second(text: Text, at: int) -> int:
    """Return where the argument after the one at a token begins."""
    return next((i + 1 for i in range(at, min(at + 8, len(text))) if text.raw(i) == ","), len(text))
