"""Where an error points that a misspelt keyword causes: at that word, and not at the next one."""

import difflib
import re

from cepsql.errors import ProgrammingError, Span
from cepsql.language.tokens import Text

_UNEXPECTED = "syntax error: unexpected "
_MEANT = re.compile(r"did you mean ([A-Z_]+)(?: [A-Z]+)*\?")
_BEFORE, _BEHIND = 8, 2
"""How many words around the one that was not expected may be the misspelt one."""


def at_misspelt(text: Text, error: ProgrammingError) -> ProgrammingError:
    """Return an error that points at the word for which its hint names a keyword; itself where that is not known.

    A misspelt keyword is read as an alias or a name, so only what follows is wrong for a parser.
    """
    meant = _MEANT.fullmatch(error.hint or "")
    if meant is None or error.span is None or not error.message.startswith(_UNEXPECTED):
        return error
    start = error.span.start
    at = next((i for i, token in enumerate(text.tokens) if token.start >= start), len(text.tokens))
    places = [*range(at, max(at - _BEFORE, 0) - 1, -1), *range(at + 1, at + 1 + _BEHIND)]
    for i in places:
        if i >= len(text.tokens) or not _is_word(text, i) or text.word(i) == meant[1]:
            continue
        if difflib.get_close_matches(text.word(i), [meant[1]], 1, 0.75):
            token = text.tokens[i]
            error.message, error.span = f"{_UNEXPECTED}{text.raw(i)}", Span(token.start, token.end + 1)
            return error
    return error


def _is_word(text: Text, i: int) -> bool:
    return text.word(i).replace("_", "").isalpha()
