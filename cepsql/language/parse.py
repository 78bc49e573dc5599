"""Text to Lark tree; also where statements end, whether one is finished, and what may come next.

Every token of the text is offered to the LALR parser, which says what it accepts there. That decides whether a word is
a keyword or a name, and where an island of plain SQL begins, so no word but MATCH_RECOGNIZE is reserved.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Set
from functools import cache
from importlib import resources
from pathlib import Path

import lark
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser
from sqlglot.tokens import TokenType

from cepsql.base.private_files import open_private, write_private
from cepsql.errors import Error, suggestion
from cepsql.language.stray import stray_character
from cepsql.language.syntax_errors import misspelt, unexpected
from cepsql.language.tokens import DIALECT, Text
from cepsql.language.windows_with_patterns import begins_frame, begins_pattern_window

_PUNCTUATION = {"(": "LPAR", ")": "RPAR", ",": "COMMA", ";": "SEMICOLON", ".": "DOT", "=": "EQUAL"}
ISLANDS = (
    "EXPLAIN_DETAILS",
    "QUERY_NAME",
    "TOPIC_TEXT",
    "CONSTANT_LIST",
    "FRAME",
    "TABLE_ALIAS",
    "RELATION",
    "EXPRESSION",
    "ORDERED",
    "TYPE",
    "OPTION_KEY",
    "VALUE",
    "ARGUMENT",
    "PATTERN_TEXT",
    "SQL",
    "NAME",
)

NO_KEYWORDS = frozenset({*ISLANDS, *_PUNCTUATION.values(), "PATTERN_WINDOW"})
"""Terminals that are not typed as they are called."""
_QUERY_WORDS = {"SELECT", "WITH", "VALUES", "TABLE", "FROM"}
_JOIN_WORDS = {"JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "OUTER", "ASOF"}
_RELATION_ENDS = _JOIN_WORDS | {
    "MATCH_RECOGNIZE", "ON", "USING", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "INTERSECT",
    "EXCEPT",    "MINUS", "WINDOW", "QUALIFY", "CLUSTER BY", "DISTRIBUTE BY", "SORT BY", "OFFSET", "SELECT",
}  # fmt: skip
_CLAUSE_STARTS: dict[str, tuple[str, ...]] = {
    "ORDER BY": (), "MEASURES": (), "ONE": ("ROW",), "ALL": ("ROW",), "AFTER": ("MATCH",), "PATTERN": ("(",),
    "WITHIN": (), "SUBSET": (), "DEFINE": (), "PARTITION BY": (), "ALLOWED": ("LATENESS",),
    "WITH": ("HEARTBEAT", "IDLE", "PUNCTUATION", "LATE"), "AHEAD": ("AT",), "BY": (), "OF": (), "PERCENT": (),
    "LATE": ("ROWS",), "FOR": ("AT",), "INITIAL": ("PATTERN",), "SEEK": ("PATTERN",),
}  # fmt: skip
"""The words that end an expression, each with those of which one must follow."""

WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
"""What TABLE(...) takes."""

EXPLAIN_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
"""What Flink lets follow EXPLAIN."""

_WINDOW_KINDS = ("TUMBLING", "HOPPING", "CUMULATING", "SESSION")
_OPERATOR_WORDS = {
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "ILIKE",
    "RLIKE",
    "BETWEEN",
    "IS",
    "THEN",
    "ELSE",
    "WHEN",
    "CASE",
    "DIV",
}


def grammar_text(name: str) -> str:
    """Return a grammar file: from the installed package, or from the checkout that it runs in."""
    packaged = resources.files("cepsql") / "grammar" / name
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).parents[2] / "grammar" / name).read_text("utf-8")


@cache
def _lark() -> Lark:
    text = grammar_text("cepsql.lark")
    file = _tables_file(text)
    stored = _stored(file)
    if stored is not None:
        return stored
    made = Lark(text, parser="lalr", start="script", maybe_placeholders=True)
    # Without them all works as well, only that it begins later.
    with contextlib.suppress(OSError):
        write_private(file, made.save)
    return made


def _tables_file(grammar: str) -> Path:
    """Return where the parser's tables are kept, which take a second or two to make."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cepsql"
    made = hashlib.sha256(f"{grammar} {lark.__version__} {sys.version_info[:2]}".encode()).hexdigest()[:12]
    return folder / f"grammar-{made}.tables"


