"""What is said about text that cannot be parsed: the message, where it points, and the hint."""

import difflib
import re
from collections.abc import Iterable
from itertools import pairwise

from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.foreign.esper import esper_construct
from cepsql.language.foreign.foreign_clauses import foreign_clause
from cepsql.language.foreign.foreign_statements import (
    ANALYZED,
    CREATED,
    ELSEWHERE,
    ELSEWHERE_AFTER,
    PROMPT,
    SYNONYMS,
    UNSUPPORTED,
)
from cepsql.language.foreign.refused_statements import refused_ending, refused_statement
from cepsql.language.interval_units import UNITS, meant_unit
from cepsql.language.misspelt import at_misspelt
from cepsql.language.tokens import Text
from cepsql.language.type_names import type_hint
from cepsql.language.windows_with_patterns import begins_pattern_window

CLAUSES = ("PARTITION BY", "ORDER BY", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "WITHIN", "SUBSET", "DEFINE")
_ORDER = (
    "order of the clauses: PARTITION BY, ORDER BY, MEASURES, ONE ROW PER MATCH, AFTER MATCH SKIP, PATTERN, WITHIN, "
    "SUBSET, DEFINE"
)
_WINDOW_CLAUSES = (
    "PARTITION BY", "ORDER BY", "MEASURES", "ROWS", "AFTER", "INITIAL", "PATTERN", "WITHIN", "SUBSET", "DEFINE",
)  # fmt: skip
_WINDOW_ORDER = (
    "order of the clauses: PARTITION BY, ORDER BY, MEASURES, ROWS BETWEEN, AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET, "
    "DEFINE"
)
_SOURCE_CLAUSES = {
    "STREAM": ("USING", "OPTIONS", "FORMAT", "FROM", "BACKFILL", "LATE ROWS INTO"),
    "TABLE": ("USING", "OPTIONS", "FORMAT", "FROM", "REFRESH EVERY"),
}
_QUERY_CLAUSES = ("INTO", "OPTIONS", "FROM SAVEPOINT or WITH NEW CHECKPOINT", "AS")
_SPOKEN = {"ONE": "ONE ROW PER MATCH", "ALL": "ALL ROWS PER MATCH", "AFTER": "AFTER MATCH SKIP"}
_BEGINNINGS = (
    "SELECT", "WITH", "VALUES", "CREATE", "DROP", "INSERT", "START", "PAUSE", "RESUME", "RESTART", "STOP", "ALTER",
    "SHOW", "DESCRIBE", "PRINT", "SUMMARIZE", "SUBSCRIBE", "EXPLAIN", "PREPARE", "EXECUTE", "SET", "RESET",
)  # fmt: skip
_AMONG_COLUMNS = {
    "WATERMARK": "WATERMARK FOR column AS column - INTERVAL '...' stands among the columns, behind a comma",
    "PRIMARY KEY": "PRIMARY KEY (column, ...) [DELETE WHEN condition] stands among the columns, behind a comma",
    "DELETE": "DELETE WHEN condition follows PRIMARY KEY (column, ...) among the columns",
}
"""What of a stream is written before USING."""

_FILL = "FILL (0), or FILL (0 AS n, PREVIOUS AS price)"
_SHELL = "commands that begin with \\ are those of the shell; they stand there in a line of their own"

