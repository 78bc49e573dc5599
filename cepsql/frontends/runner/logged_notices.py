"""What standing queries log, as notices for the user."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cepsql.catalog.working_for import QUERY
from cepsql.frontends.runner.console_streams import Console


@contextmanager
def noticed(console: Console) -> Iterator[None]:
    """Write the warnings of standing queries as notices while the block runs, if nobody else does."""
    logger = logging.getLogger("cepsql")
    if any(isinstance(handler, Notices) for handler in logger.handlers):
        yield
        return
    with alone(Notices(console.say)):
        yield


@contextmanager
def alone(handler: logging.Handler) -> Iterator[None]:
    """Let a handler have what cepsql logs while the block runs, and no other.

    Py4J gives the root logger one that writes to standard error, which would say it once more, over the prompt.
    """
    logger = logging.getLogger("cepsql")
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


class Notices(logging.Handler):
    """Says each warning.

    failed: told which query failed, and the technical account; such a failure is then no notice. None: it is one.
    """

    def __init__(self, say: Callable[[str], None], failed: Callable[[str, str | None], None] | None = None):
        super().__init__(logging.WARNING)
        self._say, self._failed = say, failed

    def emit(self, record: logging.LogRecord) -> None:
        """Say a record."""
        query = getattr(record, "query", None)
        if self._failed is not None and query is not None and record.levelno >= logging.ERROR:
            self._failed(query, getattr(record, "detail", None))
        else:
            said, works_for = record.getMessage(), QUERY.get()
            # The message itself may name it.
            named = works_for is None or f"query {works_for}" in said.lower()
            self._say(f"notice: {said}" if named else f"notice: query {works_for}: {said}")