def _stored(file: Path) -> Lark | None:
    """Return the parser of a file of tables, which is a pickle; None for one that is missing, broken or not ours."""
    opened = open_private(file)
    if opened is None:
        return None
    with opened:
        try:
            return Lark.load(opened)
        except Exception:
            return None


def parse(text: Text) -> Tree:
    """Parse a text of one or more statements into a Lark tree.

    The leaves are Lark tokens whose start_pos and end_pos are token indexes of `text`.
    Raises ProgrammingError with position and what was expected.
    """
    if (error := stray_character(text)) is not None:
        raise error
    text.closing  # noqa: B018 (brackets are checked first: their errors are clearer than the grammar's)
    parser = _lark().parse_interactive()
    at = 0
    try:
        for _, tokens in steps(text, parser):
            at = tokens.stop
        return parser.feed_eof()
    except UnexpectedToken:
        raise unexpected(text, at, accepted(parser)) from None


def steps(text: Text, parser: InteractiveParser | None = None) -> Iterator[tuple[str, range]]:
    """Yield the terminals of a text with their tokens, as the grammar takes them; the end may be within the last.

    parser: what takes them, a new one by default.
    Raises lark's UnexpectedToken where the text is wrong, ProgrammingError where no terminal can be made.
    """
    parser = parser or _lark().parse_interactive()
    at = 0
    while at < len(text):
        kind, end = _classify(text, at, _choices(parser))
        end = min(end, len(text))
        parser.feed_token(Token(kind, text.slice(at, end), start_pos=at, end_pos=end))
        yield kind, range(at, end)
        at = end


def split(text: str) -> list[tuple[int, str]]:
    """Split a script at its semicolons; return (character offset, statement without semicolon) pairs.

    Strings, quoted names and comments may hold semicolons. Statements without any token are left out.
    Raises ProgrammingError if a string or comment is not closed.
    """
    whole = Text(text)
    parts, begin = [], 0
    for i in range(len(whole) + 1):
        if i == len(whole) or whole.tokens[i].token_type == TokenType.SEMICOLON:
            if i > begin:
                parts.append((whole.tokens[begin].start, whole.slice(begin, i)))
            begin = i + 1
    return parts


def is_complete(text: str) -> bool:
    """Tell whether the text is one or more statements, the last of them ended by a semicolon that no bracket holds."""
    try:
        whole = Text(text, unfinished=True)
    except Error:
        return False
    if not len(whole) or whole.tokens[-1].token_type != TokenType.SEMICOLON:
        return False
    try:
        return all(end < len(whole) for end in whole.closing.values())
    except Error:
        # A bracket that closes none is told when the text is executed.
        return True


def has_statement(text: str) -> bool:
    """Tell whether there is more in a text than blanks and comments."""
    try:
        return len(Text(text, unfinished=True)) > 0
    except Error:
        return True


def expected(text: str) -> set[str]:
    """Return the grammar terminals that may follow the text; empty if the text is wrong."""
    try:
        whole = Text(text, unfinished=True)
        parser = _lark().parse_interactive()
        for _ in steps(whole, parser):
            pass
    except (Error, UnexpectedToken):
        return set()
    return accepted(parser)


@cache
def keywords() -> frozenset[str]:
    """Return all keywords: those of the grammar and those of plain SQL, upper case."""
    own = {part.name for rule in _lark().rules for part in rule.expansion if part.is_term}
    own -= NO_KEYWORDS
    plain = {word for words in DIALECT.tokenizer_class.KEYWORDS for word in words.split() if word.isalpha()}
    return frozenset(own - {"PARTITION_BY", "ORDER_BY"} | plain)


def _choices(parser: InteractiveParser) -> Set[str]:
    """Return the terminals that may be next: quickly, and exactly where a query or name may go on or have an alias, or
    a name could be a key."""
    choices = parser.choices().keys()
    return accepted(parser) if choices & {"TABLE_ALIAS", "DOT"} or {"NAME", "OPTION_KEY"} <= choices else choices


def accepted(parser: InteractiveParser) -> set[str]:
    """Return what the parser's `accepts` does, for which that feeds each terminal to a copy of the parser."""
    return {terminal for terminal in parser.choices() if terminal.isupper() and _accepts(parser, terminal)}


