"""GROUPING SETS, CUBE and ROLLUP over a stream, as groups by the number of the set: each row counts in every set."""

from collections.abc import Sequence
from itertools import chain, combinations, product

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import is_group_aggregate
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.spark_names import spark_name
from cepsql.errors import NotSupportedError

_SETS, _SET = "__sets", "__set"
_MOST = 64


def with_grouping_sets(query: exp.Query) -> exp.Query:
    """Return a query in which a row is there once for each set, and its keys that are not of the set are NULL.

    The query itself is returned if it has no sets. Raises NotSupportedError for more than 64 sets.
    """
    if query.find(exp.Cube, exp.Rollup, exp.GroupingSets) is None:
        return query
    copy, changed = query.copy(), False
    for select in list(copy.find_all(exp.Select)):
        group = select.args.get("group")
        if group is None or group.args.get("all") or group.find(exp.Cube, exp.Rollup, exp.GroupingSets) is None:
            continue
        _Sets(select, group).write()
        changed = True
    return copy if changed else query


class _Sets:
    """The sets of a SELECT.

    sets: the keys of each.
    keys: all of them, each once.
    """

    def __init__(self, select: exp.Select, group: exp.Group):
        self._select, self.keys = select, list[exp.Expr]()
        self.sets = [list(dict.fromkeys(map(self._taken, keys))) for keys in _sets(group)]
        if len(self.sets) > _MOST:
            place = span_of(group)
            raise NotSupportedError(f"{len(self.sets)} grouping sets are more than {_MOST}", place)

    def write(self) -> None:
        """Let the SELECT group by the number of the set."""
        select, always = self._select, [key for key in self.keys if all(key in keys for keys in self.sets)]
        partial = [key for key in self.keys if key not in always]
        select.set("expressions", [self._item(item) for item in select.expressions])
        if select.args.get("having") is not None:
            select.set("having", self._replaced(select.args["having"].copy()))
        names_given = {item.alias_or_name.lower() for item in select.expressions}
        for item in select.args["order"].expressions if select.args.get("order") is not None else ():
            # What the result calls so is ordered by that column.
            if not (isinstance(item.this, exp.Column) and item.this.name.lower() in names_given):
                item.set("this", self._replaced(item.this.copy()))
        numbers = [exp.Literal.number(number) for number in range(len(self.sets))]
        names = exp.TableAlias(this=exp.to_identifier(_SETS), columns=[exp.to_identifier(_SET)])
        rows = exp.Lateral(this=exp.Explode(this=exp.Array(expressions=numbers)), view=True, outer=False, alias=names)
        select.append("laterals", rows)
        keys = [*(key.copy() for key in always), exp.column(_SET, table=_SETS), *map(self._of_its_sets, partial)]
        select.set("group", exp.Group(expressions=keys))

    def _taken(self, key: exp.Expr) -> exp.Expr:
        """Return the key that an expression is, perhaps a new one; a number is an item of the SELECT."""
        number = int(key.this) if isinstance(key, exp.Literal) and key.this.isdigit() else 0
        meant = self._select.selects[number - 1].unalias() if 0 < number <= len(self._select.selects) else key
        own_key = self._key(meant)
        if own_key is None:
            self.keys.append(meant)
        return meant if own_key is None else own_key

    def _item(self, item: exp.Expr) -> exp.Expr:
        made = self._replaced(item.copy())
        if isinstance(made, exp.Alias) or made == item:
            return made
        name = item.name if isinstance(item, exp.Column) else spark_name(item)
        return exp.alias_(made, name, quoted=True)

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        """Return an expression over the groups; what stands in aggregates and in subqueries is that of the rows."""
        if isinstance(node, exp.Grouping):
            return exp.cast(self._bits(node.expressions), "tinyint", dialect="spark")
        if isinstance(node, exp.GroupingId):
            return exp.cast(self._bits(node.expressions or self.keys), "bigint", dialect="spark")
        if is_group_aggregate(node) or isinstance(node, exp.Query):
            return node
        key = self._key(node)
        if key is not None:
            return node if all(key in keys for keys in self.sets) else self._of_its_sets(key)
        for child in list(node.iter_expressions()):
            made = self._replaced(child)
            if made is not child:
                child.replace(made)
        return node

    def _key(self, node: exp.Expr) -> exp.Expr | None:
        """Return the key that an expression is; t.k and k are the same."""
        if isinstance(node, exp.Literal) or not isinstance(node, exp.Condition):
            return None
        said = sql_of(without_tables(node)).lower()
        return next((key for key in self.keys if key == node or sql_of(without_tables(key)).lower() == said), None)

    def _of_its_sets(self, key: exp.Expr) -> exp.Expr:
        return exp.case().when(self._in_set(key), key.copy())

    def _in_set(self, key: exp.Expr) -> exp.Expr:
        numbers = [exp.Literal.number(number) for number, keys in enumerate(self.sets) if key in keys]
        return exp.In(this=exp.column(_SET, table=_SETS), expressions=numbers)

    def _bits(self, asked: Sequence[exp.Expr]) -> exp.Expr:
        """Return a number whose bits, the last one for the last key, say which keys are not of the set."""
        total: exp.Expr = exp.Literal.number(0)
        for place, one in enumerate(reversed(asked)):
            key = self._key(one)
            weight = exp.Literal.number(2**place)
            bit = weight if key is None else exp.case().when(self._in_set(key), exp.Literal.number(0)).else_(weight)
            total = exp.Add(this=total, expression=exp.Paren(this=bit))
        return total


def _sets(group: exp.Group) -> list[list[exp.Expr]]:
    """Return the keys of each grouping set."""
    plain = list(group.expressions)
    for clause in ("rollup", "cube", "grouping_sets"):
        for part in group.args.get(clause) or []:
            # GROUP BY a, b WITH ROLLUP, or GROUP BY a, b GROUPING SETS (...).
            own = part.expressions if part.expressions else plain
            return _of_part(type(part)(expressions=[one.copy() for one in own]))
    combined = product(*map(_of_part, plain))
    return [list(dict.fromkeys(key for keys in one for key in keys)) for one in combined]


def _of_part(part: exp.Expr) -> list[list[exp.Expr]]:
    match part:
        case exp.Rollup():
            items = list(map(_keys, part.expressions))
            return [list(chain(*items[:size])) for size in range(len(items), -1, -1)]
        case exp.Cube():
            items = list(map(_keys, part.expressions))
            sizes = range(len(items), -1, -1)
            return [list(chain(*chosen)) for size in sizes for chosen in combinations(items, size)]
        case exp.GroupingSets():
            return [keys for one in part.expressions for keys in _of_part(one)]
    return [_keys(part)]


def _keys(part: exp.Expr) -> list[exp.Expr]:
    """Return the keys that stand together, (a, b), or the one key."""
    if isinstance(part, exp.Paren):
        return [part.this]
    return list(part.expressions) if isinstance(part, exp.Tuple) else [part]
