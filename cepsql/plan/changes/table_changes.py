"""A query with EMIT CHANGES over tables that change becomes operators over their changes."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.pair_conditions import check_pair_condition
from cepsql.analysis.clauses.valid_times import asking_parts, is_clock
from cepsql.analysis.row_pattern.aggregate_calls import own_aggregates
from cepsql.analysis.sql.fleeting import is_fleeting
from cepsql.analysis.sql.inner_stars import refuse_inner_stars
from cepsql.analysis.sql.plain_sql import (
    conjuncts,
    relation,
    spoken_type,
    sql_of,
    with_shared_equalities,
    without_tables,
)
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import Error, NotSupportedError, Span, answer, granted
from cepsql.language.notes import copied
from cepsql.language.rewriting.temporal_joins import temporal_call
from cepsql.operators.changing.retracting_groups import GroupCall
from cepsql.operators.pairing.interval_join import JoinKind
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.ordered.operator import Change
from cepsql.plan.changes.composed_aggregates import group_call, with_composed_aggregates
from cepsql.plan.changes.different_groups import different_groups, is_distinct_of_groups
from cepsql.plan.changes.framed_rows import framed_select, with_groups_below
from cepsql.plan.changes.labelled_changes import hidden_columns, labelled_query, numbered
from cepsql.plan.changes.nested_joins import with_plain_joins
from cepsql.plan.changes.rank_limits import with_rank_limits
from cepsql.plan.changes.ranked_selects import asks_one_rank, is_ranking, ranked_select
from cepsql.plan.changes.subquery_joins import SubqueryJoins
from cepsql.plan.changes.temporal_filters import (
    Now,
    asking_conditions,
    now_of,
    refuse_now,
    timed_select,
    with_asking_branches,
    without_clock,
)
from cepsql.plan.changes.values_below import has_subqueries, with_values_below
from cepsql.plan.changes.whole_partitions import with_whole_partitions
from cepsql.plan.changes.windows_of_rows import with_windows_of_rows
from cepsql.plan.groups.assigned_windows import refuse_group_by_all
from cepsql.plan.groups.window_groups import groups_windows, over_groups, window_call
from cepsql.plan.joins.chosen_groups import with_groups_chosen_first
from cepsql.plan.joins.implied_filters import implied_filters
from cepsql.plan.joins.join_condition import KINDS, SIDES, equal_sides, meeting_keys, only_side, without_parts
from cepsql.plan.joins.semi_joins import with_semi_joins
from cepsql.plan.joins.stream_joins import joined_events
from cepsql.plan.joins.tied_first import put_tied_first
from cepsql.plan.joins.value_joins import with_value_joins
from cepsql.plan.names.expand import put_in_place
from cepsql.plan.names.named_columns import with_columns_named
from cepsql.plan.operators.retracting_groups import ListedCall, RetractingGroups
from cepsql.plan.operators.table_join import TableJoin
from cepsql.plan.operators.temporal_filter import TemporalFilter
from cepsql.plan.operators.upserts import Upserts
from cepsql.plan.rows.top_rows import with_first_rows_ranked
from cepsql.plan.rows.window_functions import named_item, own_aggregate, window_calls
from cepsql.plan.rules.inline_views import inline_views
from cepsql.plan.tree.changelogs import is_changelog
from cepsql.plan.tree.clock import Clock
from cepsql.plan.tree.join_order import EACH_ROW, INNER, own_columns, relations, streams_first, used_rows
from cepsql.plan.tree.markers import join_kind
from cepsql.plan.tree.nodes import AddedRows, Node, Ordered, Read, Sql, is_stream, reads, sql_over, walk, with_known
from cepsql.plan.tree.reader import Checked, RowsAsTheyCome
from cepsql.plan.tree.rows_below import RowsBelow

_AFTER_TABLES = (*INNER, "RIGHT")
"""Joins that give each row of a table that changes by itself, where it stands after tables at rest; before them, those
of EACH_ROW do."""

_HIDDEN = (IDENTITY, CHANGE)
_ADDED = (ColumnDefinition(IDENTITY, "unknown"), ColumnDefinition(CHANGE, "tinyint"))
"""The hidden columns of rows that are only added."""

_ASKING = (exp.Func, exp.Window, exp.Dot, exp.Paren)
"""What may be a call."""

_CLAUSES = {
    "order": "ORDER BY", "sort": "SORT BY", "cluster": "CLUSTER BY", "limit": "LIMIT", "offset": "OFFSET",
    "qualify": "QUALIFY", "pivots": "PIVOT or UNPIVOT", "sample": "TABLESAMPLE",
}  # fmt: skip


def over_table_changes(root: Sql, place: Span, checked: Checked) -> Sql:
    """Return a whole query over operators that give out how its result changes, with OPERATION as the last column.

    checked: for joins of events within a time, whose rows are only added.
    Raises NotSupportedError for what cannot be computed from changes.
    """
    refreshed = [one for one in reads(root) if isinstance(one, Source) and one.refresh is not None]
    if refreshed:
        # A deletion would not find the row that an earlier reading gave.
        raise NotSupportedError(
            f"{refreshed[0].name} with REFRESH EVERY beside a table that changes is not supported",
            place,
            "let its changes come as a stream with a PRIMARY KEY",
        )
    flat = inline_views(root, windows=False)
    assert isinstance(flat, Sql)
    # What can be had without frames stays as checkpoints know it.
    plain = answer(lambda: _planned(flat, place, checked, frames=False))
    if isinstance(plain, NotSupportedError) and any(
        isinstance(node, Sql) and node.query.find(exp.Window) for node in walk(flat)
    ):
        return _planned(flat, place, checked, frames=True)
    return granted(plain)


def _planned(flat: Sql, place: Span, checked: Checked, frames: bool) -> Sql:
    """Return what `over_table_changes` does; `frames`: window functions other than ranks are computed, too."""
    nodes = {flat_name(name): node for name, node in flat.inputs.items()}
    planner = _TableChanges(nodes, place, checked, frames, now_of(flat, place))
    whole = with_columns_named(_outermost(flat.inlined.qualified), planner.nodes)
    names = [named_item(item).alias_or_name for item in whole.selects]
    query = _numbered(with_rank_limits(with_first_rows_ranked(whole, place), is_ranking), place)
    limit = query.args.pop("limit", None)
    return labelled_query(planner.rows(query), names, {"limit": limit})


@dataclass(frozen=True)
class _Pairing:
    """Which rows of two relations a join puts together, as of `TableJoin`."""

    kind: JoinKind
    keys: list[tuple[exp.Expr, exp.Expr]]
    null_safe: frozenset[int]
    condition: exp.Expr | None


class _Streams(Container[str]):
    """The names that mean streams."""

    def __init__(self, nodes: Mapping[str, Node]):
        self._nodes = nodes

    def __contains__(self, name: object) -> bool:
        node = self._nodes.get(name) if isinstance(name, str) else None
        return node is not None and is_stream(node)


@dataclass
class _TableChanges:
    """Makes nodes of the parts of a query.

    nodes: what the query reads, and the nodes made so far, by the names that SQL has for them.
    now:   the time of now, None if no row leaves by time.
    """

    nodes: dict[str, Node]
    place: Span
    checked: Checked
    frames: bool
    now: Now | None = None
    made: int = field(default=0)

    def rows(self, query: exp.Query) -> Sql:
        """Return plain SQL that gives the changes of a query's result, with IDENTITY and CHANGE."""
        query = with_first_rows_ranked(_outermost(query), self.place)
        if isinstance(query, exp.SetOperation):
            return self._union(query) if is_union_all(query) else self.rows(self._as_groups(query))
        assert isinstance(query, exp.Select)
        refuse_inner_stars(query, self.place)
        if self.now is not None:
            query = with_asking_branches(query)
        if query.args.get("from_") is None and self._reads_stream(query):
            # What it asks of streams is joined to a row.
            query = query.from_(exp.select(exp.alias_(exp.Literal.number(1), "__one")).subquery(self._name("__row")))
        query = with_plain_joins(query, self._name, self.place)
        query = self._with_window_rows(query)
        if not all(map(self._gives_events, filter(self._reads_stream, relations(query)))):
            query = with_windows_of_rows(query, self.nodes, self.place)
        if is_distinct_of_groups(query):
            query = different_groups(query, self._name("__different"))
        if self.frames and not groups_windows(query, self.nodes):
            query = with_groups_below(query, self._name)
        if window_calls(query) and has_subqueries(query):
            planned = answer(partial(self._selected, query))
            if not isinstance(planned, NotSupportedError):
                return granted(planned)
            query = with_values_below(query, self._name("__valued"))
        return self._selected(query)

    def _selected(self, query: exp.Select) -> Sql:
        """Return what `rows` does of a SELECT."""
        if not self._joins_events(query):
            query = with_groups_chosen_first(query, self._reads_stream)
        query = with_value_joins(with_semi_joins(query, self._streams), self._streams)
        query = self._without_subqueries(query)
        if not all(map(self._gives_events, filter(self._reads_stream, relations(query)))):
            query = with_whole_partitions(query, self._name, frozenset({OPERATION, *_HIDDEN}))
        query = self._of_events(query)
        self._check(query)
        if not any(map(self._reads_stream, relations(query))):
            for part in asking_conditions(query):
                refuse_now(part, self.place)
            name, names = self._added_rows(query), {item.alias_or_name.lower() for item in query.selects}
            return self._added(name, self.nodes[name], frozenset(names))
        if not window_calls(query):
            query = with_composed_aggregates(query, self._time(query), self.place)
        select = self._joined(query)
        while window_calls(select):
            select = self._over(select)
        if select.args.get("group") is not None or select.args.get("distinct") is not None or own_aggregates(select):
            return self._grouped(select)
        return self._changing(select)

    def _without_subqueries(self, select: exp.Select) -> exp.Select:
        """Return a SELECT that joins what its subqueries over streams give."""
        return SubqueryJoins(self._streams, self._name, self._is_never_null, self.place).without_subqueries(select)

    def _is_never_null(self, value: exp.Expr, select: exp.Select) -> bool:
        """Tell whether a value is a column of the primary key of a table that a SELECT reads, which has no NULL."""
        kinds = {join_kind(join) for join in select.args.get("joins") or []}
        if not isinstance(value, exp.Column) or kinds & {"LEFT", "RIGHT", "FULL"}:
            return False
        item = next((one for one in relations(select) if one.alias_or_name.lower() == value.table.lower()), None)
        node = self.nodes.get(item.name.lower()) if isinstance(item, exp.Table) else None
        if node is None or not is_changelog(node) or not isinstance(node, Read):
            return False
        return value.name.lower() in {name.lower() for name in getattr(node.relation, "key", ())}

    def _with_window_rows(self, select: exp.Select) -> exp.Select:
        """Return a SELECT with subqueries in place of rows in windows of event time."""
        names = [item.name.lower() for item in relations(select) if isinstance(item, exp.Table)]
        windowed = {name: node for name in names if isinstance(node := self.nodes.get(name), Sql) and node.windows}
        if not windowed:
            return select
        copy = copied(select)
        for item in relations(copy):
            if not isinstance(item, exp.Table) or item.name.lower() not in windowed:
                continue
            node = windowed[item.name.lower()]
            self.nodes.update({flat_name(name): below for name, below in node.inputs.items()})
            put_in_place(item, copied(node.inlined.qualified), [])
        return copy

    def _check(self, select: exp.Select) -> None:
        ranked = [id(call) for call in window_calls(select)]
        for clause, words in _CLAUSES.items():
            if select.args.get(clause) and not (ranked and clause == "qualify"):
                raise self._refused(select.args[clause], words)
        own = [*select.expressions, select.args.get("qualify"), *(select.args.get("windows") or [])]
        planned = {id(call) for part in own if part is not None for call in part.find_all(exp.Window)}
        by_time = {id(part) for condition in asking_conditions(select) for part in condition.walk()}
        for part in self._own_parts(select):
            if not isinstance(part, _ASKING):
                continue
            if is_clock(part) and id(part) in by_time:
                continue
            if is_clock(part) and (self.now is not None or is_fleeting(part)):
                refuse_now(part, self.place)
            if isinstance(part, exp.Window) and id(part) not in planned:
                raise self._refused(part, "a window function here")
            if window_call(part) is not None:
                raise self._refused(part, "a window of event time")
            if is_fleeting(part):
                raise self._refused(part, sql_of(without_tables(part)))
        for item in relations(select):
            for clause in ("pivots", "sample"):
                if item.args.get(clause):
                    raise self._refused(item, _CLAUSES[clause])
            if any(map(temporal_call, _asked_in_on(item))):
                raise self._refused(item, "a join with the nearest row, or with a version,")

    def _check_uses(self, select: exp.Select, item: exp.Expr) -> None:
        """Refuse streams elsewhere than in the relation that changes."""
        inside = {id(table) for table in item.find_all(exp.Table)}
        for table in catalog_tables(select):
            if id(table) not in inside and table_name(table) in self._streams:
                part = "a condition" if table.find_ancestor(exp.Where, exp.Join, exp.Filter) else "SELECT"
                raise NotSupportedError(
                    f"a stream in a subquery of {part} over a table that changes is not supported",
                    span_of(table, self.place),
                    "join its value: FROM t JOIN (SELECT MAX(x) AS most FROM s) AS m ON t.x > m.most; "
                    "EXISTS, NOT EXISTS and IN ask for rows",
                )

    def _own_parts(self, select: exp.Select) -> Iterable[exp.Expr]:
        """Yield the parts of a SELECT that stand in none of its relations."""
        for name, part in select.args.items():
            for one in part if isinstance(part, list) else [part]:
                if isinstance(one, exp.Join) and one.args.get("on") is not None:
                    yield from one.args["on"].walk()
                elif isinstance(one, exp.Expr) and name not in ("from_", "joins"):
                    yield from one.walk()

    def _refused(self, part: exp.Expr | list, construct: str) -> NotSupportedError:
        place = span_of(part[0] if isinstance(part, list) else part, self.place)
        return NotSupportedError(
            f"{construct} over a table that changes is not supported",
            place,
            "filters, computed columns, UNION ALL, joins by equal keys, GROUP BY and DISTINCT are",
        )

    def _as_groups(self, query: exp.SetOperation) -> exp.Select:
        """Return a UNION, INTERSECT or EXCEPT that is not one of all rows of both sides as groups of these rows."""
        name, side = self._name("__both"), "__side"
        branches = []
        for number, part in enumerate((query.left, query.right)):
            marked = exp.alias_(exp.Literal.number(number), side)
            inner = _numbered(part, self.place)
            columns = [exp.column(f"__{i}", table=name) for i in range(len(inner.selects))]
            branches.append(exp.select(*columns, marked).from_(inner.subquery(name)))
        both = exp.union(*branches, distinct=False).subquery(name)
        keys = [exp.column(f"__{i}", table=name) for i in range(len(query.selects))]
        named = [exp.alias_(copied(key), item.alias_or_name, quoted=True)
                 for key, item in zip(keys, query.selects, strict=True)]  # fmt: skip
        if not query.args.get("distinct"):
            return self._repeated(exp.select(*keys).from_(both).group_by(*keys), named, query)
        groups = exp.select(*named).from_(both).group_by(*keys)
        marked = exp.column(side, table=name)
        match query:
            case exp.Intersect():
                return groups.having(
                    exp.EQ(this=exp.Max(this=marked), expression=exp.Literal.number(1)),
                    exp.EQ(this=exp.Min(this=copied(marked)), expression=exp.Literal.number(0)),
                )
            case exp.Except():
                return groups.having(exp.EQ(this=exp.Max(this=marked), expression=exp.Literal.number(0)))
        return groups

    def _repeated(self, groups: exp.Select, named: list[exp.Expr], query: exp.SetOperation) -> exp.Select:
        """Return each row of an INTERSECT ALL or EXCEPT ALL as often as it is there."""
        name, copies = groups.args["from_"].this.alias, "__copies"
        left, right = (
            exp.CountIf(this=exp.EQ(this=exp.column("__side", table=name), expression=exp.Literal.number(side)))
            for side in range(2)
        )
        number: exp.Expr = exp.Least(this=left, expressions=[right])
        if isinstance(query, exp.Except):
            number = exp.Greatest(this=exp.Sub(this=left, expression=right), expressions=[exp.Literal.number(0)])
        counted = groups.select(exp.alias_(exp.cast(number, "int"), copies)).subquery(name)
        every = exp.func("array_repeat", exp.true(), exp.column(copies, table=name), dialect="spark")
        alias = exp.TableAlias(this=exp.to_identifier("__copy"), columns=[exp.to_identifier("__one")])
        outer = exp.select(*named).from_(counted)
        outer.set("laterals", [exp.Lateral(this=exp.Explode(this=every), view=True, outer=False, alias=alias)])
        return outer

    def _union(self, union: exp.SetOperation) -> Sql:
        branches = []
        for part in (_outermost(union.left), _unlike(_outermost(union.right))):
            branches.append(self._rows_below(part, frozenset(item.alias_or_name.lower() for item in part.selects)))
        names = [column.name for column in branches[0].properties.columns if column.name not in _HIDDEN]
        parts = []
        for number, branch in enumerate(branches):
            name = self._enter("__branch", branch)
            own = [column.name for column in branch.properties.columns if column.name not in _HIDDEN]
            columns = [exp.alias_(exp.column(c, table=name, quoted=True), n, quoted=True)
                       for c, n in zip(own, names, strict=True)]  # fmt: skip
            identity = exp.func("concat", exp.Literal.string(f"{number} "), exp.column(IDENTITY, table=name))
            columns += [exp.alias_(identity, IDENTITY), exp.column(CHANGE, table=name)]
            parts.append(exp.select(*columns).from_(relation(name)))
        return self._sql(exp.union(*parts, distinct=False))

    def _of_events(self, select: exp.Select) -> exp.Select:
        """Return a SELECT over one relation in place of streams of events that it joins within a time.

        The same one if it joins none such: without a bound the join keeps their rows.
        """
        if not self._joins_events(select):
            return select
        outer = copied(select)
        for part in ("from_", "joins", "where"):
            outer.set(part, None)
        names: dict[tuple[str, str], exp.Identifier] = {}
        columns = own_columns(outer)
        for column in columns:
            key = column.table.lower(), column.name.lower()
            taken = {name.name for name in names.values()}
            own = key[1] if key[1] not in taken else f"{key[0]}__{key[1]}"
            names.setdefault(key, exp.to_identifier(own, quoted=True))
            column.set("this", copied(names[key]))
        renamed = [exp.alias_(exp.column(name, table=table, quoted=True), new) for (table, name), new in names.items()]
        items = renamed or [exp.alias_(exp.Literal.number(1), "__one")]
        events = joined_events(select, items, self.nodes, self.checked, self.place)
        if isinstance(events, Error):
            return select
        name = self._enter("__events", events)
        for column in columns:
            column.set("table", exp.to_identifier(name))
        outer.set("from_", exp.From(this=relation(name)))
        return outer

    def _joins_events(self, select: exp.Select) -> bool:
        """Tell whether a SELECT joins streams of events that have an event time, and nothing that changes."""
        items = [item for item in relations(select) if self._reads_stream(item)]
        # What is looked up in a table that changes is its row of that time.
        read = [item for item in items if not any(map(temporal_call, _asked_in_on(item)))]
        return len(items) > 1 and not any(map(self._has_no_time, read)) and all(map(self._gives_events, read))

    def _has_no_time(self, item: exp.Expr) -> bool:
        """Tell whether a relation is a stream that is declared without an event time."""
        node = self.nodes.get(table_name(item)) if isinstance(item, exp.Table) else None
        return isinstance(node, Read) and node.properties.watermark is None

    def _gives_events(self, item: exp.Expr) -> bool:
        """Tell whether the rows of a relation stay as they are."""
        nodes = [below for table in catalog_tables(item) for below in walk(self.nodes[table_name(table)])]
        if any(is_changelog(node) or node.properties.changes for node in nodes):
            return False
        parts = item.find_all(exp.Group, exp.AggFunc, exp.Distinct, exp.Window)
        selects = [part.find_ancestor(exp.Select) for part in parts if not isinstance(part, exp.Window)]
        windowed = all(select is not None and groups_windows(select, self.nodes) for select in selects)
        return windowed and item.find(exp.Window) is None

    def _added_rows(self, query: exp.Query) -> str:
        """Return the name of a node that adds the rows of a query over tables at rest."""
        name = self._name("__added")
        self.nodes[name] = AddedRows(name, self._sql(query))
        return name

    def _joined(self, select: exp.Select) -> exp.Select:
        """Return a new SELECT that reads changes once, and tables that do not change."""
        joined = answer(lambda: self._joined_at_rest(select))
        added = self._with_added_rows(select) if isinstance(joined, NotSupportedError) else None
        return granted(joined) if added is None else self._joined_at_rest(added)

    def _with_added_rows(self, select: exp.Select) -> exp.Select | None:
        """Return a SELECT that reads the rows of tables at rest as ones that are added; None if it reads no such
        table."""
        copy = copied(select)
        tables = [
            item for item in relations(copy) if not self._reads_stream(item) and not isinstance(item, exp.Lateral)
        ]
        for item in tables:
            added = relation(self._added_rows(used_rows(copy, item)))
            item.replace(exp.alias_(added, item.alias_or_name, table=True))
        return copy if tables else None

    def _joined_at_rest(self, select: exp.Select) -> exp.Select:
        """Return a new SELECT that reads changes once, and tables at rest beside it."""
        select = copied(select)
        # Each join puts one stream in place of two.
        for _ in range(sum(map(self._reads_stream, relations(select))) - 1):
            streams = streams_first(select, self._reads_stream)
            select = self._join(put_tied_first(streams, self._reads_stream))
        joins = select.args.get("joins")
        if not joins:
            return select
        place = next(i for i, item in enumerate(relations(select)) if self._reads_stream(item))
        for number, join in enumerate(joins, 1):
            allowed = _AFTER_TABLES if number == place else EACH_ROW
            if number >= place and join_kind(join) not in allowed:
                raise self._refused(join, f"{join_kind(join)} JOIN with a table at rest")
        return select

    def _join(self, select: exp.Select) -> exp.Select:
        """Put an operator in place of the first two relations, which both change; the SELECT is changed."""
        joined = select.args["joins"][0]
        kind, (left, right) = join_kind(joined), relations(select)[:2]
        if kind not in KINDS or joined.args.get("using") or joined.args.get("method"):
            raise self._refused(joined, f"{' '.join(filter(None, (joined.method, kind)))} JOIN")
        swapped = kind == "RIGHT"
        if swapped:
            left, right = right, left
        on = conjuncts(joined.args.get("on"))
        where = conjuncts(select.args["where"].this) if select.args.get("where") else []
        plain = all(join_kind(join) in EACH_ROW for join in select.args["joins"][1:])
        asked = [*on, *where] if KINDS[kind] == JoinKind.INNER and plain else on
        rest = without_parts(where, asked)
        aliases = left.alias_or_name.lower(), right.alias_or_name.lower()
        keys, own, further = self._split(asked, aliases)
        if not keys:
            shared = (part for one in further for part in with_shared_equalities(one))
            keys, of_sides, further = self._split(shared, aliases)
            own = [[*one, *more] for one, more in zip(own, of_sides, strict=True)]
        implied = [self._implied(further, item) for item in (left, right)]
        inner, null_safe, condition = KINDS[kind] == JoinKind.INNER, frozenset[int](), None
        if inner:
            rest += further
        else:
            # Of a constant each row of either side can be asked.
            own[0] += [part for part in further if _is_constant(part)]
            further = [part for part in further if not _is_constant(part)]
            equal = {id(part): pair for part in further if (pair := equal_sides(part, *aliases, null_safe=True))}
            null_safe = frozenset(range(len(keys), len(keys) + len(equal)))
            keys += equal.values()
            condition = self._of_pairs([part for part in further if id(part) not in equal], aliases)
        filters: list[list[exp.Expr]] = [[], []]
        filters[0] += own[0] + implied[0] if inner else []
        filters[1] += own[1] + implied[1] if KINDS[kind] != JoinKind.FULL else []
        if not inner:
            keys += meeting_keys(own, KINDS[kind])
        for asked_part in (*(one for pair in keys for one in pair), *([] if condition is None else [condition])):
            refuse_now(asked_part, self.place)
        # Without a key all rows meet under one.
        keys = keys or [(exp.true(), exp.true())]
        select.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
        del select.args["joins"][0]
        return self._over_join(select, (left, right), _Pairing(KINDS[kind], keys, null_safe, condition), filters)

    def _implied(self, parts: Iterable[exp.Expr], item: exp.Expr) -> list[exp.Expr]:
        """Return what conditions say of the rows of a relation by themselves; none for the rows of a join, of whose
        relations it was asked before."""
        node = self.nodes.get(item.name.lower()) if isinstance(item, exp.Table) else None
        if node is None or node.properties.changes:
            return []
        types = {column.name.lower(): column.type.lower() for column in node.properties.columns}
        return [one for part in parts for one in implied_filters(part, item.alias_or_name.lower(), types)]

    def _of_pairs(self, parts: list[exp.Expr], aliases: tuple[str, str]) -> exp.Expr | None:
        """Return what a join asks of pairs, over the columns of `left` and `right`; None for nothing.

        Raises NotSupportedError for what cannot be computed on values of both sides.
        """
        if not parts:
            return None
        condition = exp.and_(*(copied(part) for part in parts), copy=False)
        for column in condition.find_all(exp.Column):
            if column.table.lower() in aliases:
                column.set("table", exp.to_identifier(SIDES[aliases.index(column.table.lower())]))
        check_pair_condition(condition, self.place)
        return condition

    def _over_join(
        self,
        select: exp.Select,
        sides: tuple[exp.Expr, exp.Expr],
        pairing: "_Pairing",
        filters: list[list[exp.Expr]],
    ) -> exp.Select:
        """Return the SELECT over the join of two relations in place of the first one."""
        name = self._name("__join")
        columns_of: list[tuple[str, ...]] = []
        inputs = []
        select.set("from_", exp.From(this=relation(name)))
        own = own_columns(select)
        for number, (item, prefix) in enumerate(zip(sides, (LEFT, RIGHT), strict=True)):
            alias = item.alias_or_name.lower()
            columns = [column for column in own if column.table.lower() == alias]
            columns_of.append(tuple(dict.fromkeys(column.name.lower() for column in columns)))
            compared = [c for pair in pairing.keys for c in pair[number].find_all(exp.Column)]
            asked = [c for part in filters[number] for c in part.find_all(exp.Column)]
            compared = [c for c in compared if c.table.lower() == alias]
            if pairing.condition is not None:
                compared += [c for c in pairing.condition.find_all(exp.Column) if c.table == SIDES[number]]
            names = dict.fromkeys([*columns_of[-1], *(c.name.lower() for c in compared)])
            every = dict.fromkeys([*names, *(c.name.lower() for c in asked)])
            inner = exp.select(*(exp.column(column, table=alias, quoted=True) for column in names), copy=False)
            inner.from_(self._item(item, frozenset(every)), copy=False)
            for part in filters[number]:
                inner.where(copied(part), copy=False)
            inputs.append(self._changing(inner))
            for column in columns:
                column.set("this", exp.to_identifier(prefix + column.name.lower(), quoted=True))
                column.set("table", exp.to_identifier(name))
        plain = tuple((without_tables(one), without_tables(other)) for one, other in pairing.keys)
        columns_of_sides = columns_of[0], columns_of[1]
        self.nodes[name] = TableJoin(
            name, tuple(inputs), plain, columns_of_sides, pairing.kind, pairing.condition, pairing.null_safe
        )
        return select

    def _split(
        self, parts: Iterable[exp.Expr], aliases: tuple[str, str]
    ) -> tuple[list[tuple[exp.Expr, exp.Expr]], list[list[exp.Expr]], list[exp.Expr]]:
        """Return the pairs of expressions that a condition equates, what it asks of each side, and what else."""
        keys: list[tuple[exp.Expr, exp.Expr]] = []
        own: list[list[exp.Expr]] = [[], []]
        further: list[exp.Expr] = []
        for part in parts:
            pair, side = equal_sides(part, *aliases), only_side(part, aliases)
            if pair is not None:
                keys.append(pair)
            elif side is not None:
                own[aliases.index(side)].append(part)
            else:
                further.append(part)
        return keys, own, further

    def _changing(self, select: exp.Select) -> Sql:
        """Return a SELECT over one relation that changes, with its hidden columns; the one given is changed."""
        where = select.args.get("where")
        if self.now is not None and where is not None and asking_parts(where.this):
            select = self._while_time_lasts(select, self.now)
        item = next(item for item in relations(select) if self._reads_stream(item))
        self._check_uses(select, item)
        alias = item.alias_or_name
        needed = {c.name.lower() for c in select.find_all(exp.Column) if c.table.lower() == alias.lower()}
        item.replace(self._item(item, frozenset(needed)))
        return self._sql(select.select(*(exp.column(name, table=alias) for name in _HIDDEN), copy=False))

    def _while_time_lasts(self, select: exp.Select, now: Now) -> exp.Select:
        """Return a SELECT over the operator by which rows leave that do not fulfil its conditions any more."""
        name = self._name("__timed")
        node, outer = timed_select(select, now, name, self._changing, self.place)
        self.nodes[name] = replace(node, inputs=(without_clock(node.inputs[0]),))
        return outer

    def _item(self, item: exp.Expr, needed: frozenset[str]) -> exp.Expr:
        """Return what stands in FROM for a relation that changes: a node with hidden columns, under the same alias."""
        alias = item.alias_or_name
        if not isinstance(item, exp.Table):
            changes: Node = self._rows_below(_outermost(item), needed)
        elif not isinstance(item.this, exp.Identifier):
            raise self._refused(item, "a table function")
        else:
            node = self.nodes[item.name.lower()]
            if node.properties.changes:
                return exp.alias_(relation(item.name), alias, table=True, copy=False)
            changes = (
                Upserts(item.name, (node,), needed) if is_changelog(node) else self._added(item.name, node, needed)
            )
        return exp.alias_(relation(self._enter("__rows", changes)), alias, table=True, copy=False)

    def _rows_below(self, query: exp.Query, needed: frozenset[str]) -> Sql:
        """Return the rows of a subquery as changes; those of one that can only be asked of events are added."""
        # Windows without EMIT come out once, when they are complete; frames by the event time of events need no more
        # rows than they hold.
        framed = self.frames and isinstance(query, exp.Select) and not all(map(is_ranking, window_calls(query)))
        if framed or self._is_windowed(query):
            events = self._events(query, needed)
            if isinstance(events, Sql):
                return events
        rows = answer(lambda: self.rows(query))
        if isinstance(rows, NotSupportedError) and any(map(_asks_events, query.walk())):
            events = self._events(query, needed)
            if isinstance(events, Sql):
                return events
        return granted(rows)

    def _is_windowed(self, query: exp.Expr) -> bool:
        """Tell whether a query is groups of windows of events."""
        if not isinstance(query, exp.Select) or not groups_windows(query, self.nodes):
            return False
        return all(map(self._gives_events, relations(query)))

    def _events(self, query: exp.Query, needed: frozenset[str]) -> Sql | Error:
        """Return the rows of a query over events as ones that are added, or what its operators refuse."""
        events = self.checked.answer(RowsAsTheyCome(self.place), self._sql(query), "EMIT CHANGES")
        return events if isinstance(events, Error) else self._added(self._enter("__events", events), events, needed)

    def _added(self, name: str, node: Node, needed: frozenset[str]) -> Sql:
        """Return the rows of a stream as ones that are added to a table."""
        columns = [c.name for c in node.properties.columns if c.name.lower() in needed]
        named = [exp.column(column, table=name, quoted=True) for column in columns]
        hidden = hidden_columns(named, exp.Literal.number(int(Change.INSERT)))
        mark = node.properties.watermark
        tells = self.now is not None and self.now.clock == Clock.EVENT_TIME and mark is not None
        if mark is not None and tells and mark.column.lower() not in {column.lower() for column in columns}:
            hidden = [exp.column(mark.column, table=name, quoted=True), *hidden]
        query = _selected_from(name, [*map(copied, named), *hidden])
        inputs, rows_known = {name.lower(): node}, None
        if named and not tells:
            rows = Sql(_selected_from(name, named), inputs).properties
            rows_known = replace(rows, columns=(*rows.columns, *_ADDED), changes=True)
        added = with_known(Sql(query, inputs), rows_known)
        return self._telling(added, columns) if tells else added

    def _telling(self, rows: Sql, columns: list[str]) -> Sql:
        """Return rows that are added to a table, which tell the operators over them how far their stream is."""
        name = self._name("__clock")
        self.nodes[name] = TemporalFilter(name, (rows,), False, False, Clock.EVENT_TIME)
        columns_of = [exp.column(column, table=name, quoted=True) for column in columns]
        hidden = [exp.column(column, table=name) for column in _HIDDEN]
        return self._sql(_selected_from(name, [*columns_of, *hidden]))

    def _over(self, select: exp.Select) -> exp.Select:
        """Return a SELECT over an operator that ranks the rows of a SELECT, or computes window functions over them."""
        ranks = asks_one_rank(select)
        # Names are part of what a checkpoint knows: one is taken where nothing comes of it, too.
        name = self._name("__ranked" if ranks or not self.frames else "__framed")
        if own_aggregate(select):
            raise self._refused(window_calls(select)[0], "OVER beside GROUP BY or an aggregate")
        if has_subqueries(select):
            raise self._refused(select, "a subquery beside OVER")
        if ranks:
            self.nodes[name], outer = ranked_select(select, name, self._changing, self.place)
        elif not self.frames:
            raise self._refused(window_calls(select)[0], "a window function other than one rank")
        else:
            self.nodes[name], outer = framed_select(select, name, self._changing, self.place)
        return outer

    def _grouped(self, select: exp.Select) -> Sql:
        """Return a SELECT with GROUP BY, aggregates or DISTINCT over an operator with its groups."""
        place = span_of(select, self.place) or self.place
        refuse_group_by_all(select, place)
        calls, columns = own_aggregates(select), RowsBelow(frozenset({OPERATION, *_HIDDEN}))
        distinct, group = select.args.get("distinct"), select.args.get("group")
        keys = [item.unalias() for item in select.expressions] if distinct else list(group.expressions) if group else []
        names = {key: columns.take(key).name for key in keys}
        planned = [group_call(f"__a{i}", call, columns.take, self.place) for i, call in enumerate(calls)]
        if not columns.names:
            columns.take(exp.Literal.number(1))
        rows = self._changing(columns.select(select))
        types = {column.name: column for column in rows.properties.columns}
        name = self._name("__groups")
        aggregates: list[tuple[ColumnDefinition, GroupCall]] = []
        listed: list[tuple[ColumnDefinition, ListedCall]] = []
        for call, one in zip(calls, planned, strict=True):
            if isinstance(one, ListedCall):
                aggregates.append((ColumnDefinition(one.values.name, "unknown"), one.values))
                listed.append((ColumnDefinition(one.name, spoken_type(call)), one))
            else:
                aggregates.append((ColumnDefinition(one.name, spoken_type(call)), one))
        texts = tuple(map(sql_of, calls))
        keyed = tuple(types[key] for key in dict.fromkeys(names.values()))
        self.nodes[name] = RetractingGroups(name, (rows,), keyed, tuple(aggregates), texts, listed=tuple(listed))
        select.set("distinct", None)
        named = names | {call: one.name for call, one in zip(calls, planned, strict=True)}
        return self._changing(over_groups(select, named, None, name))

    def _time(self, select: exp.Select) -> exp.Column | None:
        """Return the event time of the rows of a SELECT, None if they have none or several."""
        times = []
        for item in relations(select):
            node = self.nodes.get(item.name.lower()) if isinstance(item, exp.Table) else None
            if node is not None and node.properties.streaming and node.properties.watermark is not None:
                times.append(exp.column(node.properties.watermark.column, table=item.alias_or_name, quoted=True))
        return times[0] if len(times) == 1 else None

    def _reads_stream(self, item: exp.Expr) -> bool:
        return any(table_name(table) in self._streams for table in catalog_tables(item))

    @property
    def _streams(self) -> "_Streams":
        return _Streams(self.nodes)

    def _sql(self, query: exp.Query) -> Sql:
        return sql_over(query, self.nodes)

    def _name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.made}"

    def _enter(self, kind: str, node: Node) -> str:
        name = self._name(kind)
        self.nodes[name] = node.called(name) if isinstance(node, Ordered) else node
        return name


