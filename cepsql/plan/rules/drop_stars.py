"""Leave out plain SQL that gives the rows of one relation as they are."""

from sqlglot import exp

from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.language.given_clauses import given_clauses
from cepsql.plan.tree.nodes import Node, Ordered, Sql, transform


def drop_stars(root: Node) -> Node:
    """Return the plan with the relation itself where a match, or the whole query, is `SELECT * FROM relation`."""
    return _without_star(transform(root, _dropped))


def _dropped(node: Node) -> Node:
    if not isinstance(node, Ordered):
        return node
    return node.changed(inputs=tuple(_without_star(below) for below in node.inputs))


def _without_star(below: Node) -> Node:
    if not isinstance(below, Sql):
        return below
    table = _whole_relation(below.query)
    return below if table is None or _renames(table) else below.inputs[table_name(table)]


def _whole_relation(query: exp.Query) -> exp.Table | None:
    """Return the relation of `SELECT * FROM relation`, None for another query."""
    if given_clauses(query) != {"expressions", "from_"} or query.expressions != [exp.Star()]:
        return None
    tables = catalog_tables(query)
    return tables[0] if len(tables) == 1 and query.args["from_"].this is tables[0] else None


def _renames(table: exp.Table) -> bool:
    """Tell whether more than a name of the whole stands behind a table: names of columns, a sample, a pivot."""
    alias = table.args.get("alias")
    further = given_clauses(table) - {"this", "db", "catalog", "alias"}
    return bool(further) or (alias is not None and bool(alias.columns))
