"""Window functions over a stream, SELECT ... agg(x) OVER (...), become an ordered operator."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import exclusion, reach_of
from cepsql.analysis.clauses.framed_calls import OF_FRAMES, check_excluding
from cepsql.analysis.clauses.over_calls import is_whole, plan_over, time_of_order
from cepsql.analysis.clauses.running_calls import call_of_column, opened_call, whole_reach, with_plain_argument
from cepsql.analysis.sql.plain_sql import relation, spoken_type, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.spark_names import spark_name
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span, answer
from cepsql.language.notes import copied
from cepsql.language.rewriting.bloom_filters import is_seen
from cepsql.plan.operators.over import Over
from cepsql.plan.tree.nodes import Node, Sql, sql_over
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import AROUND, RowsBelow, hoist_selects
from cepsql.plan.tree.stand_ins import stand_in


def hoist_over(below: Sql, checked: Checked, place: Span) -> Sql:
    """Return plain SQL in which each SELECT with window functions over a stream reads an operator that computes them.

    Raises NotSupportedError and ProgrammingError for calls whose frames cannot be told on a stream.
    """
    if below.query.find(exp.Window) is None or not below.resolved.streaming:
        return below
    return hoist_selects(below, lambda select, _: bool(window_calls(select)), partial(_hoisted, checked), place)


def hoist_seen(below: Sql, checked: Checked, place: Span) -> Sql:
    """Return plain SQL over tables in which each SELECT with MIGHT_HAVE_SEEN reads the operator that computes it.

    Raises NotSupportedError for one beside other window functions.
    """

    def wanted(select: exp.Select, _: Mapping[str, Node]) -> bool:
        calls = window_calls(select)
        seen = [call for call in calls if is_seen(call.this)]
        if seen and len(seen) < len(calls):
            raise NotSupportedError(
                "MIGHT_HAVE_SEEN beside other window functions over a table is not supported",
                span_of(seen[0], place),
                "compute one of them in a subquery",
            )
        return bool(seen)

    return hoist_selects(below, wanted, partial(_hoisted, checked), place, of_streams=False)


@dataclass(frozen=True)
class _WindowCalls:
    """The window functions that go over the rows of a SELECT, as a reader of these rows."""

    order_by: tuple[exp.Ordered, ...]
    span: Span


def window_calls(select: exp.Select, parts: Sequence[str] = ("qualify",)) -> list[exp.Window]:
    """Return the window functions of a SELECT's own, of its items and these clauses, each once."""
    where = [*select.expressions, *(select.args[clause] for clause in parts if select.args.get(clause))]
    calls = [call for part in where for call in part.find_all(exp.Window) if call.find_ancestor(exp.Query) is select]
    return list(dict.fromkeys(call for call in calls if call.find_ancestor(exp.Window) is None))


@dataclass(frozen=True)
class _Call:
    """A window function over columns of the operator's rows.

    running: its frame holds all rows so far, and it reads columns only, for an operator that goes on from row to row.
    waits:   its frame holds a number of rows after the row.
    refusal: why it cannot be told on a stream, unless a partition is known to be whole.
    """

    call: exp.Window
    running: bool = False
    waits: bool = False
    refusal: Error | None = None

    @property
    def keys(self) -> list[exp.Column]:
        """PARTITION BY."""
        return self.call.args.get("partition_by") or []

    @property
    def order(self) -> list[exp.Ordered]:
        """ORDER BY."""
        order = self.call.args.get("order")
        return order.expressions if order else []

    @property
    def rows(self) -> tuple:
        """What calls have in common that go over the same rows in the same order; those that wait come last."""
        keys = tuple(sorted(key.name for key in self.keys))
        excluding = exclusion(self.call) is not None
        return self.waits, self.running, excluding, keys, tuple(sql_of(item) for item in self.order)


def _hoisted(checked: Checked, select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool) -> exp.Select:
    """Return a SELECT over the operators of its window functions, which are new entries of `nodes`."""
    calls, columns = window_calls(select), RowsBelow()
    _refuse(select, calls, place)
    alone = {call: _over_columns(with_own_window(call, select), columns, place) for call in calls}
    # Rows that wait for other rows have no event time that another operator could go by.
    ordered = sorted(calls, key=lambda call: alone[call].waits)
    groups = _grouped(ordered, lambda call: alone[call].rows)
    results = {call: f"__w{number}" for number, call in enumerate(calls)}
    outer = _outer(select, columns, results, f"__over_{len(nodes) + len(groups) - 1}", whole)
    inner = columns.select(select)
    rows = sql_over(inner, nodes)
    for group in groups.values():
        name, first = f"__over_{len(nodes)}", alone[group[0]]
        keys = [exp.Ordered(this=key.copy(), nulls_first=True) for key in first.keys]
        reader = _WindowCalls((*first.order, *keys), span_of(group[0], place) or place)
        rows = checked(reader, rows, "OVER")
        properties = rows.properties
        asked = [(results[call], _call_type(call), _planned(alone[call], rows)) for call in group]
        time = properties.watermark if properties.streaming else time_of_order(asked[0][2], properties.columns)
        frames = plan_over(name, properties.columns, time, asked, reader.span, properties.others)
        check_excluding(frames, reader.span)
        nodes[name] = Over(frames, (rows,))
        rows = Sql(exp.select("*").from_(relation(name)), {name: nodes[name]})
    return outer


def _call_type(call: exp.Window) -> str:
    return "boolean" if is_seen(call.this) else spoken_type(call)


def _planned(call: _Call, rows: Sql) -> exp.Window:
    """Return a call as it is computed over its rows; raises why it cannot be."""
    time = rows.properties.watermark
    whole = time is not None and is_whole(time.column, [key.name for key in call.keys])
    if call.refusal is not None and not whole:
        raise call.refusal
    return call.call


