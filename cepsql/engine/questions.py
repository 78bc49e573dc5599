"""SHOW, DESCRIBE, PRINT and SUMMARIZE."""

import fnmatch
from dataclasses import replace

from cepsql.analysis.sql.resolve import table_name
from cepsql.base.loading import load_spark
from cepsql.catalog import MaterializedView, Registered, Relation, Sink, Source, View
from cepsql.catalog.catalog_names import kind
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.described import described
from cepsql.engine.context import Context
from cepsql.engine.registered_frames import Frames
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language import statements as st
from cepsql.language.translate import one_query
from cepsql.plan.planner import plan_query
from cepsql.plan.resolved_references import valued_source
from cepsql.query import Query
from cepsql.render.answer import Answer

SUMMARY = ("column", "type", "min", "max", "unique", "avg", "nulls")
"""The columns of SUMMARIZE; `unique` is exact to a few per cent."""


def show(context: Context, asked: st.Show) -> Answer:
    """Execute SHOW; raises Error."""
    answer = _shown(context, asked.kind, asked.extended)
    if asked.like is None:
        return answer
    pattern = asked.like.lower()
    return replace(answer, rows=tuple(row for row in answer.rows if fnmatch.fnmatchcase(str(row[0]).lower(), pattern)))


def _shown(context: Context, wanted: str, extended: bool) -> Answer:
    if wanted in ("queries", "sinks", "savepoints", "materialized views", "view positions", "view groups"):
        from cepsql.standing.query_statements import show as show_standing

        return show_standing(context, wanted, extended)
    if wanted == "views":
        views = sorted((r for r in context.catalog if isinstance(r, View | MaterializedView)), key=lambda r: r.name)
        texts = (" ".join((view if isinstance(view, View) else view.query).sql.split()) for view in views)
        shown = tuple((view.name, kind(view), text) for view, text in zip(views, texts, strict=True))
        return Answer(("name", "kind", "query"), shown)
    relations = sorted((r for r in context.catalog if kind(r) + "s" == wanted), key=lambda r: r.name)
    rows = tuple((r.name, getattr(r, "format", "DataFrame"), ", ".join(c.name for c in r.columns)) for r in relations)
    return Answer(("name", "format", "columns"), rows)


def describe(context: Context, asked: st.Describe) -> Answer:
    """Execute DESCRIBE; raises ProgrammingError for an unknown name."""
    name = asked.name
    if asked.extended:
        names = context.catalog.names
        definition = names.find(name.text) or context.catalog.get(name.text, name.span)
        return Answer(("property", "value"), described(definition, names.dependents(definition)))
    if isinstance(context.catalog.names.find(name.text), Sink):
        sink = context.catalog.sink(name.text)
        keys = {key.lower(): "primary key" for key in sink.key}
        columns = ((c.name, c.type.lower(), keys.get(c.name.lower(), "")) for c in sink.columns)
        return Answer(("column", "type", "note"), tuple(columns))
    relation = context.catalog.get(name.text, name.span)
    if isinstance(relation, MaterializedView):
        notes = {name.lower(): "indexed" for name in relation.indexes}
        notes |= {name.lower(): "primary key" for name in relation.key}
        rows = ((c.name, c.type.lower(), notes.get(c.name.lower(), "")) for c in relation.columns)
        return Answer(("column", "type", "note"), tuple(rows))
    return Answer(("column", "type", "note"), _columns(relation))


def _columns(relation: Relation) -> tuple[tuple[str, str, str], ...]:
    mark = relation.watermark
    rows = []
    for column in relation.columns:
        notes = [f"AS {column.expression}"] if column.expression else []
        notes += [f"METADATA FROM '{column.metadata}'"] if column.metadata else []
        if mark is not None and mark.column.lower() == column.name.lower():
            notes.append(f"event time, watermark {mark.delay / 1_000_000:g} seconds behind")
        if isinstance(relation, Source) and column.name in relation.key:
            notes.append("primary key")
        rows.append((column.name, column.type.lower(), "; ".join(notes)))
    return tuple(rows)


def printed(context: Context, asked: st.Print) -> Relation:
    """Return the relation that PRINT shows: a named one, or one that reads a topic."""
    name = asked.name
    if asked.topic and context.catalog.find(name.text) is None:
        for relation in context.catalog:
            topics = dict(relation.options).get("subscribe", "") if isinstance(relation, Source) else ""
            if name.text in map(str.strip, topics.split(",")):
                return context.allowed(relation)
        hint = f"CREATE STREAM name (value STRING) USING kafka OPTIONS (subscribe '{name.text}', ...) reads it"
        raise ProgrammingError(f"no stream reads the topic {name.text}", name.span, hint)
    return context.allowed(context.catalog.get(name.text, name.span))


def print_rows(context: Context, asked: st.Print) -> Query:
    """Return the query of PRINT: present rows as they are read, current rows of a view, or rows as they arrive."""
    relation = printed(context, asked)
    shown = one_query(f"SELECT * FROM {quoted_name(relation.name)} LIMIT {asked.limit}")
    if not isinstance(relation, Source):
        return Query(context, context.plan(shown))
    spark = context.spark
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.sources.peek import peeked

    frame = peeked(spark, valued_source(relation))
    if frame is None:
        return Query(context, context.plan(shown))
    return Query(context, plan_query(shown, lambda _: Registered(relation.name, frame_columns(frame), frame)))


def summarize(context: Context, statement: st.ParsedQuery, frames: Frames) -> Answer:
    """Summarize the values of each column; for streams, those of the present rows."""
    load_spark()
    from cepsql.spark.sources.peek import at_rest

    context.check_allowed(statement.sql)
    plan = plan_query(statement, lambda t: at_rest(frames.get(table_name(t).lower()) or context.relation(t)))
    query = Query(context, plan)
    if query.streaming:
        raise NotSupportedError(
            "SUMMARIZE of a stream that can only be followed is not supported",
            statement.span,
            "SUMMARIZE of a stream of files or of Kafka reads what is there now",
        )
    rows, count = query.summary()
    return Answer(SUMMARY, rows, f"{count:,} {'row' if count == 1 else 'rows'}", notices=query.notices)
