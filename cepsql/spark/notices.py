"""What a standing query tells its user while it runs, through the logger `cepsql`."""

import logging
from collections.abc import Mapping
from typing import Any

LOGGER = logging.getLogger("cepsql")
"""Python prints its warnings to standard error unless the program gives it a handler."""


def warn(batch: int, observed: Mapping[str, Mapping[str, Any]], patterns: str) -> None:
    """Log what a micro-batch could not do as written, one line each.

    observed: values by name, of each observation by name.
    patterns: the row patterns of the query, as text.
    """
    rows = observed.values()
    given_up, misplaced = (sum(row.get(name) or 0 for row in rows) for name in ("given_up", "misplaced"))
    if given_up:
        LOGGER.warning(
            "batch %s: the pattern %s took too many steps from %s %s, which count as not matched; see SET "
            "cepsql.step_budget",
            batch,
            patterns,
            given_up,
            "row" if given_up == 1 else "rows",
        )
    if misplaced:
        LOGGER.warning(
            "batch %s: AFTER MATCH SKIP of the pattern %s led nowhere %s; matching went on",
            batch,
            patterns,
            "once" if misplaced == 1 else f"{misplaced} times",
        )


def warn_of_growth(file: str) -> None:
    """Log that a file was written to after a micro-batch was given it."""
    LOGGER.warning(
        "%s was written to after it was found: rows that came later may be missing; a file must appear whole, so write "
        "it under a name that begins with . and rename it",
        file,
    )
