"""The bounds of a window that a subquery gives as one column, such as a.w.start, become columns of their own."""

from sqlglot import exp

from cepsql.analysis.window_calls import is_window_call
from cepsql.plan.join_order import relations


def with_window_bounds(select: exp.Select) -> exp.Select:
    """Return a SELECT in which a bound of a window in a subquery of FROM is read as a column of that subquery.

    select: with the table of every column.
    """
    copy = select.copy()
    for item in relations(copy):
        inner = item.this if isinstance(item, exp.Subquery) else None
        if isinstance(inner, exp.Select) and inner.args.get("group") is not None:
            _give_bounds(copy, inner, item.alias_or_name.lower())
    return copy


def _give_bounds(select: exp.Select, inner: exp.Select, alias: str) -> None:
    windows = {item.alias_or_name.lower(): _window(item) for item in inner.expressions}
    added: dict[str, exp.Expr] = {}
    for dot in list(select.find_all(exp.Dot)):
        column, bound = dot.this, dot.expression.name.lower()
        if not isinstance(column, exp.Column) or column.table.lower() != alias or bound not in ("start", "end"):
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
    given = [exp.alias_(value, name) for name, value in added.items()]
    inner.set("expressions", [*given, *inner.expressions])


def _window(item: exp.Expr) -> exp.Expr | None:
    """Return the call of the window that an item of a SELECT is, None for other items."""
    value = item.unalias().unnest()
    return value if is_window_call(value) else None
