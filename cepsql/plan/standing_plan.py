"""The plan of a query that stands: how it reads materialized views, and what EMIT a view means that says none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import CHANGES
from cepsql.catalog import Relation
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import Error, answer
from cepsql.language.statements import EmitClause, MatchClause, ParsedQuery
from cepsql.plan.changes.temporal_filters import asks_now
from cepsql.plan.names.expand import Lookup
from cepsql.plan.planner import Plan, plan_query
from cepsql.plan.read_point import refuse_read_point
from cepsql.plan.refuse import refuse_endless_aggregate

ViewChanges = Callable[[ViewSource, bool], ViewSource]
"""Returns the changes of a view as a stream, each as an event if the flag says so."""


def plan_standing(query: ParsedQuery, lookup: Lookup, changes: ViewChanges, of_view: bool = False) -> Plan:
    """Plan a query that stands; `lookup` finds what a name means, views as tables at rest.

    Beside a stream a view is a table, whose rows of now are read. Where that gives no stream, or cannot be, the views
    are read by their changes; by a row pattern that is over nothing else each change is an event.
    of_view: it is that of a materialized view: one that says no EMIT means EMIT CHANGES where nothing else is possible.
    Raises as `cepsql.plan.planner.plan_query`.
    """
    refuse_read_point(query, "a standing query")
    emitted = [query]
    if of_view and query.emit is None:
        emitted.append(replace(query, emit=EmitClause(CHANGES, None, None, query.span)))
    patterns = any(isinstance(clause, MatchClause) for clause in query.operators)
    views: set[str] = set()
    errors: list[Error] = []
    bounded: Plan | None = None
    for number, lookups in enumerate(
        (_at_rest(lookup, views), _changing(lookup, changes, False), _changing(lookup, changes, True))
    ):
        if (number and not views) or (number == 2 and not patterns):
            break
        for asked in emitted:
            plan = answer(partial(_planned, asked, lookups, by_time=emitted[1:] if asked is query else ()))
            if isinstance(plan, Error):
                errors.append(plan)
            elif plan.streaming:
                return plan
            else:
                bounded = bounded or plan
    if errors:
        raise errors[0]
    assert bounded is not None
    return bounded


def _planned(query: ParsedQuery, lookup: Lookup, by_time: Sequence[ParsedQuery]) -> Plan:
    """Return the plan of a query, or of the first of those that stand for it where rows leave by time."""
    plan = plan_query(query, lookup)
    if by_time and plan.streaming and asks_now(plan.logical):
        # Its rows leave by time, so that it changes.
        plan = plan_query(by_time[0], lookup)
    if plan.streaming:
        refuse_endless_aggregate(plan.logical)
    return plan


def _at_rest(lookup: Lookup, views: set[str]) -> Lookup:
    def relation_of(table: exp.Table) -> Relation:
        relation = lookup(table)
        if isinstance(relation, ViewSource):
            views.add(relation.name)
        return relation

    return relation_of


def _changing(lookup: Lookup, changes: ViewChanges, events: bool) -> Lookup:
    def relation_of(table: exp.Table) -> Relation:
        relation = lookup(table)
        return changes(relation, events) if isinstance(relation, ViewSource) else relation

    return relation_of