def _accepts(parser: InteractiveParser, terminal: str) -> bool:
    """Tell whether the parser can shift a terminal, or end, after the reductions that come before it."""
    tables, stack = parser.parser_state.parse_conf, [*parser.parser_state.state_stack]
    while stack[-1] != tables.end_state:
        action, argument = tables.states[stack[-1]].get(terminal, (None, None))
        if action is None or action is Shift:
            return action is Shift
        del stack[len(stack) - len(argument.expansion) :]
        _, state = tables.states[stack[-1]][argument.origin.name]
        stack.append(state)
    return True


def _classify(text: Text, at: int, choices: Set[str]) -> tuple[str, int]:
    """Choose the terminal that token `at` begins, and where it ends."""
    raw, word = text.raw(at), text.word(at)
    if "PATTERN_WINDOW" in choices and begins_pattern_window(text, at):
        return "PATTERN_WINDOW", at + 1
    punctuation = _PUNCTUATION.get(raw, "")
    if punctuation in choices and not (raw == "(" and "SQL" in choices and not _opens_brackets(text, at, choices)):
        return punctuation, at + 1
    terminal = word.replace(" ", "_")
    if terminal in choices and terminal not in ISLANDS and _is_keyword(text, at, choices):
        return terminal, at + 1
    if _begins_operator(text, at):
        written = f"WINDOW {text.word(at + 1)}" if word == "WINDOW" else word
        otherwise = f"it reads a query in brackets, too: FROM (SELECT ... WHERE ...) {written} (...)"
        hint = misspelt(text, at, ("FROM", "JOIN")) or otherwise
        raise text.error(f"{word} must follow a table in FROM or JOIN", at, hint=hint)
    for island in ISLANDS:
        if island == "RELATION" and "SQL" in choices and not _is_relation(text, at):
            # A bracket after FROM holds a query, or a relation with an operator of its own.
            continue
        if island == "SQL" and "NAME" in choices and text.word(at) not in _QUERY_WORDS and text.raw(at) != "(":
            # The columns of INSERT INTO name (...).
            continue
        if island in choices:
            end = _island_end(text, at, island, choices)
            if end > at:
                return island, end
    # No terminal of that name: the parser refuses it and says what it would accept.
    return "UNKNOWN", at + 1


def _is_keyword(text: Text, at: int, choices: Set[str]) -> bool:
    """Tell whether a word that may be a keyword here is one, where a name could stand too."""
    word, following = text.word(at), text.word(at + 1)
    match word:
        case "WATERMARK":
            return following == "FOR" or text.word(at - 1) == "AT"
        case "AT":
            return following == "MOST" or _begins_read_point(text, at) or "SQL" not in choices
        case "AFTER" | "FRESH":
            return following == "MATCH" or _begins_read_point(text, at)
        case "NEXT":
            return following == "ROW"
        case "QUERY" | "EXTENDED" | "STREAM" | "TABLE" | "VIEW" | "SINK" if choices & {"NAME", "QUERY_NAME"}:
            return _is_name(text, at + 1)
        case "GROUP" if "NAME" in choices:
            # A view may be called group.
            return _is_name(text, at + 1) and following not in ("AS", "CASCADE", "WITH", "SET", "RESET")
        case "IMMEDIATE":
            return _is_string(text, at + 1)
        case "PREPARE" if "NAME" in choices:
            return _is_name(text, at + 1)
        case "DEDUPLICATE":
            return _begins_operator(text, at)
        case "WINDOW":
            return _begins_operator(text, at) or text.word(at - 1) == "ON"
        case "EMIT":
            return _begins_emit(text, at)
        case "FILL":
            return text.raw(at + 1) == "("
        case "TABLE" if "RELATION" in choices:
            return _begins_window_function(text, at)
        case "FIRST" | "LAST":
            return (
                bool(following) and not (following == "PATTERN" and text.raw(at + 2) == "(")
            ) or "NAME" not in choices
        case "FOR" if "SEMICOLON" in choices:
            return _begins_key(text, at)
        case "FROM":
            return not (text.word(at - 1) == "DISTINCT" and text.word(at - 2) in ("IS", "NOT"))
        case "PATTERN" | "TABLE" if "SQL" in choices:
            return word == "PATTERN" or "CREATE" not in choices
    return True