_PLAIN_WORDS = (
    "SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "JOIN", "LEFT", "RIGHT", "UNION", "VALUES", "INTERVAL", "BETWEEN",
    "MATCH_RECOGNIZE",
)  # fmt: skip
_BEFORE_BY = ("GROUP", "ORDER")
_FURTHER = (
    "AND", "NOT", "LIKE", "OVER", "QUALIFY", "DISTINCT", "RANGE", "ROWS", "PRECEDING", "FOLLOWING", "CASE", "WHEN",
    "THEN", "ELSE", "END", "DEDUPLICATE", "WITH", "HEARTBEAT", "PUNCTUATION", "IDLE",
)  # fmt: skip
"""Words that are looked for where an error is, but not around it: too many names are near them."""
_WINDOWS = {
    "TUMBLE": "WINDOW TUMBLING (SIZE 1 HOUR)", "HOP": "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)",
    "CUMULATE": "WINDOW CUMULATING (SIZE 1 DAY, STEP 1 HOUR)",
    "SESSION": "WINDOW SESSION (GAP 30 MINUTES PARTITION BY k)",
}  # fmt: skip
_WINDOW_PARTS = ("SIZE", "ADVANCE", "STEP", "GAP", "OFFSET")
_WINDOW_KINDS = {form.split()[1]: form for form in _WINDOWS.values()}
_DESCRIBED = {
    "SQL": "a query", "RELATION": "a table", "TABLE_ALIAS": "an alias", "EXPRESSION": "an expression", "NAME": "a name",
    "ORDERED": "an expression", "FRAME": "ROWS BETWEEN", "TYPE": "a type", "PATTERN_TEXT": "a row pattern",
    "VALUE": "a value", "OPTION_KEY": "a name", "TOPIC_TEXT": "the name of a topic", "CONSTANT_LIST": "values",
    "QUERY_NAME": "the name of a query", "PRIMARY_KEY": "PRIMARY KEY",
    "LPAR": "(", "RPAR": ")", "COMMA": "a comma", "DOT": "a point", "EQUAL": "=",
    "SEMICOLON": "the end", "$END": "the end", "PARTITION_BY": "PARTITION BY", "ORDER_BY": "ORDER BY",
}  # fmt: skip
_KINDS = _DESCRIBED.keys() - {"PARTITION_BY", "ORDER_BY"}
"""Terminals that stand for no word."""

