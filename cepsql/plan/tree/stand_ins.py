"""Columns of operators that stand for something else in the statement, and what that is."""

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.plan.tree.nodes import Node, Sql, walk

_WRITTEN = "written"


def stand_in(column: exp.Column, written: str) -> exp.Column:
    """Let a column of an operator know what it stands for, as the statement says it; return it."""
    column.meta[_WRITTEN] = written
    return column


def with_written(expression: exp.Expr) -> exp.Expr:
    """Return an expression in which what they stand for is in place of columns that operators made up."""
    held = exp.Paren(this=expression.copy())
    for column in list(held.find_all(exp.Column)):
        if column.meta_get(_WRITTEN) is not None:
            column.replace(exp.Var(this=column.meta[_WRITTEN]))
    return held.this


def stand_ins(root: Node) -> dict[str, str]:
    """Return what the columns that operators made up stand for, by name, as a plan's plain SQL reads them."""
    return {
        name: column.meta[_WRITTEN]
        for node in walk(root)
        if isinstance(node, Sql)
        for column in node.query.find_all(exp.Column)
        if column.meta_get(_WRITTEN) is not None
        for name in (column.name, sql_of(column))
    }
