"""Which words of plain SQL fit at a place: they follow from the clause, and from whether an expression begins there."""

import re

_TOKEN = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\w+|[^\s\w]""")
_CLAUSES = ("SELECT", "FROM", "JOIN", "ON", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "WITH")
_EXPECTS = {"SELECT", "DISTINCT", "WHERE", "ON", "HAVING", "BY", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "CASE",
            "WHEN", "THEN", "ELSE", "ALL", "(", ",", "=", "<", ">", "+", "-", "*", "/", "%", "|"}  # fmt: skip
_BEGIN = ("CASE", "NOT", "CAST(", "NULL", "TRUE", "FALSE", "INTERVAL")
COMPARISONS = ("AND", "OR", "IN", "LIKE", "BETWEEN", "IS NULL", "IS NOT NULL")
"""What may go on with an operand."""

_LATER = {
    "SELECT": ("FROM", "AS"),
    "FROM": ("WHERE", "LEFT JOIN", "AS", "ON", "GROUP BY", "ORDER BY", "LIMIT", "UNION ALL"),
    "ON": ("WHERE", "GROUP BY", "ORDER BY", "LIMIT", "UNION ALL"),
    "WHERE": ("GROUP BY", "ORDER BY", "LIMIT", "UNION ALL"),
    "GROUP": ("HAVING", "ORDER BY", "LIMIT", "UNION ALL"),
    "HAVING": ("ORDER BY", "LIMIT", "UNION ALL"),
    "ORDER": ("ASC", "DESC", "NULLS FIRST", "NULLS LAST", "LIMIT"),
    "WITH": ("AS",),
}

_FOLLOW = {
    "LEFT": ("JOIN", "SEMI JOIN", "ANTI JOIN", "ASOF JOIN"),
    "EMIT": ("CHANGES", "ON WINDOW CLOSE", "EVERY INTERVAL"),
    "WINDOW": ("TUMBLING (SIZE", "HOPPING (SIZE", "CUMULATING (SIZE", "SESSION (GAP"),
    "NULLS": ("FIRST", "LAST"),
    "IS": ("NULL", "NOT NULL"),
    "WITHIN": ("INTERVAL",),
    "UNION": ("ALL",),
    **dict.fromkeys(("RIGHT", "FULL", "INNER", "CROSS", "ASOF", "SEMI", "ANTI", "OUTER"), ("JOIN",)),
    **dict.fromkeys(("PARTITION", "CLUSTER"), ("BY",)),
}
"""What follows a word that cannot stand alone."""


def continuation(head: str) -> tuple[str, ...]:
    """Return the words that must come next, none where something else may.

    >>> continuation("SELECT a FROM t LEFT "), continuation("SELECT a FROM t ")
    (('JOIN', 'SEMI JOIN', 'ANTI JOIN', 'ASOF JOIN'), ())
    """
    tokens = _TOKEN.findall(head.upper())
    if tokens[-1:] == ["INTERVAL"] and "WITHIN" in tokens[-2:]:
        return ("'1' MINUTE",)
    window = _of_window(tokens)
    if window == []:
        return ("PARTITION BY", "ORDER BY")
    if window and not begins_expression(head) and window[-1] not in ("PARTITION", "ORDER"):
        return ("ASC", "DESC", "ROWS BETWEEN", "RANGE BETWEEN") if "ORDER" in window else ("ORDER BY",)
    return _FOLLOW.get(tokens[-1] if tokens else "", ()) if tokens[-2:-1] != ["."] else ()


def begins_expression(head: str) -> bool:
    """Tell whether an expression begins after this text.

    >>> begins_expression("SELECT "), begins_expression("SELECT a, "), begins_expression("SELECT * ")
    (True, True, False)
    """
    tokens = _TOKEN.findall(head.upper())
    if tokens[-1:] == ["*"]:
        return tokens[-2:-1] not in (["SELECT"], [","], ["DISTINCT"], ["("])
    return not tokens or tokens[-1] in _EXPECTS


def fitting_words(head: str) -> tuple[str, ...]:
    """Return the words that may stand after this text, the likeliest first.

    >>> fitting_words("SELECT a FROM t WHERE a > 1 ")[:3]
    ('AND', 'OR', 'IN')
    """
    tokens = _TOKEN.findall(head.upper())
    clause = _clause(tokens)
    if begins_expression(head):
        return ("DISTINCT", *_BEGIN) if tokens[-1:] == ["SELECT"] else _BEGIN
    if tokens.count("CASE") > tokens.count("END"):
        return ("WHEN", "THEN", "ELSE", "END", *COMPARISONS)
    if clause in ("GROUP", "ORDER") and tokens[-1:] == [clause]:
        return ("BY",)
    compares = COMPARISONS if clause in ("ON", "WHERE", "HAVING") else ()
    return (*compares, *_LATER.get("FROM" if clause == "JOIN" else clause, ()))


def _of_window(tokens: list[str]) -> list[str] | None:
    """Return the tokens of the OVER (...) that the text ends in, None where it ends in none."""
    depth = 0
    for i in reversed(range(len(tokens))):
        depth += (tokens[i] == ")") - (tokens[i] == "(")
        if depth < 0:
            return tokens[i + 1 :] if tokens[i - 1 : i] == ["OVER"] else None
    return None


def _clause(tokens: list[str]) -> str:
    """Return the clause in which the text ends, of the innermost query that is open."""
    depth = 0
    for token in reversed(tokens):
        depth += (token == ")") - (token == "(")
        if depth < 0:
            depth = 0
        elif depth == 0 and token in _CLAUSES:
            return token
    return ""
