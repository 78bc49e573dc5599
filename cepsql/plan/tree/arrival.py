"""Which operators go by the order of arrival, and through which SQL it passes."""

from sqlglot import exp

from cepsql.analysis.sql.function_calls import gives_rows
from cepsql.errors import answer
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.plan.tree.nodes import AsOfJoin, Deduplicate, Match, Ordered, Over, Sort
from cepsql.scan.expression import Unlike
from cepsql.scan.select import plain_table

_OF_SEVERAL = (exp.AggFunc, exp.Window, exp.Distinct, exp.Lateral)


def goes_by_arrival(node: Ordered, number: int) -> bool:
    """Tell whether rows of one time of an input of an operator come in the order in which their source has them."""
    if isinstance(node, AsOfJoin):
        return node.sides[number] == 1
    return isinstance(node, Match | Deduplicate | Over | Sort)


def keeps_arrival(query: exp.Query) -> bool:
    """Tell whether each row of a query, which has no CTE, is one row of the only relation that it reads."""
    if isinstance(answer(lambda: plain_table(query), Unlike), Unlike) or query.find(*_OF_SEVERAL) is not None:
        return False
    return not any(gives_rows(call) or call.name.upper() in SPARK_AGGREGATES for call in query.find_all(exp.Func))
