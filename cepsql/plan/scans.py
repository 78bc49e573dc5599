"""Whether Arrow can read the files below an ordered operator."""

from collections.abc import Sequence

from sqlglot import exp

from cepsql.analysis.window_totals import totals
from cepsql.catalog import Relation
from cepsql.matching.match_operator import row_layout
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.nodes import (
    AsOfJoin,
    ChangeOperator,
    ChangingGroups,
    Deduplicate,
    IntervalJoin,
    Match,
    Node,
    Ordered,
    Over,
    Read,
    Sql,
    WindowAggregate,
)
from cepsql.scalar.tree import STANDARD_SESSION, Session
from cepsql.scan import choose
from cepsql.scan.choose import Choice


def scanned(stages: Sequence[Ordered]) -> list[Ordered]:
    """Return the operators over streams for which somebody reads files: not all their rows are those of others."""
    return [
        stage
        for stage in stages
        if stage.properties.streaming and not all(below.properties.ordered for below in stage.inputs)
    ]


def stage_obstacle(stage: Ordered, session: Session = STANDARD_SESSION) -> str | None:
    """Return why Spark, not Arrow, would read the inputs of an operator, None if nothing is in the way.

    session: the rules of the session that would run it.
    """
    types = [tuple(column.type for column in below.properties.columns) for below in stage.inputs]
    united = len(types) > 1 and not isinstance(stage, IntervalJoin | AsOfJoin | ChangeOperator)
    if united and (len(set(types)) > 1 or "unknown" in types[0]):
        return "the streams of a UNION ALL have columns of different types"
    return next(
        (choice.reason for choice in choose_scans(stage, session) if choice is not None and not choice.scan), None
    )


def choose_scans(stage: Ordered, session: Session = STANDARD_SESSION) -> list[Choice | None]:
    """Say how the rows of each input of an operator over streams are read; None for the rows of another operator.

    session: the rules of the session that would run it.
    """
    if isinstance(stage, ChangeOperator):
        return [Choice(None, reason="tables that change are read by it") for _ in stage.inputs]
    layout = _layout(stage)

    def choice(below: Node) -> Choice:
        if layout is None:
            return Choice(None, reason="the streams are joined")
        return choose_scan(layout, below, session)

    return [None if below.properties.ordered else choice(below) for below in stage.inputs]


def choose_scan(layout: RowLayout, below: Node, session: Session = STANDARD_SESSION) -> Choice:
    """Say how the rows of an input of an operator over streams are read; `layout` is that of its rows."""
    match below:
        case Read(relation):
            return choose.choose_scan(layout, exp.select("*").from_("source"), {"source": relation}, session)
        case Sql(query, inputs):
            read: dict[str, Relation] = {n: below.relation for n, below in inputs.items() if isinstance(below, Read)}
            return choose.choose_scan(layout, query, read, session)
    return Choice(None, reason="the input is matches")


def _layout(stage: Ordered) -> RowLayout | None:
    """Return the layout of an operator's rows, None for a join: Spark says in which types its keys are compared."""
    match stage:
        case Match(match):
            return row_layout(match.program)
        case Deduplicate(rows):
            return rows.layout
        case Over(frames):
            return frames.layout
        case WindowAggregate(groups):
            summed = totals(groups)
            return groups.layout if summed is None else summed.layout
        case ChangingGroups(groups):
            return groups.layout
    return None
