"""References in the options of sources, such as `${NAME}`, give way to their values just before a plan is run."""

from dataclasses import replace

from cepsql.base.secrets import is_hidden, secret_values
from cepsql.catalog import Source
from cepsql.catalog.references import has_references, referenced_values, resolved
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import Node, Read, Sql, transform


def with_values(plan: Plan) -> Plan:
    """Return a plan whose sources have the values of the references in their options.

    Raises OperationalError for a variable that is not set and a file that cannot be read.
    """
    if not any(isinstance(origin, Source) and _refers(origin) for origin in plan.origins):
        return plan
    logical = transform(plan.logical, _valued)
    assert isinstance(logical, Sql)
    return replace(plan, logical=logical, root=transform(plan.root, _valued))


def valued_source(source: Source) -> Source:
    """Return a source with the values of the references in its options; errors as for `with_values`."""
    if not _refers(source):
        return source
    late = source.late_rows and valued_source(source.late_rows)
    filled = source.backfill and replace(source.backfill, history=valued_source(source.backfill.history))
    options = tuple(resolved(source.options, source.name).items())
    return replace(source, options=options, late_rows=late, backfill=filled)


def hidden_values(source: Source) -> list[str]:
    """Return the values in the options of a source that no message may show, as they are written and as they are."""
    secret = [(name, value) for name, value in source.options if is_hidden(name, value)]
    history = [] if source.backfill is None else hidden_values(source.backfill.history)
    return secret_values(secret) + [value for _, value in secret] + referenced_values(secret) + history


def _refers(source: Source) -> bool:
    own = any(has_references(value) for _, value in source.options)
    history = None if source.backfill is None else source.backfill.history
    return own or any(_refers(other) for other in (source.late_rows, history) if other is not None)


def _valued(node: Node) -> Node:
    return Read(valued_source(node.relation)) if isinstance(node, Read) and isinstance(node.relation, Source) else node