def _island_end(text: Text, at: int, island: str, choices: Set[str]) -> int:
    """Return where an island that begins at token `at` ends, `at` itself if none can begin there."""
    match island:
        case "EXPLAIN_DETAILS":
            return _details_end(text, at)
        case "QUERY_NAME":
            ended = text.raw(at + 1) in ("", ";")
            return at + 1 if ended and _is_name(text, at) and text.word(at) not in _QUERY_WORDS else at
        case "TOPIC_TEXT":
            return at + 1 if _is_string(text, at) else at
        case "CONSTANT_LIST":
            return _run(text, at, lambda i: text.raw(i) == ";")
        case "NAME":
            return at + 1 if _is_name(text, at) and not _begins_clause(text, at) else at
        case "TABLE_ALIAS":
            return _alias_end(text, at)
        case "OPTION_KEY":
            end = at + 1
            while text.adjoins(end) and (
                text.raw(end) in (".", "-") or (text.raw(end - 1) in (".", "-") and _is_name(text, end))
            ):
                end += 1
            return end if _is_name(text, at) or _is_string(text, at) else at
        case "PATTERN_TEXT":
            return _run(text, at, lambda i: False)
        case "FRAME":
            framed = begins_frame(text, at)
            return _run(text, at, lambda i: text.raw(i) == ";" or _starts_clause(text, i, at)) if framed else at
        case "TYPE":
            return _type_end(text, at)
        case "VALUE" | "ARGUMENT":
            return _run(text, at, lambda i: text.raw(i) in (",", ";"), nested=island == "ARGUMENT")
        case "EXPRESSION" | "ORDERED":
            return _run(
                text, at, lambda i: text.raw(i) in (",", ";") or text.word(i) == "AS" or _starts_clause(text, i, at)
            )
        case "RELATION":
            _refuse_call(text, at)
            return _relation_end(text, at)
    if choices & {"CREATE", "REWRITTEN"} and text.word(at) not in _QUERY_WORDS and text.raw(at) != "(":
        return at

    def stops(i: int) -> bool:
        ends = text.raw(i) == ";" or text.word(i) in ("FROM", "JOIN")
        return ends or _begins_operator(text, i) or _begins_key(text, i) or (i > at and _ends_query(text, i))

    return _run(text, at, stops, nested=True)


def _opens_brackets(text: Text, at: int, choices: Set[str]) -> bool:
    """Tell whether a bracket where a query may begin is of the grammar, and not a part of plain SQL."""
    if _holds_match(text, at):
        return True
    # INSERT INTO name (columns) SELECT ...
    closed = text.closing[at] + 1
    return "DOT" in choices and (text.word(closed) in _QUERY_WORDS or text.raw(closed) == "(")


def _is_relation(text: Text, at: int) -> bool:
    """Tell whether a relation begins where a query might, too."""
    if text.word(at - 1) == "SUMMARIZE":
        return text.word(at) not in _QUERY_WORDS and text.raw(at) != "("
    return _begins_operator(text, _relation_end(text, at))


def _details_end(text: Text, at: int) -> int:
    """Return where what other engines write behind EXPLAIN ends: (TYPE LOGICAL), PLAN FOR, or details of Flink."""
    if text.raw(at) == "(" and text.word(at + 1) in ("TYPE", "FORMAT") and text.word(at + 2):
        return text.closing[at] + 1
    if text.word(at) == "PLAN" and text.word(at + 1) == "FOR":
        return at + 2
    end = at
    while text.word(end) in EXPLAIN_DETAILS:
        if text.raw(end + 1) != ",":
            return end + 1
        end += 2
    return at


def _run(text: Text, at: int, stops, nested: bool = False) -> int:
    """Walk over balanced tokens until one stops the run or a bracket closes what was open before.

    nested: stop at a parenthesis that holds an operator, such as MATCH_RECOGNIZE.
    """
    i = at
    while i < len(text):
        if i in text.closing:
            if nested and text.raw(i) == "(" and _holds_match(text, i):
                break
            i = text.closing[i] + 1
        elif text.raw(i) in (")", "]", "}") or (stops(i) and not _distinct_from(text, i)):
            break
        else:
            i += 1
    return i


