"""Log messages about a catalog that cannot be used: one at the start, and one at the end."""

import logging

from cepsql.errors import Error


class Outage:
    """Logs the outage of a catalog, which is tried every second and may be away for days.

    said: the current error, "" for none.
    """

    def __init__(self, logger: logging.Logger):
        self._logger, self.said = logger, ""

    def goes_on(self, error: Error) -> None:
        """Log an error, unless it was the last one."""
        said = f"{error.message}; {error.hint}" if error.hint else error.message
        if said != self.said:
            self._logger.warning("%s", said)
        self.said = said

    def is_over(self) -> None:
        """Log that the catalog can be used again, after an outage."""
        if self.said:
            self._logger.warning("the catalog can be used again")
        self.said = ""
