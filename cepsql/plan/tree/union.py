"""The branches of a UNION ALL, each as a query of its own with all that stands over the union."""

from sqlglot import exp

from cepsql.language.given_clauses import given_clauses
from cepsql.plan.tree.markers import inline_ctes

_ROW_BY_ROW = {"expressions", "from_", "where", "kind", "hint"}


def union_branches(query: exp.Query) -> list[exp.Query] | None:
    """Return the branches of a query that is a UNION ALL, or a SELECT of one, row by row; None for other queries.

    query: without stars in the branches. Together these give the rows of the query; each has the columns of the first
    branch by name, but may have types of its own.

    >>> from sqlglot import parse_one
    >>> [b.sql() for b in union_branches(parse_one("SELECT * FROM (SELECT a FROM s UNION ALL SELECT b FROM t) AS u"))]
    ['SELECT * FROM (SELECT a FROM s) AS u', 'SELECT * FROM (SELECT b AS "a" FROM t) AS u']
    """
    return _branches(inline_ctes(query))


def _branches(query: exp.Query) -> list[exp.Query] | None:
    if isinstance(query, exp.Subquery) and not query.args.get("joins"):
        return _branches(query.this)
    if isinstance(query, exp.Union):
        return _of_union(query)
    if not isinstance(query, exp.Select) or given_clauses(query) - _ROW_BY_ROW:
        return None
    source = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(source, exp.Subquery) or any(source.args.get(key) for key in ("joins", "pivots", "sample")):
        return None
    inner = _branches(source.this)
    if inner is None or query.find(exp.AggFunc, exp.Window, exp.Distinct):
        return None
    return [_over(query, branch) for branch in _named_alike(inner, source)]


def _of_union(union: exp.Union) -> list[exp.Query] | None:
    plain = given_clauses(union) <= {"this", "expression", "distinct"}
    if union.args.get("distinct") or not plain:
        return None
    branches: list[exp.Query] = []
    for side in (union.left, union.right):
        whole = side.unnest()
        assert isinstance(side, exp.Query) and isinstance(whole, exp.Query)
        branches += _branches(side) or [whole]
    return branches


def _named_alike(branches: list[exp.Query], source: exp.Subquery) -> list[exp.Subquery]:
    """Return the branches as subqueries in place of the one that holds the union, with one name for each column."""
    alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier("__union"))
    names = [exp.to_identifier(name, quoted=True) for name in _names(branches[0])]
    return [exp.Subquery(this=_renamed(branch, names), alias=alias.copy()) for branch in branches]


def _names(branch: exp.Query) -> list[str]:
    """Return the names of a query's columns; parentheses around a column do not matter."""
    return [item.alias_or_name or item.unnest().alias_or_name or f"_col_{i}" for i, item in enumerate(branch.selects)]


def _renamed(branch: exp.Query, names: list[exp.Identifier]) -> exp.Query:
    if [name.this for name in names] == _names(branch):
        return branch
    if not isinstance(branch, exp.Select):
        alias = exp.TableAlias(this=exp.to_identifier("__branch"), columns=[name.copy() for name in names])
        return exp.select("*").from_(exp.Subquery(this=branch, alias=alias))
    copy = branch.copy()
    pairs = zip(branch.expressions, names, strict=True)
    copy.set("expressions", [exp.alias_(value.unalias().copy(), name.copy()) for value, name in pairs])
    return copy


def _over(query: exp.Select, branch: exp.Subquery) -> exp.Select:
    copy = query.copy()
    copy.args["from_"].this.replace(branch)
    return copy
