"""Columns in double quotes: names in the standard's SQL, texts in Spark's."""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from cepsql.language.rewriting.double_quotes import NAMES_IN_DOUBLE_QUOTES
from cepsql.language.statements import ParsedQuery
from cepsql.language.tokens import Text, quoted

_BEFORE = {"SELECT", "DISTINCT", "GROUP BY", "ORDER BY", "PARTITION BY", "ON", "WHERE", "HAVING", "QUALIFY"}
_BEHIND = {"=", "==", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "IS", "IN", "LIKE", "BETWEEN"}
_TAKE_TEXTS = {
    "DATE_TRUNC", "TRUNC", "DATE_PART", "DATEPART", "NAMED_STRUCT", "MAP", "WINDOW", "SESSION_WINDOW",
    "TIMESTAMPADD", "TIMESTAMPDIFF", "DATE_FORMAT", "TO_DATE", "TO_TIMESTAMP", "GET_JSON_OBJECT", "FROM_JSON",
}  # fmt: skip
"""Functions whose arguments name units, fields or formats as texts."""


def quoted_column_notices(query: ParsedQuery, columns: Iterable[str]) -> Iterator[str]:
    """Yield a notice for each text in double quotes that has the name of a column.

    columns: those of the relations that the query names; those that it makes itself are found here.
    """
    sql = query.sql[query.span.start : query.span.end]
    if '"' not in sql:
        return
    text = Text(sql, unfinished=True)
    made = {name.lower() for name in _inner_columns(query)} | {name.lower() for name in columns}
    chosen = made | {name.lower() for name in query.expression.named_selects}
    places = [i for i in range(len(text)) if text.raw(i)[:1] == '"' and not _is_alias(text, i)]
    names = (
        text.tokens[i].text
        for i in places
        if text.tokens[i].text.lower() in (chosen if _stands_for_a_column(text, i) else made)
        and _called(text, i) not in _TAKE_TEXTS
    )
    for name in dict.fromkeys(names):
        yield (
            f'"{name}" in double quotes is a text, not the column; the column is written {quoted(name)}, '
            f"or with SET {NAMES_IN_DOUBLE_QUOTES} = true as here"
        )


def _inner_columns(query: ParsedQuery) -> Iterator[str]:
    """Yield the names of the columns of subqueries and CTEs."""
    for tree in (query.expression, *(clause.input for clause in query.operators)):
        for part in tree.find_all(exp.Query, exp.TableAlias):
            if isinstance(part, exp.TableAlias):
                yield from (column.name for column in part.columns)
            elif isinstance(part, exp.Query) and part is not query.expression:
                yield from part.named_selects


def _stands_for_a_column(text: Text, i: int) -> bool:
    return text.word(i - 1) in _BEFORE or _is_compared(text, i)


def _is_alias(text: Text, i: int) -> bool:
    """Tell whether token i stands behind an AS that is not DEFINE's."""
    return text.word(i - 1) == "AS" and not _is_compared(text, i)


def _is_compared(text: Text, i: int) -> bool:
    return (text.word(i + 1) or text.raw(i + 1)) in _BEHIND


def _called(text: Text, i: int) -> str:
    """Return the name of the function among whose arguments token i stands, in upper case; '' for none."""
    depth = 0
    for j in range(i - 1, -1, -1):
        raw = text.raw(j)
        depth += (raw == ")") - (raw == "(")
        if depth < 0:
            return text.word(j - 1)
    return ""
