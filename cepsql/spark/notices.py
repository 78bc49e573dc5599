"""What a standing query tells its user while it runs, through the logger `cepsql`."""

import logging

from pyspark.sql.streaming.listener import StreamingQueryProgress

LOGGER = logging.getLogger("cepsql")
"""Python prints its warnings to standard error unless the program gives it a handler."""


def warn(event: StreamingQueryProgress, patterns: str) -> None:
    """Log what a micro-batch could not do as written, one line each.

    patterns: the row patterns of the query, as text.
    """
    observed = [row.asDict() for row in event.observedMetrics.values()]
    given_up, misplaced = (sum(row.get(name) or 0 for row in observed) for name in ("given_up", "misplaced"))
    if given_up:
        LOGGER.warning(
            "batch %s: the pattern %s took too many steps from %s %s, which count as not matched; see SET "
            "cepsql.step_budget",
            event.batchId,
            patterns,
            given_up,
            "row" if given_up == 1 else "rows",
        )
    if misplaced:
        LOGGER.warning(
            "batch %s: AFTER MATCH SKIP of the pattern %s led nowhere %s; matching went on",
            event.batchId,
            patterns,
            "once" if misplaced == 1 else f"{misplaced} times",
        )
