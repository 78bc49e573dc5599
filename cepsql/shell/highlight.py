"""Colours for SQL as it is typed."""

import re
from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from cepsql.shell.language import language

STYLE = Style.from_dict(
    {
        "keyword": "bold ansiblue",
        "string": "ansigreen",
        "number": "ansicyan",
        "comment": "italic ansibrightblack",
        "parameter": "ansimagenta",
    }
)

_TOKEN = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<string> '(?:[^'\\]|\\.|'')*(?:'|\\?\Z) | "(?:[^"\\]|\\.|"")*(?:"|\\?\Z) )
    | (?P<quoted> `(?:[^`]|``)*(?:`|\Z) )
    | (?P<parameter> (?<!:):[^\W\d]\w* )
    | (?P<number> (?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w) )
    | (?P<word> [^\W\d]\w* )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def highlight(text: str) -> StyleAndTextTuples:
    """Split SQL, finished or not, into (style, text) pairs whose texts joined are the text."""
    if text.lstrip().startswith("\\"):
        return [("", text)]
    return [(_style(found), found[0]) for found in _TOKEN.finditer(text)]


def _style(found: re.Match) -> str:
    match found.lastgroup:
        case "word":
            return "class:keyword" if found[0].upper() in language().keywords() else ""
        case "other" | "quoted":
            return ""
        case kind:
            return f"class:{kind}"


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
