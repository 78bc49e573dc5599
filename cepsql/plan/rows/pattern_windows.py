"""Row patterns in windows: a SELECT with such windows reads operators that find the match that begins at each row."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from sqlglot import exp

from cepsql.analysis.row_pattern.subqueries import asks_hidden_columns
from cepsql.analysis.sql.canonical import canonical_json, describe_clause
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.spark_names import spark_name
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import MatchClause, MeasureClause, Name, WindowPattern
from cepsql.operators.matching.hold import hold
from cepsql.plan.operators.match import Match
from cepsql.plan.rows.pattern_calls import as_measure, ignores_frame, is_measure, spoken_call
from cepsql.plan.rows.pattern_rows import PatternRows, own_nodes, pattern_rows
from cepsql.plan.rows.sought_matches import of_sought_rows
from cepsql.plan.rows.window_functions import own_aggregate, refuse_nested, window_calls, with_own_window
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.nodes import Node, Sql, sql_over
from cepsql.plan.tree.rows_below import AROUND, hoist_selects
from cepsql.plan.tree.stand_ins import stand_in, with_written

Planned = Callable[[MatchClause, Sql], Match]
"""Returns the operator of a clause over rows, or raises what is wrong with it."""

_READERS = ("qualify", "order")
"""Clauses that may read such windows, beside the items of SELECT."""

_PARTS = ("partition_by", "order", "spec")


def hoist_patterns(below: Sql, patterns: Iterable[WindowPattern], planned: Planned, place: Span) -> Sql:
    """Return plain SQL in which each SELECT with windows that have a row pattern reads operators in their place.

    Raises NotSupportedError and ProgrammingError for what such windows cannot have, and where they cannot stand.
    """
    patterns_by_name = {pattern.name: pattern for pattern in patterns}
    if not patterns_by_name or below.query.find(exp.Window) is None:
        return below
    for call in filter(is_measure, below.query.find_all(exp.Window)):
        _refuse_without_pattern(call, patterns_by_name)
    hoist = partial(_hoisted, patterns_by_name, planned)
    hoisted = hoist_selects(
        below, lambda select, _: _has_pattern(select, patterns_by_name), hoist, place, of_streams=False
    )
    return hoisted if hoisted is below else replace(hoisted, query=_with_names(hoisted.query))


def _refuse_without_pattern(call: exp.Window, patterns: Mapping[str, WindowPattern]) -> None:
    """Refuse a measure over a window that has no row pattern, or is not there."""
    select = call.parent_select
    assert isinstance(select, exp.Select)
    if _pattern_of(call, select, patterns) is None:
        with_own_window(call, select)
        raise ProgrammingError(
            f"{call.this.expressions[0].name} is not a function, and the window has no row pattern with a measure of "
            "this name",
            span_of(call, span_of(select)),
        )


def _has_pattern(select: exp.Select, patterns: Mapping[str, WindowPattern]) -> bool:
    windows = [node for node in select.find_all(exp.Window) if node.find_ancestor(exp.Query) is select]
    return any(_pattern_of(window, select, patterns) is not None for window in windows)


def _pattern_of(window: exp.Window, select: exp.Select, patterns: Mapping[str, WindowPattern]) -> WindowPattern | None:
    """Return the row pattern of the window that a call, or a definition, names; None without one."""
    named, seen = window.args.get("alias"), set()
    further = any(window.args.get(part) for part in _PARTS)
    while named is not None and named.name.lower() not in seen:
        pattern = patterns.get(named.name)
        if pattern is not None and further:
            raise ProgrammingError(
                "nothing can be added to a window with a row pattern",
                span_of(window, pattern.clause.span),
                "write OVER w",
            )
        if pattern is not None:
            return pattern
        seen.add(named.name.lower())
        definitions = select.args.get("windows") or []
        window = next((w for w in definitions if w.name.lower() == named.name.lower()), exp.Window())
        further = further or any(window.args.get(part) for part in _PARTS)
        named = window.args.get("alias")
    return None


@dataclass(frozen=True)
class _Window:
    """A window with a row pattern, over the columns of the input.

    keys, order: PARTITION BY and ORDER BY over the columns of the SELECT.
    calls: its functions, as further measures of the clause.
    """

    clause: MatchClause
    keys: tuple[exp.Expr, ...]
    order: tuple[exp.Ordered, ...]
    calls: list[MeasureClause] = field(default_factory=list)

    def whole(self, carried: tuple[str, ...]) -> MatchClause:
        """Return the clause with the functions, and the columns of the input that come out."""
        measures = (*self.clause.measures, *self.calls)
        whole = replace(self.clause, measures=measures, calls=len(self.calls), carried=carried)
        return of_sought_rows(whole)


def _hoisted(
    window_patterns: Mapping[str, WindowPattern],
    planned: Planned,
    select: exp.Select,
    nodes: dict[str, Node],
    place: Span,
    _: bool,
) -> exp.Select:
    """Return a SELECT over the rows of the operators of its windows, which are new entries of `nodes`."""
    patterns = {call: _pattern_of(call, select, window_patterns) for call in window_calls(select, _READERS)}
    said: dict[str, WindowPattern] = {}
    for call, pattern in patterns.items():
        if pattern is not None:
            # One operator serves all calls over windows that say the same.
            patterns[call] = said.setdefault(_said(pattern), pattern)
    defined = [_pattern_of(window, select, window_patterns) for window in select.args.get("windows") or []]
    _refuse(select, window_patterns, patterns, place)
    rows = pattern_rows(select, nodes)
    taken = {*rows.values, *rows.unclear}
    asked = {pattern.name: pattern for pattern in (*defined, *patterns.values()) if pattern is not None}
    windows = {name: _window(pattern, select, rows, window_patterns, taken) for name, pattern in asked.items()}
    results: dict[exp.Window, str] = {}
    used: dict[str, None] = {}
    whole: dict[exp.Window, exp.Window] = {}
    for call, pattern in patterns.items():
        if pattern is None:
            results[call] = rows.below.take(with_own_window(call, select)).name
            continue
        window = windows[pattern.name]
        if ignores_frame(call):
            whole[call] = _of_partition(call, window)
            results[call] = rows.below.take(whole[call]).name
            continue
        used[pattern.name] = None
        if is_measure(call):
            results[call] = _measure(call.this, pattern, window)
        else:
            results[call] = _free(f"__over_{len(results)}", taken)
            name = Name(results[call], span_of(call, place) or place)
            window.calls.append(MeasureClause(rows.over(as_measure(call, place)), name))
    # Only now it is known what the input must have.
    needed = {column.name for column in _outer(select, rows, results, "__rows").find_all(exp.Column)}
    for window in windows.values():
        rows.take_named(window.clause)
    inner = rows.below.select(select)
    # The relations of FROM may have such windows, too.
    below = hoist_patterns(sql_over(inner, nodes), window_patterns.values(), planned, place)
    clauses = {name: window.whole(rows.names) for name, window in windows.items()}
    for unread in clauses.keys() - used.keys():
        # Only what is wrong with it is told.
        planned(replace(clauses[unread], input=below.query), below)
    if not used:
        return _without_patterns(select, window_patterns, whole)
    order = _together([clauses[name] for name in used])
    if len(order) > 1 and below.resolved.streaming:
        # What another operator reads must tell how late its rows come out.
        alone = {one.name: planned(replace(one, input=below.query), below).match.program for one in order}
        order.sort(key=lambda one: hold(alone[one.name]) is None)
        if hold(alone[order[-2].name]) is None:
            raise NotSupportedError(
                "over a stream, several windows with row patterns need the same PARTITION BY and ORDER BY, or WITHIN",
                order[-1].span,
                "bound all but one of them by WITHIN, as in PATTERN (A B+) WITHIN INTERVAL '1' HOUR, without NEXT; or "
                "give them the same PARTITION BY and ORDER BY",
            )
    table, before = "", list[str]()
    for number, one in enumerate(order):
        later = {column for other in order[number + 1 :] for each in (other, *other.beside) for column in _read(each)}
        table = _free(one.name, {*nodes})
        carried = tuple(column for column in one.carried if column in needed or column.lower() in later)
        clause = replace(one, name=table, input=below.query, carried=(*before, *carried))
        nodes[table] = planned(clause, below)
        before += [measure.name.text for each in (clause, *clause.beside) for measure in each.measures]
        again = exp.alias_(exp.to_table(table), relations(select)[0].alias_or_name, table=True)
        below = Sql(exp.select("*").from_(again), {table: nodes[table]})
    return _outer(select, rows, results, table)


def _together(clauses: list[MatchClause]) -> list[MatchClause]:
    """Return row patterns, those over the same rows in the same order as one."""
    groups: dict[tuple, list[MatchClause]] = {}
    for clause in clauses:
        parts = (*(measure.expression for measure in clause.measures), *(asked for _, asked in clause.defines))
        # Each subquery, and each watermark, is a column of the input of its own.
        apart = clause.name if any(map(asks_hidden_columns, parts)) else ""
        groups.setdefault((clause.partition_by, clause.order_by, apart), []).append(clause)
    return [replace(first, beside=tuple(replace(o, carried=()) for o in others)) for first, *others in groups.values()]


def _refuse(
    select: exp.Select,
    window_patterns: Mapping[str, WindowPattern],
    patterns: Mapping[exp.Window, WindowPattern | None],
    place: Span,
) -> None:
    """Refuse what windows with a row pattern cannot stand beside, and where they cannot stand."""
    calls = list(patterns)
    if select.args.get("from_") is None:
        raise ProgrammingError("a row pattern in a window needs FROM", place)
    if own_aggregate(select):
        raise NotSupportedError(
            "a row pattern in a window beside GROUP BY or an aggregate is not supported",
            span_of(calls[0], place) if calls else place,
            "aggregate in a subquery, and write OVER around it",
        )
    refuse_nested(calls, place)
    parts = [*select.expressions, select.args.get("qualify"), select.args.get("order")]
    inside = {id(node) for part in parts if part is not None for node in part.walk()}
    for window in select.find_all(exp.Window):
        called = window.find_ancestor(exp.Query) is select and window.args.get("over") is not None
        if called and id(window) not in inside and _pattern_of(window, select, window_patterns) is not None:
            raise NotSupportedError(
                "a function over a window with a row pattern stands in SELECT, QUALIFY and ORDER BY only",
                span_of(window, place),
                "QUALIFY chooses rows by it",
            )
    tables = {item.alias_or_name.lower() for item in relations(select)}
    for query in (query for part in parts if part is not None for query in part.find_all(exp.Query)):
        inside_it = {item.alias_or_name.lower() for item in query.find_all(exp.Table, exp.Subquery)}
        outer = next((c for c in query.find_all(exp.Column) if c.table.lower() in tables - inside_it), None)
        if outer is not None:
            raise NotSupportedError(
                "a subquery that reads the row, beside a window with a row pattern, is not supported",
                span_of(outer, span_of(query, place)),
                "join the table in a subquery before",
            )


def _without_patterns(
    select: exp.Select, patterns: Mapping[str, WindowPattern], whole: Mapping[exp.Window, exp.Window]
) -> exp.Select:
    """Return a SELECT that reads no match, without its row patterns.

    whole: what functions that ignore frames are over the whole partition.
    """
    copy = select.copy()
    for call in list(copy.find_all(exp.Window)):
        if call in whole and call.find_ancestor(exp.Query) is copy:
            call.replace(whole[call].copy())
    left = [window for window in copy.args.get("windows") or [] if _pattern_of(window, copy, patterns) is None]
    copy.set("windows", left or None)
    return copy


def _window(
    pattern: WindowPattern,
    select: exp.Select,
    rows: PatternRows,
    patterns: Mapping[str, WindowPattern],
    taken: set[str],
) -> _Window:
    """Return a window with what it goes on from, and its measures under names that are free."""
    clause = pattern.clause
    keys = tuple(rows.written(key) for key in clause.partition_by)
    order = tuple(rows.written(item) for item in clause.order_by)
    if pattern.base is not None:
        keys, order = _based(pattern.base, keys, order, select, patterns)
    columns = (rows.column(key) if isinstance(key, exp.Column) else rows.below.take(key) for key in keys)
    measures = (replace(m, name=Name(_free(m.name.text, taken), m.name.span)) for m in clause.measures)
    return _Window(
        replace(
            clause,
            partition_by=tuple(dict.fromkeys(columns)),
            order_by=tuple(rows.over(item) for item in order),
            measures=tuple(measures),
        ),
        keys,
        order,
    )


def _said(pattern: WindowPattern) -> str:
    """Return what a window says, as a text that is the same for equal ones."""
    return canonical_json([describe_clause(pattern.clause), pattern.base and pattern.base.text.lower()])


def _based(
    base: Name,
    keys: tuple[exp.Expr, ...],
    order: tuple[exp.Ordered, ...],
    select: exp.Select,
    patterns: Mapping[str, WindowPattern],
) -> tuple[tuple[exp.Expr, ...], tuple[exp.Ordered, ...]]:
    """Return PARTITION BY and ORDER BY of a window that goes on from another one."""
    named = exp.to_identifier(base.text)
    named.meta.update(start=base.span.start, end=base.span.end - 1)
    begun = exp.Window(this=exp.null(), alias=named)
    if _pattern_of(begun, select, patterns) is not None:
        raise ProgrammingError(f"{base.text} has a row pattern, so no other window can be based on it", base.span)
    merged = with_own_window(begun, select)
    ordered = merged.args["order"].expressions if merged.args.get("order") else []
    clashes = {"a frame": merged.args.get("spec"), "its keys": keys, "an ORDER BY": order and ordered}
    wrong = next((said for said, there in clashes.items() if there), None)
    if wrong is not None:
        raise ProgrammingError(
            f"the window {base.text} has {wrong} already",
            base.span,
            "a window that is based on it may add ORDER BY, if it has none, and its own frame",
        )
    return tuple(merged.args.get("partition_by") or ()), order or tuple(ordered)


def _measure(call: exp.Expr, pattern: WindowPattern, window: _Window) -> str:
    """Return the column of the measure that a call names."""
    name = call.expressions[0].name
    names = [measure.name.text for measure in pattern.clause.measures]
    place = next((i for i, measured in enumerate(names) if measured.lower() == name.lower()), None)
    if place is None:
        hint = suggestion(name, names, "measures") if names else "its MEASURES name what may stand before OVER"
        raise ProgrammingError(f"the window has no measure {name}", span_of(call), hint)
    return window.clause.measures[place].name.text


def _of_partition(call: exp.Window, window: _Window) -> exp.Window:
    """Return a function that ignores frames over the whole partition."""
    order = exp.Order(expressions=[item.copy() for item in window.order]) if window.order else None
    keys = [key.copy() for key in window.keys]
    return exp.Window(this=call.this.copy(), partition_by=keys, order=order, over="OVER")


def _read(clause: MatchClause) -> set[str]:
    """Return the names, lower case, that may be those of columns which a clause reads."""
    parts = (*clause.partition_by, *clause.order_by, *(measure.expression for measure in clause.measures))
    conditions = (condition for _, condition in clause.defines)
    columns = (column for part in (*parts, *conditions) for column in part.find_all(exp.Column))
    return {part.name.lower() for column in columns for part in column.parts}


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    numbered = (f"{name}_{number}" for number in count(2))
    free = name if name.lower() not in taken else next(n for n in numbered if n.lower() not in taken)
    taken.add(free.lower())
    return free


def _outer(select: exp.Select, rows: PatternRows, results: Mapping[exp.Window, str], table: str) -> exp.Select:
    """Return the SELECT over the rows of the last operator, which has a column for each window function."""

    def over(part: exp.Expr, names: frozenset[str] = frozenset()) -> exp.Expr:
        held = exp.Paren(this=part.copy())
        for call in own_nodes(held, exp.Window):
            if call in results:
                call.replace(stand_in(exp.column(results[call], table=table), spoken_call(call)))
        return rows.over(held.this, table, names)

    outer = exp.select(*map(over, select.expressions)).from_(exp.to_table(table))
    if select.args.get("qualify") is not None:
        outer.set("where", exp.Where(this=over(select.args["qualify"].this)))
    names = frozenset(item.alias_or_name.lower() for item in select.expressions)
    for part in AROUND:
        if select.args.get(part) is not None:
            outer.set(part, over(select.args[part], names))
    return outer


def _with_names(query: exp.Query) -> exp.Query:
    """Return a query whose columns without a name get those of what they compute."""
    copy = query.copy()
    select: exp.Expr = copy
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if not isinstance(select, exp.Select):
        return query
    named = {}
    for item in [item for item in select.expressions if re.fullmatch(r"_col_\d+", item.alias)]:
        name = exp.to_identifier(spark_name(with_written(item.unalias())), quoted=True)
        named[item.alias] = name
        item.set("alias", name.copy())
    around = (select.args[part] for part in AROUND if select.args.get(part) is not None)
    for column in (column for part in around for column in part.find_all(exp.Column)):
        if not column.table and column.name in named:
            column.set("this", named[column.name].copy())
    return copy
