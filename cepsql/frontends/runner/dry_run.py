"""Statements are parsed and analysed, but not run."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from cepsql.engine import Engine
from cepsql.errors import Error, ProgrammingError, UncheckedError
from cepsql.frontends.runner.error_report import anchored
from cepsql.language import statements as st
from cepsql.language.parse import split
from cepsql.language.translate import statements


def checked(engine: Engine, text: str, args: Mapping[str, object]) -> Iterator[Error | None]:
    """Yield the error of each statement of a text, with its position in the text, or None for a correct statement.

    Correct definitions take effect. An UncheckedError is not a fault: the statement reads columns that only Spark
    knows, directly or through a name that such a statement has defined.
    """
    try:
        parts = split(text)
    except Error as error:
        yield error
        return
    unknown: set[str] = set()
    for offset, statement in parts:
        try:
            engine.check(statement, args)
        except Error as error:
            reported: Error = error
            if not isinstance(error, UncheckedError) and _unknown_name(error) in unknown:
                reported = UncheckedError(error.message, error.span, None, error.text)
            if isinstance(reported, UncheckedError):
                unknown |= _defined(statement)
            yield anchored(reported, text, offset, statement)
        else:
            yield None


def definer(error: Error, later: Iterable[tuple[str, str | None]]) -> str | None:
    """Return the file of the text that defines the missing relation of an error, None without one."""
    if not error.message.startswith("there is no stream, table or view"):
        return None
    return next((file for text, file in later if file and _unknown_name(error) in _all_defined(text)), None)


def _all_defined(text: str) -> set[str]:
    with contextlib.suppress(Error):
        return set().union(*(_defined(statement) for _, statement in split(text)))
    return set()


def _unknown_name(error: Error) -> str | None:
    """Return the name that an error about a statement points to."""
    if not isinstance(error, ProgrammingError) or error.span is None or error.text is None:
        return None
    return error.text[error.span.start : error.span.end].lower()


def _defined(statement: str) -> set[str]:
    """Return the names that a statement would define."""
    named = (st.CreateSource, st.CreateView, st.CreateAs, st.CreateMaterializedView, st.CreateQuery)
    return {parsed.name.text.lower() for parsed in statements(statement) if isinstance(parsed, named)}