def _grouped(calls: Sequence[exp.Window], rows: Callable[[exp.Window], tuple]) -> dict[tuple, list[exp.Window]]:
    groups: dict[tuple, list[exp.Window]] = {}
    for call in calls:
        groups.setdefault(rows(call), []).append(call)
    return groups


def _refuse(select: exp.Select, calls: Sequence[exp.Window], place: Span) -> None:
    if own_aggregate(select):
        raise NotSupportedError(
            "OVER beside GROUP BY or an aggregate on a stream is not supported",
            span_of(calls[0], place),
            "aggregate in a subquery, and write OVER around it",
        )
    refuse_nested(calls, place)
    for part in (*select.expressions, select.args.get("qualify")):
        if part is not None and part.find(exp.Query) is not None:
            raise NotSupportedError("a subquery beside OVER on a stream is not supported", span_of(part, place))


def refuse_nested(calls: Iterable[exp.Window], place: Span) -> None:
    """Raise ProgrammingError for a window function that reads another one."""
    nested = next((call for call in calls if call.this.find(exp.Window) is not None), None)
    if nested is not None:
        raise ProgrammingError(
            "a window function cannot read another one", span_of(nested, place), "write the inner one in a subquery"
        )


def own_aggregate(select: exp.Select) -> bool:
    """Tell whether a SELECT groups its rows, or has an aggregate that is no window function."""
    aggregated = any(_outside(call, select) for call in select.find_all(exp.AggFunc))
    return aggregated or select.args.get("group") is not None or select.args.get("having") is not None


def _outside(node: exp.Expr, select: exp.Select) -> bool:
    return node.find_ancestor(exp.Query) is select and node.find_ancestor(exp.Window) is None


def with_own_window(call: exp.Window, select: exp.Select) -> exp.Window:
    """Return a call with what a named window says in its own OVER.

    Raises ProgrammingError for a window that is not there, and for one that is defined by itself.
    """
    copy, seen = copied(call), set()
    named = call.args.get("alias")
    while named is not None:
        if named.name.lower() in seen:
            raise ProgrammingError(f"the window {named.name} is defined by itself", span_of(named, span_of(call)))
        seen.add(named.name.lower())
        windows = (w for w in select.args.get("windows") or [] if w.name.lower() == named.name.lower())
        window = next(windows, None)
        if window is None:
            raise ProgrammingError(f"there is no window {named.name}", span_of(named, span_of(call)))
        for part in ("partition_by", "order", "spec"):
            if not copy.args.get(part) and window.args.get(part):
                value = window.args[part]
                copy.set(part, [copied(one) for one in value] if isinstance(value, list) else copied(value))
        named = window.args.get("alias")
    copy.set("alias", None)
    return copy


def _over_columns(call: exp.Window, columns: RowsBelow, place: Span) -> _Call:
    """Return a call over columns of the operator's rows."""
    keys, order = columns.rows_of(call)
    bare = copied(call)
    bare.set("partition_by", None)
    bare.set("order", None)
    running, waits, refusal = False, False, None
    reach = answer(lambda: reach_of(call, "", place))
    if isinstance(reach, Error):
        refusal = reach
    else:
        waits, running = reach.waits, whole_reach(call, reach).before is None
    if running:
        plain = answer(lambda: with_plain_argument(bare, columns.take, span_of(call, place) or place))
        if isinstance(plain, Error):
            running, refusal = False, plain
        else:
            bare = plain
    if exclusion(call) is not None:
        bare = _with_plain_columns(bare, columns)
    whole = bare if running else columns.replace_in(bare)
    assert isinstance(whole, exp.Window)
    whole.set("partition_by", keys)
    whole.set("order", exp.Order(expressions=order) if order else None)
    return _Call(whole, running, waits, refusal)


def _with_plain_columns(call: exp.Window, columns: RowsBelow) -> exp.Window:
    """Return a call whose function reads a column, where that says the same: frames that leave rows out are computed
    by an operator, or not at all."""
    function, condition, _ = opened_call(call)
    kind, argument = "count" if isinstance(function, exp.CountIf) else OF_FRAMES.get(type(function)), function.this
    if kind is None or isinstance(argument, exp.Distinct) or (condition is not None and kind in ("first", "last")):
        return call
    if argument is None or isinstance(argument, exp.Star | exp.Literal):
        if condition is None:
            return call
        argument = exp.Literal.number(1)
    return call_of_column(call, argument, columns.take)


def _outer(
    select: exp.Select, columns: RowsBelow, results: Mapping[exp.Window, str], table: str, whole: bool
) -> exp.Select:
    """Return the SELECT over the rows of the last operator."""

    def over(part: exp.Expr) -> exp.Expr:
        return columns.replace_in(copied(part).transform(computed, copy=False), table)

    def computed(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Window):
            return node
        return stand_in(exp.column(results[node], table=table), sql_of(without_tables(node)))

    named = [named_item(item) if whole else item for item in select.expressions]
    outer = exp.select(*(over(item) for item in named)).from_(relation(table))
    if select.args.get("qualify") is not None:
        outer.set("where", exp.Where(this=over(select.args["qualify"].this)))
    for part in AROUND:
        if select.args.get(part) is not None:
            outer.set(part, select.args[part].copy())
    return outer


def named_item(item: exp.Expr) -> exp.Expr:
    """Return an item of the outermost SELECT; one without a name gets the one that Spark gives."""
    if not re.fullmatch(r"_col_\d+", item.alias):
        return item
    return exp.alias_(copied(item.unalias()), spark_name(item.unalias()), quoted=True)
