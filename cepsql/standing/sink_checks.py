"""What shows of a sink that is wrong before anything runs, and what a sink keeps of a query that is dropped."""

import contextlib
import re

from cepsql.catalog import RegisteredQuery, Sink
from cepsql.catalog.references import valued_sink
from cepsql.errors import Error, OperationalError, ProgrammingError, Span, at_place
from cepsql.plan.planner import Plan

_UNNAMED = re.compile(r"_col_\d+")
"""What columns without a name are called until Spark names them."""


def check_definition(sink: Sink, span: Span) -> None:
    """Refuse a sink whose options are wrong. No server is asked, and references that have no value here are let pass.

    Raises ProgrammingError, and NotSupportedError for what the format cannot do or a package that is missing.
    """
    from cepsql.sinks import WriterIdentity, open_sink

    with at_place(span), contextlib.suppress(OperationalError):
        open_sink(valued_sink(sink), WriterIdentity("", 0)).close()


def check_columns(sink: Sink | None, plan: Plan, span: Span) -> None:
    """Refuse a query whose columns have other names than those of its sink, or that gives changes, which it does not
    take; raises ProgrammingError.

    Their types are known only to Spark, so that its start checks them.
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
    """Let the sink forget a query that was dropped; return what it could not, as a note, '' for nothing.

    One that named its checkpoint may be created again and go on from it, so it is remembered.
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
