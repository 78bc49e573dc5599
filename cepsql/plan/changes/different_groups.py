"""SELECT DISTINCT beside GROUP BY or aggregates: the different ones among the rows that groups give."""

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import own_aggregates


def is_distinct_of_groups(select: exp.Select) -> bool:
    """Tell whether a SELECT gives the different ones among rows of groups."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on"):
        return False
    return select.args.get("group") is not None or bool(own_aggregates(select))


def different_groups(select: exp.Select, name: str) -> exp.Select:
    """Return such a SELECT as a SELECT DISTINCT over one of the groups, a relation that is called `name`."""
    inner, columns = select.copy(), [f"__d{number}" for number in range(len(select.selects))]
    inner.set("distinct", None)
    items = zip(inner.expressions, columns, strict=True)
    inner.set("expressions", [exp.alias_(item.unalias().copy(), column) for item, column in items])
    named = zip(columns, select.selects, strict=True)
    outer = [exp.alias_(exp.column(column, table=name), item.alias_or_name, quoted=True) for column, item in named]
    return exp.select(*outer).distinct().from_(inner.subquery(name))
