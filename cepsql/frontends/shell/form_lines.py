"""The lines of a form of the grammar, broken between its clauses."""

import re
from collections.abc import Iterator

WIDTH = 78
"""Columns after which a form goes on in the next line."""

_INDENT = "      "
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_KEYWORD = re.compile(r"[A-Z_]+")


def form_lines(text: str, head: str = "") -> list[str]:
    """Write a form behind a head in lines that fit: each breaks between clauses, or if one is too long, within it.

    >>> for line in form_lines(f"ALTER QUERY name SET (key 'value', ...) {'[COMMENT text] ' * 2}[RESET (key, ...)]"):
    ...     print(line)
    ALTER QUERY name SET (key 'value', ...) [COMMENT text] [COMMENT text]
          [RESET (key, ...)]
    """
    lines, line = [], head
    for part in _parts(text, WIDTH - len(_INDENT)):
        begun = line.strip() and line != head
        if begun and len(line) + 1 + len(part) > WIDTH:
            lines.append(line)
            line = _INDENT + part
        else:
            line += f" {part}" if begun else part
    return [*lines, line]


def _parts(text: str, room: int) -> Iterator[str]:
    """Yield the clauses of a form, and of those that are wider than a line their parts."""
    clauses = list(_clauses(text))
    for clause in clauses:
        inner = _inner(clause)
        if len(clause) <= room:
            yield clause
        elif clause.startswith("| "):
            begin, *rest = _parts(clause[2:], room - 2)
            yield from (f"| {begin}", *rest)
        elif inner and len(_words(clause)) == 1:
            begin, *rest = _parts(inner, room - 1)
            *rest, end = [clause[0] + begin, *rest]
            yield from (*rest, end + clause[1 + len(inner) :])
        elif len(clauses) > 1:
            yield from _parts(clause, room)
        else:
            yield from (part for word in _words(clause) for part in ([word] if word == clause else _parts(word, room)))


def _clauses(text: str) -> Iterator[str]:
    """Yield the alternatives of a form; of a form without, its clauses: each begins with a bracket or its keywords."""
    words = _words(text)
    alternatives = "|" in words
    clause: list[str] = []
    for word in words:
        keyword = bool(_KEYWORD.fullmatch(word)) and not _KEYWORD.fullmatch(clause[-1] if clause else "")
        if clause and (word == "|" if alternatives else word[0] in "[{" or keyword):
            yield " ".join(clause)
            clause = []
        clause.append(word)
    yield " ".join(clause)


def _words(text: str) -> list[str]:
    """Split a form at the spaces outside of brackets.

    >>> _words("name [(key, ...)]... AS query")
    ['name', '[(key, ...)]...', 'AS', 'query']
    """
    words, depth = [""], 0
    for sign in text:
        depth += (sign in _BRACKETS) - (sign in _BRACKETS.values())
        if sign == " " and not depth:
            words.append("")
        else:
            words[-1] += sign
    return [word for word in words if word]


def _inner(word: str) -> str:
    """Return what stands between the brackets of a word that begins with one."""
    if word[0] not in _BRACKETS:
        return ""
    depth = 0
    for place, sign in enumerate(word):
        depth += (sign in _BRACKETS) - (sign in _BRACKETS.values())
        if not depth:
            return word[1:place]
    return ""
