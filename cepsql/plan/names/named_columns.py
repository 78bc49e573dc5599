"""Relations whose alias names their columns: FROM t AS x (a, b)."""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.plan.tree.nodes import Node

_GIVEN = "__given"


def with_columns_named(query: exp.Query, nodes: Mapping[str, Node]) -> exp.Query:
    """Return a query with subqueries that name the columns in place of relations whose alias does.

    query: with the table of every column.
    nodes: what the names of relations stand for, lower case.
    """
    if not any(table.alias_column_names for table in query.find_all(exp.Table)):
        return query
    copy = query.copy()
    for table in list(copy.find_all(exp.Table)):
        node, alias = nodes.get(table.name.lower()), table.args.get("alias")
        if node is None or alias is None or not alias.columns:
            continue
        items = [
            exp.alias_(exp.column(column.name, table=_GIVEN, quoted=True), name.name, quoted=True)
            for column, name in zip(node.properties.columns, alias.columns, strict=True)
        ]
        inner = exp.select(*items).from_(exp.alias_(exp.to_table(table.name), _GIVEN, table=True))
        named = exp.Subquery(this=inner, alias=exp.TableAlias(this=alias.this.copy()))
        for part in ("joins", "laterals", "pivots", "sample"):
            if table.args.get(part):
                named.set(part, table.args[part])
        table.replace(named)
    return copy
