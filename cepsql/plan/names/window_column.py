"""The column `window` of a SELECT with GROUP BY window(...), which Spark knows by the name of the function."""

from sqlglot import exp

from cepsql.analysis.sql.window_calls import WINDOW_CALLS, is_window_call
from cepsql.plan.names.names_below import Columns, names_below


def with_window_column(columns: Columns, query: exp.Query) -> exp.Query:
    """Return a query in which the call in GROUP BY stands for its column: SELECT window, COUNT(*) ... GROUP BY
    window(ts, '1 minute'). The query itself is returned if it has no such column.

    columns: those of a relation; one that is called `window` is no window's.
    """
    if query.find(exp.Group) is None or not any(map(_is_window_column, query.find_all(exp.Column))):
        return query
    copy = query.copy()
    for select in list(copy.find_all(exp.Select)):
        group = select.args.get("group")
        # A column of that name in GROUP BY is one of the rows.
        if group is None or any(map(_is_window_column, group.expressions)):
            continue
        below = names_below(select, columns)
        calls = {
            name: call
            for call in group.expressions
            if is_window_call(call) and (name := call.name.lower()) not in below
        }
        parts = [*select.expressions, *filter(None, (select.args.get("having"), select.args.get("order")))]
        for column in [column for part in parts for column in part.find_all(exp.Column)]:
            if not (_is_window_column(column) and column.name.lower() in calls and column.parent_select is select):
                continue
            call = calls[column.name.lower()].copy()
            call.meta.update(column.meta)
            is_item = column.parent is select
            column.replace(exp.alias_(call, column.name) if is_item else call)
    return copy


def _is_window_column(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.lower() in WINDOW_CALLS
