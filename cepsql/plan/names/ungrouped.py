"""What is said of a column beside groups that is none of them."""

import difflib
from collections.abc import Mapping

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.window_calls import WINDOW_CALLS
from cepsql.errors import ProgrammingError, suggestion
from cepsql.language.foreign.foreign_functions import INSTEAD
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.operators.windowing.windows import END, START


def ungrouped(column: exp.Column, select: exp.Select, names: Mapping[exp.Expr, str]) -> ProgrammingError:
    """Make the error for a column that is no key of the groups, and that no aggregate reads."""
    place, keys = span_of(column), [key.name for key in names if isinstance(key, exp.Column)]
    if column.table.lower() in WINDOW_CALLS:
        hint = suggestion(column.name, ("start", "end"), "columns")
        return ProgrammingError(f"{column.table} has no column {column.name}", place, hint)
    if not column.table and not select.find(exp.Lateral, exp.Unnest, exp.Values, exp.Pivot):
        available = [*keys, *(item.alias for item in select.expressions if item.alias), START, END]
        hint = suggestion(column.name, dict.fromkeys(available), "columns of the groups")
        return ProgrammingError(f"there is no column {column.name}", place, hint)
    call = column.find_ancestor(exp.Anonymous, exp.Select)
    if isinstance(call, exp.Anonymous):
        instead = INSTEAD.get(call.name.upper())
        near = difflib.get_close_matches(call.name.upper(), (*SPARK_AGGREGATES, *_PLAIN_AGGREGATES), 1)
        hint = instead or (f"did you mean {near[0]}?" if near else f"add {column.name} to GROUP BY")
        return ProgrammingError(
            f"there is no aggregate function {call.name}, and {column.name} is not in GROUP BY", span_of(call), hint
        )
    return ProgrammingError(f"{column.name} is neither in GROUP BY nor in an aggregate", place, "add it to GROUP BY")


_PLAIN_AGGREGATES = ("COUNT", "COUNT_IF", "SUM", "AVG", "MEAN", "MIN", "MAX", "FIRST", "LAST")
