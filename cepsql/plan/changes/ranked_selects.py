"""SELECTs with ROW_NUMBER, RANK or DENSE_RANK over a table that changes: what they ask of the operator that ranks."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.frame_reach import reach_of
from cepsql.analysis.clauses.over_calls import is_whole
from cepsql.analysis.sql.plain_sql import conjuncts, relation
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.analysis.sql.resolve import flat_name
from cepsql.errors import NotSupportedError, ProgrammingError, Span, answer
from cepsql.language.notes import copied
from cepsql.operators.changing.ranked_rows import Ranking
from cepsql.plan.changes.rank_limits import rank_limit
from cepsql.plan.operators.ranked_rows import RankedRows
from cepsql.plan.rows.window_functions import own_aggregate, window_calls, with_own_window
from cepsql.plan.tree.nodes import Node, Sql, sql_over, walk
from cepsql.plan.tree.reader import Checked
from cepsql.plan.tree.rows_below import RowsBelow

_RANKINGS: dict[type[exp.Expr], Ranking] = {
    exp.RowNumber: Ranking.ROW_NUMBER,
    exp.Rank: Ranking.RANK,
    exp.DenseRank: Ranking.DENSE_RANK,
}
_RANK = "__rank"


def ranking_of(call: exp.Expr) -> Ranking | None:
    """Return which ranks a window function gives, None for other functions."""
    return _RANKINGS.get(type(call.this))


def is_ranking(expression: exp.Expr) -> bool:
    """Tell whether an expression is a call of a ranking function."""
    return isinstance(expression, exp.Window) and ranking_of(expression) is not None


def call_that_changes(root: Sql, checked: Checked, place: Span) -> exp.Window | None:
    """Return a window function in a query over streams whose value for a row changes with later rows.

    Not those that go by an event time, or over whole partitions: their rows come out once.
    """

    def followed(rows: Sql, column: str) -> bool:
        return checked.followed_by(column, rows, place, "OVER") is not None

    for node in walk(root):
        if not isinstance(node, Sql) or node.query.find(exp.Window) is None or not node.resolved.streaming:
            continue
        nodes = {flat_name(name): below for name, below in node.inputs.items()}
        for select in node.inlined.qualified.find_all(exp.Select):
            if own_aggregate(select):
                continue
            for call in window_calls(select):
                asked = with_own_window(call, select)
                if _changes(asked, select, nodes, followed):
                    return call
    return None


def ranked_select(
    select: exp.Select, name: str, changes: Callable[[exp.Select], Sql], place: Span
) -> tuple[RankedRows, exp.Select]:
    """Return the operator for a SELECT with a call of a ranking function, and the SELECT over it.

    name:    what that calls the operator.
    changes: makes the node of a SELECT that gives changes.
    Raises NotSupportedError and ProgrammingError for other window functions, and for what cannot stand beside.
    """
    call = window_calls(select)[0]
    ranking, columns = ranking_of(call), RowsBelow(frozenset({OPERATION, IDENTITY, CHANGE, _RANK}))
    assert ranking is not None
    asked = with_own_window(call, select)
    if not asked.args.get("order"):
        raise ProgrammingError(f"{ranking} needs ORDER BY", span_of(call, place), "OVER (... ORDER BY x)")
    if asked.args.get("spec"):
        raise NotSupportedError(f"a frame of {ranking} is not supported", span_of(call, place), "leave the frame out")
    keys, order = columns.rows_of(asked)

    def is_rank(part: exp.Expr) -> bool:
        return isinstance(part, exp.Window) and with_own_window(part, select) == asked

    qualify = conjuncts(select.args["qualify"].this) if select.args.get("qualify") else []
    limit, further = rank_limit(qualify, is_rank)
    outer = exp.select().from_(relation(name))

    def over(part: exp.Expr) -> exp.Expr:
        ranked = copied(part).transform(lambda one: exp.column(_RANK, table=name) if is_rank(one) else one, copy=False)
        return columns.replace_in(ranked, name)

    outer.set("expressions", [over(item) for item in select.expressions])
    if further:
        outer.set("where", exp.Where(this=exp.and_(*map(over, further), copy=False)))
    if select.args.get("distinct"):
        outer.set("distinct", select.args["distinct"].copy())
    used = list(dict.fromkeys(column.name for column in outer.find_all(exp.Column, bfs=False)))
    rank = _RANK if _RANK in used else None
    carried, rows = tuple(n for n in used if n != _RANK), changes(columns.select(select))
    return RankedRows(
        name, (rows,), tuple(key.name for key in keys), tuple(order), ranking, limit, rank, carried
    ), outer


def asks_one_rank(select: exp.Select) -> bool:
    """Tell whether all window functions of a SELECT are one rank of its rows."""
    asked = {with_own_window(call, select) for call in window_calls(select)}
    return len(asked) == 1 and is_ranking(next(iter(asked)))


def _changes(
    call: exp.Window, select: exp.Select, nodes: Mapping[str, Node], followed: Callable[[Sql, str], bool]
) -> bool:
    """Tell whether later rows can change the value of a call over the rows of a stream; `followed` tells what can be
    event times."""
    columns = RowsBelow()
    keys = [columns.take(key).name for key in call.args.get("partition_by") or []]
    order = call.args["order"].expressions if call.args.get("order") else []
    first = columns.take(order[0].this).name if order else None
    if not columns.names:
        columns.take(exp.Literal.number(1))
    inner = columns.select(select)
    rows = sql_over(inner, nodes)
    if answer(lambda: rows.resolved.streaming) is not True:
        return False
    if first is not None and not order[0].args.get("desc") and followed(rows, first):
        return _goes_on(call)
    return not any(is_whole(key, keys) and followed(rows, key) for key in keys)


def _goes_on(call: exp.Window) -> bool:
    """Tell whether the frame of a call that goes by the event time holds rows until the partition ends."""
    return isinstance(answer(lambda: reach_of(call, "", Span(0, 0))), NotSupportedError)