def _selected_from(name: str, items: Sequence[exp.Expr]) -> exp.Select:
    """Return the SELECT of items from a relation."""
    return exp.Select(expressions=list(items), from_=exp.From(this=relation(name)))


def is_union_all(query: exp.Expr) -> bool:
    """Tell whether a query is the rows of two others, none of which is left out."""
    return isinstance(query, exp.Union) and not query.args.get("distinct")


def _asks_events(node: exp.Expr) -> bool:
    """Tell whether a part of a query computes with rows that stay as they are: a window, or the nearest row."""
    return isinstance(node, exp.Window) or window_call(node) is not None or temporal_call(node) is not None


def _asked_in_on(item: exp.Expr) -> list[exp.Expr]:
    """Return the conditions in ON of a relation that is joined; none of that in FROM."""
    return conjuncts(item.parent.args.get("on") if isinstance(item.parent, exp.Join) else None)


def _is_constant(part: exp.Expr) -> bool:
    return part.find(exp.Column, exp.Query) is None and not any(map(is_fleeting, part.walk()))


def _outermost(query: exp.Expr) -> exp.Query:
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    assert isinstance(query, exp.Query)
    return query


def _unlike(branch: exp.Query) -> exp.Query:
    """Return a branch of a union, whose columns go by their places, with a name of its own for each column."""
    names = [item.alias_or_name.lower() for item in branch.selects]
    if not isinstance(branch, exp.Select) or len(set(names)) == len(names):
        return branch
    copy = copied(branch)
    for place, item in enumerate(copy.expressions):
        if names[place] in names[:place]:
            item.replace(exp.alias_(item.unalias(), f"__{place}"))
    return copy


def _numbered(query: exp.Expr, place: Span) -> exp.Query:
    """Return a copy of a query whose columns are called __0, __1, ...; it may go by their names before."""
    query = _outermost(query)
    ranked = with_first_rows_ranked(query, place)
    copy = copied(ranked) if ranked is query else ranked
    if isinstance(copy, exp.SetOperation):
        copy.set("this", _numbered(copy.left, place))
        return copy
    assert isinstance(copy, exp.Select)
    copy.set("expressions", numbered(copy.expressions))
    return copy
