"""The tokens of a statement, made once by sqlglot's tokenizer and shared by Lark and sqlglot."""

import re
from collections.abc import Collection, Sequence

from sqlglot.tokens import Token, TokenType

from cepsql.base.cached_property import cached_property
from cepsql.errors import ProgrammingError, Span
from cepsql.language.guard import MAX_NESTING, guarded, too_deep
from cepsql.language.spark_sql import SparkSql

DIALECT = SparkSql()

COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
"""A comment; only of what lies between tokens, for a text may have its marks."""

MAX_DIGITS = 400
"""How long a number may be: the greatest DOUBLE has 309 digits before the point."""

_WORD = re.compile(r"[^\W\d]\w*(\s+\w+)*\Z")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Text:
    """A text with its tokens; positions in this class are token indexes unless they are said to be characters.

    parameters: where parameters stand (characters), and their names, as far as expressions have been read.
    respelt:    the characters at which it has words that Spark does not read, in place of which the tree has others.
    """

    def __init__(self, sql: str, unfinished: bool = False, own: Collection[str] = ()):
        """Read `sql`; if it is unfinished, its end closes the brackets that are open there.

        own: functions in lower case whose calls are read as if their names stood in backquotes.
        """
        self.sql, self.unfinished = sql, unfinished
        self.tokens = _tokenize(sql)
        self._own_calls = [i for i in range(len(self.tokens)) if self._calls(i, own)] if own else []
        for i in self._own_calls:
            self.tokens[i] = made_token(TokenType.IDENTIFIER, self.tokens[i].text, self.tokens[i])
        self.parameters: list[tuple[Span, str]] = []
        self.respelt: list[int] = []
        self._check_numbers()

    def __len__(self) -> int:
        return len(self.tokens)

    def raw(self, i: int) -> str:
        """Return token i as it is written, '' beyond the end."""
        return self._written[i] if 0 <= i < len(self._written) else ""

    def word(self, i: int) -> str:
        """Return token i in upper case if it is an unquoted word, else ''; some are two words, like ORDER BY."""
        return self._words[i] if 0 <= i < len(self._words) else ""

    @cached_property
    def _written(self) -> list[str]:
        return [self.sql[token.start : token.end + 1] for token in self.tokens]

    @cached_property
    def _words(self) -> list[str]:
        return [" ".join(raw.upper().split()) if _WORD.match(raw) else "" for raw in self._written]

    @cached_property
    def places(self) -> dict[int, int]:
        """The index of the token that begins at a character."""
        return {token.start: i for i, token in enumerate(self.tokens)}

    def angles(self, i: int) -> str:
        """Return token i if it is made of angle brackets, which are one token where they adjoin, else ''."""
        raw = self.raw(i)
        return raw if set(raw) <= {"<", ">"} else ""

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
        return self.sql[self.tokens[i].start : self.tokens[j - 1].end + 1] if i < min(j, len(self.tokens)) else ""

    def portable(self, span: Span) -> str:
        """Return a part of the text, given in characters, with the user's functions in backquotes: it means the same in
        every session."""
        pieces, at = [], span.start
        for token in (self.tokens[i] for i in self._own_calls):
            if at <= token.start < span.end:
                pieces += [self.sql[at : token.start], quoted(token.text)]
                at = token.end + 1
        return "".join([*pieces, self.sql[at : span.end]])

    def _calls(self, i: int, own: Collection[str]) -> bool:
        return self.raw(i + 1) == "(" and self.raw(i - 1) != "." and self.word(i).lower() in own

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
            return _tokenizer().tokenize(_unmarked(sql))
    except ProgrammingError as error:
        start = unclosed(sql)
        escaped = start is not None and "\\'" in sql
        raise ProgrammingError(
            "a quoted text or comment is not closed" if start is not None else "the text cannot be read as SQL",
            Span(start or 0, (start or 0) + 1),
            "in a text \\ stands before a character that it quotes; '\\\\' is one \\" if escaped else None,
            sql,
            str(error.__cause__),
        ) from error


def _unmarked(sql: str) -> str:
    """Return the text with a space in place of the mark that programs put at the beginning of files."""
    return f" {sql[1:]}" if sql.startswith("\ufeff") else sql


def _tokenizer():
    tokenizer = DIALECT.tokenizer()
    # sqlglot takes the rest of a SHOW or EXPLAIN for one opaque string; here the grammar reads those.
    tokenizer._core.commands = set()
    # Spark reads two quotes in a quoted text as one.
    tokenizer._core.string_escapes = {"\\", "'", '"'}
    return tokenizer


QUOTED = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`""", re.S)
"""Comments, texts and quoted names."""


def unclosed(sql: str) -> int | None:
    """Return where a quote or comment begins that never ends, None if there is none."""
    rest = QUOTED.sub(lambda match: " " * len(match.group()), sql)
    opening = re.search(r"""['"`]|/\*""", rest)
    return opening.start() if opening else None


def made_token(kind: TokenType, text: str, at: Token, last: Token | None = None) -> Token:
    """Make a token that is not in the text, with the position of one that is, or of all from there to a last one."""
    return Token(kind, text, line=at.line, col=at.col, start=at.start, end=(last or at).end)


def unquoted(written: str) -> str:
    """Return the name that is written, which may stand in backquotes.

    >>> unquoted("`odd``name`"), unquoted("plain")
    ('odd`name', 'plain')
    """
    return written[1:-1].replace("``", "`") if written[:1] == "`" else written


def quoted(name: str) -> str:
    """Return a name as an identifier of Spark SQL, in backquotes.

    >>> quoted("odd`name")
    '`odd``name`'
    """
    return f"`{name.replace('`', '``')}`"


def closing_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Return of each opening round or square bracket the one that closes it."""
    closing, opened = {}, list[int]()
    for i, token in enumerate(tokens):
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
            opened.append(i)
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET) and opened:
            closing[opened.pop()] = i
    return closing
