"""SELECTs that join streams within a time become ordered operators, two streams at a time."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepsql.analysis.clauses.pair_conditions import check_pair_condition
from cepsql.analysis.sql.plain_sql import conjuncts, relation, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span, answer
from cepsql.language.notes import copied
from cepsql.language.rewriting.temporal_joins import VERSION_AT, temporal_call
from cepsql.operators.pairing.interval_join import JoinKind
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.plan.joins.as_of_condition import (
    AsOfCondition,
    as_of_condition,
    deletion_of,
    refuse_hidden,
    version_condition,
    versions_of,
)
from cepsql.plan.joins.join_condition import (
    KINDS,
    JoinCondition,
    meeting_keys,
    only_side,
    split_condition,
    true_if,
    without_parts,
)
from cepsql.plan.joins.semi_joins import with_semi_joins
from cepsql.plan.names.window_bounds import with_window_bounds
from cepsql.plan.operators.as_of_join import AsOfJoin
from cepsql.plan.operators.interval_join import IntervalJoin
from cepsql.plan.operators.stream_join import LATER, StreamJoin
from cepsql.plan.rows.offers import OF_JOINS, offers, pick
from cepsql.plan.rules.inline_views import inline_views
from cepsql.plan.tree.join_order import relations, streams_first
from cepsql.plan.tree.markers import join_kind
from cepsql.plan.tree.nodes import Node, Sql, missing_time, sql_over
from cepsql.plan.tree.reader import Checked, Reader, RowsInOrder
from cepsql.plan.tree.rows_below import hoist_selects, read_nodes, rows_read
from cepsql.plan.tree.stand_ins import stand_in
from cepsql.plan.tree.time_bound import own_limit, time_limits

_KEEP_ROWS = ("INNER", "CROSS", "LEFT", "SEMI", "LEFT SEMI", "ANTI", "LEFT ANTI")
_NAME = "__join_"

Columns = tuple[tuple[str, ...], tuple[str, ...]]
"""The columns of the left and of the right that a join gives."""


def hoist_joins(below: Sql, reader: Reader | None, checked: Checked, place: Span) -> Sql:
    """Return plain SQL in which each SELECT that joins streams reads an operator with the joined rows, also in the
    views that it reads.

    reader: what reads the rows: of several event times they are followed by the one that it orders by.
    Raises NotSupportedError and ProgrammingError for joins that would keep rows for ever, or that cannot be run.
    """
    names = [item.this.name.lower() for item in reader.order_by[:1]] if reader is not None else []
    made: list[Node] = []
    query = _with_joins(below, made, checked, place)
    return below if query is below else pick(offers(query, made, OF_JOINS), names if reader is not None else None)


def _with_joins(below: Sql, made: list[Node], checked: Checked, place: Span) -> Sql:
    """Return plain SQL over operators for its joins; those whose rows it reads are appended to `made`."""
    plain = {n: node for n, node in below.inputs.items() if not node.properties.ordered}
    # A condition on windows is one on time, for which the rows are held.
    inlined = {**below.inputs, **{name: inline_views(node, windows=False) for name, node in plain.items()}}
    flat = replace(below, inputs=inlined)
    if not any(node.properties.ordered for node in inlined.values()):
        views = inline_views(flat, windows=False)
        assert isinstance(views, Sql)
        flat = views
    views_left = {name: node for name, node in flat.inputs.items() if isinstance(node, Sql)}
    changed = {name: _with_joins(view, made, checked, place) for name, view in views_left.items()}
    joined = any(changed[name] is not view for name, view in views_left.items())
    if joined:
        flat = replace(flat, inputs={**flat.inputs, **changed})
    if not flat.resolved.streaming:
        return below
    streams = {flat_name(name) for name, node in flat.inputs.items() if node.properties.streaming}

    def hoisted(select: exp.Select, nodes: dict[str, Node], where: Span, whole: bool) -> exp.Select:
        return _Joining(select, nodes, streams, checked, where, made).outer()

    query = hoist_selects(flat, lambda select, _: joins_streams(select, streams), hoisted, place)
    return query if joined or query is not flat else below


def joined_events(
    select: exp.Select, items: Sequence[exp.Expr], nodes: Mapping[str, Node], checked: Checked, place: Span
) -> Sql | Error:
    """Return `items` of the rows of streams that a SELECT joins within a time, or why it does not."""
    read = rows_read(select, items)
    rows = sql_over(read, nodes)
    return answer(lambda: hoist_joins(rows, None, checked, place))


def joins_streams(select: exp.Select, streams: Collection[str]) -> bool:
    """Tell whether a SELECT joins streams, by flat name, or asks in a condition whether another one has a row."""
    own = [item for item in relations(select) if _reads(item, streams)]
    return len(own) > 1 or bool(own and with_semi_joins(select, streams) is not select)


def _reads(item: exp.Expr, streams: Collection[str]) -> bool:
    return any(table_name(table) in streams or table.name.startswith(_NAME) for table in catalog_tables(item))


class _Times(Mapping[str, Sql]):
    """Rows by the columns that may be their event time; followed by one they are planned when they are asked for."""

    def __init__(self, columns: Sequence[str], followed_by: Callable[[str], Sql | None]):
        self._columns, self._followed_by = columns, followed_by
        self._planned: dict[str, Sql | None] = {}

    def __getitem__(self, column: str) -> Sql:
        if column in self._columns and column not in self._planned:
            self._planned[column] = self._followed_by(column)
        rows = self._planned.get(column)
        if rows is None:
            raise KeyError(column)
        return rows

    def __iter__(self) -> Iterator[str]:
        return (column for column in self._columns if column in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True)
class _JoinSide:
    """One of two joined relations.

    item:  it in FROM.
    rows:  its rows.
    times: the columns that may be its event time, lower case, with its rows followed by each.
    """

    item: exp.Expr
    rows: Mapping[str, Sql]

    @property
    def alias(self) -> str:
        return self.item.alias_or_name.lower()

    def followed_by(self, time: str) -> "_JoinSide":
        """Return the side with this event time."""
        return replace(self, rows={time: self.rows[time]})

    def where(self, conditions: Iterable[exp.Expr]) -> "_JoinSide":
        """Return the side without the rows that fail a condition."""
        new_names = {}
        for time, rows in self.rows.items():
            query = rows.query
            for condition in conditions:
                query = query.where(condition.copy())
            new_names[time] = replace(rows, query=query)
        return replace(self, rows=new_names)


@dataclass
class _Joining:
    """The joins of a SELECT while operators take their places, one after another.

    made:   the operators whose rows no further join reads.
    written_names: what the user wrote for a column of the rows so far.
    """

    select: exp.Select
    nodes: dict[str, Node]
    streams: Collection[str]
    checked: Checked
    place: Span
    made: list[Node]
    written_names: dict[tuple[str, str], str] = field(default_factory=dict)

    def outer(self) -> exp.Select:
        """Return the SELECT over the last join, which is appended to `made`."""
        self.select = with_window_bounds(with_semi_joins(self.select, self.streams))
        while True:
            self.select = streams_first(self.select, lambda item: _reads(item, self.streams))
            items = relations(self.select)
            if len(items) < 2 or not _reads(items[1], self.streams):
                return self.select
            last = sum(_reads(item, self.streams) for item in items) == 2
            self._join(last)

    def _join(self, last: bool) -> None:
        """Put an operator in place of the first two relations; `last` if no other join reads its rows."""
        items, joins = relations(self.select), self.select.args["joins"]
        joined, later = joins[0], joins[1:]
        place, spoken_kind = span_of(joined, self.place) or self.place, join_kind(joined)
        if spoken_kind not in KINDS:
            raise NotSupportedError(f"{spoken_kind} JOIN of streams is not supported", place)
        parts = conjuncts(joined.args.get("on"))
        refuse_hidden(joined.args.get("on"), parts, place)
        if any(temporal_call(part) for part in parts):
            self._join_nearest(joined, later, place, last)
            return
        kind, swapped = KINDS[spoken_kind], spoken_kind == "RIGHT"
        first, second = (self._side(item, joined, place) for item in items[:2])
        left, right = (second, first) if swapped else (first, second)
        on = conjuncts(joined.args.get("on"))
        _refuse_others(on, {left.alias, right.alias}, place)
        where = conjuncts(self.select.args["where"].this) if self.select.args.get("where") else []
        plain_later = all(join_kind(join) in _KEEP_ROWS for join in later)
        pushed = where if plain_later else []
        if kind in (JoinKind.LEFT, JoinKind.FULL) and any(self._needs_pair(part, left, right, kind) for part in pushed):
            # Rows without a partner fail the condition on both times.
            kind = JoinKind.INNER
        asked = on + pushed if kind == JoinKind.INNER else on
        rest = without_parts(where, asked)
        left, right, condition = self._timed(left, right, asked, place)
        keys, pairs = list(condition.keys), condition.further
        if kind == JoinKind.INNER:
            left, right = left.where(condition.own[0]), right.where(condition.own[1])
            rest, pairs = [*rest, *condition.further], ()
        else:
            left_only = [part for part in rest if plain_later and only_side(part, [left.alias]) is not None]
            if kind != JoinKind.FULL:
                left, rest = left.where(left_only), without_parts(rest, left_only)
                right = right.where(condition.own[1])
            keys += meeting_keys(condition.own, kind)
        conditions = tuple(_of_pair(part, left.alias, right.alias) for part in pairs)
        own_left, own_right = (said and replace(said, time=without_tables(said.time)) for said in condition.limits)
        limits = own_left, own_right
        for part in conditions:
            check_pair_condition(part, place)

        def join(name: str, inputs: tuple[Node, ...], columns: Columns) -> IntervalJoin:
            low, high = condition.low, condition.high
            return IntervalJoin(
                name, inputs, _plain_keys(keys), low, high, columns, LATER, kind, conditions, limits=limits
            )

        single = kind in (JoinKind.SEMI, JoinKind.ANTI)
        self._replace({LEFT: left} if single else {LEFT: left, RIGHT: right}, (left, right), rest, last, join)

    def _join_nearest(self, joined: exp.Join, later: list[exp.Join], place: Span, last: bool) -> None:
        """Put an operator in place of the first two relations, which an ASOF JOIN or FOR SYSTEM_TIME AS OF joins."""
        kind, items = join_kind(joined), relations(self.select)
        if kind not in ("INNER", "CROSS", "LEFT"):
            raise NotSupportedError(
                f"{kind} JOIN with the nearest row is not supported", place, "JOIN and LEFT JOIN are"
            )
        left, right = (self._side(item, joined, place) for item in items[:2])
        condition, deletion, numbered = self._nearest(conjuncts(joined.args["on"]), left, right, place)
        versions = kind == "LEFT" and bool(condition.after)
        pairs = condition.after if versions else condition.further
        if pairs and not versions and not condition.forward and condition.tolerance is None:
            theirs, mine = f"{right.alias}.{condition.times[1]}", f"{left.alias}.{condition.times[0]}"
            raise NotSupportedError(
                f"ON compares further columns of both sides, so that rows of {right.alias} would be kept for ever",
                span_of(pairs[0], place),
                f"add AND {theirs} >= {mine} - INTERVAL '1' HOUR",
            )
        conditions = tuple(_of_pair(part, left.alias, right.alias) for part in pairs)
        for part, written in zip(conditions, pairs, strict=True):
            check_pair_condition(part, span_of(written, place))
        where = conjuncts(self.select.args["where"].this) if self.select.args.get("where") else []
        plain_later = all(join_kind(join) in _KEEP_ROWS for join in later)
        left_only = [part for part in where if plain_later and only_side(part, [left.alias]) is not None]
        rest = [*without_parts(where, left_only), *(() if versions else condition.after)]
        keys = list(condition.keys)
        if kind == "LEFT":
            keys += [(true_if(condition.own[0]), exp.true())] if condition.own[0] else []
        else:
            left_only += condition.own[0]
        left = left.followed_by(condition.times[0]).where(left_only)
        right = right.followed_by(condition.times[1]).where(condition.own[1])

        def join(name: str, inputs: tuple[Node, ...], columns: Columns) -> AsOfJoin:
            forward, strict = condition.forward, condition.strict
            return AsOfJoin(
                name, inputs, _plain_keys(keys), columns, LATER, forward, strict, kind == "LEFT", deletion,
                tolerance=condition.tolerance, conditions=conditions, versions=versions,
                null_safe=condition.null_safe, numbered=numbered,
            )  # fmt: skip

        self._replace({LEFT: left, RIGHT: right}, (left, right), rest, last, join)

    def _nearest(
        self, on: list[exp.Expr], left: _JoinSide, right: _JoinSide, place: Span
    ) -> tuple[AsOfCondition, exp.Expr | None, bool]:
        """Return what ON asks, under which condition a row of the right says that there is none of its key, and whether
        rows of the right tell their order."""
        sides = (left.alias, left.rows), (right.alias, right.rows)
        if not any(temporal_call(part) == VERSION_AT for part in on):
            return as_of_condition(on, *sides, place), None, False
        (node,) = read_nodes(exp.select("*").from_(right.item.copy()), self.nodes).values()
        versions = versions_of(node, right.item, place)
        numbered = isinstance(versions, ViewSource)
        return version_condition(on, *sides, versions, place), deletion_of(versions), numbered

    def _needs_pair(self, part: exp.Expr, left: _JoinSide, right: _JoinSide, kind: JoinKind) -> bool:
        """Tell whether a condition bounds the event times of the two sides so that rows without a partner fail it."""
        for times in ({left.alias: one, right.alias: other} for one in left.rows for other in right.rows):
            if time_limits(part, times)[0]:
                return True
            said = own_limit(part, times)
            # With COALESCE a time that a missing row says is none.
            if said is not None and (said[2].strict or (kind == JoinKind.LEFT and said[1] == right.alias)):
                return True
        return False

    def _timed(
        self, left: _JoinSide, right: _JoinSide, asked: list[exp.Expr], place: Span
    ) -> tuple[_JoinSide, _JoinSide, JoinCondition]:
        """Return the sides, each with the event time that the condition bounds, and the condition."""
        refused: Error | None = None
        for one, mine in left.rows.items():
            for other, theirs in right.rows.items():
                times = {left.alias: one, right.alias: other}
                condition = split_condition(asked, times, self._written_name, place)
                if isinstance(condition, JoinCondition):
                    return replace(left, rows={one: mine}), replace(right, rows={other: theirs}), condition
                refused = refused or condition
        assert refused is not None
        raise refused

    def _written_name(self, alias: str, column: str) -> str:
        # Subqueries without an alias have one that the user never wrote.
        return self.written_names.get((alias, column), column if alias.startswith("_") else f"{alias}.{column}")

    def _side(self, item: exp.Expr, joined: exp.Join, place: Span) -> _JoinSide:
        query = exp.select("*").from_(copied(item))
        side = sql_over(query, self.nodes)
        node = next(iter(side.inputs.values()))
        if isinstance(item, exp.Table) and isinstance(node, StreamJoin) and item.name.startswith(_NAME):
            name = next(iter(side.inputs))
            choices = [node.changed(time=time) for time in (LEFT, RIGHT, LATER)]
            rows = [replace(side, inputs={name: choice}) for choice in choices]
            timely = {_time(one): one for one in rows if one.properties.watermark is not None}
            if not timely:
                hint = "bound the times of both by days, hours or less: b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
                raise NotSupportedError("a join with joined rows that have no event time is not supported", place, hint)
            return _JoinSide(item, timely)
        times = _Times(self._compared(item), lambda time: self.checked.followed_by(time, side, place, "JOIN"))
        if next(iter(times), None) is not None:
            return _JoinSide(item, times)
        checked = self.checked(RowsInOrder((), place), side, "JOIN")
        if checked.properties.watermark is not None:
            return _JoinSide(item, {_time(checked): checked})
        stream = next(node for node in checked.inputs.values() if node.properties.streaming)
        if stream.properties.ordered:
            raise missing_time(stream, "a join with a stream", place)
        raise ProgrammingError(
            f"a join with a stream needs the event time of {stream.properties.name}",
            place,
            "declare the stream with WATERMARK FOR, and keep that column unchanged in the subquery",
        )

    def _compared(self, item: exp.Expr) -> list[str]:
        """Return the columns of a relation that conditions compare with others and that may be event times."""
        alias = item.alias_or_name.lower()
        comparisons = self.select.find_all(exp.Between, exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
        columns = [column for part in comparisons for column in part.find_all(exp.Column)]
        return list(dict.fromkeys(column.name.lower() for column in columns if column.table.lower() == alias))

    def _replace(
        self,
        sides: Mapping[str, _JoinSide],
        read: tuple[_JoinSide, _JoinSide],
        rest: list[exp.Expr],
        last: bool,
        join: Callable[[str, tuple[Node, ...], Columns], IntervalJoin | AsOfJoin],
    ) -> None:
        """Let the SELECT read a join.

        sides: those that come out; read: those that it reads; rest: what WHERE still asks.
        join:  makes it of its name, its inputs and the columns that it gives, followed by the later event time.
        """
        name, select = f"{_NAME}{len(self.nodes)}", self.select
        _check_times(*read, self.place)
        select.set("from_", exp.From(this=relation(name)))
        select.set("joins", select.args["joins"][1:])
        select.set("where", exp.Where(this=exp.and_(*(part.copy() for part in rest))) if rest else None)
        made = join(name, tuple(next(iter(side.rows.values())) for side in read), self._rename(name, sides))
        self.nodes[name] = made
        if last:
            self.made.append(made)

    def _rename(self, name: str, sides: Mapping[str, _JoinSide]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Let the SELECT read the columns of the join in place of those of the sides; return which of each it reads."""
        times = {exp.column(next(iter(side.rows)), table=side.alias) for side in sides.values()}
        for call in list(self.select.find_all(exp.Greatest)):
            if {_lower(argument) for argument in (call.this, *call.expressions)} == times and len(times) == 2:
                call.replace(exp.column(LATER, table=name))
        columns_of: dict[str, dict[str, None]] = {LEFT: {}, RIGHT: {}}
        for column in list(self.select.find_all(exp.Column)):
            for prefix, side in sides.items():
                if self._means(column, side):
                    before = column.name.lower()
                    columns_of[prefix][before] = None
                    spellings = self.written_names[name, prefix + before] = self._written_name(side.alias, before)
                    stand_in(column, spellings)
                    column.set("this", _placed(exp.to_identifier(prefix + before, quoted=True), column))
                    column.set("table", exp.to_identifier(name))
                    break
        return tuple(columns_of[LEFT]), tuple(columns_of[RIGHT])

    def _means(self, column: exp.Column, side: _JoinSide) -> bool:
        """Tell whether a column below the SELECT is one of the side, not of a relation of that name further in."""
        rows = next(iter(side.rows.values()))
        names = {definition.name.lower() for definition in rows.properties.columns}
        if column.table.lower() != side.alias or column.name.lower() not in names:
            return False
        inner = column.parent_select
        while inner is not None and inner is not self.select:
            if isinstance(inner, exp.Select) and side.alias in (i.alias_or_name.lower() for i in relations(inner)):
                return False
            inner = inner.parent_select
        return True


