"""Through which SQL the order of arrival passes."""

from sqlglot import exp

from cepsql.analysis.sql.function_calls import gives_rows
from cepsql.errors import answer
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import plain_table

_OF_SEVERAL = (exp.AggFunc, exp.Window, exp.Distinct, exp.Lateral)


def keeps_arrival(query: exp.Query) -> bool:
    """Tell whether each row of a query, which has no CTE, is one row of the only relation that it reads."""
    if isinstance(answer(lambda: plain_table(query), Unlike), Unlike) or query.find(*_OF_SEVERAL) is not None:
        return False
    return not any(gives_rows(call) or call.name.upper() in SPARK_AGGREGATES for call in query.find_all(exp.Func))
