"""The names of a query's columns as they were written: planning knows all of them in lower case."""

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from cepsql.analysis.sql.resolve import SPOKEN, Resolved, flat_name

Names = Mapping[str, str]
"""What columns are called, by lower-case name."""


def spoken_names(resolved: Resolved, relations: Mapping[str, Names]) -> list[str]:
    """Return what the columns of a query are called: as its items say, or as the relation that a star stands for.

    relations: those that it reads, by flat name.
    """
    if resolved.projection is not None:
        (relation,) = map(flat_name, resolved.relations)
        names = relations.get(relation, {})
        return [item.written or names.get(item.source, item.source) for item in resolved.projection]
    qualified = resolved.qualified
    scope = build_scope(qualified)
    return _names(scope, relations) if scope is not None else [item.alias_or_name for item in qualified.selects]


def _names(scope: Scope, relations: Mapping[str, Names]) -> list[str]:
    expression = scope.expression
    if isinstance(expression, exp.SetOperation) and scope.set_operation_scopes:
        return _names(scope.set_operation_scopes[0], relations)
    items = expression.selects if isinstance(expression, exp.Query) else []
    return [_name(item, scope, relations) for item in items]


def _name(item: exp.Expr, scope: Scope, relations: Mapping[str, Names]) -> str:
    name, column = item.alias_or_name, item.unalias()
    alias = item.args.get("alias")
    written = alias.meta_get(SPOKEN) if isinstance(alias, exp.Identifier) else None
    if written is None and isinstance(column, exp.Column):
        written = column.this.meta_get(SPOKEN) or _of_source(column, scope, relations)
    return written if written is not None and written.lower() == name.lower() else name


def _of_source(column: exp.Column, scope: Scope, relations: Mapping[str, Names]) -> str | None:
    source, name = scope.sources.get(column.table), column.name.lower()
    if isinstance(source, exp.Table):
        return relations.get(source.name.lower(), {}).get(name)
    if isinstance(source, Scope) and isinstance(source.expression, exp.Query):
        return next((names for names in _names(source, relations) if names.lower() == name), None)
    return None
