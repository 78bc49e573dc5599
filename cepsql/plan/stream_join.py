"""A join of two streams within a time, below a MATCH_RECOGNIZE, becomes an ordered operator."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from cepsql.analysis.plain_sql import conjuncts
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import catalog_tables, flat_name, resolve, table_name
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.operators.interval_join import LEFT, RIGHT
from cepsql.plan.join_condition import JoinCondition, only_side, split_condition
from cepsql.plan.markers import inline_ctes, join_kind
from cepsql.plan.nodes import JOIN_NAME, LATER, IntervalJoin, Node, Sql, missing_time
from cepsql.plan.reader import Reader
from cepsql.plan.rules.inline_views import inline_views

_WITH_TABLES = ("INNER", "CROSS", "LEFT", "LEFT SEMI", "LEFT ANTI", "SEMI", "ANTI")


def join_streams(clause: Reader, below: Sql) -> Sql:
    """Return the input of a match with its join of two streams as an ordered operator; an input without one as it is.

    Of the two event times the pairs are followed by the one that the clause orders by.
    Raises NotSupportedError for joins that cannot be run so, and ProgrammingError for names that mean nothing.
    """
    inlined = {n: node if node.properties.ordered else inline_views(node) for n, node in below.inputs.items()}
    flat = replace(below, inputs=inlined)
    # Only the views that this query names are left to put in place.
    if not any(node.properties.ordered for node in inlined.values()):
        views = inline_views(flat)
        assert isinstance(views, Sql)
        flat = views
    resolved = resolve(inline_ctes(flat.query), lambda table: flat.inputs[table_name(table)].properties)
    nodes = {flat_name(name): node for name, node in flat.inputs.items()}
    number = _joining_select(resolved.qualified, _streams(nodes), clause.span)
    if number is None:
        return below
    join = _join(list(resolved.qualified.find_all(exp.Select))[number], nodes, clause.span)
    choices = [_over(resolved.qualified, number, join, nodes, time) for time in (LEFT, RIGHT, LATER)]
    timely = [query for query in choices if query.properties.watermark is not None]
    first = clause.order_by[0].this.name.lower() if clause.order_by else None
    asked = [query for query in timely if query.properties.event_time.column.lower() == first]
    return (asked or timely or choices)[0]


@dataclass(frozen=True)
class _Side:
    """One of the joined streams: its rows, its name in the query, and its event time, lower case."""

    rows: Sql
    alias: str
    time: str

    @property
    def columns(self) -> set[str]:
        return {column.name.lower() for column in self.rows.properties.columns}

    @property
    def time_type(self) -> str:
        return self.rows.properties.event_time_type.lower()

    def where(self, conditions: Iterable[exp.Expr]) -> "_Side":
        """Return the side without the rows that fail a condition."""
        query = self.rows.query
        for condition in conditions:
            query = query.where(condition.copy())
        return replace(self, rows=replace(self.rows, query=query))


@dataclass(frozen=True)
class _Join:
    """A join of two streams within a SELECT.

    sides:  the left and the right stream, without the rows that conditions on one of them leave out.
    places: where they stand in FROM and its JOINs.
    keys:   pairs of expressions that must be equal.
    where:  what must hold of pairs.
    outer:  it is a LEFT JOIN.
    """

    sides: tuple[_Side, _Side]
    places: tuple[int, int]
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    low: int
    high: int
    where: tuple[exp.Expr, ...]
    outer: bool


def _joining_select(query: exp.Query, streams: Collection[str], place: Span | None) -> int | None:
    """Return the number of the SELECT that joins two streams, None if there is none or it is a branch of a UNION."""
    counted = _uses_by_part(query, streams)
    for number, select in enumerate(query.find_all(exp.Select)):
        uses = [counted[id(item)] for item in _items(select)]
        if sum(map(bool, uses)) < 2:
            continue
        if select.find_ancestor(exp.SetOperation) is not None:
            return None
        if max(uses) > 1 and any(item.find(exp.SetOperation) for item in _items(select) if counted[id(item)]):
            raise NotSupportedError("a UNION in a join of streams before MATCH_RECOGNIZE is not supported", place)
        if sum(uses) > 2 or counted[id(query)] > 2:
            raise NotSupportedError("a join of more than two streams before MATCH_RECOGNIZE is not supported", place)
        return number
    return None


def _join(select: exp.Select, nodes: Mapping[str, Node], place: Span | None) -> _Join:
    joins, items = select.args.get("joins") or [], _items(select)
    first, second = (i for i, item in enumerate(items) if _uses(item, _streams(nodes)))
    joined = joins[second - 1]
    place, kind = span_of(joined, place), join_kind(joined)
    _check_kinds(select, (first, second), place)
    left, right = _side(items[first], nodes, place), _side(items[second], nodes, place)
    if kind == "RIGHT":
        left, right = right, left
    if left.time_type != right.time_type or not left.time_type.startswith("timestamp"):
        raise NotSupportedError(
            f"a join of streams whose event times are {left.time_type.upper()} and {right.time_type.upper()} is not "
            "supported before MATCH_RECOGNIZE",
            place,
            "two TIMESTAMP, or two TIMESTAMP_NTZ, are",
        )
    on = conjuncts(joined.args.get("on"))
    where = conjuncts(select.args["where"].this) if select.args.get("where") else []
    if first:
        where += conjuncts(joins[first - 1].args.get("on"))
    outer = kind in ("LEFT", "RIGHT")
    if not outer:
        on, where = on + where, []
    condition = split_condition(on, {side.alias: side.time for side in (left, right)}, place)
    if not outer:
        sides = left.where(condition.own[0]), right.where(condition.own[1])
        return _of(condition, sides, (first, second), condition.keys, condition.further, False)
    if condition.further:
        raise NotSupportedError(
            f"a condition on pairs of rows in the ON of a {kind} JOIN before MATCH_RECOGNIZE is not supported",
            span_of(condition.further[0], place),
            "equal values, a time between the rows of less than a day, and conditions on one of the streams are",
        )
    kept = [part for part in where if only_side(part, [left.alias]) is not None]
    sides = left.where(kept), right.where(condition.own[1])
    # A row that fails a condition of ON meets nobody, and comes out all the same.
    meets = exp.and_(*condition.own[0]) if condition.own[0] else None
    keys = tuple((exp.case().when(meets, one) if meets is not None else one, other) for one, other in condition.keys)
    return _of(condition, sides, (first, second), keys, [part for part in where if part not in kept], True)


def _of(condition: JoinCondition, sides: tuple, places: tuple, keys: tuple, where: Iterable, outer: bool) -> _Join:
    return _Join(sides, places, keys, condition.low, condition.high, tuple(where), outer)


def _check_kinds(select: exp.Select, places: tuple[int, int], place: Span | None) -> None:
    """Refuse joins that could not be taken out of their order, and those of which a row is never known to be lost."""
    joins = select.args.get("joins") or []
    kinds = {number: join_kind(join) for number, join in enumerate(joins, 1)}
    first, second = kinds.pop(places[0], "INNER"), kinds.pop(places[1])
    spoken = None
    if second not in ("INNER", "CROSS", "LEFT", "RIGHT"):
        spoken = f"{second} JOIN of two streams"
    elif second == "RIGHT" and kinds:
        spoken = "RIGHT JOIN of two streams beside tables"
    elif first not in ("INNER", "CROSS"):
        spoken = f"{first} JOIN of a table with the first of two streams"
    elif wrong := [kind for kind in kinds.values() if kind not in _WITH_TABLES]:
        spoken = f"{wrong[0]} JOIN of a table with two joined streams"
    elif select.args.get("laterals") or any(isinstance(join.this, exp.Lateral) for join in joins):
        spoken = "LATERAL beside a join of streams"
    if spoken is not None:
        raise NotSupportedError(f"{spoken} before MATCH_RECOGNIZE is not supported", place, "JOIN and LEFT JOIN are")


def _side(item: exp.Expr, nodes: Mapping[str, Node], place: Span | None) -> _Side:
    names = dict.fromkeys(table_name(table) for table in catalog_tables(item))
    side = Sql(exp.select("*").from_(item.copy()), {name: nodes[name] for name in names})
    if side.properties.watermark is None:
        stream = next(node for node in side.inputs.values() if node.properties.streaming)
        if stream.properties.ordered:
            raise missing_time(stream, "a join with a stream", place)
        raise ProgrammingError(
            f"a join with a stream needs the event time of {stream.properties.name}",
            place,
            "declare the stream with WATERMARK FOR, and keep that column as it is in the subquery",
        )
    return _Side(side, item.alias_or_name.lower(), side.properties.event_time.column.lower())


def _over(query: exp.Query, number: int, join: _Join, nodes: Mapping[str, Node], time: str) -> Sql:
    """Return the query over the pairs, which are followed by a time: LEFT, RIGHT or LATER."""
    query = query.copy()
    select = list(query.find_all(exp.Select))[number]
    tables = [part for i, part in enumerate(select.args["joins"], 1) if i not in join.places]
    if 0 not in join.places:
        tables.insert(0, exp.Join(this=select.args["from_"].this, kind="CROSS"))
    select.set("from_", exp.From(this=exp.to_table(JOIN_NAME)))
    select.set("joins", tables)
    select.set("where", exp.Where(this=exp.and_(*join.where)) if join.where else None)
    given = _rename(select, join)
    pairs = IntervalJoin(
        tuple(side.rows for side in join.sides),
        tuple((_plain(one), _plain(other)) for one, other in join.keys),
        join.low,
        join.high,
        given,
        time,
        join.outer,
    )
    names = dict.fromkeys(table_name(table) for table in catalog_tables(query))
    return Sql(query, {name: pairs if name == JOIN_NAME else nodes[name] for name in names})


def _rename(select: exp.Select, join: _Join) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Let a SELECT read the columns of the pairs in place of those of the sides; return which of each side it reads."""
    left, right = join.sides
    times = {exp.column(side.time, table=side.alias) for side in join.sides}
    for call in list(select.find_all(exp.Greatest)):
        if {_lower(argument) for argument in (call.this, *call.expressions)} == times and len(call.expressions) == 1:
            call.replace(exp.column(LATER, table=JOIN_NAME))
    given: dict[str, dict[str, None]] = {LEFT: {}, RIGHT: {}}
    for column in list(select.find_all(exp.Column)):
        for prefix, side in ((LEFT, left), (RIGHT, right)):
            if _means(column, side, select):
                name = column.name.lower()
                given[prefix][name] = None
                column.set("this", exp.to_identifier(prefix + name, quoted=True))
                column.set("table", exp.to_identifier(JOIN_NAME))
    return tuple(given[LEFT]), tuple(given[RIGHT])


