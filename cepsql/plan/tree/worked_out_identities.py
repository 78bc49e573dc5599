"""What tells the rows of a table from one another, where plain SQL works it out."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.properties import IDENTITY
from cepsql.language.notes import copied


def with_identities(query: exp.Query, made: Callable[[exp.Alias], exp.Expr]) -> exp.Query:
    """Return a query with what `made` gives for each identity that it works out of columns; itself if it passes on
    those that it reads."""
    if not any(map(_is_worked_out, query.find_all(exp.Alias))):
        return query
    changed = copied(query)
    for item in filter(_is_worked_out, list(changed.find_all(exp.Alias))):
        item.set("this", made(item))
    return changed


def _is_worked_out(item: exp.Alias) -> bool:
    return item.alias == IDENTITY and not isinstance(item.this, exp.Column) and item.find(exp.Column) is not None
