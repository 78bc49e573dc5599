"""The tokens of a statement, made once by sqlglot's tokenizer and shared by Lark and sqlglot."""

import re
from functools import cached_property

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.guard import MAX_NESTING, guarded, too_deep
from cepsql.language.spark_sql import SparkSql
from cepsql.language.syntax_errors import dangling, plain_sql_error

DIALECT = SparkSql()

KEPT_AGGREGATES = frozenset(
    {"LISTAGG", "STRING_AGG", "PERCENTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "MAX_BY", "MIN_BY"}
)
"""Aggregates of Spark whose arguments sqlglot's own expressions for them lose or change."""

MAX_DIGITS = 400
"""How long a number may be: the greatest DOUBLE has 309 digits before the point."""

_KEPT = "__KEPT_"
_KEPT_FUNCTIONS = {"TO_CHAR", "PARSE_JSON"}

_WORD = re.compile(r"[^\W\d]\w*(\s+\w+)*\Z")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Text:
    """A text with its tokens; positions in this class are token indexes unless they are said to be characters."""

    def __init__(self, sql: str, unfinished: bool = False):
        """Read `sql`; if it is unfinished, its end closes the brackets that are open there."""
        self.sql, self.unfinished = sql, unfinished
        self.tokens = _tokenize(sql)
        self._check_numbers()

    def __len__(self) -> int:
        return len(self.tokens)

    def raw(self, i: int) -> str:
        """Return token i as it is written, '' beyond the end."""
        return self.sql[self.tokens[i].start : self.tokens[i].end + 1] if 0 <= i < len(self.tokens) else ""

    def word(self, i: int) -> str:
        """Return token i in upper case if it is an unquoted word, else ''; some are two words, like ORDER BY."""
        raw = self.raw(i)
        return " ".join(raw.upper().split()) if _WORD.match(raw) else ""

    def adjoins(self, i: int) -> bool:
        """Tell whether token i follows the one before it without space."""
        return 0 < i < len(self.tokens) and self.tokens[i].start == self.tokens[i - 1].end + 1

    def span(self, i: int, j: int) -> Span:
        """Return the character span of tokens i to j (exclusive); the end of the text beyond the last token."""
        if i >= len(self.tokens):
            return Span(len(self.sql), len(self.sql) + 1)
        return Span(self.tokens[i].start, self.tokens[max(i, j - 1)].end + 1)

    def slice(self, i: int, j: int) -> str:
        """Return the text of tokens i to j (exclusive) as it is written."""
        span = self.span(i, j)
        return self.sql[span.start : span.end] if j > i else ""

    def error(self, message: str, i: int, j: int | None = None, hint: str | None = None) -> ProgrammingError:
        """Make an error that points at tokens i to j."""
        return ProgrammingError(message, self.span(i, i + 1 if j is None else j), hint, self.sql)

    def _check_numbers(self) -> None:
        for i, token in enumerate(self.tokens):
            if token.token_type == TokenType.NUMBER and len(token.text) > MAX_DIGITS:
                raise self.error(f"a number of {len(token.text)} digits is too long", i, hint="numbers have up to 38")

    @cached_property
    def closing(self) -> dict[int, int]:
        """The index of the bracket that closes each opening one.

        Raises ProgrammingError at a bracket without partner, NotSupportedError where too many stand in one another.
        """
        pairs, open_at = {}, []
        for i in range(len(self.tokens)):
            raw = self.raw(i)
            if raw in _CLOSING:
                open_at.append(i)
                if len(open_at) > MAX_NESTING:
                    raise too_deep(self.span(i, i + 1))
            elif raw in _CLOSING.values():
                if not open_at or _CLOSING[self.raw(open_at[-1])] != raw:
                    raise self.error(f"unexpected {raw}", i, hint="no bracket is open here that it could close")
                pairs[open_at.pop()] = i
        if self.unfinished:
            return pairs | dict.fromkeys(open_at, len(self.tokens))
        if open_at:
            raise self.error(f"this {self.raw(open_at[-1])} is never closed", open_at[-1])
        return pairs


def _tokenize(sql: str) -> list[Token]:
    try:
        with guarded():
            return _tokenizer().tokenize(sql)
    except ProgrammingError as error:
        start = _unclosed(sql)
        raise ProgrammingError(
            "a quoted text or comment is not closed" if start is not None else "the text cannot be read as SQL",
            Span(start or 0, (start or 0) + 1),
            None,
            sql,
            str(error.__cause__),
        ) from error


def _tokenizer():
    tokenizer = DIALECT.tokenizer()
    # sqlglot takes the rest of a SHOW or EXPLAIN for one opaque string; here the grammar reads those.
    tokenizer._core.commands = set()
    # Spark reads two quotes in a quoted text as one.
    tokenizer._core.string_escapes = {"\\", "'", '"'}
    return tokenizer


_QUOTED = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`""", re.S)


def _unclosed(sql: str) -> int | None:
    rest = _QUOTED.sub(lambda found: " " * len(found.group()), sql)
    found = re.search(r"""['"`]|/\*""", rest)
    return found.start() if found else None


def parse_island(text: Text, tokens: list[Token], into: type | None = None) -> exp.Expr:
    """Let sqlglot parse tokens of `text` into an expression of class `into`, None for a statement.

    Raises ProgrammingError with the position of what sqlglot does not accept.
    """
    parser = DIALECT.parser()
    span = Span(tokens[0].start, tokens[-1].end + 1)
    tokens = [_function_name(token, after) for token, after in zip(tokens, [*tokens[1:], None], strict=True)]
    try:
        with guarded(span):
            trees = parser.parse_into(into, tokens, text.sql) if into else parser.parse(tokens, text.sql)
    except ParseError as error:
        raise plain_sql_error(text, tokens, error) from None
    if len(trees) != 1 or trees[0] is None:
        raise ProgrammingError("one expression was expected here", span, None, text.sql)
    tree = trees[0]
    incomplete = dangling(text, tokens)
    if incomplete is not None:
        raise incomplete
    opaque = tree.find(exp.Command, exp.Parameter)
    if isinstance(opaque, exp.Parameter):
        raise ProgrammingError("syntax error: a parameter is written :name", span, None, text.sql)
    if opaque is not None:
        raise NotSupportedError(f"{opaque.this} is not supported", span, None, text.sql)
    for call in tree.find_all(exp.Func):
        if any(message.startswith("Required") for message in call.error_messages()):
            at = next((t for t in tokens if t.text.upper() in call.sql_names()), None)
            place = span if at is None else Span(at.start, at.end + 1)
            raise ProgrammingError("syntax error: arguments are missing in this call", place, None, text.sql)
    for call in tree.find_all(exp.Anonymous):
        call.set("this", call.this.removeprefix(_KEPT) if isinstance(call.this, str) else call.this)
    _place_calls(text, tree)
    if into is not None:
        tree.meta.update(start=span.start, end=span.end - 1)
    return tree


def _function_name(token: Token, following: Token | None) -> Token:
    """Make names of functions that sqlglot would read or write wrongly names that it does not know."""
    if following is None or following.token_type != TokenType.L_PAREN:
        return token
    if token.token_type == TokenType.WINDOW:
        # sqlglot takes it for the WINDOW clause at the head of GROUP BY.
        return made_token(TokenType.VAR, token.text, token)
    if token.text.upper() in KEPT_AGGREGATES | _KEPT_FUNCTIONS and token.token_type != TokenType.STRING:
        return kept_name(token)
    return token


def kept_name(token: Token) -> Token:
    """Make a function's name one that sqlglot does not know, so that it keeps the call as it is written."""
    return made_token(TokenType.VAR, _KEPT + token.text, token)


def _place_calls(text: Text, tree: exp.Expr) -> None:
    """Let the position of every call, which sqlglot ends at its name, reach to its closing parenthesis."""
    at = {token.start: i for i, token in enumerate(text.tokens)}
    for call in tree.find_all(exp.Func):
        name = at.get(call.meta.get("start", -1))
        if name is not None and name + 1 in text.closing:
            call.meta["end"] = text.tokens[text.closing[name + 1]].end


def made_token(kind: TokenType, text: str, at: Token) -> Token:
    """Make a token that is not in the text, with the position of one that is."""
    return Token(kind, text, line=at.line, col=at.col, start=at.start, end=at.end)
