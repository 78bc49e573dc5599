"""What cannot stand before a MATCH_RECOGNIZE over a stream, or in plain SQL over streams."""

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import called_function, is_aggregate
from cepsql.analysis.row_pattern.subqueries import HIDDEN
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.analysis.sql.window_calls import is_window_call
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.foreign.foreign_functions import GROUP_WINDOWS, GROUP_WINDOWS_INSTEAD, NO_GROUP_WINDOWS
from cepsql.language.notes import copied
from cepsql.plan.operators.stream_join import StreamJoin
from cepsql.plan.rows.top_rows import asks_first_rows
from cepsql.plan.rules.mark_chains import with_markers
from cepsql.plan.rules.split_unions import input_branches
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.markers import join_kind, without_ctes
from cepsql.plan.tree.nodes import Sql
from cepsql.plan.tree.reader import Reader

_KEPT = {
    "LEFT": ("left",), "RIGHT": ("right",), "FULL": ("left", "right"),
    **dict.fromkeys(("SEMI", "LEFT SEMI", "ANTI", "LEFT ANTI"), ("left",)),
}  # fmt: skip
"""Which sides of a join come out by themselves, so that all rows of the other one must be known."""

_TIMELESS = (*exp.DataType.TEXT_TYPES, *exp.DataType.NUMERIC_TYPES, exp.DType.BOOLEAN)

_STATEFUL = (
    exp.Group, exp.Distinct, exp.Window, exp.AggFunc, exp.Order, exp.Limit, exp.SetOperation, exp.TableSample,
)  # fmt: skip


def refuse_operator_input(clause: Reader, below: Sql, reader_name: str) -> None:
    """Raise NotSupportedError for an input over streams that an operator (`reader_name`) cannot read in order."""
    for branch in input_branches(below):
        assert isinstance(branch, Sql)
        for side in _joined(branch):
            refuse_operator_input(clause, side, reader_name)
        streams = {name for name, node in branch.inputs.items() if node.properties.streaming}
        query = without_ctes(branch.query)
        _refuse_input(clause, query, streams, reader_name)
        if not streams:
            raise NotSupportedError(
                f"a union of streams and tables before {reader_name} is not supported",
                span_of(query, clause.span),
                "join the stream with the table, or replay the table as a stream",
            )


def refuse_unmarked(clause: Reader, below: Sql) -> None:
    """Raise NotSupportedError for plain SQL between ordered operators that does not let markers pass."""
    for branch in input_branches(below):
        assert isinstance(branch, Sql)
        with_markers(branch)
        for side in _joined(branch):
            refuse_unmarked(clause, side)


NO_AGGREGATES = "WHERE chooses rows before they are grouped, and has no aggregates"
HAVING_INSTEAD = "HAVING chooses groups: GROUP BY k HAVING COUNT(*) > 1"
"""What is said of an aggregate in WHERE."""


def refuse_aggregates(query: exp.Expr, place: Span) -> None:
    """Raise ProgrammingError for groups by an aggregate or a window function, and for aggregates in WHERE, in ON and in
    other aggregates."""
    for call in query.walk():
        nested = _aggregate_within(call)
        if nested is not None:
            raise ProgrammingError(
                "an aggregate cannot read another one", span_of(nested, place), "write the inner one in a subquery"
            )
    for clause in query.find_all(exp.Group, exp.Where, exp.Join):
        part = clause.args.get("on") if isinstance(clause, exp.Join) else clause
        aggregate = (
            next((node for node in part.walk() if _is_of_rows(node, clause)), None) if part is not None else None
        )
        if aggregate is None:
            continue
        window = isinstance(aggregate, exp.Window)
        if isinstance(clause, exp.Group):
            kind = "window function" if window else "aggregate"
            raise ProgrammingError(
                f"GROUP BY takes no {kind}: it is computed from several rows",
                span_of(aggregate, place),
                "compute it in a subquery, and group its rows",
            )
        if not window and isinstance(clause, exp.Join):
            raise ProgrammingError(
                "ON chooses pairs of rows before they are grouped, and has no aggregates",
                span_of(aggregate, place),
                "aggregate in a subquery, and join its rows",
            )
        if not window:
            raise ProgrammingError(NO_AGGREGATES, span_of(aggregate, place), HAVING_INSTEAD)


