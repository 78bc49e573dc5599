"""GROUP BY window(...) over a table that changes: the windows of a row are columns of it, whatever its time."""

from collections.abc import Mapping

from sqlglot import exp, parse_one

from cepsql.analysis.clauses.window_sql import window_structs
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, Span
from cepsql.language.tokens import DIALECT
from cepsql.plan.groups.assigned_windows import INSTEAD, NO_SESSIONS
from cepsql.plan.groups.calendar_windows import calendar_windows
from cepsql.plan.groups.window_groups import window_call
from cepsql.plan.tree.nodes import Node

_TABLE, _WINDOW = "__windows", "window"


def with_windows_of_rows(select: exp.Select, nodes: Mapping[str, Node], place: Span) -> exp.Select:
    """Return a SELECT that groups by windows which each row lies in; the same one if it groups by none.

    nodes: what it reads.
    Raises NotSupportedError for sessions.
    """
    group = select.args.get("group")
    call = next(filter(None, map(window_call, group.expressions)), None) if group is not None else None
    if call is None:
        return select
    kind = _type(call.expressions[0], nodes)
    windows = calendar_windows(call, "", kind, span_of(call, place) or place, fixed=True)
    if call.name.upper() == "SESSION_WINDOW":
        raise NotSupportedError(NO_SESSIONS, span_of(call, place), INSTEAD)
    if windows is None:
        return select
    copy = select.copy()
    array = parse_one(window_structs(windows, sql_of(call.expressions[0])), dialect=DIALECT)
    for one in [node for part in _parts(copy) for node in part.find_all(exp.Anonymous) if node == call]:
        one.replace(exp.column(_WINDOW, table=_TABLE, quoted=True))
    for column in [node for part in _parts(copy) for node in part.find_all(exp.Column) if _is_bound(node)]:
        window = exp.column(_WINDOW, table=_TABLE, quoted=True)
        column.replace(exp.Dot(this=window, expression=exp.to_identifier(column.name)))
    alias = exp.TableAlias(this=exp.to_identifier(_TABLE), columns=[exp.to_identifier(_WINDOW, quoted=True)])
    copy.append("laterals", exp.Lateral(this=exp.Explode(this=array), view=True, alias=alias))
    return copy


def _is_bound(column: exp.Column) -> bool:
    return column.table.lower() == _WINDOW and column.name.lower() in ("start", "end")


def _parts(select: exp.Select) -> list[exp.Expr]:
    """Return the parts of a SELECT that may read its windows."""
    parts = [*select.expressions, *(select.args.get(part) for part in ("group", "having", "qualify", "order"))]
    return [part for part in parts if part is not None]


def _type(time: exp.Expr, nodes: Mapping[str, Node]) -> str:
    """Return the type of the time of windows, as far as a column's name tells."""
    named = time.name.lower() if isinstance(time, exp.Column) else ""
    columns = [column for node in nodes.values() for column in node.properties.columns]
    kind = next((column.type.lower() for column in columns if column.name.lower() == named), "timestamp")
    return "timestamp_ntz" if kind == "timestamp_ntz" else "timestamp"
