"""Statements read and analysed, but not run."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from cepsql.engine import Engine
from cepsql.errors import Error, ProgrammingError, UncheckedError
from cepsql.language import statements as st
from cepsql.language.parse import split
from cepsql.language.translate import statements
from cepsql.runner.report import anchored


def checked(engine: Engine, text: str, args: Mapping[str, object]) -> Iterator[Error | None]:
    """Yield for each statement of a text its error, with its position in the text, or None where it is right.

    Definitions that are right take effect. An UncheckedError is no fault: the statement reads columns that only Spark
    knows, itself or by a name that such a statement has defined.
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
            found: Error = error
            if not isinstance(error, UncheckedError) and _unknown_name(error) in unknown:
                found = UncheckedError(error.message, error.span, None, error.text)
            if isinstance(found, UncheckedError):
                unknown |= _defined(statement)
            yield anchored(found, text, offset, statement)
        else:
            yield None


def definer(error: Error, later: Iterable[tuple[str, str | None]]) -> str | None:
    """Return which of these texts, each with its file, defines the relation that an error does not find."""
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
