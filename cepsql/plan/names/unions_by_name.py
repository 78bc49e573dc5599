"""UNION BY NAME, whose columns meet by their names: a UNION whose branches have them in one order."""

from sqlglot import exp

from cepsql.plan.names.names_below import Columns, names_given


def with_unions_by_name(columns: Columns, query: exp.Query) -> exp.Query:
    """Return a query whose UNIONs meet by the place of their columns; the query itself if all do.

    A column that one side does not have is NULL there. A side whose columns are not known stays as it is.
    """
    if not any(union.args.get("by_name") for union in query.find_all(exp.Union)):
        return query
    copy = query.copy()
    # The innermost first: what is around them asks for the names that they give.
    for union in reversed(list(copy.find_all(exp.Union))):
        if not union.args.get("by_name"):
            continue
        left, right = (names_given(side, columns) for side in (union.left, union.right))
        lower_names = [name.lower() for name in left]
        names = [*left, *(name for name in right if name.lower() not in lower_names)]
        if not (left and right and all(names)):
            continue
        union.set("this", _ordered(union.left, left, names))
        union.set("expression", _ordered(union.right, right, names))
        union.set("by_name", False)
    return copy


def _ordered(side: exp.Expr, wanted: list[str], names: list[str]) -> exp.Expr:
    """Return a side of a UNION with columns of these names."""
    if [name.lower() for name in wanted] == [name.lower() for name in names]:
        return side
    lower_names = {name.lower() for name in wanted}
    items = [
        exp.column(name, quoted=True) if name.lower() in lower_names else exp.alias_(exp.null(), name, quoted=True)
        for name in names
    ]
    inner = side.unnest()
    assert isinstance(inner, exp.Query)
    return exp.select(*items).from_(inner.subquery("__side", copy=False))
