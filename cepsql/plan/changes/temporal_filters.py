"""Conditions on the time of now over a table that changes: what they ask of the operator that lets rows leave."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.valid_times import (
    HINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    asking_parts,
    clock_call,
    is_arrival,
    is_clock,
    valid_times,
)
from cepsql.analysis.sql.plain_sql import conjuncts, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.rewriting.temporal_joins import temporal_call
from cepsql.plan.joins.join_condition import without_parts
from cepsql.plan.operators.temporal_filter import ENTER, LEAVE, TemporalFilter
from cepsql.plan.tree.clock import Clock
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.markers import join_kind
from cepsql.plan.tree.nodes import Node, Ordered, Sql, reads, walk
from cepsql.plan.tree.rows_below import RowsBelow

_CLAUSES = ("where", "having", "qualify")


@dataclass(frozen=True)
class Now:
    """What the time of now is in a query.

    kind: the type that its times have.
    """

    clock: Clock
    kind: str


def asks_now(root: Node) -> bool:
    """Tell whether a condition of a query over a stream asks the time of now."""
    return next(_asking(root), None) is not None


def now_of(root: Node, place: Span) -> Now | None:
    """Return what the time of now is in a query over streams, None if no condition asks it.

    It is the watermark where all streams have one, else, and for PROCTIME(), the system clock.
    Raises ProgrammingError where the query asks for both, and NotSupportedError for event times that are no times.
    """
    parts = list(_asking(root))
    if not parts:
        return None
    calls = [node for part in parts for node in part.walk() if is_clock(node)]
    arrival = [call for call in calls if is_arrival(call)]
    if arrival and len(arrival) < len(calls):
        other = next(call for call in calls if not is_arrival(call))
        raise ProgrammingError(
            f"{sql_of(other)} goes by the event time, PROCTIME() by the clock of the machine",
            span_of(arrival[0], place) or place,
            "use one of both in a query",
        )
    streams = [relation for relation in reads(root) if relation.streaming]
    if arrival or any(stream.watermark is None for stream in streams):
        return Now(Clock.ARRIVAL, TIMESTAMP)
    kinds = {}
    for stream in streams:
        assert stream.watermark is not None
        time = stream.watermark.column.lower()
        kind = next((c.type.lower() for c in stream.columns if c.name.lower() == time), "")
        kinds[{"timestamp": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ, "date": TIMESTAMP_NTZ}.get(kind, kind)] = stream
    if len(kinds) > 1 or not kinds.keys() <= {TIMESTAMP, TIMESTAMP_NTZ}:
        clocks = " and ".join(f"{stream.name} by {kind.upper()}" for kind, stream in kinds.items())
        raise NotSupportedError(
            f"{sql_of(calls[0])} over {clocks} is not supported",
            span_of(calls[0], place) or place,
            "PROCTIME() goes by the clock of the machine",
        )
    return Now(Clock.EVENT_TIME, next(iter(kinds)))


def _asking(root: Node) -> Iterator[exp.Expr]:
    """Yield the conditions over streams that ask the time of now."""
    for node in walk(root):
        if isinstance(node, Sql):
            asking = [part for select in node.query.find_all(exp.Select) for part in asking_conditions(select)]
            # What is known of a node that is not planned yet may be an error, and is asked of few.
            if asking and node.properties.streaming:
                yield from asking


def asking_conditions(select: exp.Select) -> list[exp.Expr]:
    """Return the conditions of a SELECT that ask the time of now, those that must all hold each by itself."""
    conditions = [select.args[clause].this for clause in _CLAUSES if select.args.get(clause)]
    for item in relations(select):
        if isinstance(item.parent, exp.Join):
            conditions += [part for part in conjuncts(item.parent.args.get("on")) if not temporal_call(part)]
    return [part for condition in conditions for part in asking_parts(condition)]


def refuse_now(part: exp.Expr, place: Span) -> None:
    """Raise NotSupportedError for a part of a query over a table that changes which asks the time of now."""
    call = clock_call(part)
    if call is not None:
        raise NotSupportedError(
            f"{sql_of(without_tables(call))} over a table that changes is not supported here",
            span_of(call, span_of(part, place)) or place,
            f"the result would change all the time; {HINT}",
        )


def timed_select(
    select: exp.Select, now: Now, name: str, changes: Callable[[exp.Select], Sql], place: Span
) -> tuple[TemporalFilter, exp.Select]:
    """Return the operator for the conditions in WHERE that ask the time of now, and the SELECT over it.

    name:    what that calls the operator.
    changes: makes the node of a SELECT that gives changes.
    Raises NotSupportedError for conditions by which rows do not leave by time.
    """
    parts, asking = conjuncts(select.args["where"].this), asking_parts(select.args["where"].this)
    for part in asking:
        if part.find(exp.Query) is not None:
            raise NotSupportedError(
                f"a subquery in {sql_of(without_tables(part))} is not supported",
                span_of(part, place) or place,
                "join its value, and compare the column with the time of now",
            )
    times = valid_times(asking, now.kind, place)
    columns = RowsBelow(frozenset({OPERATION, IDENTITY, CHANGE, ENTER, LEAVE}))
    items = [
        exp.alias_(columns.replace_in(item.unalias().copy(), name), item.alias_or_name, quoted=True)
        for item in select.expressions
    ]
    inner = columns.select(select)
    bounds = [*times.enters, *times.leaves]
    # A row whose time is unknown is never there.
    not_null = [exp.not_(bound.copy().is_(exp.null())) for bound in bounds]
    rest = [part.copy() for part in (*without_parts(parts, asking), *times.others)]
    inner.set("where", exp.Where(this=exp.and_(*rest, *not_null)))
    if times.enters:
        inner = inner.select(exp.alias_(_extreme(exp.Greatest, times.enters), ENTER))
    if times.leaves:
        inner = inner.select(exp.alias_(_extreme(exp.Least, times.leaves), LEAVE))
    texts = tuple(sql_of(without_tables(part)) for part in asking)
    rows = changes(inner)
    node = TemporalFilter(name, (rows,), bool(times.enters), bool(times.leaves), now.clock, texts)
    return node, exp.select(*items).from_(exp.to_table(name))


def with_asking_branches(select: exp.Select) -> exp.Select:
    """Return a SELECT in which conditions that ask the time of now of a UNION ALL stand in its branches: each stream
    tells its own time."""
    joins = select.args.get("joins") or []
    asking = asking_parts(select.args["where"].this) if select.args.get("where") else []
    if not asking or any(join_kind(join) not in ("INNER", "CROSS") for join in joins):
        return select
    copy = select.copy()
    parts = conjuncts(copy.args["where"].this)
    for item in relations(copy):
        union, alias = item.this, item.alias_or_name
        mine = [part for part in parts if clock_call(part) is not None and _reads_only(part, alias)]
        if not mine or not isinstance(union, exp.Union) or union.args.get("distinct") or item.alias_column_names:
            continue
        names = [one.alias_or_name for one in union.selects]
        item.set("this", _asking_branch(union, names, alias, mine))
        parts = without_parts(parts, mine)
    copy.set("where", exp.Where(this=exp.and_(*(part.copy() for part in parts))) if parts else None)
    return copy


def _asking_branch(query: exp.Expr, names: list[str], alias: str, parts: list[exp.Expr]) -> exp.Query:
    """Return a branch of a UNION ALL with conditions over its columns, whose names in the first branch are given."""
    inner = query.unnest()
    assert isinstance(inner, exp.Query)
    if isinstance(inner, exp.Union) and not inner.args.get("distinct"):
        copy = inner.copy()
        copy.set("this", _asking_branch(inner.left, names, alias, parts))
        copy.set("expression", _asking_branch(inner.right, names, alias, parts))
        return copy
    own = [one.alias_or_name for one in inner.selects]
    renamed = dict(zip((name.lower() for name in names), own, strict=True))
    columns = [exp.alias_(exp.column(one, table=alias, quoted=True), name, quoted=True)
               for one, name in zip(own, names, strict=True)]  # fmt: skip
    branch = exp.select(*columns).from_(inner.copy().subquery(alias))
    for part in parts:
        condition = part.copy()
        for column in condition.find_all(exp.Column):
            column.set("this", exp.to_identifier(renamed[column.name.lower()], quoted=True))
        branch = branch.where(condition)
    return branch


def _reads_only(part: exp.Expr, alias: str) -> bool:
    columns = list(part.find_all(exp.Column))
    return bool(columns) and part.find(exp.Query) is None and all(c.table.lower() == alias.lower() for c in columns)


def without_clock(rows: Node) -> Node:
    """Return the rows of a stream without the operator that tells how far it is: their reader sees that itself."""
    if not isinstance(rows, Sql) or len(rows.inputs) != 1:
        return rows
    ((name, below),) = rows.inputs.items()
    if not isinstance(below, Sql) or len(below.inputs) != 1:
        return rows
    (clock,) = below.inputs.values()
    if not isinstance(clock, Ordered) or not clock.only_tells_time:
        return rows
    (stream,) = clock.inputs
    mark = stream.properties.watermark
    if mark is None or not isinstance(rows.query, exp.Select):
        return rows
    query = rows.query
    if mark.column.lower() not in {item.alias_or_name.lower() for item in query.selects}:
        alias = next(item.alias_or_name for item in relations(query) if item.name.lower() == name)
        query = query.select(exp.column(mark.column, table=alias, quoted=True))
    unclocked = Sql(query, {name: stream})
    return unclocked if unclocked.properties.watermark is not None else rows


def _extreme(function: type[exp.Expr], times: list[exp.Expr]) -> exp.Expr:
    first, *others = (time.copy() for time in times)
    return function(this=first, expressions=others) if others else first