def _distinct_from(text: Text, i: int) -> bool:
    return text.word(i) == "FROM" and text.word(i - 1) == "DISTINCT" and text.word(i - 2) in ("IS", "NOT")


def _relation_end(text: Text, at: int) -> int:
    if text.word(at) in _RELATION_ENDS:
        return at
    values = text.word(at) == "VALUES"

    def stops(i: int) -> bool:
        if text.raw(i) == "," and not (values and text.raw(i + 1) == "("):
            return True
        # LATERAL VIEW ends a relation; JOIN LATERAL (...) begins one.
        ends = text.word(i) in _RELATION_ENDS or text.raw(i) in (";", "|>") or text.word(i) == "LATERAL"
        return i > at and (ends or _begins_operator(text, i) or _begins_key(text, i) or _ends_query(text, i))

    return _run(text, at, stops, nested=True)


def _type_end(text: Text, at: int) -> int:
    depth, i = 0, at
    while i < len(text) and text.raw(i) not in (")", ";") and (depth > 0 or not _ends_type(text, i)):
        # Angle brackets nest: ARRAY<STRUCT<a: INT, b: STRING>>.
        depth += text.angles(i).count("<") - text.angles(i).count(">")
        i = text.closing.get(i, i) + 1
    return i


def _ends_type(text: Text, i: int) -> bool:
    inline_key = text.word(i) in ("PRIMARY KEY", "KEY") and text.raw(i + 1) != "("
    return text.raw(i) == "," or text.word(i) in ("AS", "METADATA") or inline_key


def _alias_end(text: Text, at: int) -> int:
    name = at + 1 if text.word(at) == "AS" else at
    if _begins_key(text, at) or _begins_operator(text, at) or _ends_query(text, at):
        return at
    if not _is_name(text, name) or (
        name == at and text.word(at) in _RELATION_ENDS | {"PIVOT", "LATERAL", "TABLESAMPLE"}
    ):
        return at
    return text.closing[name + 1] + 1 if text.raw(name + 1) == "(" else name + 1


def _starts_clause(text: Text, i: int, begin: int) -> bool:
    word = text.word(i)
    if i == begin:
        return _begins_clause(text, i)
    frame = begins_frame(text, i)
    if not (word in _CLAUSE_STARTS or frame) or text.word(i - 1) in _OPERATOR_WORDS:
        return False
    before = text.raw(i - 1)
    if not (
        text.word(i - 1)
        or before in (")", "]")
        or _is_name(text, i - 1)
        or _is_string(text, i - 1)
        or before[-1:].isdigit()
    ):
        return False
    if word == "WITHIN" and text.word(i + 1).startswith("GROUP"):
        return False
    needed = () if frame else _CLAUSE_STARTS[word]
    return not needed or any(text.word(i + 1) in (word, f"{word}S") or text.raw(i + 1) == word for word in needed)


def _begins_clause(text: Text, i: int) -> bool:
    """Tell whether a clause begins where an expression or a name was expected."""
    match text.word(i):
        case "ORDER BY" | "PARTITION BY":
            return True
        case "PATTERN" if text.raw(i + 1) == "(":
            following = text.closing[i + 1] + 1
            return text.raw(following) == ")" or text.word(following) in ("WITHIN", "SUBSET", "DEFINE")
        case "SUBSET":
            return _is_name(text, i + 1) and text.raw(i + 2) == "="
        case "DEFINE":
            return _is_name(text, i + 1) and text.word(i + 1) != "AS" and text.word(i + 2) == "AS"
    return False


def _begins_key(text: Text, i: int) -> bool:
    """Tell whether the FOR KEY (...) of EXPLAIN MATCH begins here."""
    return text.word(i) == "FOR" and text.word(i + 1) == "KEY" and text.raw(i + 2) == "("


def _ends_query(text: Text, i: int) -> bool:
    """Tell whether what stands behind a whole query begins here: EMIT, or as of when it reads."""
    return _begins_emit(text, i) or _begins_read_point(text, i)


def _begins_read_point(text: Text, i: int) -> bool:
    """Tell whether AT WATERMARK, AFTER 'token' or FRESH WITHIN begins here, at the end of a query."""
    word, following = text.word(i), text.word(i + 1)
    if word == "FRESH":
        return following == "WITHIN"
    begun = (word == "AT" and following == "WATERMARK") or (word == "AFTER" and _is_string(text, i + 1))
    return begun and (text.raw(i + 2) in ("", ";") or text.word(i + 2) in ("AFTER", "FRESH"))


