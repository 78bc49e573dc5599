"""The definitions that CREATE SINK, CREATE QUERY and ALTER QUERY enter in the catalog."""

import uuid
from collections.abc import Callable, Iterable, Mapping

from cepsql.analysis.sql.constant_intervals import is_duration
from cepsql.catalog import RegisteredQuery, Sink
from cepsql.catalog.references import has_references
from cepsql.errors import InterfaceError, NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import AlterQuery, CreateQuery, CreateSink
from cepsql.plan.planner import Plan
from cepsql.plan.start_places import started_at

OPTIONS = {
    "trigger": "time between micro-batches, such as '5 seconds'; as soon as there are rows by default",
    "start": "where a new checkpoint begins to read Kafka: earliest, latest or a time; else where streams say",
    "keep_last": "how many of its last rows a query keeps for SUBSCRIBE and \\tail; 1000 by default, 0 with INTO",
    "checkpoint": "folder that holds the query's place in its input and its state; beside the catalog by default",
}
"""Options of a query; settings such as cepsql.buckets and spark.sql.session.timeZone are options too."""

CheckSetting = Callable[[str, str | None, Span], None]
"""Raises ProgrammingError for a cepsql setting that is unknown or wrong."""


def defined_sink(create: CreateSink) -> Sink:
    """Return the sink that a statement defines."""
    key = tuple(name.text for name in create.key)
    return Sink(create.name.text, create.columns, create.format, create.options, key)


def defined_query(
    create: CreateQuery, plan: Plan, sink: Sink | None, settings: Mapping[str, str], check: CheckSetting
) -> RegisteredQuery:
    """Return the query that a statement defines.

    settings: those of the session that defines the query; it uses them wherever it runs.
    Raises InterfaceError for a query that reads no stream, NotSupportedError for LIMIT, ProgrammingError for wrong
    options.
    """
    if not plan.streaming:
        hint = "INSERT INTO sink SELECT ... writes the rows of a bounded query once"
        raise InterfaceError("a standing query must read a stream, and this one reads none", create.query.span, hint)
    if plan.limit is not None:
        raise NotSupportedError("LIMIT in a standing query is not supported", create.name.span)
    check_options(create.options, create.name.span, "a query", check)
    options = dict(settings) | dict(create.options) | _start(create)
    reads = tuple(sorted(plan.reads))
    id = uuid.uuid4().hex[:8]
    return RegisteredQuery(create.name.text, sink.name if sink else None, create.sql, tuple(options.items()), reads, id)


def check_start(query: RegisteredQuery, plan: Plan, span: Span) -> None:
    """Refuse a start, pointing at `span`, that the streams of a query do not support; raises NotSupportedError."""
    try:
        started_at(plan, dict(query.options).get("start"))
    except NotSupportedError as error:
        raise NotSupportedError(error.message, span, error.hint) from None


def _start(create: CreateQuery) -> dict[str, str]:
    """Return the option that WITH NEW CHECKPOINT FROM stands for; raises ProgrammingError if both are there."""
    if create.start is None:
        return {}
    if "start" in dict(create.options):
        raise ProgrammingError("FROM and the option start both say where to start", create.start.span)
    return {"start": create.start.time or create.start.position}


def altered_options(query: RegisteredQuery, alter: AlterQuery, check: CheckSetting) -> tuple[tuple[str, str], ...]:
    """Return the options of a query after ALTER QUERY.

    Raises ProgrammingError for an option that is unknown or wrong, or to be removed and missing.
    """
    options = dict(query.options)
    for name, value in alter.options:
        if value is not None:
            _check_option(name.text, value, name.span, check, "a query", ())
            options[name.text] = value
        elif options.pop(name.text, None) is None:
            hint = suggestion(name.text, options, "options")
            raise ProgrammingError(f"query {query.name} has no option {name.text}", name.span, hint)
    return tuple(options.items())


def check_options(
    options: Iterable[tuple[str, str]], span: Span, owner: str, check: CheckSetting, others: Iterable[str] = ()
) -> None:
    """Refuse options that a query does not have, and wrong values; raises ProgrammingError.

    owner:  the owner of the options, for messages.
    others: further options of the owner, which were checked already.
    """
    for name, value in options:
        _check_option(name, value, span, check, owner, others)


def _check_option(name: str, value: str, span: Span, check: CheckSetting, owner: str, others: Iterable[str]) -> None:
    if name.startswith("spark.sql."):
        return
    if name.startswith("cepsql."):
        check(name, value, span)
    elif name not in OPTIONS:
        hint = suggestion(name, [*others, *OPTIONS, "cepsql.*", "spark.sql.*"], "options")
        raise ProgrammingError(f"{owner} has no option {name}", span, hint)
    if name == "checkpoint" and not value.strip():
        raise ProgrammingError("checkpoint is a folder, not ''", span)
    if name == "keep_last" and not has_references(value) and not value.isdecimal():
        raise ProgrammingError(f"keep_last is a number of rows, not '{value}'", span)
    if name == "trigger" and not has_references(value) and not is_duration(value):
        raise ProgrammingError(f"trigger is a time such as '5 seconds', not '{value}'", span)
