"""Statements read and analysed, but not run."""

from collections.abc import Iterator, Mapping

from cepsql.engine import Engine
from cepsql.errors import Error
from cepsql.language.parse import split
from cepsql.runner.report import anchored


def checked(engine: Engine, text: str, args: Mapping[str, object]) -> Iterator[Error]:
    """Yield the errors of a text's statements, with positions in the text; definitions that are right take effect."""
    try:
        parts = split(text)
    except Error as error:
        yield error
        return
    for offset, statement in parts:
        try:
            engine.check(statement, args)
        except Error as error:
            yield anchored(error, text, offset, statement)
