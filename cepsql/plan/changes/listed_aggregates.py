"""Aggregates of groups that change which Spark computes anew from the values of a group, such as sketches."""

from sqlglot import exp

from cepsql.analysis.clauses.running_calls import Take
from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall, aggregate_call, spread_distinct
from cepsql.analysis.row_pattern.match_lists import ELEMENT
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.operators.changing.retracting_groups import GroupCall
from cepsql.plan.changes.aggregate_parts import where
from cepsql.plan.operators.retracting_groups import ListedCall


def listed_call(name: str, call: exp.Expr, take: Take) -> ListedCall | None:
    """Return what stands for an aggregate of Spark's, None for what is none, or goes by an order.

    name: of the column with the list.
    """
    taken = aggregate_call(call)
    if taken is None or taken.order is not None or not _is_of_spark(taken):
        return None
    if taken.name == "PERCENTILE" and any(share.find(exp.Column) for share in taken.arguments[1:2]):
        return None
    function, fields = taken.function.copy(), list[exp.Expr]()
    for distinct in list(function.find_all(exp.Distinct)):
        spread_distinct(function, distinct)
    for argument in list(function.iter_expressions()):
        if argument.find(exp.Column) is not None:
            fields += [exp.Literal.string(f"v{len(fields) // 2}"), argument.copy()]
            argument.replace(exp.column(fields[-2].name, table=ELEMENT))
    if not fields:
        fields = [exp.Literal.string("v0"), exp.Literal.number(1)]
    column = take(where(taken.filter, exp.func("named_struct", *fields))).name
    return ListedCall(GroupCall(name, "list", column, taken.distinct), function, taken.nulls)


def _is_of_spark(call: AggregateCall) -> bool:
    return sql_of(call.function).partition("(")[0].upper() in SPARK_AGGREGATES
