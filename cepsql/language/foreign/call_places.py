"""Where a call stands in the text of a query, as a relation or as a value, and where its arguments are."""

from collections.abc import Mapping, Sequence

from sqlglot.tokens import Token, TokenType

_WITH_FROM = ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY")
_RELATIONS = ("FROM", "JOIN", "LATERAL", "TABLE")
_CLAUSES = frozenset({
    "SELECT", "WHERE", "ON", "GROUP BY", "ORDER BY", "HAVING", "QUALIFY", "LIMIT", "BY", "PARTITION BY", "VALUES",
    *_RELATIONS,
})  # fmt: skip
_DEEPER = {")": 1, "]": 1, "(": -1, "[": -1}


def stands_in_from(words: Sequence[str], i: int) -> bool:
    """Tell whether a call whose name is a word stands where a relation does; words are in capital letters."""
    depth = 0
    for at in range(i - 1, -1, -1):
        word = words[at]
        depth += _DEEPER.get(word, 0)
        if depth < 0:
            return at > 0 and words[at - 1] in _RELATIONS
        if depth == 0 and word in _CLAUSES and not _belongs_to_value(words, at):
            return word in _RELATIONS
    return False


def _belongs_to_value(words: Sequence[str], i: int) -> bool:
    """Tell whether FROM belongs to a call or a comparison: EXTRACT(DAY FROM ts), x IS DISTINCT FROM y."""
    if words[i] != "FROM":
        return False
    if i > 0 and words[i - 1] == "DISTINCT":
        return True
    depth = 0
    for at in range(i - 1, -1, -1):
        depth += _DEEPER.get(words[at], 0)
        if depth < 0:
            return at > 0 and words[at - 1] in _WITH_FROM
    return False


def arguments(tokens: Sequence[Token], closing: Mapping[int, int], opening: int) -> list[tuple[int, int]]:
    """Return where the arguments of a call begin and end; `closing`: as of `closing_brackets`."""
    close = closing[opening]
    if close == opening + 1:
        return []
    places, begin, i = [], opening + 1, opening + 1
    while i < close:
        if tokens[i].token_type == TokenType.COMMA:
            places.append((begin, i))
            begin = i + 1
        i = closing.get(i, i) + 1
    return [*places, (begin, close)]
