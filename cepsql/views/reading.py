"""A SELECT over views that Arrow answers without Spark, if each of its parts means the same in Arrow as in Spark."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from cepsql.analysis.sql.resolve import table_name
from cepsql.base.calendar import time_text
from cepsql.catalog.view_store import ViewSource
from cepsql.language.given_clauses import given_clauses
from cepsql.ordered.plain_columns import one_chunk
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import Node, Read, Sql, walk
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import check_alias
from cepsql.scalar.types import INTEGERS, STRING, Type, parse_type
from cepsql.scalar.zone import Zone
from cepsql.views.grouped_rows import Grouped, grouped
from cepsql.views.points import NOW, AsOf, asked_point, read_as_of
from cepsql.views.relation import Relation, RelationColumn, Rules, joined, ordered
from cepsql.views.snapshot import Condition, Wanted
from cepsql.views.stored_values import column_values

MOST_BIGINT = 2**63
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "kind"}
_OPERATORS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CALLS: dict[type[exp.Expr], str] = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}


_ANOTHER_ZONE = Zone(offsets=(3_600_000_000,))
"""A zone in which a text without a zone means another time than in UTC."""


@dataclass(frozen=True)
class Reading:
    """A query over views that Arrow answers; `reading` makes it.

    columns: names and Spark types.
    wanted:  the columns and rows to read from each view, in the order in which the query names the views.
    as_of:   the point at which they are read.
    """

    plan: Plan
    rules: Rules
    columns: tuple[tuple[str, str], ...]
    wanted: tuple[Wanted, ...]
    as_of: AsOf = NOW

    def table(self) -> pa.Table:
        """Return the rows; times with a zone are in UTC.

        Raises OperationalError as `read_as_of` does, and Unlike for a value that Arrow computes differently from Spark,
        such as an average of numbers too large for a float.
        """
        tables = iter([view_rows.rows for view_rows in read_as_of(self.wanted, self.as_of)])

        def rows(wanted: Wanted) -> pa.Table:
            return next(tables)

        relation = _Evaluation(self.rules, rows).node(self.plan.root)
        return pa.Table.from_arrays(
            [column.values for column in relation.columns], names=[name for name, _ in self.columns]
        )

    def explained(self) -> list[str]:
        """Return one line for each view that says how it is read."""
        together = ["all as of the least of their watermarks"] if self.as_of.at_watermark else []
        together += [f"{name} as of {time_text(micros)}Z" for name, micros in self.as_of.times.items()]
        return [*(_access(wanted) for wanted in self.wanted), *together]


def reading(plan: Plan, rules: Rules) -> Reading:
    """Return a bounded query over views as one that Arrow answers.

    Raises Unlike, whose text names what only Spark can do.
    """
    if not all(isinstance(node.relation, ViewSource) for node in walk(plan.root) if isinstance(node, Read)):
        raise Unlike("it reads more than materialized views")
    relations = [node.relation for node in walk(plan.root) if isinstance(node, Read)]
    if any(isinstance(relation, ViewSource) and relation.versions for relation in relations):
        raise Unlike("a join with versions of a view")
    wanted: list[Wanted] = []

    def none(one: Wanted) -> pa.Table:
        wanted.append(one)
        types = {column.name: column.type for column in one.view.columns}
        return pa.table([column_values([], types[name]) for name in one.columns], names=list(one.columns))

    output = _Evaluation(rules, none).node(plan.root)
    if not wanted:
        raise Unlike("it reads no view")
    names = _names(plan, output)
    types = [str(column.type) for column in output.columns]
    as_of = asked_point(plan.query, rules.session.zone)
    if not rules.zoned and as_of != asked_point(plan.query, _ANOTHER_ZONE):
        raise Unlike("a time without its zone in FOR SYSTEM_TIME AS OF")
    return Reading(plan, rules, tuple(zip(names, types, strict=True)), tuple(wanted), as_of)


def in_zone(rows: pa.Table, zone: str) -> pa.Table:
    """Return rows with their zoned times in the time zone of the session, as Spark returns them."""
    fields = [
        pa.field(field.name, pa.timestamp("us", zone) if getattr(field.type, "tz", None) else field.type)
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _names(plan: Plan, relation: Relation) -> list[str]:
    """Return the column names that Spark would use."""
    column_names = [column.name for column in plan.columns]
    if len(column_names) != len(relation.columns):
        raise Unlike("its columns are not known")
    query = plan.query.expression
    items = query.expressions if isinstance(query, exp.Select) else []
    names = []
    for place, name in enumerate(column_names):
        if not name.startswith("_col_"):
            names.append(name)
        elif len(items) == len(column_names) and (spark_name := _spark_name(items[place])) is not None:
            names.append(spark_name)
        else:
            raise Unlike("Spark names a column without AS")
    return names


def _spark_name(item: exp.Expr) -> str | None:
    function = _CALLS.get(type(item))
    if function is None:
        return None
    if isinstance(item.this, exp.Star):
        return f"{function}(1)"
    plain = isinstance(item.this, exp.Column) and not item.this.table
    return f"{function}({item.this.name})" if plain else None


class _Evaluation:
    """Evaluates a query over rows of views; calls `read` each time that the query names a view."""

    def __init__(self, rules: Rules, read):
        self._rules, self._read = rules, read

    def node(self, node: Node) -> Relation:
        """Return the rows of a node of a plan."""
        if isinstance(node, Read):
            assert isinstance(node.relation, ViewSource)
            return self._view(node.relation, node.relation.name, [c.name for c in node.relation.columns], ())
        if not isinstance(node, Sql):
            raise Unlike("a row pattern or another operator")
        return self._query(node.inlined.qualified, node.inputs)

    def _view(
        self, view: ViewSource, alias: str, columns: Sequence[str], conditions: tuple[Condition, ...]
    ) -> Relation:
        table = self._read(Wanted(view, tuple(columns), conditions))
        types = {column.name: parse_type(column.type) for column in view.columns}
        relation_columns = (
            RelationColumn(alias.lower(), name.lower(), one_chunk(table[name]), types[name]) for name in columns
        )
        return Relation(tuple(relation_columns), table.num_rows)

    def _query(self, query: exp.Expr, inputs: Mapping[str, Node]) -> Relation:
        if isinstance(query, exp.Subquery):
            self._check_clauses(query, {"this", "alias", "order", "limit", "offset"})
            return self._cut(self._query(query.this, inputs), query)
        if isinstance(query, exp.Union):
            if query.args.get("distinct") or query.args.get("by_name"):
                raise Unlike("UNION of distinct rows")
            self._check_clauses(query, {"this", "expression", "order", "limit", "offset"})
            return self._cut(_one_below(self._query(query.this, inputs), self._query(query.expression, inputs)), query)
        if not isinstance(query, exp.Select):
            raise Unlike(f"a {query.key}")
        return self._select(query, inputs)

    def _select(self, query: exp.Select, inputs: Mapping[str, Node]) -> Relation:
        self._check_clauses(query, _CLAUSES)
        if query.args.get("kind") or query.args.get("from_") is None:
            raise Unlike("a SELECT without FROM")
        rows = self._source(query.args["from_"].this, query, inputs)
        for join in query.args.get("joins") or ():
            rows = self._join(rows, join, query, inputs)
        if where := query.args.get("where"):
            rows = rows.filtered(where.this, self._rules)
        groups = self._groups(query, rows)
        if groups is not None:
            rows = groups.relation
            if having := query.args.get("having"):
                rows = rows.filtered(groups.read(having.this), self._rules)
        elif query.args.get("having"):
            raise Unlike("HAVING without GROUP BY")
        columns = []
        for item in query.expressions:
            tree = item.unalias() if groups is None else groups.read(item.unalias())
            values, kind = rows.value(tree, self._rules)
            columns.append(RelationColumn("", item.alias_or_name.lower(), values, kind))
        return self._cut(Relation(tuple(columns), rows.rows), query, rows, groups)

    def _source(self, item: exp.Expr, query: exp.Select, inputs: Mapping[str, Node]) -> Relation:
        check_alias(item)
        if isinstance(item, exp.Subquery):
            return self._query(item, inputs).called(item.alias)
        if not isinstance(item, exp.Table) or given_clauses(item) - {"this", "alias", "db"}:
            raise Unlike(item.sql(dialect="spark"))
        node = next((below for name, below in inputs.items() if name == table_name(item)), None)
        node = node or next((below for name, below in inputs.items() if name == item.name.lower()), None)
        if node is None:
            raise Unlike(item.sql(dialect="spark"))
        if not isinstance(node, Read):
            return self.node(node).called(item.alias_or_name)
        assert isinstance(node.relation, ViewSource)
        alias, view = item.alias_or_name, node.relation
        read = {
            column.name.lower() for column in query.find_all(exp.Column) if column.table.lower() in ("", alias.lower())
        }
        columns = [column.name for column in view.columns if column.name.lower() in read]
        return self._view(view, alias, columns, tuple(_conditions(query, alias, view)))

    def _join(self, rows: Relation, join: exp.Join, query: exp.Select, inputs: Mapping[str, Node]) -> Relation:
        outer = join.side.upper() == "LEFT"
        if join.method or (join.side and not outer) or join.kind.upper() not in ("", "INNER", "OUTER"):
            raise Unlike(" ".join(filter(None, (join.side.upper(), join.kind.upper(), "JOIN"))))
        if join.args.get("using") or join.args.get("on") is None:
            raise Unlike("a join without ON")
        return joined(rows, self._source(join.this, query, inputs), join.args["on"], outer, self._rules)

    def _groups(self, query: exp.Select, rows: Relation) -> Grouped | None:
        """Return the groups of a SELECT, None if it does not group."""
        group = query.args.get("group")
        places = [*query.expressions, query.args.get("having"), query.args.get("order")]
        calls = [call for part in places if part is not None for call in part.find_all(exp.AggFunc)]
        if group is None and not calls:
            return None
        if group is not None and any(value for name, value in group.args.items() if name != "expressions"):
            raise Unlike("ROLLUP, CUBE or GROUPING SETS")
        if any(call.find_ancestor(exp.Window, exp.Filter) for call in calls):
            raise Unlike("a window function or FILTER")
        keys = [_meant(part, query) for part in (group.expressions if group is not None else ())]
        return grouped(rows, keys, list(dict.fromkeys(calls)), self._rules)

    def _cut(
        self, relation: Relation, query: exp.Expr, below: Relation | None = None, groups: Grouped | None = None
    ) -> Relation:
        """Return the rows in the order of ORDER BY, after OFFSET and up to LIMIT."""
        if order := query.args.get("order"):
            keys = []
            for item in order.expressions:
                values, _ = self._order_value(item.this, relation, below, groups)
                descending = bool(item.args.get("desc"))
                first = item.args.get("nulls_first")
                keys.append((values, descending, not descending if first is None else bool(first)))
            relation = relation.taken(ordered(keys, relation.rows))
        offset, limit = (_number(query.args.get(name)) for name in ("offset", "limit"))
        if offset is not None or limit is not None:
            begin = offset or 0
            end = relation.rows if limit is None else begin + limit
            relation = relation.taken(np.arange(relation.rows)[begin:end])
        return relation

    def _order_value(
        self, tree: exp.Expr, relation: Relation, below: Relation | None, groups: Grouped | None
    ) -> tuple[pa.Array, Type]:
        if isinstance(tree, exp.Literal):
            if tree.is_string or not 1 <= int(tree.this) <= len(relation.columns):
                raise Unlike("ORDER BY a constant")
            column = relation.columns[int(tree.this) - 1]
            return column.values, column.type
        if isinstance(tree, exp.Column) and not tree.table:
            return relation.value(tree, self._rules)
        if below is None:
            raise Unlike(f"ORDER BY {tree.sql(dialect='spark')}")
        return below.value(tree if groups is None else groups.read(tree), self._rules)

    @staticmethod
    def _check_clauses(query: exp.Expr, supported: set[str]) -> None:
        further = next((name for name in given_clauses(query) if name not in supported), None)
        if further is not None:
            raise Unlike(further.strip("_").upper().replace("_", " "))


def _number(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    count = clause.expression
    if not isinstance(count, exp.Literal) or not count.this.isdigit():
        raise Unlike(clause.sql(dialect="spark").strip())
    return int(count.this)


def _meant(part: exp.Expr, query: exp.Select) -> exp.Expr:
    """Return the expression that an item of GROUP BY means: a place in the SELECT, one of its names, or itself."""
    if isinstance(part, exp.Literal) and not part.is_string and 1 <= int(part.this) <= len(query.expressions):
        return query.expressions[int(part.this) - 1].unalias()
    return part


def _one_below(first: Relation, second: Relation) -> Relation:
    """Return the rows of two relations of equal types."""
    if [column.type for column in first.columns] != [column.type for column in second.columns]:
        raise Unlike("UNION ALL of columns of different types")
    columns = (
        RelationColumn("", a.name, pa.concat_arrays([a.values, b.values]), a.type)
        for a, b in zip(first.columns, second.columns, strict=True)
    )
    return Relation(tuple(columns), first.rows + second.rows)


def _conditions(query: exp.Select, alias: str, view: ViewSource) -> Iterator[Condition]:
    """Yield the conditions of WHERE on single columns of a view that the store compares as Spark does."""
    where = query.args.get("where")
    if where is None:
        return
    types = {column.name.lower(): (column.name, parse_type(column.type)) for column in view.columns}

    def comparable_column(tree: exp.Expr) -> tuple[str, Type] | None:
        is_column = isinstance(tree, exp.Column) and tree.table.lower() == alias.lower()
        name_and_type = types.get(tree.name.lower()) if is_column else None
        if name_and_type is None or not (name_and_type[1] in INTEGERS or name_and_type[1] == STRING):
            return None
        return name_and_type

    for part in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        part = part.unnest()
        if isinstance(part, exp.In) and not part.args.get("query"):
            column = comparable_column(part.this)
            values = tuple(constant(one, column[1]) for one in part.expressions) if column else ()
            if column and values and None not in values:
                yield Condition(column[0], "IN", tuple(value for value in values if value is not None))
        elif isinstance(part, exp.Between):
            column = comparable_column(part.this)
            for operator, name in ((">=", "low"), ("<=", "high")):
                value = constant(part.args[name], column[1]) if column else None
                if column and value is not None and not part.args.get("symmetric"):
                    yield Condition(column[0], operator, (value,))
        elif type(part) in _OPERATORS:
            operator = _OPERATORS[type(part)]
            for this, other, way in (
                (part.this, part.expression, operator),
                (part.expression, part.this, _TURNED[operator]),
            ):
                column = comparable_column(this)
                value = constant(other, column[1]) if column else None
                if column and value is not None:
                    yield Condition(column[0], way, (value,))


def constant(tree: exp.Expr, kind: Type) -> int | str | None:
    """Return a constant that the store can compare with a column of a type, None for any other expression."""
    if kind == STRING:
        return tree.this if isinstance(tree, exp.Literal) and tree.is_string else None
    negative = isinstance(tree, exp.Neg)
    literal = tree.this if negative else tree
    if not isinstance(literal, exp.Literal) or literal.is_string or not literal.this.isdigit():
        return None
    number = -int(literal.this) if negative else int(literal.this)
    return number if abs(number) < MOST_BIGINT else None


def _access(wanted: Wanted) -> str:
    """Return a line that says how the store finds rows of a view."""
    view = wanted.view.view
    exact = {one.column for one in wanted.conditions if one.operator in ("=", "IN")}
    asked = list(dict.fromkeys(one.column for one in wanted.conditions))
    if view.key and exact.issuperset(view.key):
        return f"view {view.name}: by its key ({', '.join(view.key)})"
    by = next((name for name in (*view.key[:1], *view.indexes) if name in asked), None)
    if by is not None:
        what = "the first column of its key" if by in view.key else "its index"
        return f"view {view.name}: by {what}, {by}"
    return f"view {view.name}: all rows" + (f", filtered by {', '.join(asked)}" if asked else "")
