"""Groups of materialized views: their definitions in the catalog, and the limits of their views."""

import uuid
from dataclasses import replace

from cepsql.catalog import Definition, MaterializedView, ViewGroup
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.states import RUNNING
from cepsql.catalog.view_store import STORE_OPTIONS
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.plan.view_sources import view_sources
from cepsql.render.answer import Answer
from cepsql.standing.query_definitions import check_options
from cepsql.standing.query_report import counts_of
from cepsql.standing.statement_host import StatementHost, stored_definition

_OF_VIEWS = ("retain",)
"""Options of a store that each view sets for itself."""


def create_group(host: StatementHost, create: st.CreateViewGroup) -> Answer:
    """Define an empty group of views.

    Raises ProgrammingError if the name is taken, or for an option that a group does not have.
    """
    name, place = create.name.text, create.name.span
    if create.if_not_exists and host.catalog.names.group(name) is not None:
        return Answer(message=f"view group {name} exists already")
    store = tuple((key, value) for key, value in create.options if key in STORE_OPTIONS)
    own = tuple((key, value) for key, value in create.options if key not in STORE_OPTIONS)
    if of_view := next((key for key, _ in store if key in _OF_VIEWS), None):
        raise ProgrammingError(f"{of_view} is an option of each view of a group, not of the group", place)
    store_options = [option for option in STORE_OPTIONS if option not in _OF_VIEWS]
    check_options(own, place, "a view group", host.check_setting, store_options)
    options = tuple((dict(host.set_settings()) | dict(own)).items())
    group = stored_definition(host, ViewGroup(name, options, store, uuid.uuid4().hex[:8]))
    host.catalog.add(group, span=place)
    hint = f"CREATE MATERIALIZED VIEW name IN {quoted_name(name)} AS ... defines its views"
    return Answer(message=f"view group {name} created; {hint}")


def get_group(host: StatementHost, name: st.Name) -> ViewGroup:
    """Return the group with a name; raises ProgrammingError, pointing at the name, if it does not exist."""
    group = host.catalog.names.group(name.text)
    if group is None:
        hint = suggestion(name.text, [one.name for one in host.catalog.names.groups], "view groups")
        raise ProgrammingError(f"there is no view group {name.text}", name.span, hint)
    return group


def open_group(host: StatementHost, create: st.CreateMaterializedView, name: st.Name) -> ViewGroup:
    """Return the group in which a statement defines a view, as it will be.

    A group whose query has a checkpoint starts a new one, if the statement asks for it: all its views share the rows.
    Raises ProgrammingError for a group that runs or would need a new checkpoint, and for options of the group.
    """
    group, place = get_group(host, name), name.span
    taken = next((key for key, _ in create.options if key not in _OF_VIEWS), None)
    if taken is not None:
        hint = f"CREATE VIEW GROUP ... OPTIONS ({taken} ...), or ALTER VIEW GROUP ... SET (...)"
        raise ProgrammingError(f"{taken} is an option of the group, not of a view in it", create.name.span, hint)
    if create.start is not None:
        hint = f"ALTER VIEW GROUP {quoted_name(group.name)} SET (start '...')"
        raise NotSupportedError("FROM in a view of a group is not supported", create.start.span, hint)
    refuse_running(host, group, place)
    if not has_run(host, group):
        return group
    if not create.new_checkpoint:
        raise ProgrammingError(
            f"view group {group.name} has run: with another view all its views have to be rebuilt",
            place,
            "CREATE MATERIALIZED VIEW ... IN ... WITH NEW CHECKPOINT AS ... reads the input again",
        )
    return replace(group, id=uuid.uuid4().hex[:8])


def refuse_neighbours(plan: Plan, group: ViewGroup, place: Span) -> None:
    """Refuse a view that reads another one of its group, which has the rows of a micro-batch only after it.

    Raises NotSupportedError.
    """
    for source in view_sources(plan):
        if (source.view.group or "").lower() == group.name.lower():
            raise NotSupportedError(
                f"a view in view group {group.name} that reads {source.view.name}, another one of it, is not supported",
                place,
                "its own query, in place of the view, or a view outside of the group reads it",
            )


def refuse_running(host: StatementHost, group: ViewGroup, place: Span) -> None:
    """Raise ProgrammingError for a group that runs, or is to run."""
    state = host.home.states.get(group.name)
    if state is not None and (state.epoch is not None or state.desired == RUNNING):
        raise ProgrammingError(
            f"view group {group.name} runs, and its views are those that it was started with",
            place,
            f"STOP VIEW GROUP {quoted_name(group.name)}",
        )


def refuse_leaving(host: StatementHost, dropped: list[Definition], place: Span) -> None:
    """Refuse to drop views of a group that stays and has run: its checkpoint covers all of them.

    Raises ProgrammingError.
    """
    gone = {definition.name.lower() for definition in dropped if isinstance(definition, ViewGroup)}
    for view in dropped:
        if not isinstance(view, MaterializedView) or view.group is None or view.group.lower() in gone:
            continue
        group = host.catalog.names.group(view.group)
        if group is None:
            continue
        refuse_running(host, group, place)
        if has_run(host, group):
            raise ProgrammingError(
                f"materialized view {view.name} is kept by view group {group.name}, whose checkpoint is of all of it",
                place,
                f"DROP VIEW GROUP {quoted_name(group.name)} CASCADE drops the group with them",
            )


def refuse_member(view: MaterializedView, verb: str, place: Span) -> None:
    """Raise ProgrammingError for a view of a group, whose query is that of the group."""
    if view.group is not None:
        hint = f"{verb} VIEW GROUP {quoted_name(view.group)}"
        raise ProgrammingError(f"materialized view {view.name} is kept by view group {view.group}", place, hint)


def has_run(host: StatementHost, group: ViewGroup) -> bool:
    """Tell whether the query of a group has a checkpoint."""
    state = host.home.states.get(group.name)
    return state is not None and (state.progress or {}).get("id") == group.id


def shown_groups(host: StatementHost) -> Answer:
    """Answer SHOW VIEW GROUPS."""
    rows = []
    for group in sorted(host.catalog.names.groups, key=lambda group: group.name.lower()):
        state = host.queries[group.name].state
        views = ", ".join(view.name for view in host.catalog.names.in_group(group.name))
        rows.append((group.name, state.state, views, *counts_of(state.progress), state.reason))
    return Answer(("view group", "state", "views", "rows read", "changes", "error"), tuple(rows))
