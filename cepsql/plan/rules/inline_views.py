"""Put the queries of views into the plain SQL that reads them, so that one query stands over what is read."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.sql.resolve import catalog_tables, table_name, visible_ctes
from cepsql.analysis.sql.written import with_relations
from cepsql.language.notes import copied
from cepsql.plan.names.expand import put_in_place
from cepsql.plan.tree.nodes import Node, Read, Sql, known_rows, transform, with_known


def inline_views(root: Node, windows: bool = True) -> Node:
    """Return the plan with every view over relations of the catalog in place of its name.

    windows: rows with windows that are not yet held are views, too.
    Views over ordered operators stay nodes, and so does a view that reads a name which means a CTE where it is used.
    """
    return transform(root, lambda node: _inlined(node, windows))


def _inlined(node: Node, windows: bool) -> Node:
    if not isinstance(node, Sql):
        return node
    plain = {name: below for name, below in node.inputs.items() if isinstance(below, Sql) and _is_plain(below)}
    views = {name: below for name, below in plain.items() if windows or below.windows is None}
    query, inlined_query = node.query, set(node.inputs)
    for name, view in views.items():
        if not _hides_names(query, name, view):
            query = copied(query) if query is node.query else query
            _put_body(query, name, view.query)
            inlined_query.discard(name)
    if query is node.query:
        return node
    bodies = {name: views[name].written for name in set(node.inputs) - inlined_query}
    inlined = {name: body for name, body in bodies.items() if body is not None}
    below = {name: node.inputs[name] for name in inlined_query}
    for name in set(node.inputs) - inlined_query:
        below |= views[name].inputs
    # In the order in which the query names them.
    names = dict.fromkeys(table_name(table) for table in catalog_tables(query))
    text = with_relations(node.written, query, {}, inlined) if len(inlined) == len(bodies) else None
    return _with_known(replace(node, query=query, inputs={name: below[name] for name in names}, text=text), node)


def _with_known(inlined: Sql, node: Sql) -> Sql:
    """Hand on what is known of a node's rows to the node with its views inlined, unless it is over operators or over
    streams that are united: there the query of a view may say more than is known of its rows."""
    if known_rows(node) is None:
        return inlined
    below = [one.properties for one in node.inputs.values()]
    plain = not any(rows.ordered or rows.merged or rows.others for rows in below)
    return with_known(inlined, known_rows(node)) if plain else inlined


def _is_plain(view: Sql) -> bool:
    return all(isinstance(below, Read) for below in view.inputs.values())


def _hides_names(query: exp.Query, name: str, view: Sql) -> bool:
    """Tell whether a CTE around a use of the view has the name of something that the view reads."""
    uses = [table for table in catalog_tables(query) if table_name(table) == name]
    hidden = {cte.alias.lower() for use in uses for cte in visible_ctes(use)}
    return not hidden.isdisjoint(view.inputs)


def _put_body(query: exp.Query, name: str, body: exp.Query) -> None:
    """Put the query of a view in place of its name; the query that reads it is changed."""
    for table in catalog_tables(query):
        if table_name(table) == name:
            if table.args.get("alias") is None:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            put_in_place(table, copied(body), [])
