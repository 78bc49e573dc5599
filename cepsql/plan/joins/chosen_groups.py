"""What must be among groups that HAVING chooses is asked of a table before it is joined: few rows are left to join.

`FROM a, b WHERE a.k = b.k AND a.j IN (SELECT j FROM c GROUP BY j HAVING SUM(x) > 300)` would join all rows of `a` and
`b` and keep their pairs, of which hardly any is asked for.
"""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.language.notes import copied
from cepsql.plan.joins.semi_joins import reads_outside
from cepsql.plan.tree.join_order import EACH_ROW, INNER, own_columns, relations
from cepsql.plan.tree.markers import join_kind


def with_groups_chosen_first(select: exp.Select, is_stream: Callable[[exp.Expr], bool]) -> exp.Select:
    """Return a SELECT whose relations have only rows that its WHERE finds among such groups; the same one if it joins
    nothing or asks nothing so.

    select: with the table of every column.
    """
    joins, where = select.args.get("joins") or [], select.args.get("where")
    if not joins or where is None or not all(map(_is_plain, joins)):
        return select
    inner = [select.args["from_"].this, *(join.this for join in joins if join_kind(join) in INNER)]
    aliases = {item.alias_or_name.lower() for item in inner if is_stream(item) and not isinstance(item, exp.Lateral)}
    found = {place: _relation_asked(part, is_stream) for place, part in enumerate(conjuncts(where.this))}
    asked = {place: alias for place, alias in found.items() if alias in aliases}
    if not asked:
        return select
    copy = copied(select)
    parts = conjuncts(copy.args["where"].this)
    for alias in dict.fromkeys(asked.values()):
        item = next(item for item in relations(copy) if item.alias_or_name.lower() == alias)
        names = dict.fromkeys(column.name.lower() for column in own_columns(copy) if column.table.lower() == alias)
        columns = (exp.alias_(exp.column(name, table=alias, quoted=True), name, quoted=True) for name in names)
        rows = exp.select(*columns, copy=False)
        rows.from_(copied(item), copy=False)
        for place in (place for place, other in asked.items() if other == alias):
            rows.where(copied(parts[place]), copy=False)
        item.replace(rows.subquery(item.alias_or_name, copy=False))
    rest = [copied(part) for place, part in enumerate(parts) if place not in asked]
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    return copy


def _is_plain(join: exp.Join) -> bool:
    return join_kind(join) in EACH_ROW and not (join.args.get("using") or join.args.get("method"))


def _relation_asked(part: exp.Expr, is_stream: Callable[[exp.Expr], bool]) -> str | None:
    """Return the relation, lower case, whose value must be among groups of streams that HAVING chooses; None for other
    conditions."""
    query = part.args["query"].unnest() if isinstance(part, exp.In) and part.args.get("query") is not None else None
    if not isinstance(query, exp.Select) or query.args.get("having") is None or reads_outside(query):
        return None
    asked = {column.table.lower() for column in part.this.find_all(exp.Column)}
    groups_stream = any(map(is_stream, relations(query))) and part.this.find(exp.Query) is None
    return asked.pop() if groups_stream and len(asked) == 1 else None
