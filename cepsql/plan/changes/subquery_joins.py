"""Subqueries over streams in any part of a SELECT are written as joins: what is left asks for no other row.

A subquery becomes a relation with one row, or group, for each value of what it reads of the relations around it: by the
columns that it equates with those, else by the different values that these have. An outer join puts the value beside
each row; EXISTS and IN that must hold are semi-joins.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from sqlglot import exp

from cepsql.analysis.clauses.pair_conditions import check_pair_condition
from cepsql.analysis.row_pattern.aggregate_calls import aggregate_call, own_aggregates
from cepsql.analysis.sql.plain_sql import conjuncts, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.errors import Error, NotSupportedError, Span, answer
from cepsql.language.notes import copied
from cepsql.plan.changes.correlation import outside_columns, with_other_aliases
from cepsql.plan.changes.ranked_selects import is_ranking
from cepsql.plan.joins.join_condition import without_parts
from cepsql.plan.joins.value_joins import NULL_OF_NOTHING
from cepsql.plan.rows.top_rows import order_by_items, whole_number
from cepsql.plan.rows.window_functions import window_calls
from cepsql.plan.tree.join_order import INNER, own_columns, relations
from cepsql.plan.tree.markers import join_kind

_EXTENDING = ("LEFT", "RIGHT", "FULL")
NUMBERS_OF_NOTHING = ("COUNT", "COUNTIF", "COUNT_IF", "APPROXDISTINCT", "REGRCOUNT")
LISTS = ("ARRAYAGG", "ARRAY_AGG", "COLLECT_LIST", "ARRAYUNIQUEAGG", "COLLECT_SET")
"""Aggregates, as `aggregate_call` names them, that are 0, or an empty list, where no row is."""

_FURTHER = ("group", "having", "distinct", "qualify", "limit", "offset", "order")
_SETS = ("grouping_sets", "rollup", "cube", "totals", "all")


@dataclass(frozen=True)
class SubqueryJoins:
    """Writes the subqueries of SELECTs as joins.

    streams:    the names of the relations that change, lower case: subqueries over others are left.
    name:       returns a new name for a relation.
    never_null: tells whether a column of a SELECT has no NULL.
    place:      where the query stands.
    """

    streams: Container[str]
    name: Callable[[str], str]
    never_null: Callable[[exp.Expr, exp.Select], bool]
    place: Span

    def without_subqueries(self, select: exp.Select) -> exp.Select:
        """Return a SELECT of the same rows without subqueries over streams but in FROM; the same one if it has none.

        select: with the table of every column.
        Raises NotSupportedError for those that cannot be written so.
        """
        if self._next(_own_parts(select)) is None:
            return select
        copy = copied(select)
        copy.set("expressions", [_aliased(item) for item in copy.expressions])
        for asked in copy.find_all(exp.Exists):
            _drop_limit(asked.this)
        self._rename(copy)
        self._join_those_of_on(copy)
        self._join_conditions(copy)
        after = [*copy.expressions, copy.args.get("having"), copy.args.get("qualify")]
        if _is_grouped(copy) and self._next([_without_aggregates(part) for part in after if part is not None]):
            self._join_values(copy, before_groups=True)
            return self.without_subqueries(self._over_groups(copy))
        self._join_values(copy, before_groups=False)
        return copy

    def _next(self, parts: Sequence[exp.Expr]) -> exp.Expr | None:
        """Return a subquery over a stream with its EXISTS or IN, one within what stands before IN first."""
        waiting = list(parts)
        while waiting:
            node = waiting.pop(0)
            query = _query_of(node)
            if query is None:
                waiting += list(node.iter_expressions())
            elif isinstance(node, exp.In) and (inner := self._next([node.this])) is not None:
                return inner
            elif any(table_name(table) in self.streams for table in catalog_tables(query)):
                self._check_windows(query)
                return node
        return None

    def _check_windows(self, query: exp.Query) -> None:
        """Refuse window functions that look like aggregates of a subquery."""
        for branch in _branches(query):
            for call in window_calls(branch):
                if not is_ranking(call):
                    text = sql_of(without_tables(call.this))
                    raise NotSupportedError(
                        f"the window function {text} in a subquery over a table that changes is not supported",
                        span_of(call, self.place),
                        "ROW_NUMBER, RANK and DENSE_RANK are",
                    )

    def _rename(self, select: exp.Select) -> None:
        """Give the relations of subqueries other names than those around them have."""
        taken = {item.alias_or_name.lower() for item in relations(select)}
        for part in _own_parts(select):
            for query in [one for one in part.find_all(exp.Query) if _is_outermost(one, part)]:
                query.replace(with_other_aliases(query, taken, self.name))

    def _join_those_of_on(self, select: exp.Select) -> None:
        """Take subqueries out of ON."""
        joins = select.args.get("joins") or []
        for number, join in enumerate(joins):
            parts = conjuncts(join.args.get("on"))
            asked = [part for part in parts if self._next([part]) is not None]
            if not asked:
                continue
            rest = [part.copy() for part in without_parts(parts, asked)]
            kind, later = join_kind(join), [join_kind(one) for one in joins[number + 1 :]]
            if kind in INNER and not {"RIGHT", "FULL"} & set(later):
                join.set("on", exp.and_(*rest) if rest else None)
                if not rest:
                    join.set("kind", "CROSS")
                select.where(*(part.copy() for part in asked), copy=False)
                continue
            alias = join.this.alias_or_name.lower()
            read = {column.table.lower() for part in asked for column in outside_columns(part)}
            if kind in ("LEFT", "SEMI", "LEFT SEMI", "ANTI", "LEFT ANTI") and read == {alias}:
                names = dict.fromkeys(c.name for c in own_columns(select) if c.table.lower() == alias)
                names |= dict.fromkeys(c.name for part in asked for c in outside_columns(part))
                columns = [exp.column(n, table=alias, quoted=True) for n in names]
                inner = exp.select(*(exp.alias_(one, one.name, quoted=True) for one in columns))
                inner = inner.from_(join.this.copy())
                inner = inner.where(*(part.copy() for part in asked))
                join.set("this", inner.subquery(alias))
                join.set("on", exp.and_(*rest) if rest else exp.true())
                continue
            raise NotSupportedError(
                f"a subquery in ON of a {kind} JOIN that reads other relations than its right side is not supported",
                span_of(asked[0], self.place),
                "join its rows in a subquery of FROM",
            )

    def _join_conditions(self, select: exp.Select) -> None:
        """Write EXISTS and IN that WHERE asks for as semi-joins."""
        where = select.args.get("where")
        parts = conjuncts(where.this) if where is not None else []
        others = []
        for part in parts:
            join = self._semi_join(part, select) if self._next([part]) is not None else None
            if join is None:
                others.append(part)
            else:
                select.append("joins", join)
        if len(others) < len(parts):
            select.set("where", exp.Where(this=exp.and_(*(part.copy() for part in others))) if others else None)

    def _semi_join(self, condition: exp.Expr, select: exp.Select) -> exp.Join | None:
        """Return the join that a condition is, None for one that is no EXISTS or IN of rows."""
        negated = isinstance(condition, exp.Not)
        asked = condition.this.unnest() if isinstance(condition, exp.Not) else condition
        query = _query_of(asked)
        if query is None or isinstance(asked, exp.Subquery) or query.args.get("limit") or query.args.get("offset"):
            return None
        if _aggregates_all(query):
            return None
        if isinstance(asked, exp.In):
            if self._next([asked.this]) is not None:
                return None
            if negated and not self._compares_known(asked, query, select):
                return None
        keyed = self._by_pairs(query, asked, select) or self._keyed(_with_values(query, asked), select)
        conditions = [key.condition for key in keyed.keys]
        if isinstance(asked, exp.In):
            conditions += [
                exp.EQ(this=value.copy(), expression=keyed.column(f"__v{number}"))
                for number, value in enumerate(_values_before(asked))
            ]
        on = exp.and_(*conditions) if conditions else exp.true()
        return exp.Join(this=keyed.relation(), side="LEFT", kind="ANTI" if negated else "SEMI", on=on)

    def _compares_known(self, asked: exp.In, query: exp.Query, select: exp.Select) -> bool:
        """Tell whether neither side of an IN has a NULL, so that NOT IN asks for rows that are not there."""
        (item,) = query.selects if len(query.selects) == 1 else (None,)
        if item is None or not isinstance(query, exp.Select) or query.args.get("group"):
            return False
        return self.never_null(item.unalias(), query) and self.never_null(asked.this.unnest(), select)

    def _join_values(self, select: exp.Select, before_groups: bool) -> None:
        """Put the value of each subquery beside the rows; `before_groups`: only of those that groups are made of."""
        while True:
            where = [select.args["where"]] if select.args.get("where") else []
            of_groups = [*where, *own_aggregates(select), *_keys(select)] if before_groups else None
            node = self._next(_own_parts(select) if of_groups is None else of_groups)
            if node is None:
                return
            if isinstance(node, exp.In):
                value = self._value_of_in(node, select)
            elif isinstance(node, exp.Exists):
                value = self._value_of_exists(node, select)
            else:
                value = self._scalar(node, select)
            # Equal ones stand for one value.
            asked = node.copy()
            for part in _own_parts(select):
                for other in [one for one in part.find_all(type(node)) if one == asked and _is_outermost(one, part)]:
                    other.replace(value.copy())

    def _scalar(self, node: exp.Expr, select: exp.Select) -> exp.Expr:
        """Return what stands for the value of a subquery, which is joined."""
        query = _query_of(node)
        assert query is not None
        if len(query.selects) != 1:
            raise self._refused(node, "a subquery of several columns as a value")
        if _aggregates_all(query):
            return self._aggregated(query, query.selects[0].unalias(), select)
        keyed = self._keyed(_with_values(query, node), select)
        value = keyed.column("__v0")
        number = exp.GT(this=_count(), expression=exp.Literal.number(1))
        several = exp.Literal.string("a subquery as a value has more than one row")
        one = exp.If(
            this=number, true=exp.Anonymous(this="raise_error", expressions=[several]), false=exp.Min(this=value)
        )
        grouped = keyed.grouped(self.name("__value"), [exp.alias_(one, "__v0", quoted=True)])
        return self._beside(grouped, select, "__v0")

    def _aggregated(self, query: exp.Select, value: exp.Expr, select: exp.Select) -> exp.Expr:
        """Return what stands for a value that is computed from aggregates of all rows of a subquery."""
        having = query.args.get("having")
        if having is not None:
            value = exp.case().when(having.this.copy(), value.copy())
        plain = copied(query)
        for part in ("having", "order", "limit", "offset", "distinct"):
            plain.set(part, None)
        if not _columns_outside_of(value, query) and not outside_columns(query):
            plain.set("expressions", [exp.alias_(value.copy(), "__v0", quoted=True)])
            return self._beside(self._keyed(plain, select), select, "__v0")
        probe = exp.select(value.copy())
        calls = own_aggregates(probe)
        plain.set("expressions", [exp.alias_(c.copy(), f"__v{i}", quoted=True) for i, c in enumerate(calls)])
        keyed = self._keyed(plain, select)
        self._beside(keyed, select, "__v0")
        values = {call: self._of_nothing(call, keyed.column(f"__v{i}")) for i, call in enumerate(calls)}
        return exp.paren(value.transform(lambda node: values[node].copy() if node in values else node))

    def _of_nothing(self, call: exp.Expr, column: exp.Column) -> exp.Expr:
        """Return an aggregate with its value where no row is, for which it has none."""
        taken = aggregate_call(call)
        if taken is None or taken.name in NULL_OF_NOTHING:
            return column
        if taken.name in NUMBERS_OF_NOTHING:
            return exp.Coalesce(this=column, expressions=[exp.Literal.number(0)])
        if taken.name in LISTS:
            return exp.Coalesce(this=column, expressions=[exp.array()])
        raise self._refused(call, f"{sql_of(without_tables(call))} in a subquery that reads the relations around it")

    def _value_of_exists(self, node: exp.Expr, select: exp.Select) -> exp.Expr:
        query = _query_of(node)
        assert query is not None
        if _aggregates_all(query):
            having = query.args.get("having")
            if having is None:
                return exp.true()
            plain = copied(query)
            plain.set("having", None)
            value = self._aggregated(plain, having.this, select)
            return exp.Coalesce(this=value, expressions=[exp.false()])
        keyed = self._keyed(_with_values(query, node), select)
        counted = keyed.grouped(self.name("__exists"), [exp.alias_(_count(), "__v0", quoted=True)])
        number = self._beside(counted, select, "__v0")
        if counted.keys:
            return exp.paren(number.is_(exp.null()).not_())
        return exp.paren(exp.GT(this=number, expression=exp.Literal.number(0)))

    def _value_of_in(self, node: exp.In, select: exp.Select) -> exp.Expr:
        """Return what stands for IN: NULL where no value is equal, but one may be."""
        query = _query_of(node)
        assert query is not None
        values = _values_before(node)
        if len(values) > 1 or len(query.selects) > 1:
            return self._in_of_several(node, query)
        (value,) = values
        if _aggregates_all(query):
            equal: exp.Expr = exp.EQ(this=value.copy(), expression=query.selects[0].unalias().copy())
            having, plain = query.args.get("having"), copied(query)
            if having is not None:
                equal = exp.case().when(having.this.copy(), equal).else_(exp.false())
                plain.set("having", None)
            return self._aggregated(plain, equal, select)
        keyed = self._keyed(_with_values(query, node), select)
        there = keyed.column("__v0")
        numbers = [
            exp.alias_(_count(), "__n", quoted=True),
            exp.alias_(exp.Count(this=there, big_int=True), "__m", quoted=True),
        ]
        counted = keyed.grouped(self.name("__numbers"), numbers)
        every, number = self._beside(counted, select, "__n"), counted.column("__m")
        again = keyed.renamed(self.name("__values"))
        different = again.different(self.name("__different"))
        conditions = [
            *(key.condition for key in different.keys),
            exp.EQ(this=value.copy(), expression=different.column("__v0")),
        ]
        select.append("joins", exp.Join(this=different.relation(), side="LEFT", on=exp.and_(*conditions)))
        met = different.column("__v0").is_(exp.null()).not_()
        nothing = exp.EQ(
            this=exp.Coalesce(this=every.copy(), expressions=[exp.Literal.number(0)]), expression=exp.Literal.number(0)
        )
        unknown = exp.cast(exp.null(), "boolean")
        case = exp.case().when(nothing, exp.false()).when(met, exp.true())
        case = case.when(value.copy().is_(exp.null()), unknown)
        case = case.when(exp.GT(this=every.copy(), expression=number), unknown.copy()).else_(exp.false())
        return exp.paren(case)

    def _in_of_several(self, node: exp.In, query: exp.Query) -> exp.Expr:
        """Return what stands for IN of several columns: NULL where no row is equal, but one of those with NULL may be.

        Raises NotSupportedError for other rows than those of a filter.
        """
        values = _values_before(node)
        if len(values) != len(query.selects):
            raise self._refused(node, "IN of rows with another number of columns")
        if not isinstance(query, exp.Select) or any(map(query.args.get, _FURTHER)) or own_aggregates(query):
            raise self._refused(node, "IN of several columns of groups, elsewhere than as a condition of WHERE")
        pairs = zip(values, query.selects, strict=True)
        equal: list[exp.Expr] = [exp.EQ(this=value.copy(), expression=item.unalias().copy()) for value, item in pairs]
        maybe = [exp.Coalesce(this=one.copy(), expressions=[exp.true()]) for one in equal]

        def there(conditions: Sequence[exp.Expr]) -> exp.Exists:
            rows = copied(query).where(*conditions, copy=False)
            rows.set("expressions", [exp.alias_(exp.Literal.number(1), "__one")])
            return exp.Exists(this=rows)

        case = exp.case().when(there(equal), exp.true())
        return exp.paren(case.when(there(maybe), exp.cast(exp.null(), "boolean")).else_(exp.false()))

    def _beside(self, keyed: "_Keyed", select: exp.Select, value: str) -> exp.Expr:
        """Join a relation with one row for each key, and return the column with a value."""
        if keyed.keys:
            on = exp.and_(*(key.condition for key in keyed.keys))
            select.append("joins", exp.Join(this=keyed.relation(), side="LEFT", on=on))
        else:
            select.append("joins", exp.Join(this=keyed.relation(), kind="CROSS"))
        return keyed.column(value)

    def _by_pairs(self, query: exp.Query, asked: exp.Expr, select: exp.Select) -> "_Keyed | None":
        """Return the rows of a subquery under all conditions that read the relations around it, None if a join cannot
        ask for these."""
        if not isinstance(query, exp.Select) or own_aggregates(query):
            return None
        if any(query.args.get(part) for part in _FURTHER):
            return None
        inner = copied(query)
        parts = conjuncts(inner.args["where"].this if inner.args.get("where") else None)
        outer = [part for part in parts if _columns_outside_of(part, inner)]
        if any(part.find(exp.Query) for part in outer):
            return None
        name = self.name("__rows")
        made: dict[exp.Column, str] = {}
        keys = []
        inside = {item.alias_or_name.lower() for item in relations(inner)}
        for part in outer:
            condition = part.copy()
            for column in condition.find_all(exp.Column):
                if column.table.lower() in inside:
                    own = made.setdefault(column.copy(), f"__c{len(made)}")
                    column.set("this", exp.to_identifier(own, quoted=True))
                    column.set("table", exp.to_identifier(name))
            keys.append(_Key("", condition))
        rest = [part.copy() for part in without_parts(parts, outer)]
        inner.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
        rows = _with_values(inner, asked)
        if outside_columns(rows):
            return None
        if any(isinstance(answer(partial(check_pair_condition, key.condition, self.place)), Error) for key in keys):
            return None
        for column, own in made.items():
            rows.append("expressions", exp.alias_(column.copy(), own, quoted=True))
        return _Keyed(rows, name, tuple(keys))

    def _keyed(self, query: exp.Query, select: exp.Select) -> "_Keyed":
        """Return a subquery with one more column for each that it reads of the relations of a SELECT around it."""
        name = self.name("__sub")
        inner = copied(query)
        outside = outside_columns(inner)
        if not outside:
            inner.set("order", None if inner.args.get("limit") is None else inner.args.get("order"))
            return _Keyed(inner, name, ())
        if any(one.find(exp.Window) for one in inner.find_all(exp.Select)):
            raise self._refused(outside[0], "a window function in a subquery that reads the relations around it")
        limited = self._take_limit(inner)
        pairs = self._equated(inner) if isinstance(inner, exp.Select) else None
        if pairs is not None:
            assert isinstance(inner, exp.Select)
            for number, (own, _) in enumerate(pairs):
                _add_key(inner, own, number)
            keys = [
                _Key(f"__k{i}", exp.EQ(this=outer.copy(), expression=_column(name, f"__k{i}")))
                for i, (_, outer) in enumerate(pairs)
            ]
        else:
            columns = list(dict.fromkeys(column.copy() for column in outside))
            self._add_values(inner, columns, select)
            keys = [
                _Key(f"__k{i}", exp.NullSafeEQ(this=column.copy(), expression=_column(name, f"__k{i}")))
                for i, column in enumerate(columns)
            ]
        if limited is not None:
            inner = self._first_of_each(inner, [key.name for key in keys], *limited)
        return _Keyed(inner, name, tuple(keys))

    def _take_limit(self, query: exp.Query) -> tuple[list[exp.Expr], int, int] | None:
        """Take ORDER BY and LIMIT off a subquery; return what it is ordered by, as columns __o0, ..., and the numbers
        of rows to skip and to take."""
        limit, offset, order = whole_number(query, "limit"), whole_number(query, "offset") or 0, query.args.get("order")
        if query.args.get("limit") is not None and limit is None:
            raise self._refused(query, "a LIMIT that is no number, in a subquery that reads the relations around it,")
        items = order_by_items(query) if order is not None and limit is not None else []
        for part in ("order", "limit", "offset"):
            query.set(part, None)
        if limit is None:
            return None
        if not isinstance(query, exp.Select):
            raise self._refused(query, "LIMIT of a UNION that reads the relations around it")
        for number, item in enumerate(items):
            query.append("expressions", exp.alias_(item.this.copy(), f"__o{number}", quoted=True))
            item.set("this", _column("__first", f"__o{number}"))
        return items, offset, limit

    def _first_of_each(
        self, query: exp.Query, keys: list[str], items: list[exp.Expr], offset: int, limit: int
    ) -> exp.Select:
        """Return the first rows of each key of a subquery."""
        alias = self.name("__first")
        for item in items:
            item.this.set("table", exp.to_identifier(alias))
        named = [item.alias_or_name for item in query.selects if not item.alias_or_name.startswith("__o")]
        order = items or [exp.Ordered(this=_column(alias, named[0]))]
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[_column(alias, key) for key in keys],
            order=exp.Order(expressions=order),
        )
        outer = exp.select(*(exp.alias_(_column(alias, name), name, quoted=True) for name in named))
        outer = outer.from_(query.subquery(alias))
        wanted: list[exp.Expr] = [exp.LTE(this=rank, expression=exp.Literal.number(offset + limit))]
        if offset:
            wanted.append(exp.GT(this=rank.copy(), expression=exp.Literal.number(offset)))
        outer.set("qualify", exp.Qualify(this=exp.and_(*wanted)))
        return outer

    def _equated(self, query: exp.Select) -> list[tuple[exp.Expr, exp.Expr]] | None:
        """Take the equalities with columns around a subquery out of its WHERE, and return their sides, its own first;
        None if it reads such columns elsewhere."""
        parts = conjuncts(query.args["where"].this if query.args.get("where") else None)
        pairs, rest = [], []
        group = query.args.get("group")
        if group is not None and any(group.args.get(one) for one in _SETS):
            return None
        inside = {item.alias_or_name.lower() for item in relations(query)}
        for part in parts:
            if not _columns_outside_of(part, query):
                rest.append(part)
                continue
            sides = [part.this, part.expression] if isinstance(part, exp.EQ) and part.find(exp.Query) is None else []
            tables = [{column.table.lower() for column in side.find_all(exp.Column)} for side in sides]
            own = [side for side, read in zip(sides, tables, strict=True) if read and read <= inside]
            outer = [side for side, read in zip(sides, tables, strict=True) if not read & inside]
            if len(own) != 1 or len(outer) != 1:
                return None
            pairs.append((own[0], outer[0]))
        probe = copied(query)
        probe.set("where", exp.Where(this=exp.and_(*(part.copy() for part in rest))) if rest else None)
        if outside_columns(probe):
            return None
        query.set("where", probe.args.get("where"))
        return pairs

    def _add_values(self, query: exp.Query, columns: list[exp.Column], select: exp.Select) -> None:
        """Let a subquery read the different values of columns around it, in place of these."""
        name = self.name("__outer")
        places = {column: f"__d{number}" for number, column in enumerate(columns)}
        for column in outside_columns(query):
            place = places[column]
            column.set("this", exp.to_identifier(place, quoted=True))
            column.set("table", exp.to_identifier(name))
        for branch in _branches(query):
            if any(join_kind(join) in ("RIGHT", "FULL") for join in branch.args.get("joins") or []):
                raise self._refused(branch, "a RIGHT or FULL JOIN in a subquery that reads the relations around it")
            values = self._values(columns, select).subquery(name)
            own = branch.args.get("from_")
            branch.set("from_", exp.From(this=values))
            if own is not None:
                branch.set("joins", [exp.Join(this=own.this.copy(), kind="CROSS"), *(branch.args.get("joins") or [])])
            for number in range(len(columns)):
                _add_key(branch, _column(name, f"__d{number}"), number)

    def _values(self, columns: list[exp.Column], select: exp.Select) -> exp.Select:
        """Return the different values that columns of the relations of a SELECT have."""
        joins = select.args.get("joins") or []
        tables = {column.table.lower() for column in columns}
        items = [item for item in relations(select) if item.alias_or_name.lower() in tables]
        named = [exp.alias_(column.copy(), f"__d{i}", quoted=True) for i, column in enumerate(columns)]
        distinct = exp.select(*named).distinct()
        if len(items) == 1 and not any(join_kind(join) in _EXTENDING for join in joins):
            return distinct.from_(items[0].copy())
        distinct.set("from_", select.args["from_"].copy())
        distinct.set("joins", [join.copy() for join in joins])
        return distinct

    def _over_groups(self, select: exp.Select) -> exp.Select:
        """Return a SELECT whose groups are made in a subquery."""
        group = select.args.get("group")
        if group is not None and any(group.args.get(one) for one in _SETS):
            raise self._refused(select, "a subquery beside GROUPING SETS, ROLLUP or CUBE")
        name, inner, outer = self.name("__grouped"), copied(select), copied(select)
        places: dict[exp.Expr, exp.Column] = {}
        items = []
        for prefix, parts in (("__g", _keys(select)), ("__a", own_aggregates(select))):
            for number, part in enumerate(parts):
                places.setdefault(part, _column(name, f"{prefix}{number}"))
                items.append(exp.alias_(copied(part), f"{prefix}{number}", quoted=True, copy=False))
        inner.set("expressions", items)
        inner.set("distinct", None)
        inner.set("qualify", None)
        having = conjuncts(select.args["having"].this if select.args.get("having") else None)
        asked = [part for part in having if self._next([part]) is not None]
        rest = [copied(part) for part in without_parts(having, asked)]
        inner.set("having", exp.Having(this=exp.and_(*rest, copy=False)) if rest else None)
        for clause in ("joins", "where", "group", "having", "laterals"):
            outer.set(clause, None)
        outer.set("from_", exp.From(this=inner.subquery(name, copy=False)))

        keys = _keys(select)

        def taken(node: exp.Expr) -> exp.Expr:
            # An equal aggregate in a subquery is of other rows.
            own = node in places and (node in keys or node.find_ancestor(exp.Query) is None)
            return places[node].copy() if own else node

        def over(part: exp.Expr) -> exp.Expr:
            return copied(part).transform(taken, copy=False)

        outer.set("expressions", [_named(over(item), item) for item in select.expressions])
        if select.args.get("qualify") is not None:
            outer.set("qualify", over(select.args["qualify"]))
        outer.set("where", exp.Where(this=exp.and_(*map(over, asked), copy=False)) if asked else None)
        return outer

    def _refused(self, part: exp.Expr, construct: str) -> NotSupportedError:
        return NotSupportedError(
            f"{construct} over a table that changes is not supported",
            span_of(part, self.place),
            "write it as a relation in FROM, and join its rows",
        )


@dataclass(frozen=True)
class _Key:
    """A column of a subquery by which it is joined, and the condition that asks for it."""

    name: str
    condition: exp.Expr


@dataclass(frozen=True)
class _Keyed:
    """A subquery with the columns by which it is joined with what stands around it.

    query: with columns __v0, ... for its own, and those of the keys.
    """

    query: exp.Query
    name: str
    keys: tuple[_Key, ...]

    def column(self, name: str) -> exp.Column:
        """Return one of its columns."""
        return _column(self.name, name)

    def relation(self) -> exp.Subquery:
        """Return what stands for it in FROM."""
        return copied(self.query).subquery(self.name, copy=False)

    def grouped(self, name: str, items: list[exp.Expr]) -> "_Keyed":
        """Return aggregates of its rows, for each key."""
        keys = [self.column(key.name) for key in self.keys]
        outer = exp.select(*items, *(exp.alias_(key.copy(), key.name, quoted=True) for key in keys)).from_(
            self.relation()
        )
        return _Keyed(outer.group_by(*keys) if keys else outer, name, self._keys_of(name))

    def different(self, name: str) -> "_Keyed":
        """Return the different values that are not NULL, for each key."""
        columns = [self.column(column) for column in ("__v0", *(key.name for key in self.keys))]
        outer = exp.select(*(exp.alias_(column.copy(), column.name, quoted=True) for column in columns)).distinct()
        outer = outer.from_(self.relation()).where(columns[0].copy().is_(exp.null()).not_())
        return _Keyed(outer, name, self._keys_of(name))

    def renamed(self, name: str) -> "_Keyed":
        """Return the same rows under another name."""
        return _Keyed(self.query, name, self._keys_of(name))

    def _keys_of(self, name: str) -> tuple[_Key, ...]:
        def under(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and node.table == self.name:
                return _column(name, node.name)
            return node

        return tuple(_Key(key.name, key.condition.copy().transform(under)) for key in self.keys)


def _column(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def _count() -> exp.Count:
    return exp.Count(this=exp.Star(), big_int=True)


def _query_of(node: exp.Expr) -> exp.Query | None:
    """Return the subquery that an expression asks: a value, EXISTS or IN; None for other expressions."""
    if isinstance(node, exp.In):
        query = node.args.get("query")
    elif isinstance(node, exp.Exists):
        query = node.this
    else:
        query = node if isinstance(node, exp.Query) else None
    plain = query.unnest() if query is not None else None
    return plain if isinstance(plain, exp.Query) else None


def _drop_limit(query: exp.Expr) -> None:
    """Leave out an order and a LIMIT that change nothing of whether there is a row."""
    if not isinstance(query, exp.Query) or query.args.get("offset") or not whole_number(query, "limit"):
        return
    query.set("limit", None)
    query.set("order", None)


def _values_before(asked: exp.In) -> list[exp.Expr]:
    """Return what stands before IN."""
    value = asked.this.unnest() if isinstance(asked.this, exp.Paren) else asked.this
    return list(value.expressions) if isinstance(value, exp.Tuple) else [value]


def _with_values(query: exp.Query, asked: exp.Expr) -> exp.Query:
    """Return a subquery whose columns are called __v0, ...; of EXISTS one that nobody reads."""
    copy = copied(query)
    if copy.args.get("order") is not None:
        copy.set("order", exp.Order(expressions=order_by_items(copy)))
    for branch in _branches(copy):
        if isinstance(asked, exp.Exists) and branch is copy:
            for part in ("distinct", "order"):
                branch.set(part, None)
            branch.set("expressions", [exp.alias_(exp.Literal.number(1), "__v0", quoted=True)])
        else:
            named = [exp.alias_(item.unalias().copy(), f"__v{i}", quoted=True) for i, item in enumerate(branch.selects)]
            branch.set("expressions", named)
    return copy


def _branches(query: exp.Expr) -> list[exp.Select]:
    plain = query.unnest()
    if isinstance(plain, exp.SetOperation):
        return [*_branches(plain.left), *_branches(plain.right)]
    return [plain] if isinstance(plain, exp.Select) else []


def _add_key(select: exp.Select, key: exp.Expr, number: int) -> None:
    """Give a SELECT one more column; its groups are those of this column, too."""
    if select.args.get("group") is not None:
        select.args["group"].append("expressions", key.copy())
    elif own_aggregates(select) and number == 0:
        select.set("group", exp.Group(expressions=[key.copy()]))
    select.append("expressions", exp.alias_(key.copy(), f"__k{number}", quoted=True))


def _own_parts(select: exp.Select) -> list[exp.Expr]:
    """Return the parts of a SELECT in which subqueries may stand, those of FROM and JOIN left out."""
    conditions = [join.args.get("on") for join in select.args.get("joins") or []]
    clauses = [select.args.get(part) for part in ("where", "having", "qualify", "group")]
    return [part for part in (*select.expressions, *clauses, *conditions) if part is not None]


def _aliased(item: exp.Expr) -> exp.Expr:
    """Return an item of a SELECT; of a subquery with a name the same under an alias."""
    if not isinstance(item, exp.Subquery) or not item.alias:
        return item
    plain = copied(item)
    plain.set("alias", None)
    return exp.Alias(this=plain, alias=exp.to_identifier(item.alias, quoted=True))


def _is_outermost(query: exp.Expr, part: exp.Expr) -> bool:
    if query is part:
        return True
    around = query.parent
    while around is not None and around is not part:
        if isinstance(around, exp.Query):
            return False
        around = around.parent
    return True


def _columns_outside_of(part: exp.Expr, query: exp.Select) -> list[exp.Column]:
    """Return the columns in a part of a subquery that are of relations around that."""
    inside = {item.alias_or_name.lower() for item in relations(query)}
    return [column for column in outside_columns(part) if column.table.lower() not in inside]


def _aggregates_all(query: exp.Query) -> TypeGuard[exp.Select]:
    """Tell whether a query gives one row, of all that it reads."""
    return isinstance(query, exp.Select) and bool(own_aggregates(query)) and not query.args.get("group")


def _is_grouped(select: exp.Select) -> bool:
    return select.args.get("group") is not None or bool(own_aggregates(select))


def _keys(select: exp.Select) -> list[exp.Expr]:
    group = select.args.get("group")
    return list(group.expressions) if group is not None else []


def _without_aggregates(part: exp.Expr) -> exp.Expr:
    """Return a part of a SELECT in which nothing stands for the aggregates."""
    calls = own_aggregates(exp.Select(expressions=[copied(part.unalias())]))
    return copied(part).transform(lambda node: exp.null() if node in calls else node, copy=False)


def _named(item: exp.Expr, before: exp.Expr) -> exp.Expr:
    """Return an item of a SELECT under the name that it had."""
    if isinstance(item, exp.Alias):
        return item
    return exp.alias_(item, before.alias_or_name, quoted=True) if before.alias_or_name else item
