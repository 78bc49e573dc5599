"""What standing queries log, as notices on the console."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from cepsql.runner.console import Console


@contextmanager
def noticed(console: Console) -> Iterator[None]:
    """Write the warnings of standing queries as notices while the block runs."""
    handler = _Notices(console)
    logger = logging.getLogger("cepsql")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Notices(logging.Handler):
    def __init__(self, console: Console):
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.say(f"notice: {record.getMessage()}")
