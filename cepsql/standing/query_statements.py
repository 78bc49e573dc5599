"""The statements about sinks and standing queries."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.analysis.ddl.format_names import SINK_FORMATS, format_note
from cepsql.catalog import Definition, MaterializedView, Registered, RegisteredQuery, Sink, ViewGroup
from cepsql.catalog.catalog_names import kind, listed
from cepsql.catalog.create_text import create_text, quoted_name
from cepsql.catalog.states import RUNNING
from cepsql.errors import Error, OperationalError, ProgrammingError
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.plan.start_places import started_at
from cepsql.render.answer import Answer
from cepsql.standing.materialized_views import (
    create_view,
    drop_view_rows,
    end_readings,
    explain_replace_view,
    shown_positions,
    shown_views,
)
from cepsql.standing.query_definitions import altered_options, check_start, defined_query, defined_sink
from cepsql.standing.query_report import (
    LISTED,
    LISTED_EXTENDED,
    REMEMBERED,
    described,
    listed_extended,
    remembered,
    shown_time,
)
from cepsql.standing.query_report import listed as listed_queries
from cepsql.standing.registered_plan import registered_plan
from cepsql.standing.replacement import effect, replaced_query
from cepsql.standing.savepoints import begin_from, drop_savepoint
from cepsql.standing.sink_checks import check_columns, check_definition, forget
from cepsql.standing.statement_host import StatementHost, stored_definition
from cepsql.standing.view_groups import create_group, get_group, refuse_leaving, refuse_member, shown_groups

if TYPE_CHECKING:
    from cepsql.standing.queries import NamedQuery

QueryStatement = (
    st.CreateSink
    | st.CreateQuery
    | st.CreateMaterializedView
    | st.CreateViewGroup
    | st.AlterQuery
    | st.ControlQuery
    | st.Drop
    | st.DropSavepoint
    | st.ShowCreate
    | st.ShowHistory
    | st.DescribeQuery
    | st.ExplainReplace
)


def execute(host: StatementHost, statement: QueryStatement) -> Answer:
    """Execute a statement about sinks and queries, or one that drops or shows definitions.

    Raises Error.
    """
    match statement:
        case st.CreateSink():
            return _create_sink(host, statement)
        case st.CreateQuery():
            return _create_query(host, statement)
        case st.CreateMaterializedView():
            return create_view(host, statement)
        case st.CreateViewGroup():
            return create_group(host, statement)
        case st.AlterQuery():
            return _alter(host, statement)
        case st.ControlQuery(action, name, savepoint, wanted):
            _check_keeper(host, wanted, name, action.upper())
            return _control(host, action, name, savepoint)
        case st.Drop():
            return _drop(host, statement)
        case st.DropSavepoint():
            return _drop_savepoint(host, statement)
        case st.ShowCreate(wanted, name):
            return _show_create(host, wanted, name)
        case st.ShowHistory(name):
            return Answer(REMEMBERED, remembered(host.queries.get_at(name.text, name.span).history))
        case st.ExplainReplace(create):
            if isinstance(create, st.CreateMaterializedView):
                return explain_replace_view(host, create)
            return _explain_replace(host, create)
        case st.DescribeQuery(name, extended):
            query = host.queries.get_at(name.text, name.span)
            return Answer(("property", "value"), described(query.definition, query.state, extended))


def show(host: StatementHost, kind: str, extended: bool) -> Answer:
    """Answer SHOW QUERIES, SINKS, SAVEPOINTS, MATERIALIZED VIEWS, VIEW POSITIONS or VIEW GROUPS.

    extended: with all columns, for queries.
    """
    if kind == "queries":
        return _show_queries(host, extended)
    shown = {
        "sinks": _show_sinks,
        "savepoints": _show_savepoints,
        "materialized views": shown_views,
        "view positions": shown_positions,
        "view groups": shown_groups,
    }
    return shown[kind](host)


def _show_queries(host: StatementHost, extended: bool) -> Answer:
    states = [(query, host.queries[query.name].state) for query in host.catalog.names.queries]
    return Answer(LISTED_EXTENDED, listed_extended(states)) if extended else Answer(LISTED, listed_queries(states))


def _show_savepoints(host: StatementHost) -> Answer:
    rows = ((s.name, s.query, shown_time(s.made), s.folder) for s in host.home.savepoints.all())
    return Answer(("name", "query", "made", "folder"), tuple(rows))


def _show_sinks(host: StatementHost) -> Answer:
    sinks = sorted(host.catalog.names.sinks, key=lambda sink: sink.name)
    rows = ((s.name, s.format, ", ".join(c.name for c in s.columns), ", ".join(s.key)) for s in sinks)
    return Answer(("name", "format", "columns", "key"), tuple(rows))


def replaced_note(host: StatementHost, changed: Definition) -> str:
    """Return a note about running queries that still use a definition as it was before its replacement; '' for none."""
    readers = [d for d in host.catalog.names.dependents(changed) if isinstance(d, RegisteredQuery)]
    running = [query for query in readers if host.queries[query.name].state.desired == RUNNING]
    if not running:
        return ""
    restarts = "; ".join(f"RESTART QUERY {quoted_name(query.name)}" for query in running)
    return f"; {listed(running)} still run{'s' if len(running) == 1 else ''} with what it was: {restarts}"


def _create_sink(host: StatementHost, create: st.CreateSink) -> Answer:
    name = create.name.text
    if create.if_not_exists and host.catalog.names.find(name):
        return Answer(message=f"{name} exists already")
    replacing = create.replace and host.catalog.names.find(name) is not None
    sink = stored_definition(host, defined_sink(create))
    assert isinstance(sink, Sink)
    check_definition(sink, create.name.span)
    host.catalog.add(sink, create.replace, create.name.span)
    note = (replaced_note(host, sink) if replacing else "") + format_note(sink.format, SINK_FORMATS)
    return Answer(message=f"sink {name} {'replaced' if replacing else 'created'}{note}")


def _create_query(host: StatementHost, create: st.CreateQuery) -> Answer:
    name = create.name.text
    before = host.catalog.names.query(name)
    if create.replace and before is not None and before.views is not None:
        raise ProgrammingError(f"query {name} is that of a view group", create.name.span, "DROP VIEW GROUP drops it")
    if create.replace and before is not None and host.catalog.names.view_of(before) is not None:
        hint = f"CREATE OR REPLACE MATERIALIZED VIEW {quoted_name(name)} AS ... replaces it"
        raise ProgrammingError(f"query {name} is that of a materialized view", create.name.span, hint)
    if create.if_not_exists and before is not None:
        return Answer(message=f"query {name} exists already")
    query, plan = _defined_query(host, create)
    if create.savepoint is not None:
        return _create_from(host, create, query, plan, create.savepoint)
    new = None
    if not create.replace:
        host.catalog.add(query, False, create.name.span)
    else:
        if before is not None:
            new = replaced_query(host.home, before, query, plan, create.new_checkpoint, create.name.span)
        if not host.catalog.exchange(before, query if new is None else new.query, create.name.span):
            # Another process was faster.
            return _create_query(host, create)
    if new is None:
        message = f"query {name} created; START QUERY {quoted_name(name)} runs it"
        return Answer(message=message, notices=plan.quoted_columns)
    running = host.queries[name].state.desired == RUNNING
    note = f"; it still runs as it was: RESTART QUERY {quoted_name(name)}" if running else ""
    return Answer(message=f"query {name} replaced: {new.effect}{note}", notices=plan.quoted_columns)


def _create_from(
    host: StatementHost, create: st.CreateQuery, query: RegisteredQuery, plan: Plan, wanted: st.Name
) -> Answer:
    """Define a query, which may replace another one, with a checkpoint that starts from a savepoint."""
    before = host.catalog.names.query(query.name)
    if before is not None and not create.replace:
        # Fails before anything is copied, because the name is taken.
        host.catalog.add(query, False, create.name.span)
    begin_from(host.home, query, plan, wanted.text, wanted.span)
    try:
        host.catalog.add(query, create.replace, create.name.span)
    except OperationalError:
        # It may have been added all the same, and would start over without its checkpoint.
        raise
    except Error:
        from cepsql.spark.checkpoint.checkpoint_path import remove_tree

        remove_tree(host.home.folder(host.home.checkpoint(query)))
        raise
    running = before is not None and host.queries[query.name].state.desired == RUNNING
    verb, command = ("RESTART", "replaced") if running else ("START", "replaced" if before else "created")
    then = "it still runs as it was; " if running else ""
    said = (
        f"query {query.name} {command}: it begins with savepoint {wanted.text}; {then}{verb} QUERY {query.name} runs it"
    )
    return Answer(message=said, notices=plan.quoted_columns)


def _defined_query(host: StatementHost, create: st.CreateQuery) -> tuple[RegisteredQuery, Plan]:
    sink = host.catalog.sink(create.sink.text, create.sink.span) if create.sink else None
    plan = host.plan_standing(create.query)
    check_columns(sink, plan, create.query.span)
    query = stored_definition(host, defined_query(create, plan, sink, host.set_settings(), host.check_setting))
    assert isinstance(query, RegisteredQuery)
    check_start(query, plan, create.start.span if create.start else create.name.span)
    return query, plan


def _explain_replace(host: StatementHost, create: st.CreateQuery) -> Answer:
    before = host.catalog.query(create.name.text, create.name.span)
    query, plan = _defined_query(host, create)
    change = effect(host.home, before, query, plan, create.new_checkpoint)
    rows = (("effect", change.said), ("differences", change.differences or None), ("checkpoint", change.checkpoint))
    return Answer(("property", "value"), rows)


def _alter(host: StatementHost, alter: st.AlterQuery) -> Answer:
    _check_keeper(host, alter.kind, alter.name, "ALTER")
    query = host.catalog.query(alter.name.text, alter.name.span)
    changed = replace(query, options=altered_options(query, alter, host.check_setting))
    if any(name.text == "start" for name, _ in alter.options):
        check_start(changed, registered_plan(host, query), alter.name.span)
    entered = stored_definition(host, changed)
    assert isinstance(entered, RegisteredQuery)
    if not host.catalog.exchange(query, entered, alter.name.span):
        # Another process was faster; its change stays.
        return _alter(host, alter)
    running = host.queries[query.name].state.desired == RUNNING
    note = f"; it still runs as it was: RESTART QUERY {quoted_name(query.name)}" if running else ""
    return Answer(message=f"query {query.name} altered{note}")


def _control(host: StatementHost, action: str, name: st.Name, savepoint: st.Name | None) -> Answer:
    query = host.queries.get_at(name.text, name.span)
    try:
        match action:
            case "pause":
                query.pause()
                return Answer(message=f"query {query.name} paused")
            case "stop":
                query.stop(savepoint.text if savepoint is not None else None)
                made = f"; its savepoint is {savepoint.text}" if savepoint is not None else ""
                return Answer(message=f"query {query.name} stopped{made}")
        run = {"start": query.start, "resume": query.resume, "restart": query.restart}
        begins = _reading_starts(host, query)
        return Answer(message=f"query {query.name} runs in {run[action]()}{begins}")
    except Error as error:
        if error.span is not None and error.text == query.definition.sql:
            error.message = f"in query {query.name}: {error.message}"
        elif isinstance(error, ProgrammingError):
            error.span = error.span or (savepoint or name).span
        raise


def _reading_starts(host: StatementHost, query: "NamedQuery") -> str:
    """Return where a query that is to run starts to read, as the end of a message; "" if that is unknown here."""
    from cepsql.spark.sources.watching.reading_start import reading_starts

    if query.state.epoch is not None:
        # Its batch has not ended.
        return ""
    try:
        checkpoint = host.home.folder(host.home.checkpoint(query.definition))
        if query.state.progress and isinstance(checkpoint, Path) and not checkpoint.exists():
            # Another machine has it.
            return ""
        plan = started_at(registered_plan(host, query.definition), dict(query.definition.options).get("start"))
        starts = reading_starts(plan.origins, checkpoint)
    except Error:
        # The start reports the error.
        return ""
    return "".join(f"; {start.said}" for start in starts)


def _drop_savepoint(host: StatementHost, drop: st.DropSavepoint) -> Answer:
    name = drop.name.text
    if drop.if_exists and host.home.savepoints.get(name) is None:
        return Answer(message=f"there is no savepoint {name}")
    note = drop_savepoint(host.home, name, drop.name.span)
    return Answer(message=f"savepoint {name} dropped{note}")


def _drop(host: StatementHost, drop: st.Drop) -> Answer:
    name = drop.name
    names = host.catalog.names
    dropped: Definition | None = names.find(name.text)
    if drop.kind in ("query", "view group"):
        dropped = names.query(name.text) if drop.kind == "query" else names.group(name.text)
    if dropped is None and drop.if_exists:
        return Answer(message=f"there is no {drop.kind} {name.text}")
    dropped = _defined(host, drop.kind, name, "DROP")
    along = names.dependents(dropped)
    ending = [dropped, *along] if drop.cascade or not along else []
    refuse_leaving(host, ending, name.span)
    for definition in ending:
        if isinstance(definition, RegisteredQuery | ViewGroup) or (
            isinstance(definition, MaterializedView) and definition.group is None
        ):
            _end(host, definition)
    keeper = names.query(dropped.name) if isinstance(dropped, ViewGroup) else None
    sinks = {sink.name.lower(): sink for sink in names.sinks}
    gone = host.catalog.drop(dropped, drop.cascade, name.span)
    notes = ""
    for definition in gone:
        if isinstance(definition, RegisteredQuery):
            has_state = host.home.states.get(definition.name) is not None
            end_readings(host, definition)
            host.home.states.forget(definition.name)
            notes += forget(definition, sinks.get((definition.sink or "").lower())) if has_state else ""
        elif isinstance(definition, ViewGroup):
            if keeper is not None:
                end_readings(host, keeper)
            host.home.states.forget(definition.name)
        elif isinstance(definition, MaterializedView):
            if definition.group is None:
                host.home.states.forget(definition.name)
            notes += drop_view_rows(host, definition)
    also = f", and with it {listed(gone[1:])}" if gone[1:] else ""
    return Answer(message=f"{drop.kind} {dropped.name} dropped{also}{notes}")


def _materialized(host: StatementHost, name: st.Name) -> MaterializedView:
    """Return the materialized view with a name; raises ProgrammingError if it does not exist."""
    definition = host.catalog.get(name.text, name.span)
    if not isinstance(definition, MaterializedView):
        raise ProgrammingError(
            f"{name.text} is a {kind(definition)}, not a materialized view, and nothing runs", name.span
        )
    return definition


def _check_keeper(host: StatementHost, wanted: str, name: st.Name, verb: str) -> None:
    """Refuse a name that is not of the kind that a statement names, or a view that another query keeps.

    Raises ProgrammingError.
    """
    if wanted == "view group":
        get_group(host, name)
    elif wanted == "materialized view":
        refuse_member(_materialized(host, name), verb, name.span)


def _end(host: StatementHost, query: RegisteredQuery | MaterializedView | ViewGroup) -> None:
    """Stop a query that is dropped, if it runs or is to run: the next query with its name would run, too."""
    state = host.home.states.get(query.name)
    if state is not None and (state.epoch is not None or state.desired == RUNNING):
        host.queries[query.name].stop()


def _show_create(host: StatementHost, wanted: str, name: st.Name) -> Answer:
    definition = _defined(host, wanted, name, "SHOW CREATE")
    if isinstance(definition, Registered):
        raise ProgrammingError(f"{definition.name} is a DataFrame that the program registered", name.span)
    return Answer(("statement",), tuple((line,) for line in create_text(definition).splitlines()), layout="lines")


def _defined(host: StatementHost, wanted: str, name: st.Name, verb: str) -> Definition:
    """Return the definition of a kind; `verb` is the verb of the statement, such as DROP.

    Raises ProgrammingError if the name does not exist, or is of another kind.
    """
    if wanted == "query":
        query = host.catalog.query(name.text, name.span)
        if query.views is not None:
            hint = f"{verb} VIEW GROUP {quoted_name(name.text)}"
            raise ProgrammingError(f"query {query.name} is that of a view group", name.span, hint)
        if host.catalog.names.view_of(query) is not None:
            hint = f"{verb} MATERIALIZED VIEW {quoted_name(name.text)}"
            raise ProgrammingError(f"query {query.name} is that of a materialized view", name.span, hint)
        return query
    if wanted == "view group":
        return get_group(host, name)
    definition = host.catalog.names.find(name.text)
    if definition is None:
        definition = (
            host.catalog.sink(name.text, name.span) if wanted == "sink" else host.catalog.get(name.text, name.span)
        )
    if kind(definition) != wanted:
        message = f"{name.text} is a {kind(definition)}, not a {wanted}"
        raise ProgrammingError(message, name.span, f"{verb} {kind(definition).upper()} {quoted_name(name.text)}")
    return definition
