"""CREATE STREAM, CREATE TABLE and CREATE VIEW."""

import datetime
import os
from dataclasses import replace

from cepsql.analysis.ddl.backfill_clause import defined_backfill
from cepsql.analysis.ddl.encodings import check_encoding
from cepsql.analysis.ddl.format_names import SOURCE_FORMATS, format_note
from cepsql.analysis.ddl.late_rows_clause import defined_late_rows
from cepsql.analysis.ddl.left_out_columns import leaves_out_columns, with_columns
from cepsql.analysis.ddl.record_formats import defined_options, defined_value
from cepsql.analysis.ddl.source_options import mistaken_option
from cepsql.analysis.ddl.stream_key import defined_key
from cepsql.analysis.ddl.watermark import defined_watermark
from cepsql.analysis.sql.constant_intervals import defined_refresh
from cepsql.base.loading import load_spark
from cepsql.catalog import ColumnDefinition, Source, View, Watermark
from cepsql.catalog.catalog_names import kind
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.locations import located
from cepsql.engine.context import Context
from cepsql.errors import NotSupportedError, ProgrammingError, Span, at_place
from cepsql.language import statements as st
from cepsql.plan.planner import Plan
from cepsql.plan.resolved_references import valued_source
from cepsql.readers.datagen.fields import DATAGEN, check_fields, with_start
from cepsql.readers.kafka.kafka_reader import with_reader
from cepsql.render.answer import Answer
from cepsql.standing.own_folder import with_own_folder


def create_source(context: Context, create: st.CreateSource) -> Answer:
    """Execute CREATE STREAM or CREATE TABLE; raises Error."""
    if create.if_not_exists and context.catalog.find(create.name.text):
        return Answer(message=f"{create.name.text} exists already")
    note, own = "", not create.format
    if not create.format:
        create = with_own_folder(context.catalog, create)
    elif create.format == DATAGEN:
        now = datetime.datetime.now(datetime.UTC)
        create = replace(create, options=with_start(create.options, now))
    if leaves_out_columns(create):
        create, note = _with_inferred(context, create)
    source = _source(context, create)
    if source.format == DATAGEN:
        check_fields(source, create.name.span)
    if source.format == "kafka":
        source = _with_reader(source, create.name.span)
    late_span = create.late_rows.name.span if create.late_rows else None
    answer = _define(context, source, create, late_span)
    if own:
        os.makedirs(dict(create.options)["path"], exist_ok=True)
        note = f"; INSERT INTO {quoted_name(source.name)} adds rows, which are kept in files of {source.format}"
    return replace(answer, message=f"{answer.message}{note}")


def create_view(context: Context, create: st.CreateView) -> Answer:
    """Execute CREATE VIEW; raises Error."""
    if create.if_not_exists and context.catalog.find(create.name.text):
        return Answer(message=f"{create.name.text} exists already")
    plan = context.plan(create.query, defining=True)
    name = create.name.text
    if name.lower() in (r.name.lower() for r in plan.origins) or name.lower() in plan.views:
        raise ProgrammingError(f"view {name} would read itself", create.name.span)
    if plan.limit is not None:
        raise NotSupportedError("LIMIT in a view over a stream is not supported", create.name.span)
    view = View(name, create.sql, *rows_of(plan))
    return replace(_define(context, view, create), notices=plan.quoted_columns)


def rows_of(plan: Plan) -> tuple[tuple[ColumnDefinition, ...], bool, Watermark | None, tuple[str, ...]]:
    """Return the properties of a view's rows."""
    rows = plan.properties
    return rows.columns, rows.streaming, rows.watermark, tuple(sorted(plan.reads))


def _source(context: Context, create: st.CreateSource) -> Source:
    """Return the source of a definition; raises ProgrammingError if the restrictions refuse it."""
    key, deletion = defined_key(create)
    check_encoding(create)
    return _readable(
        context,
        Source(
            create.name.text,
            create.columns,
            create.format,
            defined_options(create),
            create.streaming,
            defined_watermark(create),
            defined_late_rows(create),
            value=defined_value(create),
            key=key,
            deletion=deletion,
            refresh=defined_refresh(create),
            backfill=defined_backfill(create, context.catalog.get),
        ),
    )


def _readable(context: Context, source: Source) -> Source:
    """Return a source that may be read now, unless the restrictions of the engine refuse it."""
    context.allowed(located(source))
    return source


def _with_inferred(context: Context, create: st.CreateSource) -> tuple[st.CreateSource, str]:
    """Return a definition with inferred columns, and the note on them."""
    name, span = create.name.text, create.name.span
    if create.value is not None:
        raise ProgrammingError(
            f"the columns of records are not inferred: {name} needs columns", span, f"{name} (id BIGINT)"
        )
    if create.format == DATAGEN:
        raise ProgrammingError(f"{name} needs columns, which datagen fills", span, f"{name} (id BIGINT, at TIMESTAMP)")
    # The source without watermark and computed columns.
    read = Source(name, (), create.format, defined_options(create), create.streaming)
    source = valued_source(_readable(context, _with_reader(read, span) if read.format == "kafka" else read))
    load_spark()
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.jvm.messages.failures import translated_failures
    from cepsql.spark.sources.inferred_columns import INFERRED, check_there, inferred
    from cepsql.spark.sources.source import MALFORMED, read_source

    if source.format not in INFERRED:
        return with_columns(create, frame_columns(read_source(context.spark, source).drop(MALFORMED))), ""
    with at_place(span):
        check_there(source)
        with translated_failures():
            inference = inferred(context.spark, source)
    listed = ", ".join(f"{column.name} {column.type}" for column in inference.columns)
    options = "".join(f", {key} '{value}'" for key, value in inference.options)
    note = f"; columns from {inference.origin}: {listed}{options}"
    return with_columns(create, inference.columns, inference.options), note


def _with_reader(source: Source, span: Span) -> Source:
    with at_place(span):
        return replace(source, options=with_reader(source))


def _define(
    context: Context, relation: Source | View, create: st.CreateSource | st.CreateView, late_span: Span | None = None
) -> Answer:
    from cepsql.standing.query_statements import replaced_note
    from cepsql.standing.statement_host import stored_definition

    replacing = create.replace and context.catalog.names.find(relation.name) is not None
    context.catalog.add(stored_definition(context, relation), create.replace, create.name.span, late_span)
    note = replaced_note(context, relation) if replacing else ""
    if isinstance(relation, Source) and (mistaken := mistaken_option(relation.format, dict(relation.options))):
        note += f"; {relation.format} passes over the option {mistaken[0]}: did you mean {mistaken[1]}?"
    if isinstance(relation, Source):
        note += format_note(relation.format, SOURCE_FORMATS)
    return Answer(message=f"{kind(relation)} {relation.name} {'replaced' if replacing else 'created'}{note}")
