"""Relations whose alias names their columns: FROM t AS x (a, b)."""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.plan.names.expand import put_in_place
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
        alias.set("columns", None)
        put_in_place(table, inner, [])
    return copy
