"""GROUP BY with a window of event time over a stream becomes an ordered operator: below another one, and wherever the
window is one of WINDOW (...)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.assigned_window_calls import CUMULATING, HOPPING, SESSION, TUMBLING, AssignedWindows
from cepsql.analysis.clauses.emit_clause import ON_CLOSE, OPERATION, Emission
from cepsql.analysis.clauses.grouped_windows import (
    FixedWindow,
    GivenWindow,
    Instants,
    Window,
    plan_window,
    plan_window_groups,
)
from cepsql.analysis.clauses.window_sql import windowed_query
from cepsql.analysis.row_pattern.aggregate_calls import aggregates_of
from cepsql.analysis.sql.plain_sql import relation, spoken_type, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import flat_name, flatten_names
from cepsql.analysis.sql.window_calls import WINDOW_CALLS, is_window_call
from cepsql.catalog import ColumnDefinition
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.language.given_clauses import given_clauses
from cepsql.language.notes import copied
from cepsql.operators.windowing.windows import END, REPEATED, START, TIME
from cepsql.plan.groups.assigned_windows import (
    fixed_window,
    group_keys,
    read_windows,
    refused_group_by_all,
    traced_window,
    with_counted_rows,
)
from cepsql.plan.groups.calendar_windows import calendar_windows
from cepsql.plan.joins.stream_joins import joins_streams
from cepsql.plan.names.ungrouped import ungrouped
from cepsql.plan.operators.window_aggregate import WindowAggregate
from cepsql.plan.rows.offers import OF_WINDOWS, offers, pick
from cepsql.plan.rows.window_functions import named_item
from cepsql.plan.tree.join_order import is_of_subquery
from cepsql.plan.tree.markers import without_ctes
from cepsql.plan.tree.nodes import Node, Ordered, Read, Sql, sql_over
from cepsql.plan.tree.reader import Checked, Reader, RowsInOrder
from cepsql.plan.tree.rows_below import AROUND, RowsBelow, hoist_selects, in_sql_inputs, read_nodes
from cepsql.plan.tree.stand_ins import stand_in

_BOUNDS = (START, END, TIME)
_ASSIGNED = "__assigned"
"""The table of the bounds of a window that WINDOW (...) gave, where the operator tells it."""


def hoist_window_groups(below: Sql, reader: Reader, checked: Checked) -> Sql:
    """Return plain SQL in which each SELECT with windows of a stream in GROUP BY reads an operator with the groups,
    also below its windows.

    reader:  what reads the rows: of the two bounds of a window they are followed by the one that it orders by.
    Raises NotSupportedError and ProgrammingError for groups that no operator makes.
    """
    below = in_sql_inputs(below, lambda rows: hoist_window_groups(rows, reader, checked))
    if below.query.find(exp.Group) is None or not below.resolved.streaming:
        return below
    names = [item.this.name.lower() for item in reader.order_by]

    def wanted(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
        # Of groups below a join the join says by which time they are followed, unless the reader does.
        return _is_windowed(checked, select, nodes) and (bool(names) or not _is_below_join(select, nodes))

    def hoisted(time: str) -> Sql:
        return hoist_selects(below, wanted, partial(_hoisted, time, checked), reader.span)

    query = hoisted(END)
    if query is below:
        return below
    before = {id(node) for node in below.inputs.values()}
    new = (node for node in query.inputs.values() if id(node) not in before)
    made = [node for node in new if isinstance(node, Ordered) and node.windowed]
    return pick(_offers(query, made, hoisted), names)


def _offers(query: Sql, made: list[Ordered], hoisted: Callable[[str], Sql]) -> Iterator[Sql]:
    """Yield a query over groups of windows once for each event time that these offer.

    hoisted: makes it anew: groups that go by a column of windows need rows that are followed by it.
    """
    if not any(node.times_of_input for node in made):
        yield from offers(query, made, OF_WINDOWS)
        return
    yield query
    for time in OF_WINDOWS[1:]:
        yield hoisted(time)


def hoist_outer_groups(below: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query in which each SELECT with windows of a stream in GROUP BY reads an operator with the groups,
    also below its windows. Of groups of `window(...)` those below a join of streams are left to `hoist_joins`,
    and those that no operator makes to Spark.

    Raises NotSupportedError and ProgrammingError for other groups that no operator makes.
    """

    def wanted(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
        call = _window_key(select)
        if call is not None and calendar(call):
            return True
        return (call is not None or _is_windowed(checked, select, nodes)) and not _is_below_join(select, nodes)

    def calendar(call: exp.Anonymous) -> bool:
        return calendar_windows(call, "", "timestamp", span_of(call, place) or place) is not None

    def hoist(select: exp.Select, nodes: dict[str, Node], where: Span, whole: bool) -> exp.Select | Error | None:
        call, grouped = _window_key(select), _hoisted(END, checked, select, nodes, where, whole)
        of_spark = isinstance(grouped, NotSupportedError) and call is not None and not calendar(call)
        return None if of_spark else grouped

    below = hoist_selects(below, wanted, hoist, place)
    streams = {flat_name(name) for name, node in below.inputs.items() if node.properties.streaming}
    if any(joins_streams(select, streams) for select in without_ctes(below.query).find_all(exp.Select)):
        return below
    return in_sql_inputs(below, lambda rows: hoist_outer_groups(rows, place, checked))


def _is_below_join(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
    streams = {name for name, node in nodes.items() if node.properties.streaming}
    around = select.parent_select
    while around is not None and not joins_streams(around, streams):
        around = around.parent_select
    return around is not None


def hoist_emitted_groups(below: Sql, emission: Emission, place: Span, checked: Checked) -> Sql:
    """Return a whole query whose outermost SELECT reads an operator with its groups, which come out as EMIT says.

    The query itself is returned if that SELECT groups by no window.
    """

    def wanted(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
        return select.parent is None and _is_windowed(checked, select, nodes)

    return hoist_selects(below, wanted, partial(_hoisted, END, checked, emission=emission), place)


def _is_windowed(checked: Checked, select: exp.Select, nodes: Mapping[str, Node]) -> bool:
    return groups_windows(select, nodes) or _instant(checked, select, nodes) is not None


def groups_windows(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
    """Tell whether a SELECT groups by windows, be they of a function or of WINDOW (...)."""
    return _window_key(select) is not None or bool(_assigned_keys(select, nodes))


def _assigned_keys(select: exp.Select, nodes: Mapping[str, Node]) -> list[exp.Column]:
    """Return the columns of assigned windows in GROUP BY, ends first, as they tell best when a window is over."""
    keys = [key for key in group_keys(select) if isinstance(key, exp.Column)]
    traced = [key for key in keys if traced_window(key, select, nodes) is not None]
    return sorted(traced, key=lambda key: key.name.lower() != END)


def _instant(checked: Checked, select: exp.Select, nodes: Mapping[str, Node]) -> exp.Column | None:
    """Return the key of GROUP BY that is the event time of what ordered operators give, None if there is none."""
    group = select.args.get("group")
    below = {name: node for name, node in read_nodes(select, nodes).items() if node.properties.streaming}
    grouped = any(inner is not select for inner in select.find_all(exp.Select))
    if group is None or not (grouped or any(not isinstance(node, Read) for node in below.values())):
        return None
    ends: list[tuple[int, exp.Column]] = []
    for key in group.expressions:
        if isinstance(key, exp.Column) and window_call(key) is None:
            columns = RowsBelow()
            time = columns.take(key)
            inner = columns.select(select)
            rows = sql_over(inner, nodes)
            asked = checked.followed_by(time.name, rows, span_of(select) or Span(0, 0), "GROUP BY")
            if asked is not None:
                ends.append((asked.properties.event_time.delay, key))
    # Of the two bounds of a window, the end tells sooner that a group is complete.
    return min(ends, key=lambda pair: pair[0])[1] if ends else None


def _window_key(select: exp.Select) -> exp.Anonymous | None:
    """Return the call of a window in GROUP BY."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else []
    return next((call for call in map(window_call, keys) if call is not None), None)


def window_call(node: exp.Expr) -> exp.Anonymous | None:
    """Return the window that an expression is, or of which it is a bound."""
    node = node.unnest()
    if isinstance(node, exp.Dot):
        node = node.this.unnest()
    if is_window_call(node) and len(node.expressions) > 1:
        return node
    return None


def _is_bound(node: exp.Expr) -> bool:
    """Tell whether an expression is a bound of the window in GROUP BY, such as window.end."""
    if not isinstance(node, exp.Column):
        return False
    return node.table == _ASSIGNED or (node.table.lower() in WINDOW_CALLS and node.name.lower() in ("start", "end"))


def _hoisted(
    offered: str,
    checked: Checked,
    select: exp.Select,
    nodes: dict[str, Node],
    place: Span,
    whole: bool,
    emission: Emission = ON_CLOSE,
) -> exp.Select | NotSupportedError:
    """Return a SELECT over the groups, which are a new entry of `nodes`, or why no operator makes them; Spark may."""
    fixed = _over_fixed_windows(select, nodes)
    select = select if fixed is None else fixed
    rows_of_groups = _groups(offered, checked, select, nodes, place)
    place = span_of(rows_of_groups.key, place) or place
    refusal = _refused(select, place)
    if refusal is not None:
        return refusal
    columns, time = rows_of_groups.columns, rows_of_groups.time
    keys = [key for key in select.args["group"].expressions if window_call(key) is None and not _is_bound(key)]
    bounds = _assigned_keys(select, nodes) if isinstance(rows_of_groups.window, GivenWindow) else []
    names = {key: columns.take(key).name for key in keys if key not in bounds}
    calls = aggregates_of(select)
    aggregates = [
        (ColumnDefinition(f"__a{i}", spoken_type(one)), columns.replace_in(one)) for i, one in enumerate(calls)
    ]
    name = f"__groups_{len(nodes)}"
    given_names = names | {one: column.name for one, (column, _) in zip(calls, aggregates, strict=True)}
    given_names |= {key: key.name.lower() for key in bounds}
    counted = {name: with_counted_rows(node) for name, node in nodes.items()} if bounds else nodes
    inner = columns.select(select)
    in_order = RowsInOrder((exp.Ordered(this=time.copy(), nulls_first=True),), place)
    rows = checked.answer(in_order, sql_over(inner, counted), "GROUP BY")
    if isinstance(rows, NotSupportedError):
        return rows
    if isinstance(rows, Error):
        raise rows
    properties = rows.properties
    if properties.watermark is None or properties.watermark.column.lower() != time.name.lower():
        raise ProgrammingError(
            "windows of a stream must be of its event time",
            span_of(
                rows_of_groups.call.expressions[0] if rows_of_groups.call is not None else rows_of_groups.key, place
            ),
            "window(ts, '1 minute') of the column that WATERMARK FOR names in CREATE STREAM, unchanged",
        )
    dates = rows_of_groups.call is None and properties.event_time_type.lower() == "date"
    if not dates and not properties.event_time_type.lower().startswith("timestamp"):
        return NotSupportedError(
            f"windows of a stream by a {properties.event_time_type.upper()} are not supported",
            span_of(
                rows_of_groups.call.expressions[0] if rows_of_groups.call is not None else rows_of_groups.key, place
            ),
            "declare a computed column, such as at TIMESTAMP AS CAST(... AS TIMESTAMP), with the watermark",
        )
    window = rows_of_groups.window
    if rows_of_groups.call is not None:
        calendar = calendar_windows(rows_of_groups.call, time.name, properties.event_time_type.lower(), place)
        if calendar is None:
            planned = plan_window(rows_of_groups.call, place)
            if isinstance(planned, NotSupportedError):
                return planned
            window = planned
        else:
            rows = Sql(windowed_query(rows.query, calendar, counted=True), rows.inputs)
            properties, window = rows.properties, GivenWindow(START, END, calendar.size.longest)
    assert properties.watermark is not None and window is not None
    refusal = _refused_bounds([*calls, *names], window, place) or _refused_qualify(select)
    if refusal is not None:
        return refusal
    groups = plan_window_groups(
        name, properties.columns, properties.watermark, list(names.values()), window, aggregates, offered
    )
    groups = replace(groups, emission=emission)
    nodes[name] = WindowAggregate(groups, (rows,))
    outer = over_groups(select, given_names, rows_of_groups.call, name, whole)
    return outer.select(exp.column(OPERATION, table=name)) if emission.changing else outer


@dataclass(frozen=True)
class _Groups:
    """Which groups a SELECT makes: the key with the window, the column with the event time, and the windows.

    call: the call of window or session_window that the key is, in place of windows.
    """

    key: exp.Expr
    columns: RowsBelow
    time: exp.Column
    window: Window | None = None
    call: exp.Expr | None = None


def _groups(bound: str, checked: Checked, select: exp.Select, nodes: Mapping[str, Node], place: Span) -> _Groups:
    columns, call = RowsBelow(frozenset({*_BOUNDS, OPERATION})), _window_key(select)
    if call is not None:
        return _Groups(call, columns, columns.take(call.expressions[0]), call=call)
    if bound == START and any(_of_session(key, select, nodes) for key in _assigned_keys(select, nodes)):
        bound = END
    keys = sorted(_assigned_keys(select, nodes), key=lambda key: key.name.lower() != bound)
    read = read_windows(select, nodes)
    if read is not None and _tell_windows(read[1].assigned, {key.name.lower() for key in keys}):
        assigned = read[1].assigned

        def taken(name: str) -> exp.Column:
            return columns.take(exp.column(exp.to_identifier(name), table=read[0].args["alias"].this.copy()))

        time, start, end = map(taken, (assigned.time, START, END))
        if assigned.kind in (HOPPING, CUMULATING):
            taken(REPEATED)
        return _Groups(keys[0], columns, time, GivenWindow(start.name, end.name, assigned.size.longest))
    key = keys[0] if keys else _instant(checked, select, nodes)
    assert key is not None
    return _Groups(key, columns, columns.take(key), Instants())


def _of_session(key: exp.Column, select: exp.Select, nodes: Mapping[str, Node]) -> bool:
    """Tell whether a column is of a session, which is not known by its beginning."""
    traced = traced_window(key, select, nodes)
    return traced is not None and traced.windows is not None and traced.windows.assigned.kind == SESSION


def _tell_windows(assigned: AssignedWindows, keys: set[str]) -> bool:
    """Tell whether these columns of windows tell which window it is, row by row."""
    if not keys or assigned.kind == SESSION:
        return False
    if {START, END} <= keys or assigned.kind == TUMBLING:
        return True
    return assigned.kind == CUMULATING and not keys.isdisjoint((END, TIME))


def _over_fixed_windows(select: exp.Select, nodes: dict[str, Node]) -> exp.Select | None:
    """Return a SELECT that reads rows without their windows, and has one for window(...) in GROUP BY; None if it does
    more with windows than to group by them, or an operator cannot tell them.

    What it reads are new entries of `nodes`.
    """
    read, keys = read_windows(select, nodes), _assigned_keys(select, nodes)
    if read is None or not keys:
        return None
    table, windows = read
    call = _fixed_call(windows.assigned, table, select, keys)
    if call is None:
        return None
    copy = copied(select)
    group = copy.args["group"]
    group.set("expressions", [call, *(key for key in group.expressions if key not in keys)])
    for part in (*copy.expressions, copy.args.get("having")):
        for column in list(part.find_all(exp.Column)) if part is not None else ():
            if column in keys:
                bound = exp.column(column.name.lower(), table=_ASSIGNED)
                bound.meta.update(column.meta)
                # A column that is itself an item has no parent to replace it in.
                column.replace(bound)
    if any(_windowed_column(column, table.alias_or_name) for column in copy.find_all(exp.Column)):
        return None
    if any(_is_bound(column) for call in aggregates_of(copy) for column in call.find_all(exp.Column)):
        # What an aggregate reads are rows with their windows.
        return None
    place = next(item for item in copy.find_all(exp.Table) if item == table)
    place.replace(_as_relation(flatten_names(windows.rows.query), table))
    nodes.update({flat_name(name): node for name, node in windows.rows.inputs.items()})
    return copy


def _as_relation(query: exp.Query, place: exp.Table) -> exp.Expr:
    """Return a query as a relation that goes by the name of another one: for SELECT * FROM a table, the table."""
    alias = place.args["alias"].copy() if place.args.get("alias") else exp.TableAlias(this=place.this.copy())
    source = query.args["from_"].this if query.args.get("from_") is not None else None
    if isinstance(source, exp.Table) and query.is_star and given_clauses(query) <= {"expressions", "from_"}:
        table = source.copy()
        if not table.args["alias"].columns:
            table.set("alias", alias)
            return table
    return exp.Subquery(this=copied(query), alias=alias)


def _windowed_column(column: exp.Column, alias: str) -> bool:
    return column.table.lower() == alias.lower() and column.name.lower() in _BOUNDS


def _fixed_call(
    assigned: AssignedWindows, table: exp.Table, select: exp.Select, keys: Sequence[exp.Column]
) -> exp.Expr | None:
    """Return the call of window or session_window that stands for assigned windows, None if none does."""
    time = exp.column(exp.to_identifier(assigned.time), table=table.args["alias"].this.copy())
    if assigned.of_date:
        return None
    if assigned.kind == SESSION:
        others = [key for key in select.args["group"].expressions if key not in keys]
        names = {key.name.lower() for key in others if isinstance(key, exp.Column)}
        partition = {key.name.lower() for key in assigned.partition or () if isinstance(key, exp.Column)}
        if len(names) < len(others) or len(partition) < len(assigned.partition or ()) or names != partition:
            return None
        if {key.name.lower() for key in keys}.isdisjoint((START, END)) or len(keys) < 2:
            return None
        if _takes_rows_away(select, names):
            # The sessions are those of all rows.
            return None
        return exp.Anonymous(this="session_window", expressions=[time, _micros(assigned.size.count)])
    window = fixed_window(assigned)
    if window is None:
        return None
    lengths = [_micros(micros) for micros in (window.size, window.slide, window.offset)]
    return exp.Anonymous(this="window", expressions=[time, *lengths])


def _takes_rows_away(select: exp.Select, names: set[str]) -> bool:
    """Tell whether a SELECT leaves out rows of what it reads, but for all those with some values of these columns."""
    where = select.args.get("where")
    by_names = where is None or {column.name.lower() for column in where.find_all(exp.Column)} <= names
    return not by_names or bool(select.args.get("joins") or select.args.get("laterals"))


def _micros(count: int) -> exp.Expr:
    return exp.Literal.string(f"{count} microseconds")


def _refused(select: exp.Select, place: Span) -> NotSupportedError | None:
    refusal = refused_group_by_all(select, place)
    if refusal is not None:
        return refusal
    for part in (*select.expressions, select.args.get("having")):
        if part is not None and part.find(exp.Query) is not None:
            return NotSupportedError("a subquery beside a window over a stream is not supported", span_of(part, place))
    if any(part.find(exp.Window) for part in select.expressions):
        return NotSupportedError(
            "OVER beside GROUP BY on a stream is not supported", place, "aggregate in a subquery, and write OVER around"
        )
    return None


def _refused_bounds(read: Sequence[exp.Expr], window: Window, place: Span) -> NotSupportedError | None:
    """Refuse aggregates and keys that read the window, unless the time of a row alone tells which one it is."""
    tumbling = isinstance(window, FixedWindow) and window.size == window.slide
    for part in (part for one in read for part in one.walk()):
        bound = isinstance(part, exp.Column) and _is_bound(part) and part.table != _ASSIGNED
        if bound or (is_window_call(part) and not tumbling):
            return NotSupportedError(
                "the bounds of a window in an aggregate or another key over a stream are not supported here",
                span_of(part, place),
                "WINDOW HOPPING (...) and the like give each row its window_start and window_end, which can be read so",
            )
    return None


def _refused_qualify(select: exp.Select) -> NotSupportedError | None:
    qualify = select.args.get("qualify")
    if qualify is None:
        return None
    return NotSupportedError(
        "QUALIFY beside GROUP BY or DISTINCT on a stream is not supported",
        span_of(qualify, span_of(select)),
        "aggregate in a subquery, and write QUALIFY around it; HAVING chooses groups by their aggregates",
    )


def over_groups(
    select: exp.Select,
    names: Mapping[exp.Expr, str],
    call: exp.Expr | None,
    table: str,
    whole: bool = False,
) -> exp.Select:
    """Return the SELECT over the groups: keys, bounds and aggregates are columns.

    whole: it is the outermost one, whose columns all have names.
    """
    refusal = _refused_qualify(select)
    if refusal is not None:
        raise refusal
    bounds = {"start": START, "end": END, **{name: name for name in _BOUNDS}}
    asked = exp.select(*(_named_subquery(named_item(item) if whole else item) for item in select.expressions))
    if select.args.get("having") is not None:
        asked.set("where", exp.Where(this=copied(select.args["having"].this)))
    within = _within_subqueries(asked)

    def taken(node: exp.Expr) -> exp.Expr:
        if id(node) in within:
            return node
        if node in names:
            return stand_in(exp.column(names[node], table=table), sql_of(without_tables(node), keep=False))
        if (
            call is not None
            and isinstance(node, exp.Dot)
            and node.this.unnest() == call
            and node.expression.name.lower() in bounds
        ):
            return stand_in(exp.column(bounds[node.expression.name.lower()], table=table), sql_of(node))
        if _is_bound(node):
            return stand_in(exp.column(bounds[node.name.lower()], table=table), sql_of(node))
        if call is not None and node == call:
            parts = [exp.Literal.string("start"), exp.column(START, table=table)]
            return exp.func("named_struct", *parts, exp.Literal.string("end"), exp.column(END, table=table))
        if isinstance(node, exp.Column) and node.table != table and not isinstance(node.this, exp.Star):
            raise ungrouped(node, select, names)
        return node

    outer = asked.transform(taken, copy=False)
    assert isinstance(outer, exp.Select)
    outer.set("from_", exp.From(this=relation(table)))
    for part in AROUND:
        if select.args.get(part) is not None:
            outer.set(part, copied(select.args[part]))
    return outer


def _named_subquery(item: exp.Expr) -> exp.Expr:
    """Return a copy of an item of a SELECT in which the name of a subquery is not a part of it."""
    copy = copied(item)
    if not isinstance(copy, exp.Subquery) or not copy.alias:
        return copy
    name = copy.args.pop("alias").this
    return exp.Alias(this=copy, alias=name)


def _within_subqueries(select: exp.Select) -> set[int]:
    """Return the ids of the parts of subqueries in a SELECT's expressions that are not of its rows."""
    inner: set[int] = set()
    for query in select.find_all(exp.Query):
        if query is select:
            continue
        for node in query.walk():
            columns = list(node.find_all(exp.Column))
            if not columns or any(is_of_subquery(column, select) for column in columns):
                inner.add(id(node))
    return inner
