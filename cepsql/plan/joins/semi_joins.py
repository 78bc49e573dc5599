"""Conditions that ask whether another stream has a row, EXISTS and IN, are written as SEMI and ANTI joins."""

from collections.abc import Container

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import own_aggregates
from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.language.notes import copied
from cepsql.plan.tree.join_order import relations

_FURTHER = ("joins", "group", "having", "limit", "offset", "laterals", "distinct", "qualify", "with_")


def with_semi_joins(select: exp.Select, streams: Container[str]) -> exp.Select:
    """Return a SELECT without the conditions of its WHERE that ask whether a stream has a row, and with joins for
    them; the same SELECT if it has none that can be written so.

    select: with the table of every column.
    """
    where = select.args.get("where")
    parts = conjuncts(where.this) if where is not None else []
    taken = {item.alias_or_name.lower() for item in relations(select)}
    joins = [_join(part, streams, taken) for part in parts]
    if not any(joins):
        return select
    copy = copied(select)
    rest = [copied(part) for part, join in zip(parts, joins, strict=True) if join is None]
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    copy.set("joins", [*(copy.args.get("joins") or []), *filter(None, joins)])
    return copy


def _join(condition: exp.Expr, streams: Container[str], taken: set[str]) -> exp.Join | None:
    """Return the join that a condition is, None for other conditions; its relation has a name that is not taken."""
    kind, asked = "SEMI", condition
    if isinstance(condition, exp.Not):
        kind, asked = "ANTI", condition.this.unnest()
    if isinstance(asked, exp.Exists):
        query = asked.this.unnest()
    elif isinstance(asked, exp.In) and asked.args.get("query") is not None and kind == "SEMI":
        query = asked.args["query"].unnest()
        if len(query.selects) != 1:
            return None
    else:
        return None
    if not any(table_name(table) in streams for table in catalog_tables(query)):
        return None
    if not isinstance(query, exp.Select) or any(query.args.get(part) for part in _FURTHER) or own_aggregates(query):
        return _with_values(asked, query, taken) if isinstance(asked, exp.In) and not reads_outside(query) else None
    item = copied(query.args["from_"].this)
    conditions = conjuncts(query.args["where"].this if query.args.get("where") else None)
    if any(part.find(exp.Query) for part in conditions):
        return None
    if isinstance(asked, exp.In):
        conditions = [query.selects[0].unalias(), *conditions]
    item, conditions = _renamed(item, conditions, taken)
    if isinstance(asked, exp.In):
        # What stands before IN means the relations outside, whatever they are called.
        conditions[0] = exp.EQ(this=copied(asked.this), expression=conditions[0])
    on = exp.and_(*conditions, copy=False) if conditions else exp.true()
    return exp.Join(this=item, side="LEFT", kind=kind, on=on)


def _with_values(asked: exp.In, query: exp.Query, taken: set[str]) -> exp.Join:
    """Return the join that asks whether a value is among those of a query of its own."""
    name = f"__exists_{len(taken)}"
    taken.add(name)
    value = exp.column(query.named_selects[0], table=name, quoted=True)
    condition = exp.EQ(this=asked.this.copy(), expression=value)
    return exp.Join(this=copied(query).subquery(name), side="LEFT", kind="SEMI", on=condition)


def reads_outside(query: exp.Query) -> bool:
    """Tell whether a subquery reads columns of relations that stand outside of it."""
    own = {item.alias_or_name.lower() for item in query.find_all(exp.Table, exp.Subquery)}
    return any(column.table.lower() not in own for column in query.find_all(exp.Column))


def _renamed(item: exp.Expr, conditions: list[exp.Expr], taken: set[str]) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return a relation under a name that no other one has, and copies of the conditions over it."""
    before = item.alias_or_name.lower()
    name = before if before not in taken else f"__exists_{len(taken)}"
    taken.add(name)
    conditions = [copied(part) for part in conditions]
    for part in conditions:
        for column in part.find_all(exp.Column):
            if column.table.lower() == before:
                column.set("table", exp.to_identifier(name))
    alias = item.args.get("alias") or exp.TableAlias()
    item.set("alias", exp.TableAlias(this=exp.to_identifier(name), columns=alias.args.get("columns")))
    return item, conditions
