"""What must be among groups that HAVING chooses is asked of a table before it is joined: few rows are left to join.

`FROM a, b WHERE a.k = b.k AND a.j IN (SELECT j FROM c GROUP BY j HAVING SUM(x) > 300)` would join all rows of `a` and
`b` and keep their pairs, of which hardly any is asked for.
"""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.language.notes import copied
from cepsql.plan.joins.semi_joins import reads_outside
from cepsql.plan.tree.join_order import EACH_ROW, INNER, relations, used_rows
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
    relations_asked = (_relation_asked(part, is_stream) for part in conjuncts(where.this))
    asked = [alias if alias in aliases else None for alias in relations_asked]
    if not any(asked):
        return select
    copy = copied(select)
    parts = conjuncts(copy.args["where"].this)
    for item in relations(copy):
        chosen = [part for part, one in zip(parts, asked, strict=True) if one == item.alias_or_name.lower()]
        if chosen:
            rows = used_rows(copy, item).where(*map(copied, chosen), copy=False)
            item.replace(rows.subquery(item.alias_or_name, copy=False))
    rest = [copied(part) for part, one in zip(parts, asked, strict=True) if one is None]
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
