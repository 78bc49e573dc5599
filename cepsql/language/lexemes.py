"""What the words of a text are, for who shows it in colours: as the grammar takes them, else by their neighbours."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from lark.exceptions import UnexpectedToken
from sqlglot.tokens import TokenType

from cepsql.errors import Error, Span
from cepsql.language.parse import ISLANDS, keywords, steps
from cepsql.language.tokens import COMMENT, DIALECT, Text, unclosed

_STRINGS = {TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.BYTE_STRING}
_CONSTANTS = {TokenType.TRUE, TokenType.FALSE, TokenType.NULL}
_TYPES = DIALECT.parser_class.TYPE_TOKENS
_NAMES = DIALECT.parser_class.ID_VAR_TOKENS - _CONSTANTS
_FUNCTIONS = DIALECT.parser_class.FUNC_TOKENS
_SOFT = {"CURRENT", "FOLLOWING", "PRECEDING", "UNBOUNDED", "IGNORE", "RESPECT", "NULLS", "LAST", "WITHIN"}
"""Words that sqlglot reads as names, unless they stand in their clause."""
_BEFORE_NAME = {"SELECT", "DISTINCT", "WHERE", "AND", "OR", "NOT", "ON", "BY", "ORDER BY", "PARTITION BY", "GROUP BY",
                "HAVING", "FROM", "JOIN", "AS", "WHEN", "THEN", "ELSE"}  # fmt: skip
_AFTER_NAME = {"FROM", "AS", "IS", "AND", "OR", "IN", "LIKE", "BETWEEN", "THEN", "ASC", "DESC", "WHERE", ""}
_MARK = re.compile(r"[^\w\s'\"`]+\Z")


@dataclass(frozen=True)
class Lexeme:
    """A part of a text: a keyword, function, variable (of a pattern), string, number, parameter or comment."""

    kind: str
    span: Span


def lexemes(sql: str) -> list[Lexeme]:
    """Return the parts of a text that are more than names and marks, in order; the text may be unfinished or wrong.

    What an open quote or comment begins lasts to the end of the text.
    """
    start = unclosed(sql)
    closed = sql if start is None else sql[:start]
    lexemes = list(_shifted(closed))
    if start is not None and sql[start] != "`":
        lexemes.append(Lexeme("comment" if sql[start] == "/" else "string", Span(start, len(sql))))
    return lexemes


def _shifted(sql: str) -> Iterator[Lexeme]:
    """Statement by statement: while one is typed, those before it stay as they are."""
    try:
        text = Text(sql, unfinished=True)
    except Error:
        return
    ends = [token.end + 1 for token in text.tokens if token.token_type == TokenType.SEMICOLON]
    begin = 0
    for end in chain(ends, [len(sql)]):
        for lexeme in _statement(sql[begin:end]):
            yield Lexeme(lexeme.kind, Span(lexeme.span.start + begin, lexeme.span.end + begin))
        begin = end


@lru_cache(256)
def _statement(sql: str) -> tuple[Lexeme, ...]:
    text = Text(sql, unfinished=True)
    roles, variables, understood = _roles(text)
    lexemes: list[Lexeme] = []
    end = 0
    for i, token in enumerate(text.tokens):
        lexemes += _comments(sql, end, token.start)
        end = token.end + 1
        kind = roles[i] if i in roles else _kind(text, i, variables)
        if i >= understood and kind in ("", "function") and text.word(i) in keywords():
            kind = "keyword"
        if kind == "parameter":
            lexemes.append(Lexeme(kind, Span(token.start - 1, end)))
        elif kind:
            lexemes.append(Lexeme(kind, Span(token.start, end)))
    return (*lexemes, *_comments(sql, end, len(sql)))


def _comments(sql: str, start: int, end: int) -> Iterator[Lexeme]:
    for comment in COMMENT.finditer(sql, start, end):
        yield Lexeme("comment", Span(*comment.span()))


def _roles(text: Text) -> tuple[dict[int, str], set[str], int]:
    """Return what the grammar took tokens for, the variables of its patterns, and how many tokens it understands."""
    roles, variables, understood = dict[int, str](), set[str](), 0
    try:
        for terminal, tokens in steps(text):
            understood = tokens.stop
            if terminal == "PATTERN_TEXT":
                words = {i: text.word(i) for i in tokens if text.word(i) not in ("", "PERMUTE")}
                roles |= dict.fromkeys(words, "variable")
                variables |= set(words.values())
            elif terminal in ("NAME", "OPTION_KEY"):
                named = text.word(tokens[0])
                roles |= dict.fromkeys(tokens, "variable" if named in variables else "") if named else {}
            elif terminal == "TYPE":
                roles |= {i: "keyword" for i in tokens if text.word(i) and text.raw(i + 1) != ":"}
            elif terminal not in ISLANDS and text.word(tokens[0]):
                roles[tokens[0]] = "keyword"
    except (Error, UnexpectedToken):
        pass
    return roles, variables, understood


def _kind(text: Text, i: int, variables: set[str]) -> str:
    """Tell what a token of an expression, or of a text that the grammar doesn't understand, is by its neighbours."""
    token = text.tokens[i]
    if token.token_type in _STRINGS:
        return "string"
    if token.token_type == TokenType.NUMBER:
        return "number"
    word, before, after = text.word(i), text.raw(i - 1) if i else "", text.raw(i + 1)
    if not word:
        return ""
    if before == ":" and text.adjoins(i) and not (text.adjoins(i - 1) and text.word(i - 2)):
        return "parameter"
    if after == "." and word in variables:
        return "variable"
    if "." in (before, after) or (before == ":" and text.adjoins(i)):
        return ""
    if after == "(" and token.token_type in _FUNCTIONS and word not in ("AND", "OR", "FILTER"):
        return "function"
    if token.token_type in _TYPES and token.token_type != TokenType.RANGE:
        typed = text.word(i - 1) == "AS" or before in ("::", "<", ":") or after[:1] in ("'", '"')
        return "keyword" if typed else ""
    if token.token_type == TokenType.VAR:
        return "keyword" if word in _SOFT and not _between(text, i) else ""
    return "" if token.token_type in _NAMES and _between(text, i) else "keyword"


def _between(text: Text, i: int) -> bool:
    """Tell whether a word that may be a name stands where one does: alone between clauses, marks and commas."""
    before, after = text.raw(i - 1) if i else "", text.raw(i + 1)
    begins = (bool(_MARK.match(before)) and before != ")") or text.word(i - 1) in _BEFORE_NAME
    ends = (bool(_MARK.match(after)) and after != "(") or text.word(i + 1) in _AFTER_NAME
    return begins and ends