def _aggregate_within(call: exp.Expr) -> exp.Expr | None:
    """Return the aggregate that another one reads; None for what is none, or goes over grouped rows."""
    if not is_aggregate(call) or called_function(call) is not call:
        return None
    whole: exp.Expr = call
    while whole.parent is not None and called_function(whole.parent) is call:
        whole = whole.parent
    if isinstance(whole.parent, exp.Window):
        return None
    inner = (node for node in call.walk() if node is not call and is_aggregate(node))
    return next((node for node in inner if node.parent_select is call.parent_select), None)


def _is_of_rows(node: exp.Expr, clause: exp.Expr) -> bool:
    """Tell whether a part of GROUP BY, WHERE or ON, but of no subquery, is an aggregate or a window function."""
    called = isinstance(node, exp.Window | exp.First | exp.Last) or is_aggregate(node)
    return called and node.parent_select is clause.parent


def refuse_group_windows(query: exp.Query) -> None:
    """Raise ProgrammingError for Flink's older functions of windows, such as GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)."""
    for call in query.find_all(exp.Anonymous):
        if call.name.upper() in GROUP_WINDOWS and call.find_ancestor(exp.Select) is not None:
            raise ProgrammingError(NO_GROUP_WINDOWS, span_of(call), GROUP_WINDOWS_INSTEAD)


def refuse_order(root: Sql, changing: bool, last: bool) -> None:
    """Raise NotSupportedError for an ORDER BY over a stream.

    changing: rows come out as changes, so that the first rows of an order can be asked for.
    last:     the ORDER BY of the whole query may be by the event time, which is checked later.
    Told before operators are taken out of the query, for it may name what only the query as it is written has.
    """
    streams = {name for name, node in root.inputs.items() if node.properties.streaming}
    for query in root.query.find_all(exp.Query):
        for clause, clause_name in (("order", "ORDER BY"), ("sort", "SORT BY"), ("cluster", "CLUSTER BY")):
            if query.args.get(clause) is None or (last and clause == "order" and query is root.query):
                continue
            if _reads(query, streams) and not (changing and asks_first_rows(query)):
                place = span_of(query.args[clause], span_of(query))
                raise NotSupportedError(
                    f"{clause_name} over a stream is not supported",
                    place,
                    "ORDER BY the event time at the end of the query is; ORDER BY ... LIMIT 3 EMIT CHANGES gives the "
                    "first rows so far of any order",
                )


def refuse_on_streams(root: Sql) -> None:
    """Raise NotSupportedError for what plain SQL over streams cannot have."""
    streams = {name for name, node in root.inputs.items() if node.properties.streaming}
    for query in root.query.find_all(exp.Query):
        if _reads(query, streams):
            _refuse_limits(query, outermost=query is root.query)
            _refuse_samples(query, streams)
            _refuse_groups_without_window(query)
            _refuse_set_operation(query)
            _refuse_lateral(query)
    _refuse_in_conditions([table for table in root.tables if table_name(table) in streams], None)
    _refuse_whole_tables(without_ctes(root.query), streams, None)


def _joined(branch: Sql) -> list[Sql]:
    """Return the two streams of a join that a query reads."""
    sides = [side for node in branch.inputs.values() if isinstance(node, StreamJoin) for side in node.inputs]
    return [side for side in sides if isinstance(side, Sql)]


def _refuse_input(clause: Reader, query: exp.Query, streams: set[str], reader_name: str) -> None:
    uses = [table for table in catalog_tables(query) if table_name(table) in streams]
    _refuse_in_conditions(uses, clause.span)
    _refuse_whole_tables(query, streams, clause.span)
    if len(uses) > 1:
        raise NotSupportedError(f"a join of streams of this form before {reader_name} is not supported", clause.span)
    stateful = _without_subqueries(query).find_all(*_STATEFUL)
    refused = next((node for node in stateful if _reads(_query_of(node), streams)), None)
    if refused is not None:
        raise NotSupportedError(
            f"{_construct_name(refused)} on a stream before {reader_name} is not supported",
            span_of(refused, clause.span),
            "filters, computed columns, joins with tables and UNION ALL of streams are",
        )


def _query_of(node: exp.Expr) -> exp.Expr:
    """Return the query whose rows a part of it computes with."""
    query = node if isinstance(node, exp.Query) else node.find_ancestor(exp.Query)
    assert query is not None
    return query


