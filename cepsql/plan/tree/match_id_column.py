"""Which column of a query tells matches apart."""

from sqlglot import exp

from cepsql.plan.tree.nodes import Node, Ordered, Sql


def match_id_column(node: Node) -> str | None:
    """Return the column of a node's rows that holds MATCH_ID() as it is, None if there is none, or it is not known.

    With ALL ROWS PER MATCH the rows of a match have one id, which then tells no rows apart.
    """
    match node:
        case Ordered():
            return node.match_id
        case Sql(exp.Select() as query, inputs) if len(inputs) == 1 and not query.args.get("joins"):
            below = match_id_column(next(iter(inputs.values())))
            return None if below is None else _selected(query, below)
    return None


def _selected(query: exp.Select, name: str) -> str | None:
    if query.args.get("group") or query.args.get("laterals"):
        return None
    for item in query.expressions:
        read = item.unalias()
        if isinstance(item, exp.Star):
            return name
        if isinstance(read, exp.Column) and read.name.lower() == name.lower():
            return item.alias_or_name
    return None
