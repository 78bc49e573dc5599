"""Where a query begins to read its streams, in place of where they say."""

from collections.abc import Iterable
from dataclasses import replace

from cepsql.analysis.ddl.record_formats import START_OPTIONS, start_option
from cepsql.catalog import Registered, Source
from cepsql.errors import NotSupportedError
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import Node, Read, Sql, transform

FROM_NOW = ("rate", "rate-micro-batch", "socket")
"""Formats of streams in which there is nothing before a query begins to read."""


def started_at(plan: Plan, start: str | None) -> Plan:
    """Return a plan that reads its streams of Kafka from `start`: earliest, latest, or a time as text.

    None: from where the streams say. Raises NotSupportedError if another stream is to begin later than its beginning.
    """
    if start is None:
        return plan
    fixed = _fixed(plan.origins)
    if fixed is not None and start.lower() != "earliest":
        message = f"{fixed.name} is not read from Kafka, so that it has no beginning but its first row"
        raise NotSupportedError(message, hint="FROM EARLIEST, or leave FROM out")

    def placed(node: Node) -> Node:
        source = node.relation if isinstance(node, Read) else None
        if not isinstance(source, Source) or not source.streaming or source.format.lower() != "kafka":
            return node
        options = (option for option in source.options if option[0].lower() not in START_OPTIONS)
        return Read(replace(source, options=(*options, start_option(start))))

    logical = transform(plan.logical, placed)
    assert isinstance(logical, Sql)
    return replace(plan, logical=logical, root=transform(plan.root, placed))


def _fixed(origins: Iterable[Source | Registered]) -> Source | Registered | None:
    """Return a stream whose beginning nothing can move."""
    streams = [origin for origin in origins if origin.streaming]
    moved = ("kafka", *FROM_NOW)
    return next((one for one in streams if isinstance(one, Registered) or one.format.lower() not in moved), None)
