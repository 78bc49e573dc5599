"""What WHERE over a join asks of its rows, asked in its stage already: rows that it drops are never put together."""

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
    """Return an inner join that leaves out what a query over it does not select; itself where Arrow cannot tell.

    The query's own WHERE stays, and finds nothing more to drop.
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
        found = PairCondition(_of_pair(where), session)
    except Unlike:
        return staged
    return replace(staged, operator=replace(operator, filter=found))


def _of_pair(node: Node) -> Node:
    """Return an expression over columns of a join's output as one over those of its sides; raises Unlike."""
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
