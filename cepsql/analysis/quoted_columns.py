"""Columns in double quotes: names in the standard's SQL, texts in Spark's."""

from collections.abc import Iterable, Iterator

from cepsql.language.statements import Query
from cepsql.language.tokens import Text, quoted

_BEFORE = {"SELECT", "DISTINCT", "GROUP BY", "ORDER BY", "PARTITION BY"}
_BEHIND = {"=", "==", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "IS", "IN", "LIKE", "BETWEEN"}


def quoted_column_notices(query: Query, columns: Iterable[str]) -> Iterator[str]:
    """Yield a notice for each of the columns that a query compares, computes with or selects by its name in double
    quotes. An argument of a function, or what a column is compared with, may well be a text of the same letters."""
    sql = query.sql[query.span.start : query.span.end]
    if '"' not in sql:
        return
    known = {name.lower() for name in columns}
    text = Text(sql, unfinished=True)
    for name in dict.fromkeys(token.text for i, token in enumerate(text.tokens) if _stands_for_a_column(text, i)):
        if name.lower() in known:
            yield f'"{name}" in double quotes is a text, not the column; the column is written {quoted(name)}'


def _stands_for_a_column(text: Text, i: int) -> bool:
    behind = text.word(i + 1) or text.raw(i + 1)
    return text.raw(i)[:1] == '"' and (text.word(i - 1) in _BEFORE or behind in _BEHIND)
