"""Names in WHERE of what the same SELECT makes, which are not there yet."""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import table_name
from cepsql.errors import ProgrammingError
from cepsql.plan.names.names_below import Columns, known_names
from cepsql.plan.tree.nodes import Node

_OPAQUE = (exp.Lateral, exp.Pivot, exp.Lambda, exp.Unnest, exp.Values)
"""What gives columns whose names are not known here."""


def refuse_made_in_where(query: exp.Query, nodes: Mapping[str, Node]) -> None:
    """Raise ProgrammingError for a WHERE that reads what the items of its SELECT make of rows.

    nodes: what the names of relations stand for.
    """
    relations = [node.properties for node in nodes.values()]
    named = {*nodes, *(cte.alias.lower() for cte in query.find_all(exp.CTE))}
    functions = any(table_name(table).lower() not in named for table in query.find_all(exp.Table))
    if functions or query.find(*_OPAQUE) or not all(relation.columns for relation in relations):
        return
    input_columns = {column.name.lower() for relation in relations for column in relation.columns}
    columns = {name: [column.name for column in node.properties.columns] for name, node in nodes.items()}
    for select in query.find_all(exp.Select):
        where = select.args.get("where")
        for column in where.find_all(exp.Column) if where is not None else ():
            item = next((i for i in select.expressions if i.alias.lower() == column.name.lower()), None)
            if column.table or item is None or column.parent_select is not select:
                continue
            if column.name.lower() not in input_columns | _named_below(query, select):
                raise ProgrammingError(
                    f"{column.name} is made by SELECT, which comes after WHERE",
                    span_of(column),
                    _hint(item).format(name=column.name),
                )
            _refuse_two_owners(column, select, lambda table: columns.get(table_name(table), ()))


def _refuse_two_owners(column: exp.Column, select: exp.Select, columns: Columns) -> None:
    """Refuse the name of an item that is also a column of two relations, which it does not decide between."""
    columns_of = known_names(select, columns) or {}
    owners = [relation for relation, names in columns_of.items() if column.name.lower() in names]
    merged = any(join.args.get("using") or join.method == "NATURAL" for join in select.args.get("joins") or ())
    if len(owners) > 1 and not merged:
        hint = f"write {' or '.join(f'{owner}.{column.name}' for owner in owners)}"
        raise ProgrammingError(f"it is not clear whose column {column.name} is", span_of(column), hint)


def _hint(item: exp.Expr) -> str:
    """Return what to write instead of an item in WHERE."""
    own = [part for part in item.find_all(exp.Window, exp.AggFunc) if part.parent_select is item.parent_select]
    if any(isinstance(part, exp.Window) for part in own):
        return "QUALIFY in place of WHERE has it: FROM ... QUALIFY {name} = 1"
    if own:
        return "HAVING has it, behind GROUP BY"
    return "write its expression in WHERE, or WHERE around a subquery that makes it"


def _named_below(query: exp.Query, select: exp.Select) -> set[str]:
    """Return the names that other queries, and aliases of tables, give to columns."""
    others: Iterable[exp.Select] = (other for other in query.find_all(exp.Select) if other is not select)
    names = {item.alias_or_name for other in others for item in other.expressions}
    names |= {column.name for alias in query.find_all(exp.TableAlias) for column in alias.columns}
    return {name.lower() for name in names}
