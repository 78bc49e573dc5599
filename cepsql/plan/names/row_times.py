"""ROWTIME, which in ksqlDB is the event time of a row, whatever column has it."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.plan.names.names_below import Columns, names_below
from cepsql.plan.tree.join_order import relations

_NAME = "rowtime"


def with_row_times(time: Callable[[exp.Table], str | None], columns: Columns, query: exp.Query) -> exp.Query:
    """Return a query in which ROWTIME is the event time of the stream that a SELECT reads.

    time: gives the event time of a relation, None where it has none.
    Where a column has that name it is that; the query itself is returned if nothing is replaced.
    """
    if not any(column.name.lower() == _NAME for column in query.find_all(exp.Column)):
        return query
    copy, changed = query.copy(), False
    for column in [one for one in copy.find_all(exp.Column) if one.name.lower() == _NAME]:
        select = column.parent_select
        if not isinstance(select, exp.Select) or _NAME in names_below(select, columns):
            continue
        of = column.table.lower()
        named_so = [one for one in relations(select) if not of or one.alias_or_name.lower() == of]
        tables = [one for one in named_so if isinstance(one, exp.Table)]
        times = [time_column for table in tables if (time_column := time(table)) is not None]
        if len(times) != 1:
            continue
        named = exp.column(times[0], table=column.args.get("table"), quoted=True)
        named.meta.update(column.meta)
        column.replace(exp.alias_(named, column.name) if column.parent is select else named)
        changed = True
    return copy if changed else query
