"""CREATE TABLE and CREATE STREAM ... AS: the stored rows of a query, and the relation that reads them.

The rows of bounded tables are written once. Those of streams are written by a standing query with the same name.
"""

import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cepsql.catalog import ColumnDefinition, Sink, Source, ValueFormat, Watermark
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.locations import local_path
from cepsql.errors import Error, NotSupportedError, ProgrammingError
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.render.answer import Answer
from cepsql.sinks.formats import FILE_FORMATS
from cepsql.standing.query_statements import execute
from cepsql.standing.statement_host import StatementHost, stored_definition

_NOWHERE = ("console", "noop")
"""Formats of sinks that cannot be read."""

_ROWS = "_rows"
"""The suffix of the name of a sink that a relation is read from."""


def create_as(host: StatementHost, create: st.CreateAs, write: Callable[[Plan, Sink], int]) -> Answer:
    """Execute CREATE TABLE or CREATE STREAM ... AS; `write` writes the rows of a bounded plan and returns their count.

    Raises ProgrammingError if the name is taken, or the place of the rows is not empty, NotSupportedError for rows
    that change and formats that cannot be read again; and the errors of writing and starting.
    """
    name, names = create.name, host.catalog.names
    before = names.find(name.text)
    if create.if_not_exists and before is not None:
        return Answer(message=f"{name.text} exists already")
    if before is not None and not create.replace:
        hint = f"CREATE OR REPLACE {_kind_word(create)} {quoted_name(name.text)} AS SELECT ... replaces it"
        raise ProgrammingError(f"{name.text} exists already", name.span, hint)
    if create.if_not_exists is False and before is None and names.query(name.text) is not None and not create.replace:
        raise ProgrammingError(f"there is a query {name.text} already", name.span, "give the table another name")
    query = create.query
    plan = _plan(host, query)
    if plan.changes:
        raise NotSupportedError(
            f"{name.text} would be a table whose rows change",
            name.span,
            f"CREATE VIEW {quoted_name(name.text)} AS SELECT ... without EMIT, which SELECT * FROM "
            f"{quoted_name(name.text)} EMIT CHANGES reads; CREATE SINK with a PRIMARY KEY USING sqlite or postgresql "
            "and CREATE QUERY ... INTO it keep the rows",
        )
    form, options = _place(host, create)
    sink = Sink(name.text if form in _NOWHERE else name.text + _ROWS, (), form, _written_options(form, options))
    return (
        _standing(host, create, plan, sink, options)
        if plan.streaming
        else _once(host, create, plan, sink, options, write)
    )


def _kind_word(create: st.CreateAs) -> str:
    return "STREAM" if create.streaming else "TABLE"


def _plan(host: StatementHost, query: st.ParsedQuery) -> Plan:
    """Plan a query, without its EMIT CHANGES if that has no effect: its rows never change."""
    if query.emit is not None and query.emit.kind == "changes":
        with suppress(Error):
            return host.plan(replace(query, emit=None))
    return host.plan(query)


def _place(host: StatementHost, create: st.CreateAs) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the format and the options of the stored rows: by default, files beside the catalog."""
    form = (create.format or "parquet").lower()
    if create.format is not None and form not in (*FILE_FORMATS, "kafka", *_NOWHERE):
        hint = f"USING parquet OPTIONS (path '/folder'); CREATE SINK writes to {form}"
        raise NotSupportedError(
            f"{_kind_word(create)} ... AS with rows in {form} is not supported", create.name.span, hint
        )
    if create.format is not None:
        return form, create.options
    beside = host.home.rows_folder(f"{create.name.text.lower()}-{uuid.uuid4().hex[:8]}")
    if beside is None:
        create_text = f"CREATE {_kind_word(create)} {quoted_name(create.name.text)}"
        hint = f"{create_text} USING parquet OPTIONS (path '...') AS SELECT ..."
        raise ProgrammingError(f"{create.name.text} needs a place for its rows", create.name.span, hint)
    return form, (("path", str(beside)),)


def _written_options(form: str, options: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the options of a source as those of a sink."""
    if form != "kafka":
        return options
    named = {"subscribe": "topic"}
    return tuple((named.get(name.lower(), name), value) for name, value in options if name.lower() != "startingoffsets")


