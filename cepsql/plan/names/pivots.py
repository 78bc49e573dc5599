"""PIVOT and UNPIVOT over streams: groups with filtered aggregates, and rows that a generator spreads."""

from collections.abc import Callable
from itertools import product

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import is_group_aggregate
from cepsql.plan.names.names_below import Columns, known_names


def with_plain_pivots(columns: Columns, is_stream: Callable[[exp.Table], bool], query: exp.Query) -> exp.Query:
    """Return a query with subqueries in place of PIVOT and UNPIVOT over streams; the query itself without any.

    Those whose columns are not known, or of other forms, stay.
    """
    if query.find(exp.Pivot) is None:
        return query
    copy = query.copy()
    made = False
    for pivot in reversed(list(copy.find_all(exp.Pivot))):
        source = pivot.parent
        if not isinstance(source, exp.Table | exp.Subquery) or len(source.args["pivots"]) > 1:
            continue
        if not any(isinstance(table.this, exp.Identifier) and is_stream(table) for table in source.find_all(exp.Table)):
            continue
        plain = source.copy()
        plain.set("pivots", None)
        plain.set("joins", None)
        plain_query = (_unpivoted if pivot.unpivot else _pivoted)(pivot, plain, columns)
        if plain_query is None:
            continue
        alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier(source.alias_or_name or "__pivot"))
        source.replace(exp.Subquery(this=plain_query, alias=alias.copy(), joins=source.args.get("joins")))
        made = True
    return copy if made else query


def _pivoted(pivot: exp.Pivot, source: exp.Expr, columns: Columns) -> exp.Select | None:
    """Return the groups that a PIVOT makes, None for a form that it is not known to have."""
    inner = exp.select("*").from_(source)
    columns_of = known_names(inner, columns)
    (field, *others) = pivot.fields
    calls = [call.unalias() for call in pivot.expressions]
    names = pivot.args.get("columns") or []
    if columns_of is None or others or not isinstance(field, exp.In) or not all(map(is_group_aggregate, calls)):
        return None
    values = [value.this if isinstance(value, exp.PivotAlias) else value for value in field.expressions]
    if len(names) != len(values) * len(calls) or any(value.find(exp.Column, exp.Query) for value in values):
        return None
    read = {column.name.lower() for part in (field.this, *calls) for column in part.find_all(exp.Column)}
    keys = [
        exp.column(name, quoted=True) for pivoted in columns_of.values() for name in pivoted if name.lower() not in read
    ]
    cells = []
    for (value, call), name in zip(product(values, calls), names, strict=True):
        chosen = exp.NullSafeEQ(this=field.this.copy(), expression=value.copy())
        there = exp.CountIf(this=chosen.copy()) > 0
        # Spark has NULL where a group has no row of a value, in place of a COUNT, too.
        cell = exp.case().when(there, exp.Filter(this=call.copy(), expression=exp.Where(this=chosen)))
        cells.append(exp.alias_(cell, name.name, quoted=True))
    pivoted = exp.select(*(key.copy() for key in keys), *cells).from_(source)
    return pivoted.group_by(*keys) if keys else pivoted


def _unpivoted(pivot: exp.Pivot, source: exp.Expr, columns: Columns) -> exp.Select | None:
    """Return the rows that an UNPIVOT makes of each row, None for a form that it is not known to have."""
    columns_of = known_names(exp.select("*").from_(source), columns)
    (field, *others) = pivot.fields
    value = pivot.expressions[0] if len(pivot.expressions) == 1 else None
    if (
        columns_of is None
        or others
        or not isinstance(field, exp.In)
        or not isinstance(value, exp.Column | exp.Identifier)
    ):
        return None
    spread: list[exp.Expr] = []
    for item in field.expressions:
        column = item.this if isinstance(item, exp.PivotAlias) else item
        if not isinstance(column, exp.Column):
            return None
        said = item.args["alias"].name if isinstance(item, exp.PivotAlias) else column.name
        spread += [exp.Literal.string(said), column.copy()]
    read = {column.name.lower() for column in spread if isinstance(column, exp.Column)}
    keys = [
        exp.column(name, quoted=True)
        for unpivoted in columns_of.values()
        for name in unpivoted
        if name.lower() not in read
    ]
    new_names = [exp.to_identifier(part.name, quoted=True) for part in (field.this, value)]
    call = exp.Anonymous(this="stack", expressions=[exp.Literal.number(len(spread) // 2), *spread])
    alias = exp.TableAlias(this=exp.to_identifier("__spread"), columns=[name.copy() for name in new_names])
    unpivoted = exp.select(*keys, *(exp.column(name.copy()) for name in new_names)).from_(source)
    unpivoted.set("laterals", [exp.Lateral(this=call, view=True, outer=False, alias=alias)])
    if not pivot.args.get("include_nulls"):
        unpivoted = unpivoted.where(exp.column(new_names[1].copy()).is_(exp.null()).not_())
    return unpivoted
