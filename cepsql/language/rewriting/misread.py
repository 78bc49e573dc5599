"""Constants that sqlglot reads otherwise than Spark; where their text is kept, that does no harm."""

import re
from collections.abc import Iterable
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.tokens import DIALECT, Text
from cepsql.language.tree_nodes import TreeNodes

_MARK = "misread"
_TYPED = {"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL"}
"""Types whose name may stand before a quoted text, and is understood."""

_LENGTHS = re.compile(r"\s*(?:interval\s)?\s*(?:[+-]?\d+(?:\.\d+)?\s*[a-z]+\s*)+", re.I)


def mark_misread(text: Text, tokens: list[Token], nodes: TreeNodes) -> None:
    """Mark the constants of an expression that another spelling would change."""
    spans = {}
    for before, token in zip([None, *tokens], tokens, strict=False):
        written = text.sql[token.start : token.end + 1]
        if token.token_type == TokenType.HEX_STRING and written[:1] == "0":
            spans[token.start] = (token.start, token.end + 1)
        if before is not None and token.token_type == TokenType.STRING and _is_untyped(before):
            spans[token.start] = (before.start, token.end + 1)
    for constant in nodes.of(exp.Literal, exp.HexString) if spans else ():
        if constant.meta_get("start") in spans:
            constant.meta[_MARK] = spans[constant.meta["start"]]


def refuse_intervals(text: Text, tokens: Iterable[Token]) -> None:
    """Raise ProgrammingError for an interval of which sqlglot would read a part: of '1,5 hours' 5 hours."""
    for before, token in pairwise(tokens):
        if (before.token_type, token.token_type) != (TokenType.INTERVAL, TokenType.STRING):
            continue
        if re.search("[A-Za-z]", token.text) and not _LENGTHS.fullmatch(token.text):
            place = Span(token.start, token.end + 1)
            hint = "numbers with units, such as INTERVAL '1 hour 30 minutes'"
            raise ProgrammingError(f"'{token.text}' is no interval", place, hint, text.sql)


def _is_untyped(token: Token) -> bool:
    """Tell whether a token names a type that does not stand before a quoted text in Spark."""
    return token.token_type in DIALECT.parser_class.TYPE_TOKENS and token.text.upper() not in _TYPED


def refuse_misread(nodes: TreeNodes, sql: str) -> None:
    """Raise NotSupportedError for a marked constant: the tree is about to be written anew."""
    for constant in nodes.of(exp.Literal, exp.HexString):
        if constant.meta_get(_MARK) is not None:
            begin, end = constant.meta[_MARK]
            hint = "CAST('...' AS type) makes a value of any type; 1.50BD is a decimal, X'1F' a binary"
            raise NotSupportedError(f"the constant {sql[begin:end]} is not supported here", Span(begin, end), hint, sql)
