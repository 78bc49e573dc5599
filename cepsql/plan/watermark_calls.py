"""CURRENT_WATERMARK(at): the relation with this event time becomes an operator, which knows each row's watermark."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.watermarked_rows import WatermarkedRows
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.watermark_call import NAME, asks_watermarks, is_watermark_call
from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.given_clauses import given_clauses
from cepsql.plan.groups.assigned_windows import rows_in_windows
from cepsql.plan.operators.current_watermark import CurrentWatermark
from cepsql.plan.rows.window_functions import named_item, own_aggregate, window_calls
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.nodes import Node, Read, RowWindows, Sql, sql_over
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import hoist_selects

_HINT = "at is the event time in WHERE CURRENT_WATERMARK(at) IS NULL OR at > CURRENT_WATERMARK(at)"

_ROW_BY_ROW = {"expressions", "from_", "joins", "where", "hint"}
"""The parts of a SELECT that gives rows for rows."""


def hoist_current_watermarks(below: Sql, checked: Checked, place: Span) -> Sql:
    """Return plain SQL in which each CURRENT_WATERMARK(at) over a stream is a column of an operator over its relation.

    Over rows at rest it is NULL: nothing follows them.
    Raises ProgrammingError and NotSupportedError for what is no event time of a stream.
    """
    if not asks_watermarks(below.query):
        return below

    def wanted(select: exp.Select, _: Mapping[str, Node]) -> bool:
        return next(_calls(select), None) is not None

    return hoist_selects(below, wanted, partial(_hoisted, checked), place, of_streams=False)


def _calls(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the calls of a SELECT's own."""
    return (call for call in select.find_all(exp.Anonymous) if is_watermark_call(call) and call.parent_select is select)


def _hoisted(checked: Checked, select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool) -> exp.Select:
    """Return a SELECT over the operators that tell watermarks, which are new entries of `nodes`."""
    copy, columns = select.copy(), dict[tuple[str, str], exp.Expr]()
    if whole:
        copy.set("expressions", [named_item(item) for item in copy.expressions])
    for call in list(_calls(copy)):
        at = span_of(call, place) or place
        column = call.expressions[0] if len(call.expressions) == 1 else None
        if not isinstance(column, exp.Column) or column.is_star:
            raise ProgrammingError("CURRENT_WATERMARK takes the event time of a stream", at, _HINT)
        key = column.table.lower(), column.name.lower()
        if key not in columns:
            columns[key] = _watermark(copy, column, nodes, checked, at)
        call.replace(columns[key].copy())
    return copy


def _watermark(
    select: exp.Select, column: exp.Column, nodes: dict[str, Node], checked: Checked, place: Span
) -> exp.Expr:
    """Return what has the watermark of a relation of a SELECT, which is changed to read it."""
    item = _relation(select, column)
    if item is None:
        raise _no_relation(select, column, place)
    resolved = _rows(item, nodes).resolved
    kind = next((one.type for one in resolved.columns if one.name.lower() == column.name.lower()), "timestamp")
    if not resolved.streaming:
        return exp.cast(exp.null(), "timestamp" if kind == "unknown" else kind, dialect="spark")
    path, base, time = _base(item, column)
    hidden = f"__watermark_{len(nodes)}"
    node = nodes.get(base.name.lower()) if isinstance(base, exp.Table) else None
    if isinstance(node, Read) and isinstance(node.relation, Source) and node.relation.key:
        raise NotSupportedError(
            f"CURRENT_WATERMARK over {node.relation.name}, which has a PRIMARY KEY, is not supported",
            place,
            "its rows change; a condition on NOW() goes by the watermark: WHERE at > NOW() - INTERVAL '1' HOUR",
        )
    if isinstance(node, Sql) and node.windows is not None:
        _put_below_windows(base, node.windows, time, hidden, nodes, checked, place)
    else:
        _put_operator(base, time, hidden, nodes, checked, place)
    for above, alias in reversed(path):
        above.append("expressions", exp.column(hidden, table=alias))
    return exp.column(hidden, table=item.alias_or_name)


def _no_relation(select: exp.Select, column: exp.Column, place: Span) -> ProgrammingError | NotSupportedError:
    """Return why CURRENT_WATERMARK cannot take a column of no relation that a SELECT reads itself."""
    named = "FROM (SELECT *, CURRENT_WATERMARK(at) AS w FROM s)"
    if not column.table and select.args.get("order") is not None:
        return NotSupportedError("CURRENT_WATERMARK in ORDER BY is not supported", place, f"order by its name: {named}")
    own = [*relations(select), *(select.args.get("laterals") or [])]
    if column.table and column.table.lower() not in {item.alias_or_name.lower() for item in own}:
        return NotSupportedError(
            f"CURRENT_WATERMARK of {column.table}, which is read around the subquery, is not supported",
            place,
            f"give it a name there: {named}",
        )
    name = sql_of(without_tables(column))
    return ProgrammingError(f"CURRENT_WATERMARK takes the event time of a stream, which {name} is not", place, _HINT)


