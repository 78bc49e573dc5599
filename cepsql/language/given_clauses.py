"""The clauses of a query that are written, or the parts of another node."""

from collections.abc import KeysView

from sqlglot import exp


def given_clauses(node: exp.Expr) -> KeysView[str]:
    """Return the names of a node's parts that are there, in order; sqlglot also keeps names of parts that are not.

    >>> list(given_clauses(exp.Select(expressions=[exp.Star()], where=None, joins=[])))
    ['expressions']
    """
    return {name: value for name, value in node.args.items() if value}.keys()
