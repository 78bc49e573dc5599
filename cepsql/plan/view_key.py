"""Which columns of a query tell the rows of its result apart, as far as its text says it."""

from functools import partial

from sqlglot import exp

from cepsql.analysis.sql.resolve import table_name
from cepsql.catalog import Source
from cepsql.plan.planner import Plan
from cepsql.plan.tree.match_id_column import match_id_column


def known_key(plan: Plan) -> tuple[str, ...]:
    """Return the columns of the key of a query's result; empty where it has none, or it is not known.

    It is that of a whole query over groups, DISTINCT, or a stream with a PRIMARY KEY; of matches it is their id.
    """
    if not plan.changes:
        match_id = match_id_column(plan.logical)
        return (match_id,) if match_id else ()
    query = plan.query.expression
    if not isinstance(query, exp.Select) or query.args.get("limit"):
        return ()
    group = query.args.get("group")
    if group is not None:
        return _grouped(query, group)
    if query.args.get("distinct"):
        return tuple(item.alias_or_name for item in query.expressions if not item.is_star)
    return _read(plan, query)


def _grouped(query: exp.Select, group: exp.Group) -> tuple[str, ...]:
    """Return the columns that hold what a SELECT groups by, nothing if one of that is not selected."""
    if any(value for name, value in group.args.items() if name != "expressions"):
        return ()
    selected = [_selected(query, part) for part in group.expressions]
    return tuple(name for name in selected if name) if all(selected) else ()


def _selected(query: exp.Select, part: exp.Expr) -> str | None:
    """Return the output column of an item of GROUP BY: a place, a name or an expression."""
    if isinstance(part, exp.Literal) and not part.is_string:
        place = int(part.this) - 1
        return query.expressions[place].alias_or_name if 0 <= place < len(query.expressions) else None
    rules = [lambda item: item.unalias() == part]
    if isinstance(part, exp.Column):
        rules += [partial(_is_column, part), partial(_may_be_column, part)]
    return next((item.alias_or_name for rule in rules for item in query.expressions if rule(item)), None)


def _is_column(column: exp.Column, item: exp.Expr) -> bool:
    read = item.unalias()
    return isinstance(read, exp.Column) and _spelled(read) == _spelled(column)


def _may_be_column(column: exp.Column, item: exp.Expr) -> bool:
    """Tell whether an item is called like a column without a table, or reads one whose table either leaves out."""
    read = item.unalias()
    if isinstance(read, exp.Column) and _spelled(read)[1] == _spelled(column)[1]:
        return not (read.table and column.table)
    return not column.table and item.alias_or_name.lower() == column.name.lower()


def _spelled(column: exp.Column) -> tuple[str, str]:
    return column.table.lower(), column.name.lower()


def _read(plan: Plan, query: exp.Select) -> tuple[str, ...]:
    """Return the columns with the key of the only stream with a PRIMARY KEY that a SELECT reads, row by row."""
    source = query.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table) or query.args.get("joins") or query.find(exp.Window):
        return ()
    read = plan.origins
    if len(read) != 1 or not isinstance(read[0], Source) or read[0].name.lower() != table_name(source.this):
        return ()
    names = {name.lower(): name for name in read[0].key}
    if any(item.is_star for item in query.expressions):
        return tuple(read[0].key) if len(query.expressions) == 1 else ()
    output_names = {
        item.unalias().name.lower(): item.alias_or_name
        for item in query.expressions
        if isinstance(item.unalias(), exp.Column)
    }
    return tuple(output_names[name] for name in names) if names and names.keys() <= output_names.keys() else ()
