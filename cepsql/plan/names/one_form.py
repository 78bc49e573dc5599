"""Descriptions of plans in one form: with subqueries for CTEs and views, and operators numbered in their order."""

from collections.abc import Iterator
from itertools import count

from sqlglot import exp

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.language.given_clauses import given_clauses
from cepsql.language.tokens import DIALECT
from cepsql.plan.names.expand import put_in_place
from cepsql.plan.tree.markers import inline_ctes


def in_one_form(node: dict) -> dict:
    """Return the description of a plan's node, as `cepsql.plan.identity` makes it, in one form.

    Checkpoints of earlier versions describe views and CTEs as parts of their own, which are subqueries now.
    Raises sqlglot's errors for SQL that cannot be read.
    """
    return _numbered(_flat(node, count()), count())


def _flat(node: dict, numbers: Iterator[int]) -> dict:
    """Return a node in which no SQL reads SQL of a view; operators get new names, for views number theirs apart."""
    if "inputs" not in node:
        return node
    if "sql" not in node:
        return node | {"inputs": [_flat(below, numbers) for below in node["inputs"]]}
    below = {name: _flat(one, numbers) for name, one in node["inputs"].items()}
    if not any(map(_is_moving, below.values())):
        return node | {"inputs": below}
    tree, inputs = inline_ctes(_parsed(node["sql"])), {}
    fresh = {name: f"__{next(numbers)}" if name.startswith("__") else name for name in below}
    _rename(tree, fresh)
    for name, one in below.items():
        if "sql" not in one or name.startswith("__") or not _is_moving(one):
            inputs[fresh[name]] = one
            continue
        inputs |= one["inputs"]
        for table in [table for table in catalog_tables(tree) if table_name(table) == name]:
            put_in_place(table, _parsed(one["sql"]), [])
    return node | {"sql": canonical_sql(tree), "inputs": inputs}


def _numbered(node: dict, numbers: Iterator[int]) -> dict:
    """Return a node whose operators are numbered in the order in which SQL names them, outer ones first."""
    if "inputs" not in node:
        return node
    if "sql" not in node:
        return node | {"inputs": [_numbered(below, numbers) for below in node["inputs"]]}
    tree = _reduced(_parsed(node["sql"]))
    named = dict.fromkeys(table_name(table) for table in tree.find_all(exp.Table, bfs=False))
    order = [name for name in named if name in node["inputs"]]
    order += [name for name in node["inputs"] if name not in named]
    fresh = {name: f"__{next(numbers)}" if name.startswith("__") else name for name in order}
    _rename(tree, fresh)
    below = {fresh[name]: _numbered(node["inputs"][name], numbers) for name in order}
    return node | {"sql": canonical_sql(tree), "inputs": below}


def _reduced(tree: exp.Query) -> exp.Query:
    """Return SQL without names of relations where there is one only, and without a SELECT that changes nothing."""
    whole = exp.Subquery(this=tree)
    for select in reversed(list(whole.find_all(exp.Select))):
        if any(select.args.get(part) for part in ("joins", "laterals")) or select.args.get("from_") is None:
            continue
        rows = select.args["from_"].this
        for column in [column for column in select.find_all(exp.Column) if column.parent_select is select]:
            if column.table.lower() == rows.alias_or_name.lower():
                column.set("table", None)
        for item in [item for item in select.expressions if isinstance(item, exp.Alias)]:
            if isinstance(item.this, exp.Column) and item.this.name == item.alias:
                item.replace(item.this)
        rows.set("alias", None)
        below = rows.this if isinstance(rows, exp.Subquery) else None
        if isinstance(below, exp.Select) and _gives_columns(below):
            rows.replace(below.args["from_"].this)
        if _gives_columns(select) and isinstance(rows, exp.Subquery) and _is_all_of(select, rows.this):
            select.replace(rows.this)
    return whole.this


def _gives_columns(select: exp.Select) -> bool:
    """Tell whether a SELECT gives columns of its relation, and nothing else."""
    plain = all(isinstance(item, exp.Column | exp.Star) for item in select.expressions)
    rows = select.args.get("from_")
    single = rows is not None and (isinstance(rows.this, exp.Subquery) or not rows.this.args.get("alias"))
    return plain and single and given_clauses(select) == {"expressions", "from_"}


def _is_all_of(select: exp.Select, rows: exp.Expr) -> bool:
    """Tell whether a SELECT of columns gives those of a query as they are."""
    return select.is_star or (isinstance(rows, exp.Select) and select.named_selects == rows.named_selects)


def _rename(tree: exp.Expr, names: dict[str, str]) -> None:
    for identifier in tree.find_all(exp.Identifier):
        if identifier.name in names:
            identifier.set("this", names[identifier.name])


def _is_moving(node: dict) -> bool:
    """Tell whether a node reads a stream, or is or reads an operator."""
    if "inputs" not in node:
        return bool(node.get("streaming", True))
    if "sql" not in node:
        return True
    return any(map(_is_moving, node["inputs"].values()))


def _parsed(sql: str) -> exp.Query:
    (tree,) = DIALECT.parse(sql)
    assert isinstance(tree, exp.Query)
    return tree
