"""Leave out what tells rows of a table from one another, where no row is taken away and no operator asks for it."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.sql.properties import IDENTITY, Properties
from cepsql.plan.tree.nodes import (
    LabelledChanges,
    Node,
    Ordered,
    Sql,
    inputs,
    known_rows,
    only_adds,
    walk,
    with_inputs,
    with_known,
)
from cepsql.plan.tree.worked_out_identities import with_identities

_NONE = exp.cast(exp.null(), "string", dialect="spark")


def drop_identities(root: Node) -> Node:
    """Return the plan without the identities that nothing reads.

    Groups know rows by their keys. A join tells apart the rows of its inputs if some are taken away, and its own if it
    is asked to; so does the end of a query.
    """
    asked = {id(root)}
    for node in reversed(list(walk(root))):
        # All that read a node come before it.
        if _asks(node, id(node) in asked):
            asked |= set(map(id, inputs(node)))
    done: dict[int, Node] = {}

    def changed(node: Node) -> Node:
        if id(node) not in done:
            done[id(node)] = with_inputs(node if id(node) in asked else _without(node), changed)
        return done[id(node)]

    return changed(root)


def _asks(node: Node, asked: bool) -> bool:
    """Tell whether a node reads the identities of its inputs; `asked`: those of its own rows are read."""
    match node:
        case LabelledChanges():
            return not only_adds(node)
        case Sql():
            return asked
        case Ordered():
            return node.asks_identities(asked)
    return True


def _without(node: Node) -> Node:
    if isinstance(node, Ordered):
        return with_known(node.without_identities(), known_rows(node))
    if not isinstance(node, Sql):
        return node
    query = with_identities(node.query, lambda _: _NONE.copy())
    return node if query is node.query else with_known(replace(node, query=query), _with_texts(known_rows(node)))


def _with_texts(rows: Properties | None) -> Properties | None:
    """Return what is known of rows whose identities are texts for sure, which JSON is only for Spark."""
    if rows is None:
        return None
    columns = (replace(one, type="string") if one.name == IDENTITY else one for one in rows.columns)
    return replace(rows, columns=tuple(columns))
