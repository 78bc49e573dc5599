"""Checks of a sink before anything runs, and removal of the entry of a dropped query from its sink."""

import contextlib
import re

from cepsql.catalog import RegisteredQuery, Sink
from cepsql.catalog.references import valued_sink
from cepsql.errors import Error, OperationalError, ProgrammingError, Span, at_place
from cepsql.plan.planner import Plan

_UNNAMED = re.compile(r"_col_\d+")
"""The names of unnamed columns until Spark names them."""


def check_definition(sink: Sink, span: Span) -> None:
    """Refuse a sink with wrong options, without asking a server; references without a value here are accepted.

    Raises ProgrammingError, and NotSupportedError for what the format cannot do or a missing package.
    """
    from cepsql.sinks import WriterIdentity, open_sink

    with at_place(span), contextlib.suppress(OperationalError):
        open_sink(valued_sink(sink), WriterIdentity("", 0)).close()


def check_columns(sink: Sink | None, plan: Plan, span: Span) -> None:
    """Refuse a query whose columns have other names than those of its sink, or whose changes the sink does not accept;
    raises ProgrammingError.

    Only Spark knows the types, which the start checks.
    """
    columns = [(column.name, column.type) for column in plan.properties.columns]
    if sink is None or any(_UNNAMED.fullmatch(name) for name, _ in columns):
        return
    from cepsql.sinks.added_columns import check_names, written_columns

    try:
        check_names(sink, [name for name, _ in written_columns(sink, columns, plan.changes)])
    except ProgrammingError as error:
        error.span = span
        raise


def forget(query: RegisteredQuery, sink: Sink | None) -> str:
    """Remove the entry of a dropped query from its sink; return a note if that fails, else ''.

    A query with a checkpoint of its own may be created again and resume from it, so that its entry stays.
    """
    from cepsql.sinks import WriterIdentity, open_sink
    from cepsql.sinks.added_columns import DATABASES

    if sink is None or sink.format.lower() not in DATABASES or "checkpoint" in dict(query.options):
        return ""

    try:
        opened = open_sink(valued_sink(sink), WriterIdentity(query.name, 0))
        try:
            opened.forget()
        finally:
            opened.close()
    except Error as error:
        return f"; its entry in sink {sink.name} stays, for {error.message}"
    return ""
