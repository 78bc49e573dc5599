"""Comparisons with the value of a subquery over a stream are written as joins with the row, or group, that has it."""

from collections.abc import Container

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import aggregate_call, is_group_aggregate, own_aggregates
from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.analysis.sql.strict import is_strict
from cepsql.language.notes import copied
from cepsql.plan.tree.join_order import relations

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_FURTHER = ("group", "having", "limit", "offset", "laterals", "distinct", "qualify", "with_", "order")
NULL_OF_NOTHING = frozenset(
    {
        "ANY", "ANYVALUE", "ANY_VALUE", "APPROXQUANTILE", "ARGMAX", "ARGMIN", "AVG", "BITWISEANDAGG", "BITWISEORAGG",
        "BITWISEXORAGG", "BOOL_AND", "BOOL_OR", "CORR", "COVARPOP", "COVARSAMP", "EVERY", "FIRSTVALUE", "FIRST_VALUE",
        "GROUPCONCAT", "KURTOSIS", "LASTVALUE", "LAST_VALUE", "LISTAGG", "LOGICALAND", "LOGICALOR", "MAX", "MAX_BY",
        "MEDIAN", "MIN", "MIN_BY", "MODE", "PERCENTILE", "PERCENTILECONT", "PERCENTILEDISC", "PERCENTILE_CONT",
        "PERCENTILE_DISC", "QUANTILE", "REGRAVGX", "REGRAVGY", "REGRINTERCEPT", "REGRR2", "REGRSLOPE", "REGRSXX",
        "REGRSXY", "REGRSYY", "SKEWNESS", "SOME", "STD", "STDDEV", "STDDEVPOP", "STDDEVSAMP", "STDDEV_POP",
        "STDDEV_SAMP", "STRING_AGG", "SUM", "TRY_AVG", "TRY_SUM", "VARIANCE", "VARIANCEPOP", "VAR_POP", "VAR_SAMP",
    }
)  # fmt: skip
"""Aggregates, as `aggregate_call` names them, that are NULL where no row is."""
_OF_TIMES = (exp.DateAdd, exp.DateSub, exp.DateTrunc, exp.AddMonths, exp.TimestampAdd, exp.LastDay, exp.TimeToStr)
"""Further operations that are NULL where an argument is."""

_VALUE = "__value"


def with_value_joins(select: exp.Select, streams: Container[str]) -> exp.Select:
    """Return a SELECT that joins what its WHERE compares with; the same one if it compares with no such subquery.

    select: with the table of every column.
    Where no row of the subquery is, its value is NULL and no comparison holds: the row is joined with nothing.
    """
    where = select.args.get("where")
    parts = conjuncts(where.this) if where is not None else []
    if not any(_asked(part, streams) for part in parts):
        return select
    copy = copied(select)
    joins, conditions = [*(copy.args.get("joins") or [])], []
    for part in parts:
        asked = _asked(part, streams)
        join = None if asked is None else _joined(asked.this, f"__compared_{len(joins)}")
        if join is None:
            conditions.append(copied(part))
            continue
        joins.append(join)
        value = exp.column(_VALUE, table=join.alias_or_name, quoted=True)
        conditions.append(
            copied(part).transform(lambda node, asked=asked, value=value: value if node == asked else node, copy=False)
        )
    copy.set("joins", joins)
    copy.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    return copy


def _asked(part: exp.Expr, streams: Container[str]) -> exp.Subquery | None:
    """Return the subquery over a stream with which a condition compares."""
    sides = (part.this, part.expression) if isinstance(part, _COMPARISONS) else ()
    subqueries = [side for side in sides if isinstance(side, exp.Subquery)]
    if len(subqueries) != 1 or not any(table_name(table) in streams for table in catalog_tables(subqueries[0])):
        return None
    return subqueries[0]


def _joined(query: exp.Expr, name: str) -> exp.Join | None:
    """Return the join with the value of a subquery, None for one whose value is not that of one row or group."""
    if not isinstance(query, exp.Select) or len(query.selects) != 1 or any(query.args.get(part) for part in _FURTHER):
        return None
    if not own_aggregates(query) or not _is_null_of_nothing(query.selects[0].unalias()):
        return None
    inside = {item.alias_or_name.lower() for item in relations(query)}
    rest, keys = [], []
    for part in conjuncts(query.args["where"].this if query.args.get("where") else None):
        tables = {column.table.lower() for column in part.find_all(exp.Column)}
        if tables <= inside:
            rest.append(copied(part))
            continue
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        own = [side for side in sides if {column.table.lower() for column in side.find_all(exp.Column)} <= inside]
        outer = [side for side in sides if not inside & {c.table.lower() for c in side.find_all(exp.Column)}]
        if len(own) != 1 or len(outer) != 1:
            return None
        keys.append((own[0], outer[0]))
    inner = copied(query)
    inner.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    named = {f"__key_{i}": own for i, (own, _) in enumerate(keys)}
    values = {_VALUE: query.selects[0].unalias(), **named}
    items = [exp.alias_(copied(value), called, quoted=True, copy=False) for called, value in values.items()]
    inner.set("expressions", items)
    if keys:
        inner.set("group", exp.Group(expressions=[copied(own) for own, _ in keys]))
    equal = [exp.EQ(this=copied(outer), expression=exp.column(f"__key_{i}", table=name, quoted=True))
             for i, (_, outer) in enumerate(keys)]  # fmt: skip
    on = exp.and_(*equal, copy=False) if equal else exp.true()
    return exp.Join(this=inner.subquery(name, copy=False), kind="INNER", on=on)


def _is_null_of_nothing(value: exp.Expr) -> bool:
    """Tell whether what is computed from aggregates alone is NULL for sure where no row is."""
    return all(
        _is_null_aggregate(node) if is_group_aggregate(node) else is_strict(node) or isinstance(node, _OF_TIMES)
        for node in value.walk(prune=is_group_aggregate)
    )


def _is_null_aggregate(node: exp.Expr) -> bool:
    call = aggregate_call(node)
    return call is None or call.name in NULL_OF_NOTHING