def _once(
    host: StatementHost,
    create: st.CreateAs,
    plan: Plan,
    sink: Sink,
    options: tuple[tuple[str, str], ...],
    write: Callable[[Plan, Sink], int],
) -> Answer:
    """Write the current rows, and define the table that reads them."""
    if create.streaming:
        hint = f"CREATE TABLE {quoted_name(create.name.text)} AS SELECT ..."
        raise ProgrammingError(f"the rows of {create.name.text} are no stream", create.name.span, hint)
    _refuse_kept_rows(create, sink)
    count = write(plan, sink)
    rows = f"{count} row{'' if count == 1 else 's'}"
    if sink.format in _NOWHERE:
        return Answer(message=f"{rows} written to {sink.format}", notices=plan.quoted_columns)
    table = stored_definition(host, _source(create, plan, sink.format, options, None))
    host.catalog.add(table, create.replace, create.name.span)
    place = dict(options).get("path") or dict(options).get("subscribe", "")
    return Answer(message=f"table {create.name.text} created with {rows} in {place}", notices=plan.quoted_columns)


def _refuse_kept_rows(create: st.CreateAs, sink: Sink) -> None:
    """Raise ProgrammingError if the folder of a sink has files already, which the new table would read, too."""
    path = dict(sink.options).get("path")
    if path is None or "://" in path.removeprefix("file://"):
        return
    folder = Path(local_path(path))
    if folder.is_dir() and any(name[0] not in "_." for name in os.listdir(folder)):
        raise ProgrammingError(f"the folder {path} has files already", create.name.span, "give it another path")


def _standing(
    host: StatementHost, create: st.CreateAs, plan: Plan, sink: Sink, options: tuple[tuple[str, str], ...]
) -> Answer:
    """Define a sink, the query that writes to it and the relation that reads it, and start the query."""
    name, taken = create.name, host.catalog.names.find(sink.name)
    if taken is not None and not (create.replace and isinstance(taken, Sink)):
        raise ProgrammingError(f"{sink.name}, which would keep its rows, exists already", name.span)
    if not create.replace:
        _refuse_kept_rows(create, sink)
    into = st.Name(sink.name, name.span)
    query = replace(create.query, emit=None)
    text = query.sql[query.text.start : query.text.end] if query.text is not None else create.sql
    made: list[st.Drop] = []
    try:
        execute(host, st.CreateSink(into, (), (), sink.format, sink.options, create.replace, False))
        made.append(st.Drop("sink", into, True))
        execute(host, st.CreateQuery(name, into, (), None, query, text, create.replace, False))
        made.append(st.Drop("query", name, True))
        if sink.format not in _NOWHERE:
            read = stored_definition(host, _source(create, plan, sink.format, options, plan.properties.watermark))
            host.catalog.add(read, create.replace, name.span)
            made.append(st.Drop(_kind_word(create).lower(), name, True))
        execute(host, st.ControlQuery("restart" if create.replace else "start", name, None))
    except Error:
        # The statement has no effect if a part of it fails; a replacement stays.
        for drop in reversed([] if create.replace else made):
            execute(host, drop)
        raise
    kind = _kind_word(create).lower()
    reads = "" if sink.format in _NOWHERE else f"{kind} {name.text} created; "
    message = f"{reads}query {name.text} runs and writes its rows to the sink {sink.name}"
    return Answer(message=message, notices=plan.quoted_columns)


def _source(
    create: st.CreateAs, plan: Plan, form: str, options: tuple[tuple[str, str], ...], mark: Watermark | None
) -> Source:
    columns = tuple(ColumnDefinition(column.name, column.type) for column in plan.columns)
    streaming = create.streaming and plan.streaming
    if form == "kafka":
        options = (*options, ("startingoffsets", "earliest")) if streaming else options
    kept_mark = Watermark(mark.column, mark.delay) if mark is not None and streaming else None
    value = ValueFormat("json") if form == "kafka" else None
    # Only Spark knows some types; if one is unknown, Spark reads all of them from the files.
    known_columns = columns if all(column.type != "unknown" for column in columns) else ()
    return Source(create.name.text, known_columns, form, options, streaming, kept_mark, value=value)
