"""Statements about materialized views: their definitions in the catalog, and what SHOW answers about them."""

import contextlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.sql.constant_intervals import is_duration
from cepsql.base.calendar import time_text
from cepsql.catalog import ColumnDefinition, MaterializedView, RegisteredQuery
from cepsql.catalog.create_text import quoted_name, shown_option
from cepsql.catalog.references import has_references
from cepsql.catalog.states import RUNNING
from cepsql.catalog.view_store import SQLITE, STORE_OPTIONS, view_sink, view_source
from cepsql.errors import Error, NotSupportedError, OperationalError, ProgrammingError, Span, suggestion
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.plan.view_key import known_key
from cepsql.render.answer import Answer
from cepsql.standing.query_definitions import OPTIONS, check_start, defined_query
from cepsql.standing.query_report import counts_of, shown_time
from cepsql.standing.replacement import Effect, effect
from cepsql.standing.sink_checks import check_definition, forget
from cepsql.standing.statement_host import StatementHost, stored_definition
from cepsql.standing.view_groups import get_group, open_group, refuse_member, refuse_neighbours

_KEPT_TYPES = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal(\(.*\))?|string|binary|date|timestamp(_ntz)?"
)
_RESERVED = ("cepsql_", "sqlite_", "pg_")
_TIMES = ("timestamp", "timestamp_ntz", "date")


def create_view(host: StatementHost, create: st.CreateMaterializedView) -> Answer:
    """Define a materialized view and start it; one that cannot start is not defined.

    Raises Error.
    """
    name = create.name.text
    if create.if_not_exists and host.catalog.names.find(name) is not None:
        return Answer(message=f"{name} exists already")
    before = host.catalog.names.find(name)
    if create.group is not None:
        return _create_in_group(host, create, create.group)
    if isinstance(before, MaterializedView) and before.group is not None and create.replace:
        hint = f"CREATE OR REPLACE MATERIALIZED VIEW {quoted_name(name)} IN {quoted_name(before.group)} ..."
        raise ProgrammingError(f"materialized view {name} is in view group {before.group}", create.name.span, hint)
    said, plan = _enter(host, create)
    query = host.queries.get_at(name, create.name.span)
    was_running = before is not None and query.state.desired == RUNNING
    try:
        runs = query.restart() if was_running else query.start()
    except OperationalError:
        raise
    except Error:
        if before is None:
            host.catalog.drop(host.catalog.get(name))
            host.home.states.forget(name)
        raise
    return Answer(message=f"{said}; it runs in {runs}", notices=plan.quoted_columns)


def _create_in_group(host: StatementHost, create: st.CreateMaterializedView, group: st.Name) -> Answer:
    """Define a view of a group, which runs when the group is started."""
    name, place = create.name.text, create.name.span
    before = host.catalog.names.find(name)
    if isinstance(before, MaterializedView) and (before.group or "").lower() != group.text.lower():
        raise ProgrammingError(f"materialized view {name} exists already, and not in view group {group.text}", place)
    entered, group_before = open_group(host, create, group), host.catalog.names.group(group.text)
    view, plan = _defined(host, create, host.plan_standing(create.query, True))
    refuse_neighbours(plan, entered, create.query.span)
    if isinstance(before, MaterializedView):
        view = replace(view, id=before.id)
    host.catalog.add(view, create.replace, place)
    if entered != group_before:
        host.catalog.add(entered, True, group.span)
        host.home.states.forget(entered.name)
    said = "replaced" if before is not None else "created"
    start = f"START VIEW GROUP {quoted_name(group.text)}"
    return Answer(
        message=f"materialized view {name} {said} in view group {group.text}; {start} runs it",
        notices=plan.quoted_columns,
    )


def check_view(host: StatementHost, create: st.CreateMaterializedView) -> None:
    """Define a view without starting it, for `cepsql check`; column types are only those known without Spark.

    Raises Error.
    """
    view, _ = _defined(host, create, None)
    host.catalog.add(view, create.replace, create.name.span)


def _enter(host: StatementHost, create: st.CreateMaterializedView) -> tuple[str, Plan]:
    """Enter the definition in the catalog; return a message about it, and the plan."""
    place = create.name.span
    plan = host.plan_standing(create.query, True)
    view, plan = _defined(host, create, plan)
    before = host.catalog.names.find(view.name)
    if isinstance(before, MaterializedView) and create.replace:
        change = _effect(host, before, view, plan, create.new_checkpoint)
        if change.refused:
            hint = "CREATE OR REPLACE MATERIALIZED VIEW ... WITH NEW CHECKPOINT AS ... reads the input again"
            differs = f": {change.differences}" if change.differences else ""
            raise ProgrammingError(f"the rows of view {before.name} would have to be rebuilt{differs}", place, hint)
        host.catalog.add(replace(view, query=change.query, id=before.id), True, place)
        return f"materialized view {view.name} replaced: {change.said}", plan
    host.catalog.add(view, create.replace, place)
    return f"materialized view {view.name} created", plan