def _means(column: exp.Column, side: _Side, select: exp.Select) -> bool:
    """Tell whether a column below the SELECT is one of the side, not of a relation of that name further in."""
    if column.table.lower() != side.alias or column.name.lower() not in side.columns:
        return False
    inner = column.parent_select
    while inner is not None and inner is not select:
        if side.alias in (item.alias_or_name.lower() for item in _items(inner)):
            return False
        inner = inner.parent_select
    return True


def _plain(expression: exp.Expr) -> exp.Expr:
    """Return an expression over the columns of one side without the side's name."""
    copy = expression.copy()
    for column in list(copy.find_all(exp.Column)):
        column.set("table", None)
    return copy


def _lower(expression: exp.Expr) -> exp.Expr:
    if not isinstance(expression, exp.Column):
        return expression
    return exp.column(expression.name.lower(), table=expression.table.lower())


def _items(select: exp.Select) -> list[exp.Expr]:
    """Return the relations of FROM and its JOINs."""
    if select.args.get("from_") is None:
        return []
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]


def _streams(nodes: Mapping[str, Node]) -> set[str]:
    return {name for name, node in nodes.items() if node.properties.streaming}


def _uses_by_part(query: exp.Query, streams: Collection[str]) -> Counter[int]:
    """Return `_uses` of every part of a query, by its id."""
    counted: Counter[int] = Counter()
    for table in catalog_tables(query):
        part: exp.Expr | None = table if table_name(table) in streams else None
        while part is not None:
            counted[id(part)] += 1
            part = part.parent
    return counted


def _uses(part: exp.Expr, streams: Collection[str]) -> int:
    """Count how often streams are named in a part of a query."""
    return sum(table_name(table) in streams for table in catalog_tables(part))