def _refuse_groups_without_window(query: exp.Query) -> None:
    """Refuse windows that only some groups have, as in ROLLUP (k, window(...)): no watermark ever passes the others."""
    group = query.args.get("group")
    if not isinstance(query, exp.Select) or group is None:
        return
    windowed = [key for key in group.expressions if _is_windowed(key, query)]
    if windowed and not any(map(_is_window, windowed)):
        raise NotSupportedError(
            "over a stream, grouping sets without the window are not supported: their groups never end",
            span_of(group),
            "GROUP BY ROLLUP (...), window(...) has the window in all of them",
        )


def _refuse_set_operation(query: exp.Query) -> None:
    """Refuse INTERSECT and EXCEPT, for which Spark would have to know all rows of a stream."""
    if isinstance(query, exp.Intersect | exp.Except):
        raise NotSupportedError(
            f"{query.key.upper()} over a stream is not supported",
            span_of(query.right, span_of(query)),
            "LEFT SEMI JOIN and LEFT ANTI JOIN are: with a table, or with a bound on the time between two streams; "
            "of streams, EMIT CHANGES at the end of the query gives the rows so far",
        )


def _refuse_lateral(query: exp.Query) -> None:
    """Refuse subqueries of LATERAL that aggregate: each row of the stream would have groups of its own; and functions
    joined under a condition, for which Spark aggregates."""
    for join in query.args.get("joins") or []:
        inner = join.this.this if isinstance(join.this, exp.Lateral) else None
        asked = join.args.get("on")
        if isinstance(inner, exp.Func) and (join.side or asked not in (None, exp.true())):
            raise NotSupportedError(
                "LATERAL with a condition in ON, beside a stream, is not supported",
                span_of(asked or inner, span_of(query)),
                "CROSS JOIN LATERAL explode(x) AS u(y), with WHERE; LEFT JOIN LATERAL explode(x) AS u(y) ON true gives "
                "a row without elements, too",
            )
        grouping = inner.find(exp.Group, exp.Distinct, exp.AggFunc) if isinstance(inner, exp.Subquery) else None
        if grouping is not None:
            raise NotSupportedError(
                f"{_construct_name(grouping)} in LATERAL beside a stream is not supported",
                span_of(grouping, span_of(query)),
                "aggregate the table in a subquery with GROUP BY, and join that",
            )


def refuse_endless_aggregate(root: Sql) -> None:
    """Raise NotSupportedError for groups of a stream, or a DISTINCT over it, that are never complete.

    Only for what is sure without Spark: all rows in one group, and keys that have no time in them.
    """
    streams = {name for name, node in root.inputs.items() if node.properties.streaming}
    for select in without_ctes(root.query).find_all(exp.Select):
        own = [call for call in select.find_all(exp.AggFunc) if call.parent_select is select]
        whole = [call for call in own if not isinstance(call.parent, exp.Window)]
        if whole and select.args.get("group") is None and any(_reads(item, streams) for item in relations(select)):
            raise _endless(span_of(whole[0], span_of(select)))
    written, typed = (list(query.find_all(exp.Select)) for query in (root.query, root.resolved.qualified))
    for select, pairs in zip(written, typed, strict=True) if len(written) == len(typed) else ():
        group = select.args.get("group")
        if not any(_reads(item, streams) for item in relations(select)):
            continue
        if group is not None and _is_timeless(pairs.args["group"]):
            raise _endless(span_of(group, span_of(select)))
        if select.args.get("distinct") is not None and all(map(_is_timeless, pairs.selects)):
            raise NotSupportedError(
                "DISTINCT over a stream needs its event time among the columns: without it rows are compared for ever",
                span_of(select),
                "select the event time, too; or EMIT CHANGES at the end of the query, which keeps all that was seen",
            )


def _endless(place: Span | None) -> NotSupportedError:
    return NotSupportedError(
        "an aggregate over a stream needs a window of event time: without one no group is ever complete",
        place,
        "GROUP BY window(ts, '5 minutes'), ... with the event time of a stream that has a WATERMARK; "
        "EMIT CHANGES gives the values so far",
    )


