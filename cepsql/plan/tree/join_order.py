"""The order of the relations of a SELECT that joins streams: streams come first, tables after them where that is the
same."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.language.notes import copied
from cepsql.plan.tree.markers import join_kind

INNER = ("INNER", "CROSS")
EACH_ROW = (*INNER, "LEFT", "SEMI", "LEFT SEMI", "ANTI", "LEFT ANTI")
"""Joins that look at each row of their left side by itself."""


def relations(select: exp.Select) -> list[exp.Expr]:
    """Return the relations of FROM and its JOINs."""
    if select.args.get("from_") is None:
        return []
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]


def own_columns(select: exp.Select) -> list[exp.Column]:
    """Return the columns of a SELECT's relations: none in these themselves, nor in subqueries with a relation of that
    name."""
    items = [item for item in relations(select) if not isinstance(item, exp.Lateral)]
    inside = {id(column) for item in items for column in item.find_all(exp.Column)}
    return [c for c in select.find_all(exp.Column) if id(c) not in inside and not is_of_subquery(c, select)]


def used_rows(select: exp.Select, item: exp.Expr) -> exp.Select:
    """Return a SELECT of those columns of a relation that a SELECT around it uses, under their names."""
    alias = item.alias_or_name
    names = dict.fromkeys(
        column.name.lower() for column in own_columns(select) if column.table.lower() == alias.lower()
    )
    columns = [exp.alias_(exp.column(name, table=alias, quoted=True), name, quoted=True) for name in names]
    return exp.select(*columns or [exp.alias_(exp.Literal.number(1), "__one")]).from_(copied(item))


def is_of_subquery(column: exp.Column, select: exp.Select) -> bool:
    """Tell whether a subquery in a SELECT has the relation that a column in it is of."""
    around = column.parent_select
    while around is not None and around is not select:
        if column.table.lower() in {item.alias_or_name.lower() for item in relations(around)}:
            return True
        around = around.parent_select
    return False


def streams_first(select: exp.Select, is_stream: Callable[[exp.Expr], bool]) -> exp.Select:
    """Return a SELECT of the same rows whose first two relations are streams; the same one if they are, or if it has
    fewer than two.

    select: with the table of every column.
    A table is joined after the second stream if nothing in that one's condition reads it; else it is joined with the
    first one in a subquery.
    """
    copy = select
    while True:
        items = relations(copy)
        streams = [number for number, item in enumerate(items) if is_stream(item)]
        if len(streams) < 2 or streams[1] == 1:
            return copy
        if copy is select:
            copy = copied(select)
            continue
        table = max(number for number in range(streams[1]) if number != streams[0])
        moved = _turned(copy) if table == 0 else _moved(copy, table)
        if not moved:
            _join_first(copy)


def _turned(select: exp.Select) -> bool:
    """Put what is joined to a table in FROM before it; tell whether that is the same."""
    first, join = select.args["from_"].this, select.args["joins"][0]
    kind = join_kind(join)
    if kind not in (*INNER, "RIGHT"):
        return False
    select.set("from_", exp.From(this=copied(join.this)))
    join.set("this", copied(first))
    if kind == "RIGHT":
        join.set("side", "LEFT")
    return True


def _moved(select: exp.Select, table: int) -> bool:
    """Put the table at a place behind the relation that follows it; tell whether that is the same."""
    joins = select.args["joins"]
    own, following = joins[table - 1], joins[table]
    if not {join_kind(own), join_kind(following)} <= set(EACH_ROW) or _reads(following, own.alias_or_name):
        return False
    select.set("joins", [*joins[: table - 1], following, own, *joins[table + 1 :]])
    return True


def _join_first(select: exp.Select) -> None:
    """Put the first two relations into a subquery."""
    joins = select.args["joins"]
    both = [select.args["from_"].this, joins[0].this]
    names = {item.alias_or_name.lower() for item in both}
    alias = "__" + "_".join(sorted(names))
    columns: dict[tuple[str, str], exp.Identifier] = {}
    on = joins[0].args.get("on")
    own = set(map(id, on.find_all(exp.Column))) if on is not None else set()
    for column in own_columns(select):
        key = column.table.lower(), column.name.lower()
        if key[0] in names and id(column) not in own:
            columns.setdefault(key, exp.to_identifier(f"{key[0]}__{key[1]}", quoted=True))
            column.set("this", copied(columns[key]))
            column.set("table", exp.to_identifier(alias))
    items = [exp.alias_(exp.column(name, table=table), copied(new)) for (table, name), new in columns.items()]
    inner = exp.select(*items).from_(copied(both[0]))
    inner.set("joins", [copied(joins[0])])
    select.set("from_", exp.From(this=inner.subquery(alias)))
    select.set("joins", joins[1:])


def _reads(join: exp.Join, alias: str) -> bool:
    return any(column.table.lower() == alias.lower() for column in join.find_all(exp.Column))
