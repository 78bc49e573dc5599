"""Statements read and analysed, but not run."""

from collections.abc import Iterator, Mapping

from cepsql.engine import Engine
from cepsql.errors import Error
from cepsql.language.parse import split
from cepsql.runner.report import anchored


def checked(engine: Engine, text: str, args: Mapping[str, object]) -> Iterator[Error | None]:
    """Yield for each statement of a text its error, with its position in the text, or None where it is right.

    Definitions that are right take effect.
    """
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
        else:
            yield None
