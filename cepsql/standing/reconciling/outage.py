"""What is said of a catalog that cannot be used: once when that begins, and once when it has ended."""

import logging

from cepsql.errors import Error


class Outage:
    """Tells of a catalog that is away; who looks after queries asks it every second, and it may stay away for days.

    said: what is wrong now, "" for nothing.
    """

    def __init__(self, logger: logging.Logger):
        self._logger, self.said = logger, ""

    def goes_on(self, error: Error) -> None:
        """Say what is wrong, unless that was said already."""
        said = f"{error.message}; {error.hint}" if error.hint else error.message
        if said != self.said:
            self._logger.warning("%s", said)
        self.said = said

    def is_over(self) -> None:
        """Say that the catalog can be used again, if it could not be."""
        if self.said:
            self._logger.warning("the catalog can be used again")
        self.said = ""
