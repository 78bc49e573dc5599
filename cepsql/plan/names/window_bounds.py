"""The bounds of a window that a subquery gives as one column, such as a.w.start, become columns of their own.

Equal windows, as in a.w = b.w, are those with equal bounds.
"""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.analysis.sql.window_calls import is_window_call
from cepsql.language.notes import copied
from cepsql.plan.tree.join_order import relations

_BOUNDS = ("end", "start")


def with_window_bounds(select: exp.Select) -> exp.Select:
    """Return a SELECT in which a bound of a window in a subquery of FROM is read as a column of that subquery.

    select: with the table of every column.
    """
    copy = copied(select)
    windowed = {}
    for item in relations(copy):
        inner = item.this if isinstance(item, exp.Subquery) else None
        if isinstance(inner, exp.Select) and inner.args.get("group") is not None:
            windows = {one.alias_or_name.lower(): _window(one) for one in inner.expressions}
            windowed[item.alias_or_name.lower()] = inner, windows
    bounds = {(alias, name) for alias, (_, windows) in windowed.items() for name, call in windows.items() if call}
    for pair in list(copy.find_all(exp.EQ)):
        sides = pair.this.unnest(), pair.expression.unnest()
        if all(isinstance(side, exp.Column) and (side.table.lower(), side.name.lower()) in bounds for side in sides):
            pair.replace(exp.paren(exp.and_(*(_equal(sides, bound) for bound in _BOUNDS))))
    for alias, (inner, windows) in windowed.items():
        _give_bounds(copy, inner, alias, windows)
    return copy


def _equal(sides: tuple[exp.Expr, exp.Expr], bound: str) -> exp.EQ:
    one, other = (exp.Dot(this=side.copy(), expression=exp.to_identifier(bound)) for side in sides)
    return exp.EQ(this=one, expression=other)


def _give_bounds(select: exp.Select, inner: exp.Select, alias: str, windows: Mapping[str, exp.Expr | None]) -> None:
    added: dict[str, exp.Expr] = {}
    for dot in list(select.find_all(exp.Dot)):
        column, bound = dot.this, dot.expression.name.lower()
        if not isinstance(column, exp.Column) or column.table.lower() != alias or bound not in _BOUNDS:
            continue
        call = windows.get(column.name.lower())
        if call is None:
            continue
        name = f"__{column.name.lower()}_{bound}"
        added[name] = exp.Dot(this=call.copy(), expression=exp.to_identifier(bound))
        read = exp.column(exp.to_identifier(name), table=exp.to_identifier(alias))
        read.this.meta.update(column.this.meta)
        dot.replace(read)
    # The first column that is an event time is the one that rows are followed by.
    items = [exp.alias_(value, name) for name, value in added.items()]
    inner.set("expressions", [*items, *inner.expressions])


def _window(item: exp.Expr) -> exp.Expr | None:
    """Return the call of the window that an item of a SELECT is, None for other items."""
    value = item.unalias().unnest()
    return value if is_window_call(value) else None
