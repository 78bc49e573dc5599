"""The rows that are drawn of a query: those that its row pattern reads, with what they are in the pattern."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from cepsql.errors import InterfaceError, suggestion
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.plan.tree.matched_series import matched_series

if TYPE_CHECKING:
    import pyarrow as pa


class Drawable(Protocol):
    """What has rows that can be drawn: a `Query`."""

    plan: Plan

    @property
    def columns(self) -> list[tuple[str, str]]: ...

    def rows_now(self) -> "pa.Table": ...


def drawn_series(
    query: Drawable, query_of: Callable[[st.ParsedQuery], Drawable], x: str, y: str
) -> "tuple[pa.Table, str, str, tuple[str, ...]]":
    """Return the rows that the pattern reads, or without one the query gives, with what they are in the pattern, and
    the names of their columns and keys.

    query_of: makes a query of a statement.
    x, y:     columns that must be there; else raises InterfaceError.
    """
    import pyarrow as pa

    from cepsql.render.plots.matches import MATCH, VARIABLE

    plain = not any(isinstance(clause, st.MatchClause) for clause in query.plan.query.operators)
    keys: tuple[str, ...] = ()
    if not plain:
        series, keys = matched_series(query.plan.query, VARIABLE, MATCH)
        query = query_of(series)
    names = {name.lower(): name for name, _ in query.columns if name not in (VARIABLE, MATCH)}
    for name in (x, y):
        if name.lower() not in names:
            hint = suggestion(name, names.values(), "columns")
            raise InterfaceError(f"there is no column {name} to draw", hint=hint)
    keys = tuple(names[key.lower()] for key in keys)
    rows = query.rows_now()
    if plain:
        nothing = pa.nulls(rows.num_rows, pa.string())
        rows = rows.append_column(VARIABLE, nothing).append_column(MATCH, nothing)
    return rows, names[x.lower()], names[y.lower()], keys
