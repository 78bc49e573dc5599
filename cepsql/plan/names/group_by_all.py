"""GROUP BY ALL, which groups by all that SELECT gives and that is no aggregate, as GROUP BY of these."""

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import aggregates_of


def with_group_by_all(query: exp.Query) -> exp.Query:
    """Return a query that names what it groups by; the query itself if it does, or if it gives columns by a star."""
    if not any(group.args.get("all") for group in query.find_all(exp.Group)):
        return query
    copy = query.copy()
    for select in list(copy.find_all(exp.Select)):
        group = select.args.get("group")
        if (
            group is None
            or not group.args.get("all")
            or any(value for name, value in group.args.items() if name != "all")
        ):
            continue
        own = [item.unalias() for item in select.expressions if not _aggregates(item)]
        keys = [item for item in own if not isinstance(item, exp.Literal)]
        # Of a star and an aggregate beside a column Spark knows more.
        if not keys or any(item.find(exp.Star) for item in own) or any(map(_mixed, select.expressions)):
            continue
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return copy


def _aggregates(item: exp.Expr) -> list[exp.Expr]:
    return aggregates_of(exp.select(item.copy()))


def _mixed(item: exp.Expr) -> bool:
    """Tell whether an item computes with an aggregate and with columns outside of it."""
    aggregates = _aggregates(item)
    inside = sum(len(list(call.find_all(exp.Column))) for call in aggregates)
    return bool(aggregates) and len(list(item.find_all(exp.Column))) > inside
