"""Whether Arrow can read the files below an ordered operator."""

from sqlglot import exp

from cepsql.catalog import Relation
from cepsql.pattern.program import MatchProgram
from cepsql.plan.nodes import Match, Node, Ordered, Read, Sql, StreamJoin
from cepsql.scalar.tree import STANDARD_SESSION, Session
from cepsql.scan import choose
from cepsql.scan.choose import Choice


def stage_obstacle(stage: Ordered, session: Session = STANDARD_SESSION) -> str | None:
    """Return why Spark, not Arrow, would read the inputs of an operator, None if nothing is in the way.

    session: the rules of the session that would run it.
    """
    if isinstance(stage, StreamJoin):
        return "the streams are joined"
    types = [tuple(column.type for column in below.properties.columns) for below in stage.inputs]
    if len(types) > 1 and (len(set(types)) > 1 or "unknown" in types[0]):
        return "the streams of a UNION ALL have columns of different types"
    return next((choice.reason for choice in choose_scans(stage, session) if choice.scan is None), None)


def choose_scans(stage: Ordered, session: Session = STANDARD_SESSION) -> list[Choice]:
    """Say how the rows of each input of an operator over streams are read.

    session: the rules of the session that would run it.
    """
    if not isinstance(stage, Match):
        return [Choice(None, reason="Arrow reads what MATCH_RECOGNIZE reads only") for _ in stage.inputs]
    return [choose_scan(stage.match.program, below, session) for below in stage.inputs]


def choose_scan(program: MatchProgram, below: Node, session: Session = STANDARD_SESSION) -> Choice:
    """Say how the rows of an input of a match over a stream are read."""
    match below:
        case Read(relation):
            return choose.choose_scan(program, exp.select("*").from_("source"), {"source": relation}, session)
        case Sql(query, inputs):
            read: dict[str, Relation] = {n: below.relation for n, below in inputs.items() if isinstance(below, Read)}
            return choose.choose_scan(program, query, read, session)
    return Choice(None, reason="the input is matches")