def _no_event_time(rows: Sql, time: str, place: Span) -> ProgrammingError:
    """Return why CURRENT_WATERMARK cannot take a column of rows that don't come in its order."""
    offers = [offer.column for offer in rows.properties.offers if not offer.column.startswith("__")]
    return ProgrammingError(
        f"CURRENT_WATERMARK takes the event time of a stream, which {time} is not",
        place,
        f"CURRENT_WATERMARK({' or '.join(offers)})" if offers else "CREATE STREAM ... (..., WATERMARK FOR at AS at)",
    )


def _relation(select: exp.Select, column: exp.Column) -> exp.Expr | None:
    """Return the relation in FROM of which a column is."""
    items = [one for one in relations(select) if isinstance(one, exp.Table | exp.Subquery)]
    return next((one for one in items if one.alias_or_name.lower() == column.table.lower()), None)


def _rows(item: exp.Expr, nodes: Mapping[str, Node]) -> Sql:
    query = exp.select("*").from_(item.copy())
    return sql_over(query, nodes)


def _base(item: exp.Expr, column: exp.Column) -> tuple[list[tuple[exp.Select, str]], exp.Expr, str]:
    """Return the relation that has a column of another one as its own, in the SELECTs between that give rows for rows:
    these, each with the relation that it reads, the relation, and its column."""
    path: list[tuple[exp.Select, str]] = []
    while isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and not item.alias_column_names:
        select = item.this
        if not given_clauses(select) <= _ROW_BY_ROW or window_calls(select) or own_aggregate(select):
            break
        named = next((one for one in select.selects if one.alias_or_name.lower() == column.name.lower()), None)
        inner = named.unalias() if named is not None else None
        below = _relation(select, inner) if isinstance(inner, exp.Column) else None
        if not isinstance(inner, exp.Column) or below is None:
            break
        path.append((select, below.alias_or_name))
        item, column = below, inner
    return path, item, column.name


def _put_below_windows(
    base: exp.Expr, windows: RowWindows, time: str, hidden: str, nodes: dict[str, Node], checked: Checked, place: Span
) -> None:
    """Put rows in windows in the place of a relation in FROM, which have the watermark as one more column."""
    rows = windows.rows
    if time.lower() not in {column.name.lower() for column in rows.properties.columns}:
        raise _no_event_time(rows, time, place)
    table = exp.to_identifier("__rows")
    call = exp.Anonymous(this=NAME, expressions=[exp.column(exp.to_identifier(time, quoted=True), table=table.copy())])
    call.meta.update(start=place.start, end=place.end - 1)
    query = exp.select("*", exp.alias_(call, hidden)).from_(
        exp.Subquery(this=rows.query.copy(), alias=exp.TableAlias(this=table))
    )
    with_watermark = hoist_current_watermarks(Sql(query, rows.inputs), checked, place)
    name = f"__watermarked_{len(nodes)}"
    nodes[name] = rows_in_windows(replace(windows, rows=with_watermark), checked)
    base.replace(exp.alias_(exp.to_table(name), base.alias_or_name, table=True))


def _put_operator(
    base: exp.Expr, time: str, hidden: str, nodes: dict[str, Node], checked: Checked, place: Span
) -> None:
    """Put the operator in the place of a relation in FROM."""
    alias = base.alias_or_name
    names = {one.name.lower() for one in _rows(base, nodes).resolved.columns}
    reader = base.parent_select
    assert reader is not None
    read = {time.lower(): time}
    if reader.is_star or any(isinstance(one.this, exp.Star) for one in reader.find_all(exp.Column)):
        read |= {name: name for name in names}
    for column in reader.find_all(exp.Column):
        if column.table.lower() == alias.lower() and column.name.lower() in names:
            read.setdefault(column.name.lower(), column.name)
    items = [exp.column(exp.to_identifier(name, quoted=True), table=alias, quoted=True) for name in read.values()]
    query = exp.select(*items).from_(base.copy())
    rows = sql_over(query, nodes)
    followed = checked.followed_by(time, rows, place, NAME)
    if followed is None:
        raise _no_event_time(_rows(base, nodes), time, place)
    name = f"__watermarked_{len(nodes)}"
    columns = tuple(ColumnDefinition(one.name, one.type) for one in followed.properties.columns)
    nodes[name] = CurrentWatermark(
        WatermarkedRows(name, columns, followed.properties.event_time.column, hidden), (followed,)
    )
    base.replace(exp.alias_(exp.to_table(name), alias, table=True))
