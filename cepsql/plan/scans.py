"""Whether Arrow can read the files below an ordered operator."""

from sqlglot import exp

from cepsql.pattern.program import MatchProgram
from cepsql.plan.nodes import Node, Read, Sql
from cepsql.scan import choose
from cepsql.scan.choose import Choice


def choose_scan(program: MatchProgram, below: Node) -> Choice:
    """Say how the rows of an input of a match over a stream are read."""
    match below:
        case Read(relation):
            return choose.choose_scan(program, exp.select("*").from_("source"), {"source": relation})
        case Sql(query, inputs):
            sources = {name: node.relation for name, node in inputs.items() if isinstance(node, Read)}
            return choose.choose_scan(program, query, sources)
    return Choice(None, reason="the input is matches")