def _begins_emit(text: Text, i: int) -> bool:
    """Tell whether EMIT ON WINDOW CLOSE, EMIT CHANGES or EMIT EVERY begins here, at the end of a query or subquery."""
    if text.word(i) != "EMIT":
        return False
    following = text.word(i + 1), text.word(i + 2)
    limited = following[1] == "LIMIT" and text.raw(i + 3).isdigit()
    ended = text.raw(i + 2) in ("", ";", ")") or following[1] == "ALLOWED" or limited
    return following == ("ON", "WINDOW") or following[0] == "EVERY" or (following[0] == "CHANGES" and ended)


def _begins_operator(text: Text, i: int) -> bool:
    """Tell whether a MATCH_RECOGNIZE, or a DEDUPLICATE or WINDOW, which are names elsewhere, begins here."""
    match text.word(i):
        case "DEDUPLICATE":
            opened = text.raw(i + 1) == "("
            return opened and (text.word(i + 2) in ("PARTITION BY", "ORDER BY") or text.raw(i + 2) == ")")
        case "WINDOW":
            return text.word(i + 1) in _WINDOW_KINDS and text.raw(i + 2) == "("
    return text.word(i) == "MATCH_RECOGNIZE"


def _begins_window_function(text: Text, i: int) -> bool:
    """Tell whether TABLE(TUMBLE(...)), or another function of windows, begins here."""
    called = text.raw(i + 1) == "(" and text.raw(i + 3) == "("
    return text.word(i) == "TABLE" and called and text.word(i + 2) in WINDOW_FUNCTIONS


def _refuse_call(text: Text, at: int) -> None:
    """Raise ProgrammingError where a relation is written as a call that would be one of ours if written otherwise."""
    word = text.word(at)
    if text.raw(at + 1) != "(":
        return
    if word == "DEDUPLICATE":
        hint = "FROM s DEDUPLICATE (PARTITION BY key ORDER BY time)"
        raise text.error(f"{word} must follow a table in FROM or JOIN", at, hint=hint)
    if word in WINDOW_FUNCTIONS and _describes(text, at + 1):
        raise text.error(f"{word} stands within TABLE(...)", at, hint=f"FROM TABLE({word}(...))")
    if word in WINDOW_FUNCTIONS and any(text.word(i) == "INTERVAL" for i in range(at + 2, text.closing[at + 1])):
        named = at + 3 if text.word(at + 2) == "TABLE" else at + 2
        hint = f"FROM TABLE({word}(TABLE {text.raw(named)}, DESCRIPTOR(time), INTERVAL ...))"
        raise text.error(f"{word} is written with TABLE and DESCRIPTOR", at, hint=hint)
    if word == "TABLE" and text.word(at + 2) not in ("", *WINDOW_FUNCTIONS) and _describes(text, at + 3):
        hint = suggestion(text.word(at + 2), WINDOW_FUNCTIONS, "window functions")
        raise text.error(f"there is no window function {text.raw(at + 2)}", at + 2, hint=hint)


def _describes(text: Text, opening: int) -> bool:
    """Tell whether a bracket has arguments as functions of windows have: TABLE relation, DESCRIPTOR(column)."""
    if text.raw(opening) != "(":
        return False
    within = range(opening + 1, text.closing[opening])
    return any(text.word(i) == "DESCRIPTOR" and text.raw(i + 1) == "(" for i in within)


def _is_name(text: Text, i: int) -> bool:
    return bool(text.word(i)) or text.raw(i)[:1] == "`" or (text.raw(i)[:1] == '"' and len(text.raw(i)) > 2)


def _is_string(text: Text, i: int) -> bool:
    return text.raw(i)[:1] in ("'", '"')


def _holds_match(text: Text, at: int) -> bool:
    """Tell whether a bracket holds what only the grammar knows, or is that of a window with a row pattern."""
    begins = (_begins_operator, _begins_window_function, _begins_emit, begins_pattern_window)
    return any(begun(text, i) for i in range(at, text.closing[at]) for begun in begins)
