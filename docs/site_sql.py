"""A hook of mkdocs: SQL, and sessions of the shell, in the colours of the shell, by the words of the grammar."""

import re
from collections.abc import Iterator

import pygments.lexers
from pygments.lexer import Lexer
from pygments.token import Comment, Generic, Keyword, Name, Number, String, Text, _TokenType

from cepsql.frontends.shell.highlight import highlight

_TOKENS = {
    "keyword": Keyword,
    "function": Name.Function,
    "variable": Name.Variable,
    "string": String,
    "number": Number,
    "comment": Comment,
    "parameter": Name.Variable.Magic,
}
_FENCE = re.compile(r"^```(sql|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^cepsql> .*\n(?:   \.\.\.> .*\n)*", re.MULTILINE)
_PROMPT = len("cepsql> ")

Tokens = Iterator[tuple[int, _TokenType, str]]


class CepsqlLexer(Lexer):
    """SQL of cepsql."""

    name, aliases = "cepsql", ("cepsql",)

    def get_tokens_unprocessed(self, text: str) -> Tokens:
        """Yield place, kind and text of each piece."""
        place = 0
        for style, piece, *_ in highlight(text):
            yield place, _TOKENS.get(style.removeprefix("class:"), Text), piece
            place += len(piece)


class SessionLexer(Lexer):
    """What is typed into the shell of cepsql, and what it answers."""

    name, aliases = "cepsql session", ("cepsql-session",)

    def get_tokens_unprocessed(self, text: str) -> Tokens:
        """Yield place, kind and text of each piece."""
        end = 0
        for typed in _TYPED.finditer(text):
            yield end, Generic.Output, text[end : typed.start()]
            lines = typed[0].splitlines(keepends=True)
            pieces = CepsqlLexer().get_tokens_unprocessed("".join(line[_PROMPT:] for line in lines))
            place, begins = typed.start(), True
            for _, kind, piece in pieces:
                for part in piece.splitlines(keepends=True):
                    if begins:
                        yield place, Generic.Prompt, text[place : place + _PROMPT]
                        place += _PROMPT
                    yield place, kind, part
                    place, begins = place + len(part), part.endswith("\n")
            end = typed.end()
        yield end, Generic.Output, text[end:]


def on_config(config, **_):
    """Make the lexers known to Pygments."""
    for lexer in (CepsqlLexer, SessionLexer):
        pygments.lexers.LEXERS[lexer.__name__] = (__name__, lexer.name, lexer.aliases, (), ())
        pygments.lexers._lexer_cache[lexer.name] = lexer
    return config


def on_page_markdown(markdown: str, **_) -> str:
    """Let blocks of SQL, and of the shell, be coloured by these lexers."""
    return _FENCE.sub(_named, markdown)


def _named(fence: re.Match) -> str:
    if fence[1] == "sql":
        return fence[0].replace("```sql", "```cepsql", 1)
    return fence[0].replace("```console", "```cepsql-session", 1) if _TYPED.search(fence[2]) else fence[0]
