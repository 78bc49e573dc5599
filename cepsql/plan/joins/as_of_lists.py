"""ASOF JOIN with a bounded table and conditions on pairs: the rows of each key become a list, in which the nearest row
is found for which all conditions hold."""

from sqlglot import exp

from cepsql.errors import NotSupportedError, Span
from cepsql.plan.joins.as_of_condition import AsOfCondition, equality
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.markers import join_kind
from cepsql.plan.tree.nodes import Node, sql_over

_ROWS, _ROW, _KEY = "__rows", "__row", "__key"
_UNORDERED = ("map", "variant")


def find_in_lists(
    select: exp.Select,
    join: exp.Join,
    condition: AsOfCondition,
    left: exp.Column,
    nodes: dict[str, Node],
    place: Span,
) -> None:
    """Let a SELECT join lists of rows, and read the columns of the nearest row in place of those of the relation.

    left: the time of the left side.
    Raises NotSupportedError for columns of the right that rows can't be ordered by.
    """
    right, time = join.this.alias_or_name.lower(), condition.times[1]
    inner = exp.select("*").from_(join.this.copy())
    columns = sql_over(inner, nodes).properties.columns
    nested = next((column for column in columns if column.type.lower().startswith(_UNORDERED)), None)
    if nested is not None:
        raise NotSupportedError(
            f"an ASOF JOIN with conditions on both sides of a table with {nested.name}, which is "
            f"{nested.type.upper()}, is not supported",
            place,
            "leave the column out in a subquery",
        )
    names = [time, *(column.name for column in columns if column.name.lower() != time)]
    nearest = _nearest(condition, left, right)
    for column in list(select.find_all(exp.Column)):
        if (
            column.table.lower() == right
            and column.find_ancestor(exp.Join) is not join
            and _is_own(column, select, right)
        ):
            column.replace(exp.Dot(this=nearest.copy(), expression=column.this.copy()))
    fields = [exp.alias_(exp.column(name, table=right, quoted=True), name, quoted=True) for name in names]
    listed = exp.Anonymous(
        this="sort_array",
        expressions=[
            exp.Anonymous(this="collect_list", expressions=[exp.Anonymous(this="struct", expressions=fields)]),
            exp.Boolean(this=condition.forward),
        ],
    )
    keys = [exp.alias_(one.copy(), f"{_KEY}{i}") for i, (_, one) in enumerate(condition.keys)]
    lists = exp.select(*keys, exp.alias_(listed, _ROWS)).from_(join.this.copy())
    lists = lists.where(exp.column(time, table=right).is_(exp.null()).not_(), *(p.copy() for p in condition.own[1]))
    if condition.keys:
        lists = lists.group_by(*(one.copy() for _, one in condition.keys))
    met: list[exp.Expr] = [
        equality(i in condition.null_safe)(this=one.copy(), expression=exp.column(f"{_KEY}{i}", table=right))
        for i, (one, _) in enumerate(condition.keys)
    ]
    if join_kind(join) != "LEFT":
        met.append(nearest.copy().is_(exp.null()).not_())
    join.set("this", lists.subquery(right))
    join.set("on", exp.and_(*met) if met else exp.true())
    join.set("kind", None)


def _nearest(condition: AsOfCondition, left: exp.Column, right: str) -> exp.Expr:
    """Return the first row of the list that all conditions hold for, NULL if there is none."""
    kinds: dict[tuple[bool, bool], type[exp.Binary]] = {
        (False, False): exp.GTE, (False, True): exp.GT, (True, False): exp.LTE, (True, True): exp.LT,
    }  # fmt: skip
    compared = kinds[condition.forward, condition.strict](
        this=left.copy(), expression=exp.column(condition.times[1], table=right)
    )
    asked = exp.and_(compared, *(part.copy() for part in (*condition.own[0], *condition.apart, *condition.further)))
    for column in list(asked.find_all(exp.Column)):
        if column.table.lower() == right:
            column.set("table", exp.to_identifier(_ROW))
    row = exp.Lambda(this=asked, expressions=[exp.to_identifier(_ROW)])
    rows = exp.Anonymous(this="filter", expressions=[exp.column(_ROWS, table=right), row])
    return exp.Anonymous(this="get", expressions=[rows, exp.Literal.number(0)])


def _is_own(column: exp.Column, select: exp.Select, right: str) -> bool:
    """Tell whether a column is one of the relation of the SELECT, not of one of that name further in."""
    inner = column.parent_select
    while inner is not None and inner is not select:
        if isinstance(inner, exp.Select) and right in (item.alias_or_name.lower() for item in relations(inner)):
            return False
        inner = inner.parent_select
    return True
