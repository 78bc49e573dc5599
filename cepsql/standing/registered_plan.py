"""The plan of a named query, as its start uses it."""

from dataclasses import replace

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.create_text import quoted_name
from cepsql.errors import ProgrammingError
from cepsql.language import statements as st
from cepsql.language.translate import one_query, statements
from cepsql.plan.group import group_plan
from cepsql.plan.planner import Plan
from cepsql.standing.statement_host import StatementHost


def registered_plan(host: StatementHost, query: RegisteredQuery) -> Plan:
    """Plan a named query; the query of a group of views has one plan for all of them.

    Raises ProgrammingError for a group without views, and the errors of planning.
    """
    if query.views is None:
        return host.plan_standing(one_query(query.sql), host.catalog.names.view_of(query) is not None)
    if not query.views:
        name = quoted_name(query.name)
        hint = f"CREATE MATERIALIZED VIEW name IN {name} AS ... defines one"
        raise ProgrammingError(f"view group {query.name} has no views", hint=hint)
    plans, text = [], query.sql
    for statement in statements(query.sql):
        assert isinstance(statement, st.ParsedQuery)
        # The texts of views at rest that it reads follow.
        plans.append(host.plan_standing(replace(statement, sql=text), True))
        text = plans[-1].text
    return group_plan(plans)
