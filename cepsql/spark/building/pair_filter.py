"""A WHERE over a join, evaluated in the join's stage, so that rows that it drops are never joined."""

from dataclasses import replace

from sqlglot import exp

from cepsql.operators.pairing.as_of_join import AsOfJoinOperator
from cepsql.operators.pairing.interval_join import IntervalJoinOperator, JoinKind
from cepsql.operators.pairing.pair_condition import PairColumn, PairCondition
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import plain_table
from cepsql.scalar.expressions import Apply, Input, Node
from cepsql.spark.staging.stage_rows import arrow_session, given_columns, selected
from cepsql.spark.staging.staged import Staged


def with_filter(staged: Staged, query: exp.Query) -> Staged:
    """Return an inner join without the rows that a query over it drops; the join itself if Arrow can't evaluate WHERE.

    The query's own WHERE stays, and drops nothing more.
    """
    operator = staged.operator
    if not (isinstance(operator, AsOfJoinOperator) and not operator.outer) and not (
        isinstance(operator, IntervalJoinOperator) and operator.kind == JoinKind.INNER
    ):
        return staged
    session = arrow_session(staged.feeds[0].frame.sparkSession)
    if session is None:
        return staged
    try:
        plain_table(query)
        where, _ = selected([query], given_columns(staged.schema, staged.output, session), session)
        if where is None:
            return staged
        condition = PairCondition(_of_pair(where), session)
    except Unlike:
        return staged
    return replace(staged, operator=replace(operator, filter=condition))


def _of_pair(node: Node) -> Node:
    """Return an expression over a join's output as an expression over the columns of its sides; raises Unlike."""
    match node:
        case Apply(operation, arguments, type):
            return Apply(operation, tuple(map(_of_pair, arguments)), type)
        case Input(str(name)) if name.startswith((LEFT, RIGHT)):
            return replace(node, leaf=PairColumn(int(name.startswith(RIGHT)), name[len(LEFT) :]))
        case Input(str(name)) if name.startswith("k"):
            return replace(node, leaf=PairColumn(0, name))
        case Input():
            raise Unlike(f"{node.leaf} of a pair")
    return node