def explain_replace_view(host: StatementHost, create: st.CreateMaterializedView) -> Answer:
    """Answer EXPLAIN REPLACE MATERIALIZED VIEW; raises Error."""
    before = host.catalog.names.find(create.name.text)
    if not isinstance(before, MaterializedView):
        raise ProgrammingError(f"there is no materialized view {create.name.text}", create.name.span)
    refuse_member(before, "SHOW CREATE", create.name.span)
    view, plan = _defined(host, create, host.plan_standing(create.query, True))
    change = _effect(host, before, view, plan, create.new_checkpoint)
    rows = (("effect", change.said), ("differences", change.differences or None), ("checkpoint", change.checkpoint))
    return Answer(("property", "value"), rows)


def _effect(host: StatementHost, before: MaterializedView, after: MaterializedView, plan: Plan, new: bool) -> Effect:
    """Return what replacing a view does: rows that were written under another plan must be rebuilt."""
    change = effect(host.home, before.query, after.query, plan, new)
    if new or change.refused:
        return change
    differs = change.differences
    for what, old, changed in (
        ("the key", before.key, after.key),
        ("the store", _place_options(before), _place_options(after)),
        ("the columns", before.columns, after.columns),
    ):
        if old != changed:
            differs = differs or f"{what} of the view differs"
    if not differs:
        return change
    return replace(change, said="it needs a new checkpoint, with which its rows are rebuilt", refused=True,
                   differences=differs)  # fmt: skip


def _place_options(view: MaterializedView) -> dict[str, str]:
    """Return the options that say where the rows are."""
    return {"store": SQLITE} | {name: value for name, value in view.options if name in ("store", "schema")}


def _defined(
    host: StatementHost, create: st.CreateMaterializedView, plan: Plan | None
) -> tuple[MaterializedView, Plan]:
    """Return the view that a statement defines; without a plan, Spark is not asked for the types of its columns."""
    place, name = create.name.span, create.name.text
    types_known = plan is not None
    plan = plan or host.plan_standing(create.query, True)
    options = dict(create.options)
    own = {key: value for key, value in options.items() if key in STORE_OPTIONS}
    others = tuple((key, value) for key, value in create.options if key not in STORE_OPTIONS)
    _check_options(options, place)
    if name.lower().startswith(_RESERVED):
        raise ProgrammingError(f"{name} cannot be the name of a view: tables of its store begin so", place)
    asked = st.CreateQuery(
        create.name, None, others, None, create.query, create.sql, create.replace, False, create.new_checkpoint,
        create.start,
    )  # fmt: skip
    group = None if create.group is None else get_group(host, create.group)
    # A view of a group has the settings with which the group was created.
    settings = host.set_settings() if group is None else {}
    query = defined_query(asked, plan, None, settings, host.check_setting)
    check_start(query, plan, create.start.span if create.start else place)
    columns = _columns(host.typed_columns(plan) if types_known else plan.columns, plan, create.query.span)
    by_name = {column.name.lower(): column for column in columns}
    key = tuple(_column(wanted, by_name).name for wanted in create.key)
    if not key:
        key = tuple(by_name[part.lower()].name for part in known_key(plan) if part.lower() in by_name)
    if plan.changes and not key:
        listed = ", ".join(column.name for column in columns)
        raise ProgrammingError(
            f"what tells the rows of view {name} apart is not known from its query",
            place,
            f"CREATE MATERIALIZED VIEW {quoted_name(name)} PRIMARY KEY (...) AS ... names columns of {listed}",
        )
    view = MaterializedView(
        name,
        query,
        columns,
        key,
        tuple(_column(wanted, by_name).name for wanted in create.indexes),
        (*(() if group is None else group.store), *own.items()),
        _event_time(plan, by_name, "retain" in own, place),
        uuid.uuid4().hex,
        *_adding(plan, key),
        None if group is None else group.name,
    )
    entered = stored_definition(host, view)
    assert isinstance(entered, MaterializedView)
    check_definition(view_sink(entered, host.catalog.view_file), place)
    return entered, plan


def _check_options(options: Mapping[str, str], place: Span) -> None:
    for name, value in options.items():
        if name not in STORE_OPTIONS and name not in OPTIONS and not name.startswith(("cepsql.", "spark.sql.")):
            hint = suggestion(name, [*STORE_OPTIONS, *OPTIONS, "cepsql.*", "spark.sql.*"], "options")
            raise ProgrammingError(f"a materialized view has no option {name}", place, hint)
        if name == "retain" and not has_references(value) and not (is_duration(value) and value.strip()):
            raise ProgrammingError(f"retain is a time such as '10 minutes', not '{value}'", place)