def _is_timeless(value: exp.Expr) -> bool:
    """Tell whether a typed expression reads only columns that can be no event time, nor have one in them."""
    columns = list(value.find_all(exp.Column))
    return bool(columns) and all(column.is_type(*_TIMELESS) for column in columns) and value.find(exp.Query) is None


def _is_windowed(key: exp.Expr, select: exp.Select) -> bool:
    """Tell whether a key of GROUP BY has a window, or the name of a column of the SELECT that has one."""
    names = {column.name.lower() for column in key.find_all(exp.Column)}
    items = [item for item in select.expressions if item.alias.lower() in names]
    return any(is_window_call(part) for one in (key, *items) for part in one.walk())


def _is_window(key: exp.Expr) -> bool:
    """Tell whether a key with a window is it, by a name or not, or one of its bounds."""
    return isinstance(key, exp.Column) or is_window_call(key.this if isinstance(key, exp.Dot) else key)


def _refuse_in_conditions(streams: list[exp.Table], place: Span | None) -> None:
    if within := next(filter(_in_condition, streams), None):
        raise NotSupportedError(
            "a stream in a subquery of a condition is not supported",
            span_of(within, place),
            "WHERE EXISTS (...) AND NOT EXISTS (...) are, with a bound on the time between the rows; so is any table",
        )


def _refuse_whole_tables(query: exp.Query, streams: set[str], place: Span | None) -> None:
    """Refuse joins of streams and tables that give rows of the table which no row of the stream has met."""
    for select in query.find_all(exp.Select):
        before = any(_reads(item, streams) for item in relations(select)[:1])
        for join, item in zip(select.args.get("joins") or [], relations(select)[1:], strict=False):
            kind, after = join_kind(join), _reads(item, streams)
            clauses = _KEPT.get(kind, ())
            if before != after and ("left" if after else "right") in clauses:
                raise NotSupportedError(
                    f"a {kind} JOIN that gives all rows of a table beside those of a stream is not supported",
                    span_of(join, place),
                    "on an unbounded stream, an unmatched row is never final; let the join keep each row of the stream",
                )
            before = before or after


def _without_subqueries(query: exp.Query) -> exp.Query:
    """Return the query without the hidden columns that are the values of subqueries over tables."""
    copy = copied(query)
    for column in [part for part in copy.expressions if part.alias.startswith(HIDDEN)]:
        column.pop()
    return copy


def _reads(query: exp.Expr, names: set[str]) -> bool:
    return any(table_name(table) in names for table in catalog_tables(query))


def _refuse_limits(query: exp.Query, outermost: bool) -> None:
    if query.args.get("offset") is not None:
        raise NotSupportedError(
            "OFFSET over a stream is not supported",
            span_of(query.args["offset"]),
            "the rows of a stream have no order in which some could be left out; LIMIT n takes the first that come",
        )
    if query.args.get("limit") is not None and not outermost:
        raise NotSupportedError(
            "LIMIT in a subquery over a stream is not supported", span_of(query.args["limit"]), "the outer query may"
        )


def _refuse_samples(query: exp.Query, streams: set[str]) -> None:
    for relation in query.find_all(exp.Table, exp.Subquery):
        if relation.args.get("sample") is not None and _reads(relation, streams):
            hint = "WHERE rand() < 0.1 takes about a tenth of the rows"
            raise NotSupportedError("TABLESAMPLE over a stream is not supported", span_of(relation), hint)


def _in_condition(table: exp.Table) -> bool:
    """Tell whether a table stands in a subquery that is no relation: after IN, in EXISTS, or as a value."""
    node: exp.Expr = table
    parent = table.parent
    while parent is not None:
        if isinstance(parent, exp.In | exp.Exists):
            return True
        if isinstance(node, exp.Subquery) and not isinstance(parent, exp.From | exp.Join | exp.Query | exp.CTE):
            return True
        node, parent = parent, parent.parent
    return False


def _construct_name(node: exp.Expr) -> str:
    words = {
        exp.Group: "GROUP BY", exp.Distinct: "DISTINCT", exp.Window: "a window function", exp.Order: "ORDER BY",
        exp.Limit: "LIMIT", exp.SetOperation: "UNION, INTERSECT or EXCEPT",
        exp.TableSample: "TABLESAMPLE",
    }  # fmt: skip
    return next((word for kind, word in words.items() if isinstance(node, kind)), "an aggregate")
