"""Expressions and relations of other engines that sqlglot reads and Spark does not, and what to write instead."""

from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError, Span
from cepsql.language.foreign.call_places import stands_in_from
from cepsql.language.foreign.respelling import KEPT

_RELATIONS = {
    "GENERATE_SERIES": "FROM range(1, 6) gives the numbers from 1 to 5",
    "SEQUENCE": "FROM range(1, 6) gives the numbers from 1 to 5",
    "FLATTEN": "LATERAL explode(list) AS f(value) gives a row for each element",
    "GENERATOR": "FROM range(5) gives five rows",
    "DBMS_XPLAN": "EXPLAIN PHYSICAL SELECT ... shows what Spark executes",
}
"""Functions behind FROM."""

_PARTS = {
    "DATE": "CAST(ts AS DATE)", "TIME": "date_format(ts, 'HH:mm:ss')", "DATETIME": "CAST(ts AS TIMESTAMP_NTZ)",
    "ISOWEEK": "EXTRACT(WEEK FROM ts)", "ISOYEAR": "EXTRACT(YEAROFWEEK FROM ts)",
}  # fmt: skip
"""What BigQuery extracts of a time."""

_BEGINNINGS = frozenset({
    *_RELATIONS, "FLOOR", "CEIL", "EXTRACT", "ARRAY", "SYSTEM", "BERNOULLI", "USING", "IS", "NOT", "JSON", "~*", "!~",
    "!~*", "~~", "~~*", "LIKE", "ILIKE", ":=", "LIST", "SIMILAR TO", "SIMILAR", "+", "AT", "BEFORE",
})  # fmt: skip
"""The words at which `_said` looks."""

_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def refuse_foreign_expressions(tokens: list[Token], sql: str) -> None:
    """Raise NotSupportedError for an expression or relation that only other engines have."""
    words = ["" if token.token_type == TokenType.STRING else token.text.upper().removeprefix(KEPT) for token in tokens]
    padded = [*words, "", "", "", ""]
    for i, (token, word) in enumerate(zip(tokens, words, strict=True)):
        if word not in _BEGINNINGS:
            continue
        before, after = words[i - 1] if i else "", padded[i + 1]
        said = _said(padded, i, word, before, after)
        if said is None and word == "JSON" and tokens[i + 1 : i + 2] and tokens[i + 1].token_type == TokenType.STRING:
            said = "a constant of type JSON", "parse_json('{...}') is a VARIANT, from_json('{...}', 'a INT') a STRUCT"
        if said is not None:
            construct, hint = said
            raise NotSupportedError(f"{construct} is not supported", Span(token.start, token.end + 1), hint, sql)


def _said(words: list[str], i: int, word: str, before: str, after: str) -> tuple[str, str] | None:
    """Return what a token begins, and what to write instead; None for what is Spark's, too."""
    called = after == "(" or (word == "DBMS_XPLAN" and after == ".")
    if word in _RELATIONS and called and stands_in_from(words, i):
        return f"{word} in FROM", _RELATIONS[word]
    if word in ("FLOOR", "CEIL") and after == "(" and words[i + 3 : i + 4] == ["TO"] and words[i + 4] in _UNITS:
        return f"{word} of a time", f"date_trunc('{words[i + 4]}', ts)"
    if word == "EXTRACT" and after == "(" and words[i + 2 : i + 4] == ["EPOCH", "FROM"]:
        return "EXTRACT(EPOCH FROM ...)", "unix_seconds(ts) has whole seconds, unix_micros(ts) / 1e6 parts of them, too"
    if word == "EXTRACT" and after == "(" and words[i + 2] in _PARTS and words[i + 3] == "FROM":
        return f"EXTRACT({words[i + 2]} FROM ...)", _PARTS[words[i + 2]]
    if word == "ARRAY" and after == "(" and words[i + 2] == "SELECT":
        return "ARRAY of a query", "(SELECT array_agg(x) FROM ...), or sort_array of it"
    if before == "TABLESAMPLE" and word in ("SYSTEM", "BERNOULLI"):
        return f"TABLESAMPLE {word}", "TABLESAMPLE (10 PERCENT)"
    if word == "USING" and after == "SAMPLE":
        return "USING SAMPLE", "FROM t TABLESAMPLE (10 PERCENT)"
    if word in ("IS", "NOT") and after == "JSON":
        return f"{word} JSON", "try_parse_json(x) IS NOT NULL tells whether a text is JSON"
    if word in ("~*", "!~", "!~*", "~~", "~~*"):
        return word, "x RLIKE '^c', x NOT RLIKE '^c', x ILIKE 'c%'; '(?i)' at its beginning leaves case out"
    if word in ("ILIKE", "LIKE") and before == "*" and words[i - 2] in ("SELECT", ",", "."):
        return f"* {word}", "name the columns; SELECT * EXCEPT (x, y) leaves some out"
    if word == ":=":
        return ":=", "named_struct('a', 1, 'b', 2)"
    if word == "LIST" and after == "[":
        return "LIST[...]", "array(1, 2)"
    if word == "SIMILAR TO" or (word == "SIMILAR" and after == "TO"):
        return "SIMILAR TO", "x RLIKE '^(?:c[0-9]+)$'"
    if word == "+" and before == "(" and after == ")":
        return "(+)", "FROM a LEFT JOIN b ON a.k = b.k"
    if word in ("AT", "BEFORE") and after == "(" and words[i + 2] in ("OFFSET", "TIMESTAMP", "STATEMENT"):
        return (
            f"{word} ({words[i + 2]} ...)",
            "FOR SYSTEM_TIME AS OF a.ts, behind a relation that is joined, reads versions",
        )
    return None
