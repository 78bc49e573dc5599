"""FOR SYSTEM_TIME AS OF TIMESTAMP '...': a relation as it was at a constant time."""

from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType

from cepsql.errors import Span
from cepsql.language.tokens import Text

_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ", "DATE")


@dataclass(frozen=True)
class Version:
    """A relation that is read as of a constant time.

    name: of the relation.
    time: as text, in the session's time zone if it names none.
    """

    name: str
    time: str
    span: Span


def _begins_version(tokens: list[Token], at: int) -> bool:
    words = [token.text.upper() for token in tokens[at : at + 5]]
    return words[:4] == ["FOR", "SYSTEM_TIME", "AS", "OF"] and words[4] in _TIMES


def without_versions(text: Text, tokens: list[Token]) -> tuple[list[Token], tuple[Version, ...]]:
    """Return the tokens of a query without such clauses, and what these say; the same tokens if there are none."""
    versions: list[Version] = []
    others: list[Token] = []
    at = 0
    while at < len(tokens):
        following = tokens[at + 5] if 0 < at < len(tokens) - 5 else None
        if following is not None and following.token_type == TokenType.STRING and _begins_version(tokens, at):
            span = Span(tokens[at].start, following.end + 1)
            versions.append(Version(tokens[at - 1].text, following.text, span))
            text.respelt.append(tokens[at].start)
            at += 6
            continue
        others.append(tokens[at])
        at += 1
    return (others, tuple(versions)) if versions else (tokens, ())
