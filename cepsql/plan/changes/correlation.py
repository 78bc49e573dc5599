"""Which columns of a subquery are those of relations around it, and names that no relation around it has."""

from collections.abc import Callable, Collection

from sqlglot import exp

from cepsql.language.notes import copied
from cepsql.plan.tree.join_order import relations


def outside_columns(query: exp.Expr) -> list[exp.Column]:
    """Return the columns in a subquery that are of relations around it; `query` has the table of every column."""
    inside = set(map(id, query.find_all(exp.Select)))
    # Names without a table, in ORDER BY, are those of the output.
    return [column for column in query.find_all(exp.Column) if column.table and _owner(column, inside) is None]


def with_other_aliases(query: exp.Expr, taken: Collection[str], name: Callable[[str], str]) -> exp.Expr:
    """Return a copy of an expression with subqueries none of whose relations has a name that is taken, lower case."""
    copy = copied(query)
    inside = set(map(id, copy.find_all(exp.Select)))
    correlated: list[tuple[exp.Expr, str, list[exp.Column]]] = []
    for select in copy.find_all(exp.Select):
        for item in relations(select):
            alias = item.alias_or_name.lower()
            if alias in taken:
                columns = [c for c in select.find_all(exp.Column) if c.table.lower() == alias]
                correlated.append((item, name(alias), [c for c in columns if _owner(c, inside) is select]))
    for item, new, columns in correlated:
        alias_of = item.args.get("alias") or exp.TableAlias()
        item.set("alias", exp.TableAlias(this=exp.to_identifier(new), columns=alias_of.args.get("columns")))
        for column in columns:
            column.set("table", exp.to_identifier(new))
    return copy


def _owner(column: exp.Column, inside: Collection[int]) -> exp.Select | None:
    """Return the SELECT among those inside, by their identities, that has the relation of a column."""
    around = column.parent_select
    while around is not None and id(around) in inside:
        if column.table.lower() in {item.alias_or_name.lower() for item in relations(around)}:
            return around
        around = around.parent_select
    return None