# sqlglot lets these stand without what must follow them, and gives them a meaning of its own.
_LISTS = {",", "SELECT", "GROUP BY", "ORDER BY", "PARTITION BY"}
_DANGLING = {*_LISTS, "ON", "IN", "AND", "OR", "NOT", "WHERE", "HAVING", "LIKE"}
_ENDS = {"", ")", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", ";"}


def unexpected(text: Text, at: int, accepted: set[str]) -> ProgrammingError | NotSupportedError:
    """Make the error for token `at`, which is none of the accepted terminals; beyond the text for its end."""
    word, ended, statement = text.word(at), at >= len(text), _statement_start(text, at)
    foreign = refused_statement(text, statement, at) or refused_ending(text, statement, at)
    if (foreign := foreign or esper_construct(text, statement)) is not None:
        return foreign
    # It is what it begins, which nobody means who has not written it.
    accepted = accepted - {"PATTERN_WINDOW", "EXPLAIN_DETAILS"}
    if {"CREATE", "SQL"} <= accepted and not ended:
        return _no_statement(text, at)
    hint = _expected(accepted)
    begin = _match_start(text, at)
    if begin is not None:
        if word in _clauses(text, begin)[0] and not ended:
            return _misplaced(text, begin, at, hint)
        if word in ("ONE", "ALL") and text.word(at + 1) in ("ROW", "ROWS"):
            message = f"{_SPOKEN[word]} may not stand in the row pattern of a window"
            return text.error(message, at, at + 4, "each row gives one row there, with the match that begins at it")
        hint = _match_hint(text, begin, at, accepted, hint)
    clauses = _SOURCE_CLAUSES.get(_defined(text, at) or "", ())
    if "$END" in accepted and word in (clause.split()[0] for clause in clauses):
        hint = f"order of the clauses: {', '.join(clauses)}"
    if "AS" in accepted and _heads_query(text, at) and word in ("INTO", "OPTIONS", "FROM", "WITH"):
        hint = f"order of the clauses: {', '.join(_QUERY_CLAUSES)}"
    if {"USING", "WITH"} <= accepted <= {"USING", "WITH", "AS"}:
        hint = (
            "where the rows are comes next: USING json OPTIONS (path '/folder'), or USING kafka OPTIONS "
            "(...) FORMAT json"
        )
    if word == "ENCODE" and text.word(at - 2) == "FORMAT":
        hint = f"FORMAT {text.raw(at + 1).lower()}"
    if _stands_in_fill(text, at):
        hint = _FILL
    if text.raw(at) == "(" and "OPTIONS" in accepted:
        hint = "options are written OPTIONS (key 'value', ...)"
    if accepted == {"AS"} and at > 2 and [text.word(at - 3), text.word(at - 2)] == ["WATERMARK", "FOR"]:
        hint = f"WATERMARK FOR {text.raw(at - 1)} AS {text.raw(at - 1)} - INTERVAL '10' SECONDS"
    if word in _AMONG_COLUMNS and (accepted == {"USING", "WITH"} or "BACKFILL" in accepted):
        hint = _AMONG_COLUMNS[word]
    if ended:
        return text.error("the statement ends too early", at, hint=hint)
    if text.raw(at) == "\\":
        hint = _SHELL
    if word == "BY" and text.word(at - 1) == "ADVANCE" and "COMMA" in accepted:
        hint = "is a comma missing before ADVANCE BY?"
    if accepted == {"LPAR"} and text.word(at - 1) == "SET":
        hint = "options stand in brackets: ALTER QUERY name SET (option value, ...)"
    before = [text.word(i) for i in (at - 2, at - 1) if i >= 0]
    if before[-2:] == ["DESCRIBE", "FORMATTED"]:
        hint = "did you mean DESCRIBE EXTENDED?"
    if tuple(before) == ANALYZED[0]:
        hint = ANALYZED[1]
    if at == 1 or (at > 1 and text.raw(at - 2) == ";"):
        meant = ELSEWHERE_AFTER.get(text.word(at - 1), {})
        if word in meant:
            return text.error(f"syntax error: unexpected {text.raw(at)}", at, hint=meant[word])
    if begin is None and {"LPAR", "RELATION"} & accepted:
        hint = _misspelt_by(text, at) or hint
    if "STREAM" in accepted and word in CREATED:
        hint = CREATED[word]
    elif near := _nearest(text.word(at - 1) if word == "BY" else word, accepted):
        hint = f"did you mean {near}?"
    return at_misspelt(text, text.error(f"syntax error: unexpected {text.raw(at)}", at, hint=hint))


def dangling(text: Text, tokens: list[Token]) -> ProgrammingError | None:
    """Make the error for a word like AND that nothing follows, or a comma that nothing precedes; None without any."""
    words = [_word(text, token) for token in tokens]
    around = zip([None, *words], tokens, words, [*tokens[1:], None], [*words[1:], ""], strict=False)
    for before, token, written, after, following in around:
        if token.token_type == TokenType.VAR or before == ".":
            continue
        if after is not None and following == "," and written in {"(", *_LISTS}:
            return _error(text, after, "an expression is missing before ,")
        if written in _DANGLING and following in _ENDS:
            hint = "|> AGGREGATE ... GROUP BY k |> ORDER BY k" if (before, written) == ("GROUP", "AND") else None
            return _error(text, token, f"an expression is missing after {text.sql[token.start : token.end + 1]}", hint)
    return None


def plain_sql_error(text: Text, tokens: list[Token], error: ParseError) -> ProgrammingError | NotSupportedError:
    """Make the error for plain SQL that sqlglot does not parse, in words of SQL."""
    cause = error
    while not cause.errors and isinstance(cause.__cause__, ParseError):
        cause = cause.__cause__
    start = next((i for i, token in enumerate(text.tokens) if token.start >= tokens[0].start), 0)
    statement = _statement_start(text, start)
    foreign = esper_construct(text, statement) or refused_ending(text, statement, start)
    if foreign is not None:
        return foreign
    details = (cause.errors or error.errors or [{}])[-1]
    place = details.get("line"), details.get("col")
    index = next((i for i, t in enumerate(tokens) if (t.line, t.col) == place), len(tokens) - 1)
    at = tokens[index]
    written = text.sql[at.start : at.end + 1]
    pattern = _pattern_in_window(text, tokens)
    if pattern is not None:
        return NotSupportedError(
            "a row pattern in OVER is not supported here",
            Span(pattern.start, pattern.end + 1),
            "functions over such a window stand in a SELECT; a MATCH_RECOGNIZE may read that",
            text.sql,
        )
    said = (details.get("description") or "").rstrip(".")
    in_words = _in_words(said, written)
    hint = type_hint(written.upper()) if in_words.endswith(" is no type") else None
    hint = hint or _plain_hint(text, tokens, index)
    hint = hint or foreign_clause([_written(text, token) for token in tokens], index)
    return at_misspelt(text, _error(text, at, f"syntax error: {in_words}", hint))


def _pattern_in_window(text: Text, tokens: list[Token]) -> Token | None:
    """Return the word PATTERN of a row pattern in the brackets of OVER or behind WINDOW name AS, None without one."""
    words = [_written(text, token) for token in tokens]
    inside: list[bool] = []
    for i, word in enumerate(words):
        if word == "(":
            named = words[i - 3 : i - 2] == ["WINDOW"] or (words[i - 3 : i - 2] == [","] and "WINDOW" in words[:i])
            inside.append(words[i - 1 : i] == ["OVER"] or (words[i - 1 : i] == ["AS"] and named))
        elif word == ")" and inside:
            inside.pop()
        elif word == "PATTERN" and words[i + 1 : i + 2] == ["("] and inside and inside[-1]:
            return tokens[i]
    return None


def _in_words(said: str, written: str) -> str:
    if said.startswith("Required keyword"):
        side = "before" if written in (")", ",") else "after"
        return f"something is missing {side} {written}"
    if got := re.fullmatch(r"(Expected [\w ]+) but got <Token .*", said):
        # Of sqlglot's own: what comes is told by its place.
        return f"{got[1].lower()} before {written}" if written else f"{got[1].lower()} at the end"
    if "CTE to have alias" in said:
        return f"the name of a query is missing before {written}"
    wanted = re.match(r"Expect(?:ed|ing) (.+)", said)
    if wanted and (wanted[1] == "type" or wanted[1].startswith("TYPE")):
        return f"{written} is no type"
    if wanted:
        return f"expected {wanted[1]} before {written}" if len(wanted[1]) == 1 else f"expected {wanted[1]}"
    most = re.search(r"maximum number of supported arguments \((\d+)\)", said)
    if most:
        return f"too many arguments; at most {most.group(1)} can be given"
    if "statement following CTE" in said:
        return "a query is missing after WITH"
    return f"unexpected {written}"


def _plain_hint(text: Text, tokens: list[Token], index: int) -> str | None:
    words = [_written(text, token) for token in tokens]
    for i, word in enumerate(words):
        called = _near(word, ("MATCH_RECOGNIZE", "DEDUPLICATE")) if words[i + 1 : i + 2] == ["("] else None
        if called is not None and called != word:
            return f"did you mean {called}?"
        if word == "MATCH" and words[i + 1 : i + 2] in (["RECOGNIZE"], ["_RECOGNIZE"], ["RECOGNISE"]):
            return "MATCH_RECOGNIZE is one word"
    if "EMIT" in words and words[words.index("EMIT") + 1 :][:1] == ["FINAL"]:
        return "EMIT ON WINDOW CLOSE, as without EMIT, gives each window once, when it is over"
    if "EMIT" in words and "LIMIT" in words[words.index("EMIT") :]:
        return "LIMIT stands before EMIT"
    emit = next((i for i, word in enumerate(words) if _near(word, ("EMIT",)) or word == "EMITCHANGES"), None)
    if emit in (index, index - 1) or (emit is not None and words[index] in ("CHANGES", "FINAL")):
        return "at the end of a query: EMIT ON WINDOW CLOSE, EMIT CHANGES or EMIT EVERY INTERVAL '1' MINUTE"
    for word, after in pairwise(words[max(0, index - 4) : index + 1]):
        if _near(word, ("WINDOW",)) and (meant := _near(after, _WINDOW_KINDS)):
            wrong = "WINDOW" if word != "WINDOW" else meant if meant != after else None
            return f"did you mean {wrong}?" if wrong else f"windows are written {_WINDOW_KINDS[meant]}"
    if index > 1 and words[index - 1 : index + 1] == ["(", ")"]:
        return f"SHOW FUNCTIONS LIKE '{words[index - 2].lower()}' shows what it takes"
    if _stands_in_fill(text, next((i for i, token in enumerate(text.tokens) if token.start == tokens[0].start), 0)):
        return _FILL
    if words[:2] == ["WITH", "FUNCTION"]:
        return "a program gives Spark functions of its own: engine.spark.udf.register('name', function)"
    if words[index : index + 2] == ["FOR", "KEY"]:
        return "the values of a key stand in brackets: FOR KEY ('a', 1)"
    if words[index + 2 : index + 3] == ["("] and (words[index] == "FOR" or words[index + 1] == "KEY"):
        return "did you mean FOR KEY?"
    if words[index] in ("LEFT", "RIGHT", "FULL", "INNER", "CROSS") and "JOIN" not in words[index : index + 3]:
        return "did you mean JOIN?"
    if words[index - 1] in ("FINAL", "RUNNING"):
        return f"{words[index - 1]} stands before FIRST, LAST and aggregates: {words[index - 1]} LAST(A.x)"
    if words[index] == "WITHIN" and "JOIN" in words[:index]:
        return "a join of streams bounds the time in ON: AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
    unit = index - 1 if words[index] == "AS" else index
    number = words[unit - 1].strip("'")
    if UNITS.fullmatch(words[unit]) and len(words[unit]) > 2 and number.isdigit():
        return f"an interval is written INTERVAL '{number}' {words[unit]}"
    if words[index - 1].strip("'").isdigit() and (meant := meant_unit([words[index]])):
        return f"did you mean {meant}?"
    join = next((i for i in reversed(range(index)) if words[i] == "JOIN"), index)
    if join < index and not {"ON", "USING"} & set(words[join:index]) and words[index + 1 : index + 2] == ["."]:
        return f"is ON missing before {tokens[index].text}?"
    before = next((i for i, token in enumerate(text.tokens) if token.start == tokens[0].start), 0) - 1
    if words[index] in _WINDOW_PARTS and text.word(before) in ("ON", "BY", *_WINDOW_PARTS):
        return f"is a comma missing before {words[index]}?"
    if words[index] == "INTO":
        return "INTO stands before AS: CREATE QUERY name INTO sink AS SELECT ..."
    if words[index] == "\\":
        return _SHELL
    if words[index - 1 : index + 1] == ["OVER", "PARTITION BY"]:
        return "the window stands in parentheses: OVER (PARTITION BY x ORDER BY y)"
    if words[index] == "=>" or words[max(0, index - 2) : index] == ["=", "<"]:
        return "did you mean >= ?" if words[index] == "=>" else "did you mean <= ?"
    if words[index - 1] == "TOP" and words[index].isdigit():
        return f"the first rows are taken at the end: ORDER BY x LIMIT {words[index]}"
    if words[index - 1 : index + 2] == ["KEEP", "(", "DENSE_RANK"]:
        return "max_by(x, y) is x where y is greatest, min_by(x, y) where it is least"
    if "NTH_VALUE" in words[:index] and ["FROM", "LAST"] in (words[i : i + 2] for i in range(index)):
        return "NTH_VALUE counts from the first row; with ORDER BY ... DESC in OVER that is the last one"
    if words[index] == "&&":
        return "did you mean AND?"
    if kind := next((word for word in words[max(0, index - 3) : index] if word in _WINDOWS), None):
        return f"windows of event time are written {_WINDOWS[kind]} behind a table in FROM"
    for i in range(index, max(0, index - 2) - 1, -1):
        word = words[i]
        if word in ("GROUP", "ORDER", "PARTITION"):
            return f"did you mean {word} BY?"
        # Names such as orders and groups are near the words before BY.
        words_here = _BEFORE_BY if words[i + 1 : i + 2] == ["BY"] else _PLAIN_WORDS
        if word.isalpha() and (near := _near(word, words_here)) is not None and near != word:
            return f"did you mean {near}{' BY' * (words_here is _BEFORE_BY)}?"
    rows = [word for before, word in pairwise(words[:index]) if before in ("(", "FROM") and word != "VALUES"]
    if any(_near(word, ("VALUES",)) for word in rows):
        return "did you mean VALUES?"
    # What is missing of CASE is told at the word before, what follows WITH at that.
    further = 3 if "CASE" in words else 2 if words[index] == "WITH" else 1
    around = words[max(0, index - 1) : index + further]
    nearest = [near for word in around[::-1] if (near := _near(word, _FURTHER)) is not None and near != word]
    return f"did you mean {nearest[0]}?" if nearest else None


def _stands_in_fill(text: Text, at: int) -> bool:
    """Tell whether token `at` stands directly in the brackets of FILL (...)."""
    begin = max((begin for begin, end in text.closing.items() if begin < at <= end), default=0)
    return begin > 0 and text.word(begin - 1) == "FILL"


def misspelt(text: Text, end: int, candidates: Iterable[str]) -> str | None:
    """Return the hint for the last word before a token that may be meant as one of the candidates, None for none."""
    for i in reversed(range(end)):
        near = _near(text.word(i), candidates)
        if near is not None and near != text.word(i):
            return f"did you mean {near}?"
    return None


def _near(word: str, candidates: Iterable[str]) -> str | None:
    """Return the keyword that a word is, or may be meant as, None for none."""
    return next(iter(difflib.get_close_matches(word, candidates, 1, 0.75)), None)


def _no_statement(text: Text, at: int) -> ProgrammingError | NotSupportedError:
    word = text.word(at)
    hint = f"a statement begins with {', '.join(_BEGINNINGS[:-1])} or {_BEGINNINGS[-1]}"
    hint = ELSEWHERE.get(word, hint)
    if word in UNSUPPORTED:
        return NotSupportedError(f"{word} is not supported", text.span(at, at + 1), hint, text.sql)
    if text.raw(at) == "\\":
        hint = _SHELL
    if (prompt := PROMPT.match(text.sql, text.span(at, at + 1).start)) is not None:
        said = f"syntax error: unexpected {text.raw(at)}"
        return text.error(said, at, hint=f"leave out {prompt[1]}, which looks like the prompt of a shell")
    if text.raw(at) == ".":
        hint = "commands of the shell begin with \\, and \\? lists them; SHOW TABLES lists tables"
    if text.raw(at) == "$":
        hint = "a command of the system's shell is typed there, not among statements"
    if word in ELSEWHERE:
        return text.error(f"syntax error: unexpected {text.raw(at)}", at, hint=hint)
    near = [SYNONYMS[word]] if word in SYNONYMS else difflib.get_close_matches(word, _BEGINNINGS, 1) if word else []
    return text.error(f"syntax error: unexpected {text.raw(at)}", at, hint=f"did you mean {near[0]}?" if near else hint)


def _misplaced(text: Text, begin: int, at: int, hint: str | None) -> ProgrammingError:
    word, (clauses, order) = text.word(at), _clauses(text, begin)
    earlier = [text.word(i) for i in _same_level(text, begin, at)]
    later = [text.word(i) for i in _same_level(text, at, text.closing[begin])]
    last = next((w for w in reversed(earlier) if w in clauses), None)
    clause = _SPOKEN.get(word, word)
    if word in earlier:
        return text.error(f"syntax error: {clause} stands here for the second time", at, hint=order)
    if last is not None and clauses.index(last) > clauses.index(word):
        return text.error(f"{clause} must stand before {_SPOKEN.get(last, last)}", at, hint=order)
    if word in ("WITHIN", "SUBSET", "DEFINE") and "PATTERN" in later:
        return text.error(f"{word} must stand after PATTERN", at, hint=order)
    if word in ("WITHIN", "SUBSET", "DEFINE") and "PATTERN" not in earlier:
        hint = "PATTERN ( ... ) is missing before it"
    if hint == "expected AS":
        hint = _as_hint(last)
    return text.error(f"syntax error: unexpected {word}", at, hint=hint)


def _match_hint(text: Text, begin: int, at: int, accepted: set[str], hint: str | None) -> str | None:
    clauses, _ = _clauses(text, begin)
    last = next((text.word(i) for i in reversed(_same_level(text, begin, at)) if text.word(i) in clauses), None)
    if text.raw(at) == ")" and "PATTERN" in accepted:
        return "PATTERN ( ... ) is missing"
    for i in reversed(_same_level(text, begin, at)):
        if text.word(i) in clauses:
            break
        follows_operand = text.word(i - 1) not in clauses and text.raw(i - 1) not in (",", ".", "(")
        if follows_operand and (near := _nearest(text.word(i), accepted & set(clauses))):
            return f"did you mean {near}?"
    if text.word(at) == "INTERVAL" and "WITHIN" in accepted:
        return "did you mean WITHIN INTERVAL?"
    if text.word(at) == "AS" and accepted <= {"RPAR", "COMMA"}:
        return f"is a comma missing before {text.raw(at - 1)}?"
    if last == "AFTER" and text.word(at - 2) == "TO" and (text.word(at) == "ROW" or text.word(at - 1) == "NEXT"):
        return "did you mean AFTER MATCH SKIP TO NEXT ROW?"
    if "ROW" in text.word(at) + text.word(at + 1) and "ONE" in accepted:
        return "did you mean ONE ROW PER MATCH, or ALL ROWS PER MATCH?"
    if "SKIP" in (text.word(at), text.word(at + 1)) and "AFTER" in accepted:
        return "did you mean AFTER MATCH SKIP?"
    if text.word(at) == "SHOW" and "ONE" in accepted:
        return "what is shown follows the rows: ONE ROW PER MATCH SHOW TIMEOUT MATCHES"
    if "COMMA" in accepted and last == "MEASURES" and text.raw(at).isidentifier():
        return f"is a comma missing before {text.raw(at)}?"
    return _as_hint(last) if hint == "expected AS" else hint


def _misspelt_by(text: Text, at: int) -> str | None:
    """Return the hint for a word before BY that is none which stands there, None without one."""
    for i in reversed(range(1, at)):
        if text.word(i) == "BY" and (near := _near(text.word(i - 1), ("GROUP", "ORDER", "PARTITION"))):
            return f"did you mean {near} BY?"
    return None


def _defined(text: Text, at: int) -> str | None:
    """Return what the statement in which token `at` stands creates, None for another statement."""
    begin = _statement_start(text, at)
    words = [text.word(i) for i in range(begin, min(begin + 4, at)) if text.word(i) not in ("OR", "REPLACE")]
    return words[1] if words[:1] == ["CREATE"] and len(words) > 1 else None


def _heads_query(text: Text, at: int) -> bool:
    """Tell whether token `at` stands in a CREATE QUERY before the text of the query."""
    before = range(_statement_start(text, at), at)
    return _defined(text, at) == "QUERY" and all(text.word(i) != "AS" for i in before)


def _statement_start(text: Text, at: int) -> int:
    return next((i + 1 for i in reversed(range(at)) if text.raw(i) == ";"), 0)


def _as_hint(clause: str | None) -> str:
    forms = {"MEASURES": "a measure is written: expression AS name", "DEFINE": "write DEFINE variable AS condition"}
    return forms.get(clause or "", "expected AS")


def _match_start(text: Text, at: int) -> int | None:
    """Return the bracket of the innermost MATCH_RECOGNIZE, or window with a row pattern, that holds token `at`
    directly, None if there is none."""
    around = [begin for begin, end in text.closing.items() if begin < at <= end]
    begin = max(around, default=-1)
    return begin if text.word(begin - 1) == "MATCH_RECOGNIZE" or begins_pattern_window(text, begin) else None


def _clauses(text: Text, begin: int) -> tuple[tuple[str, ...], str]:
    """Return the words of the clauses that a bracket may have, in their order, and what is said of that."""
    return (CLAUSES, _ORDER) if text.word(begin - 1) == "MATCH_RECOGNIZE" else (_WINDOW_CLAUSES, _WINDOW_ORDER)


def _same_level(text: Text, begin: int, end: int) -> list[int]:
    """Return the tokens between `begin` and `end` that stand in no further bracket."""
    places, i = [], begin + 1
    while i < end:
        places.append(i)
        i = text.closing.get(i, i) + 1
    return places


def _nearest(word: str, accepted: set[str]) -> str | None:
    """Return the keyword among the accepted ones that a word may be meant as, None for none."""
    if not word.isalpha():
        return None
    words = {name.partition("_")[0]: _DESCRIBED.get(name, name) for name in accepted if name not in _KINDS}
    near = _near(word, words)
    return words[near] if near is not None and words[near] != word else None


def _expected(accepted: set[str]) -> str | None:
    if "SQL" in accepted:
        accepted = accepted - {"FROM", "JOIN", "LPAR"}
    accepted = accepted - {"DOT"} or accepted
    if "RELATION" in accepted:
        accepted = accepted - {"TABLE"}
    names = {_DESCRIBED.get(name, name) for name in accepted if name == "$END" or name.isupper()}
    listed = sorted(names, key=lambda name: (not name[0].isupper(), name == "the end", name))
    if not listed:
        return None
    return f"expected {', '.join(listed[:-1]) + ' or ' if len(listed) > 1 else ''}{listed[-1]}"


def _word(text: Text, token: Token) -> str:
    """Return a token as it is written, one that was made, which has the place of another, as it is."""
    own, plain = " ".join(token.text.upper().split()), text.sql[token.start : token.end + 1] == token.text
    written = own if plain else _written(text, token)
    return written if own in written else own


def _written(text: Text, token: Token) -> str:
    return " ".join(text.sql[token.start : token.end + 1].upper().split())


def _error(text: Text, token: Token, message: str, hint: str | None = None) -> ProgrammingError:
    return ProgrammingError(message, Span(token.start, token.end + 1), hint, text.sql)
