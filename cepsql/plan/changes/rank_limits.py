"""Up to which rank a condition asks for rows: rn <= 10, rn = 1, rn BETWEEN 2 AND 5."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.language.notes import copied
from cepsql.plan.joins.join_condition import without_parts
from cepsql.plan.rows.window_functions import own_aggregate, window_calls
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.markers import join_kind

_NOT_BY_ROW = ("distinct", "limit", "offset")
_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}


def rank_limit(
    conditions: Sequence[exp.Expr], is_rank: Callable[[exp.Expr], bool]
) -> tuple[int | None, list[exp.Expr]]:
    """Return the last rank that conditions, all of which must hold, let through, and those that ask for more than that.

    is_rank: tells whether an expression is the rank. None: they let every rank through.
    """
    parts_limits = [(part, _limit(part, is_rank)) for part in conditions]
    limits = [limit for _, (limit, _) in parts_limits if limit is not None]
    return min(limits, default=None), [part for part, (_, whole) in parts_limits if not whole]


def with_rank_limits(query: exp.Query, is_rank: Callable[[exp.Expr], bool]) -> exp.Query:
    """Return a query in which what a WHERE asks of the rank that a subquery gives stands in the QUALIFY of that one;
    the same one if no subquery gives a rank.

    query:   with the table of every column.
    is_rank: tells whether an item of a SELECT is a rank.
    Columns that nothing reads are left out of such a subquery.
    """
    if not any(_ranked(select, is_rank) for select in query.find_all(exp.Select)):
        return query
    copy = copied(query)
    for select in copy.find_all(exp.Select):
        for item, names in _ranked(select, is_rank):
            for name in names:
                _push(select, item, name, is_rank)
            if not item.this.args.get("distinct"):
                _drop_unread(select, item)
    return copy


def _ranked(select: exp.Select, is_rank: Callable[[exp.Expr], bool]) -> list[tuple[exp.Subquery, list[str]]]:
    """Return the subqueries in FROM that give ranks, with the names of these."""
    plain = [
        item
        for item in relations(select)
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and not item.alias_column_names
    ]
    return [(item, names) for item in plain if (names := _ranks(item.this, is_rank))]


def _limit(part: exp.Expr, is_rank: Callable[[exp.Expr], bool]) -> tuple[int | None, bool]:
    """Return the last rank that a condition lets through, and whether it lets all ranks before it through."""
    part = part.unnest()
    if isinstance(part, tuple(_TURNED)):
        part = _TURNED[type(part)](this=part.expression, expression=part.this)
    elif isinstance(part, exp.EQ) and _whole(part.this) is not None:
        part = exp.EQ(this=part.expression, expression=part.this)
    if not is_rank(part.this.unnest() if isinstance(part.this, exp.Expr) else part):
        return None, False
    match part:
        case exp.LTE() | exp.LT():
            limit = _whole(part.expression)
            return (None, False) if limit is None else (limit - isinstance(part, exp.LT), True)
        case exp.EQ():
            limit = _whole(part.expression)
            return limit, limit == 1
        case exp.Between():
            low, high = _whole(part.args["low"]), _whole(part.args["high"])
            return high, high is not None and low is not None and low <= 1
        case exp.In() if part.expressions:
            numbers = [_whole(one) for one in part.expressions]
            constants = [number for number in numbers if number is not None]
            return (max(constants), False) if len(constants) == len(numbers) else (None, False)
    return None, False


def _whole(expression: exp.Expr) -> int | None:
    """Return the value of a constant whole number, None for anything else."""
    expression = expression.unnest()
    if isinstance(expression, exp.Literal) and not expression.is_string and expression.this.isdigit():
        return int(expression.this)
    return None


def _ranks(select: exp.Select, is_rank: Callable[[exp.Expr], bool]) -> list[str]:
    """Return which columns of a SELECT are ranks, its own or those of a subquery that it only filters, lower case."""
    ranks = []
    for item in select.expressions:
        value = item.unalias()
        if is_rank(value):
            ranks.append(item.alias_or_name.lower())
        elif isinstance(value, exp.Column) and _by_row(select):
            below = next((one for one in relations(select) if one.alias_or_name.lower() == value.table.lower()), None)
            if isinstance(below, exp.Subquery) and isinstance(below.this, exp.Select):
                ranks += [item.alias_or_name.lower()] * (value.name.lower() in _ranks(below.this, is_rank))
    return ranks


def _by_row(select: exp.Select) -> bool:
    """Tell whether a SELECT looks at each row by itself."""
    return not (any(map(select.args.get, _NOT_BY_ROW)) or window_calls(select) or own_aggregate(select))


def _push(select: exp.Select, item: exp.Subquery, name: str, is_rank: Callable[[exp.Expr], bool]) -> None:
    """Put what a SELECT asks in WHERE of the rank of a subquery alone into the subquery, in place."""
    inner, alias = item.this, item.alias_or_name.lower()
    selected = next(one for one in inner.expressions if one.alias_or_name.lower() == name)

    def reads_rank(column: exp.Expr) -> bool:
        return isinstance(column, exp.Column) and (column.table.lower(), column.name.lower()) == (alias, name)

    where = conjuncts(select.args["where"].this) if select.args.get("where") else []
    asked = [
        part for part in where if part.find(exp.Column) and all(map(reads_rank, part.find_all(exp.Column, exp.Query)))
    ]
    if not asked or not _keeps_rows(select, item):
        return
    rest = without_parts(where, asked)
    select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    moved = [part.transform(lambda one: selected.unalias().copy() if reads_rank(one) else one) for part in asked]
    clause, kind = ("qualify", exp.Qualify) if is_rank(selected.unalias()) else ("where", exp.Where)
    conditions = [inner.args[clause].this] if inner.args.get(clause) else []
    inner.set(clause, kind(this=exp.and_(*conditions, *moved)))


def _keeps_rows(select: exp.Select, item: exp.Subquery) -> bool:
    """Tell whether no join of a SELECT gives rows in which a relation is missing."""
    kinds = {id(join.this): join_kind(join) for join in select.args.get("joins") or []}
    return not {"RIGHT", "FULL"} & set(kinds.values()) and kinds.get(id(item)) in (None, "INNER", "CROSS")


def _drop_unread(select: exp.Select, item: exp.Subquery) -> None:
    """Leave out of a subquery, in place, the columns that the SELECT around it does not read; one is left."""
    alias = item.alias_or_name.lower()
    inside = {id(column) for column in item.find_all(exp.Column)}
    read = {
        column.name.lower()
        for column in select.find_all(exp.Column)
        if id(column) not in inside and column.table.lower() == alias
    }
    items = item.this.expressions
    item.this.set("expressions", [one for one in items if one.alias_or_name.lower() in read] or items[:1])
