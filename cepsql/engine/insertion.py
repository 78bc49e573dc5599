"""INSERT INTO a sink, a stream or a table."""

from collections.abc import Sequence

from cepsql.catalog import Sink, Source
from cepsql.engine.context import Context
from cepsql.engine.registered_frames import Frames
from cepsql.errors import NotSupportedError, OperationalError, ProgrammingError, suggestion
from cepsql.language import statements as st
from cepsql.plan.resolved_references import valued_source
from cepsql.query import Query
from cepsql.render.answer import Answer


def insert_target(context: Context, name: st.Name) -> Sink | Source:
    """Return the target of INSERT INTO; raises ProgrammingError if it is missing or not allowed."""
    target = context.catalog.names.find(name.text)
    if isinstance(target, Source):
        return context.allowed(target)
    if target is None:
        names = context.catalog.names
        sources = [relation.name for relation in names.relations if isinstance(relation, Source)]
        hint = suggestion(name.text, [*(sink.name for sink in names.sinks), *sources], "sinks, streams and tables")
        raise ProgrammingError(f"there is no sink, stream or table {name.text}", name.span, hint)
    return context.allowed(context.catalog.sink(name.text, name.span))


def insert(context: Context, name: st.Name, columns: Sequence[st.Name], rows: st.ParsedQuery, frames: Frames) -> Answer:
    """Write the present rows; those of a stream until all of them are final. Raises Error."""
    target = insert_target(context, name)
    into = target if isinstance(target, Source) else None
    if columns and into is None:
        raise NotSupportedError(
            "a list of columns in INSERT INTO a sink is not supported",
            columns[0].span,
            "a sink finds columns by name: SELECT ... AS name",
        )
    query = Query(context, context.plan(rows, frames))
    if into is not None and not query.streaming:
        try:
            count = query.insert(valued_source(into), [column.text for column in columns])
        except (NotSupportedError, ProgrammingError) as error:
            error.span = error.span or name.span
            raise
        return _inserted(context, count, into.name, query)
    if into is not None:
        if columns:
            message = "a list of columns for the rows of a stream is not supported"
            raise NotSupportedError(message, columns[0].span, "name them in the query: SELECT ... AS name")
        from cepsql.sinks.inserted_rows import insertion_sink

        sink = insertion_sink(into)
    else:
        assert isinstance(target, Sink)
        sink = target
    count = _streamed(context, query, sink) if query.streaming else query.write(sink)
    return _inserted(context, count, sink.name, query)


def _streamed(context: Context, query: Query, sink: Sink) -> int:
    """Write the rows of a stream until all present rows are final; return the number of rows written."""
    standing = query.start(sink=sink, drain=True)
    context.inserting = standing
    try:
        standing.await_()
    finally:
        context.inserting = None
    count = standing.progress.rows_out
    if standing.status == "stopped":
        raise OperationalError(f"INSERT was stopped after {count} rows")
    return count


def _inserted(context: Context, count: int, name: str, query: Query) -> Answer:
    from cepsql.standing.insert_tokens import token_hint

    message = f"{count} row{'' if count == 1 else 's'} written to {name}{token_hint(context, query.token)}"
    return Answer(message=message, notices=query.plan.quoted_columns, token=query.token)