def _refuse_others(on: Iterable[exp.Expr], sides: set[str], place: Span) -> None:
    """Refuse an ON that reads a relation which is joined later, as a name without its table may after USING."""
    for part in on:
        other = next((c for c in part.find_all(exp.Column) if c.table.lower() not in sides), None)
        if other is not None:
            raise ProgrammingError(
                f"ON reads {other.table}, which is joined later",
                place,
                "write the table before the name of each column",
            )


def _check_times(left: _JoinSide, right: _JoinSide, place: Span) -> None:
    kinds = [next(iter(side.rows.values())).properties.event_time_type.lower() for side in (left, right)]
    if kinds[0] != kinds[1] or not kinds[0].startswith("timestamp"):
        raise NotSupportedError(
            f"a join of streams whose event times are {kinds[0].upper()} and {kinds[1].upper()} is not supported",
            place,
            "two TIMESTAMP, or two TIMESTAMP_NTZ, are",
        )


def _time(rows: Sql) -> str:
    return rows.properties.event_time.column.lower()


def _of_pair(condition: exp.Expr, left: str, right: str) -> exp.Expr:
    """Return a condition on pairs with LEFT and RIGHT as the names of the sides."""
    names = {left: LEFT, right: RIGHT}
    copy = copied(condition)
    for column in copy.find_all(exp.Column):
        column.set("table", exp.to_identifier(names[column.table.lower()]))
    return copy


def _plain_keys(keys: Iterable[tuple[exp.Expr, exp.Expr]]) -> tuple[tuple[exp.Expr, exp.Expr], ...]:
    return tuple((without_tables(one), without_tables(other)) for one, other in keys)


def _placed(name: exp.Identifier, column: exp.Column) -> exp.Identifier:
    """Return a new name for a column, with its place in the text."""
    name.meta.update(column.this.meta)
    return name


def _lower(expression: exp.Expr) -> exp.Expr:
    if not isinstance(expression, exp.Column):
        return expression
    return exp.column(expression.name.lower(), table=expression.table.lower())
