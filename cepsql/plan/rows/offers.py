"""The event times that operators offer, and the one that is picked: by which the rows of a query are followed."""

from collections.abc import Iterable, Sequence
from functools import partial

from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.operators.windowing.windows import END, START, TIME
from cepsql.plan.operators.stream_join import LATER
from cepsql.plan.rows.distinct import followed_after_distinct
from cepsql.plan.tree.nodes import Node, Ordered, Sql, transform

OF_JOINS = (LEFT, RIGHT, LATER)
"""The event times that a join of streams offers, the preferred one first."""

OF_WINDOWS = (END, START, TIME)
"""The event times that windows offer, the preferred one first."""


def offers(query: Sql, made: Sequence[Node], times: Iterable[str]) -> Iterable[Sql]:
    """Yield a query once for each of these event times by which the operators `made` for it can be followed."""
    own = {id(node) for node in made}

    def chosen(time: str, node: Node) -> Node:
        return node.followed_by(time) if isinstance(node, Ordered) and id(node) in own else node

    for time in times:
        offer = transform(query, partial(chosen, time))
        assert isinstance(offer, Sql)
        yield offer


def pick(offered: Iterable[Sql], wanted: Sequence[str] | None) -> Sql:
    """Return the query of an offer that its reader wants, or else the first one that has an event time.

    wanted: the columns, lower case, one of which the reader goes by; None if it takes the first one.
    An offer that something in the query refuses, such as a window of another event time, is passed over.
    Raises why the first one is refused if all are.
    """
    accepted: list[tuple[Sql, str | None]] = []
    refused = None
    for query in offered:
        rows = followed_after_distinct(query)
        if not isinstance(rows, Sql):
            refused = refused or rows
            continue
        mark = rows.properties.watermark
        time = None if mark is None else mark.column.lower()
        if wanted is None or time in wanted:
            return query
        accepted.append((query, time))
    if not accepted:
        assert refused is not None
        raise refused
    return next((query for query, time in accepted if time is not None), accepted[0][0])
