"""The order of tables that change and are joined: what an equality ties to those before it comes before what none does,
whose join is one of every row with every other."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts, with_shared_equalities
from cepsql.plan.joins.join_condition import equal_sides
from cepsql.plan.tree.join_order import EACH_ROW, INNER, relations
from cepsql.plan.tree.markers import join_kind


def put_tied_first(select: exp.Select, is_stream: Callable[[exp.Expr], bool]) -> exp.Select:
    """Put the first relation that an equality ties to the first one into the second place, if the one there is not
    tied, and that is the same; return the SELECT, which is changed.

    select: with the table of every column; its first two relations are streams.
    """
    joins, (first, second, *others) = select.args["joins"], relations(select)
    # Conditions on the left side may come after joins that look at each of its rows by itself.
    if not others or not all(join_kind(join) in EACH_ROW for join in joins) or not _is_plain(joins[0]):
        return select
    where = select.args.get("where")
    inner = [join for join in joins if join_kind(join) in INNER]
    parts = [part for join in inner for part in conjuncts(join.args.get("on"))]
    parts += conjuncts(where.this) if where is not None else []
    parts = [one for part in parts for one in with_shared_equalities(part)]
    if _is_tied(first, second, parts):
        return select
    for place, (join, other) in enumerate(zip(joins[1:], others, strict=True), 1):
        if not _is_plain(join):
            break
        if is_stream(other) and _is_tied(first, other, parts):
            select.set("joins", [join, *joins[:place], *joins[place + 1 :]])
            break
    return select


def _is_plain(join: exp.Join) -> bool:
    named = join.args.get("using") or join.args.get("method")
    return join_kind(join) in INNER and not named and not isinstance(join.this, exp.Lateral)


def _is_tied(one: exp.Expr, other: exp.Expr, parts: Sequence[exp.Expr]) -> bool:
    names = one.alias_or_name.lower(), other.alias_or_name.lower()
    return any(equal_sides(part, *names) is not None for part in parts)