def _columns(query_columns: tuple[ColumnDefinition, ...], plan: Plan, place: Span) -> tuple[ColumnDefinition, ...]:
    """Return the columns of the query without the operation of changes; refuse types that no store can hold."""
    columns = tuple(column for column in query_columns if not (plan.changes and column.name == OPERATION))
    for column in columns:
        if column.type.lower() != "unknown" and not _KEPT_TYPES.fullmatch(column.type.lower()):
            raise NotSupportedError(
                f"{column.name} of type {column.type.upper()} in a materialized view is not supported",
                place,
                "a view keeps numbers, texts, dates and times; to_json(...) or a field of it is one",
            )
    return tuple(ColumnDefinition(column.name, column.type) for column in columns)


def _column(wanted: st.Name, columns: Mapping[str, ColumnDefinition]) -> ColumnDefinition:
    column = columns.get(wanted.text.lower())
    if column is None:
        hint = suggestion(wanted.text, [column.name for column in columns.values()], "columns")
        raise ProgrammingError(f"the query of the view gives no column {wanted.text}", wanted.span, hint)
    return column


def _event_time(plan: Plan, columns: Mapping[str, ColumnDefinition], needed: bool, place: Span) -> str | None:
    """Return the column with the event time of rows that do not change, None without one."""
    if plan.changes:
        return None
    mark = plan.properties.watermark
    column = None if mark is None else columns.get(mark.column.lower())
    is_time = column is not None and column.type.lower() in (*_TIMES, "unknown")
    if needed and not is_time:
        raise ProgrammingError(
            "retain needs a column with the event time of the rows",
            place,
            "let the query give the event time of its rows, of type TIMESTAMP, TIMESTAMP_NTZ or DATE, too",
        )
    return column.name if column is not None and is_time else None


def _adding(plan: Plan, key: tuple[str, ...]) -> tuple[bool, int]:
    """Return whether rows are only added, and how long after a later one a row may come, in microseconds."""
    if not plan.changes:
        mark = plan.properties.watermark
        return not key or key == known_key(plan), mark.delay if mark is not None else 0
    return False, max((origin.watermark.delay for origin in plan.origins if origin.watermark is not None), default=0)


def drop_view_rows(host: StatementHost, view: MaterializedView) -> str:
    """Remove the rows of a dropped view; return a note about what could not be removed, '' for nothing."""
    if view.group is None:
        end_readings(host, view.query)
    keeper = replace(view.query, name=view.group or view.name, options=())
    return forget(keeper, view_sink(view, host.catalog.view_file))


def end_readings(host: StatementHost, query: RegisteredQuery) -> None:
    """Let views stop keeping changes for a query that has read them."""
    from cepsql.spark.checkpoint.checkpoint_path import CONTROL
    from cepsql.views.change_feed import end_reading

    for name in query.reads:
        view = host.catalog.names.find(name)
        if isinstance(view, MaterializedView):
            # A store that does not answer now forgets the reader in a week.
            with contextlib.suppress(Error):
                owner = str(host.home.folder(host.home.checkpoint(query)) / CONTROL)
                end_reading(view_source(view, host.catalog.view_file), owner)


def shown_views(host: StatementHost) -> Answer:
    """Answer SHOW MATERIALIZED VIEWS; views of a group have no counts of their own."""
    rows, names = [], host.catalog.names
    for view in sorted(names.materialized, key=lambda view: view.name.lower()):
        state = host.queries[names.keeper(view).name].state
        counts = counts_of(state.progress if view.group is None else None)
        store = dict(view.options).get("store", SQLITE)
        rows.append((view.name, state.state, ", ".join(view.key), shown_option("store", store), *counts, state.reason))
    return Answer(("view", "state", "key", "store", "rows read", "changes", "error"), tuple(rows))


def shown_positions(host: StatementHost) -> Answer:
    """Answer SHOW VIEW POSITIONS: the position of each view after its last transaction."""
    from cepsql.views.snapshot import position_of

    rows: list[tuple[str | None, ...]] = []
    for view in sorted(host.catalog.names.materialized, key=lambda view: view.name.lower()):
        try:
            position, error = position_of(view_source(view, host.catalog.view_file)), None
        except Error as failure:
            position, error = None, failure.message
        if position is None:
            rows.append((view.name, None, None, None, None, error or "it has never run"))
            continue
        watermark = None if position.watermark is None else f"{time_text(position.watermark)}Z"
        batch = str(position.batch) if position.batch >= 0 else None
        # Spark writes a dash for a source without offsets.
        offsets = " ".join(offset for offset in position.offsets if offset != "-") or None
        rows.append((view.name, batch, watermark, shown_time(position.written), offsets, error))
    return Answer(("view", "batch", "watermark", "written", "offsets", "error"), tuple(rows))
