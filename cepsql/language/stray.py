"""Characters that stand in no SQL, but come with text that is pasted from documents, mails and web pages."""

import re
import unicodedata

from cepsql.errors import ProgrammingError, Span
from cepsql.language.tokens import Text

_MEANT = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | {
    "\u2260": "<>", "\u2264": "<=", "\u2265": ">=", "\u00d7": "*", "\u00f7": "/", "\u3001": ",", "\u3002": ".",
    "\u00ab": "'", "\u00bb": "'", "\u00b4": "'", "\u2032": "'", "\u2033": '"',
}  # fmt: skip
"""What is typed for characters whose compatibility form does not tell."""

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Half of a pair of UTF-16, which is no character by itself; also what Python makes of bytes that are no UTF-8."""

_BYTE = range(0xDC80, 0xDD00)


def stray_character(text: Text) -> ProgrammingError | None:
    """Make the error for the first character outside quotes and comments that no name, number or mark has."""
    if text.sql.isascii():
        return None
    if half := HALF_CHARACTER.search(text.sql):
        if ord(half[0]) not in _BYTE:
            said = f"the text has {ascii(half[0])[1:-1]} here, which is half a character"
            return ProgrammingError(said, Span(*half.span()), None, text.sql)
        said = f"the text is not UTF-8: it has the byte {ord(half[0]) & 0xFF:02X} here"
        return ProgrammingError(said, Span(*half.span()), "save or convert it as UTF-8", text.sql)
    for token in text.tokens:
        raw = text.sql[token.start : token.end + 1]
        if raw.isascii() or not _is_bare(raw):
            continue
        for place, character in enumerate(raw, token.start):
            if not (character.isascii() or unicodedata.category(character)[0] in "LNM" or character.isspace()):
                return _error(text, place, character)
    return None


def _is_bare(raw: str) -> bool:
    """Tell whether a token is no text in quotes, which may have a prefix such as r."""
    return raw[-1] not in "'\"`"


def _error(text: Text, place: int, character: str) -> ProgrammingError:
    span = Span(place, place + 1)
    if unicodedata.category(character)[0] == "C":
        name = unicodedata.name(character, "")
        said = f"an invisible character stands here: U+{ord(character):04X}{f' ({name})' if name else ''}"
        return ProgrammingError(said, span, "remove it", text.sql)
    if unicodedata.category(character) in ("Pi", "Pf") or character == "\u201e":
        hint = "texts stand in straight quotes: 'a text'"
    else:
        meant = _MEANT.get(character) or unicodedata.normalize("NFKC", character)
        hint = f"did you mean {meant} ?" if meant.isascii() else "names with such characters stand in backquotes"
    return ProgrammingError(f"syntax error: unexpected {character}", span, hint, text.sql)
