"""Colours for SQL as it is typed."""

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from cepsql.frontends.shell.commands import statement_in
from cepsql.frontends.shell.language_import import language

COLOURS = {
    "keyword": "#2f7fd6",
    "function": "#1f86a8",
    "variable": "#b06a10",
    "string": "#3f8a3f",
    "number": "#a0609f",
    "comment": "#7a7a7a",
    "parameter": "#c0508f",
}
"""Colours as bright as the middle between black and white, so that both grounds leave them readable."""

_SHAPES = {"keyword": "bold", "comment": "italic"}
STYLE = Style.from_dict({kind: f"{_SHAPES.get(kind, '')} {colour}".strip() for kind, colour in COLOURS.items()})


def highlight(text: str) -> StyleAndTextTuples:
    """Split SQL, finished or not, into (style, text) pairs whose texts joined are the text."""
    if text.lstrip().startswith("\\"):
        statement = statement_in(text)
        begin = len(text) if statement is None else text.index(statement)
        return [("", text[:begin]), *(highlight(text[begin:]) if statement else [])]
    language()
    from cepsql.language.lexemes import lexemes

    pieces: StyleAndTextTuples = []
    end = 0
    for lexeme in lexemes(text):
        start, after = lexeme.span.start, lexeme.span.end
        pieces += [("", text[end:start]), (f"class:{lexeme.kind}", text[start:after])]
        end = after
    return [*pieces, ("", text[end:])]


class SqlLexer(Lexer):
    """Gives prompt_toolkit the colours of each line; strings and comments may span lines."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return the function from line number to that line's pieces."""
        lines: list[StyleAndTextTuples] = [[]]
        for style, text, *_ in highlight(document.text):
            first, *others = text.split("\n")
            lines[-1].append((style, first))
            lines.extend([(style, other)] for other in others)
        return lambda number: lines[number] if number < len(lines) else []
