"""Warnings of a running standing query, through the logger `cepsql`."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cepsql.spark.checkpoint.planned_files import named
from cepsql.spark.jvm.messages.folder_names import readable_name
from cepsql.spark.sources.watching.csv_headers import MisplacedHeader
from cepsql.spark.sources.watching.unread_files import UnreadFile

LOGGER = logging.getLogger("cepsql")
"""Python prints its warnings to standard error unless the program adds a handler."""

_UNREAD = {
    True: "rows may be missing: written to after it was found: %s; a file is read once, so write "
    "what is new, whole, under another name that begins with . and rename it",
    False: "not read: changed so much earlier (maxFileAge, by default 7 days) than the newest file that was read: %s; "
    "touch gives a file a new time, and it is read",
}
"""Messages for a file that was read before it changed, and for others."""


def warn(batch: int, observed: Mapping[str, Mapping[str, Any]], patterns: str) -> None:
    """Log each problem of a micro-batch in one line.

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


def warn_of_unread(files: Iterable[UnreadFile]) -> None:
    """Log the files of streams with unread rows, one line for each reason."""
    unread = list(files)
    for changed, why in _UNREAD.items():
        paths = [file.path for file in unread if file.changed == changed and not file.unnamed]
        if paths:
            LOGGER.warning(why, named(paths))
    warn_of_unnamed(file.path for file in unread if file.unnamed)


def warn_of_unnamed(paths: Iterable[str]) -> None:
    """Log the files whose names are not UTF-8: Java can't open them."""
    if names := [readable_name(path) for path in paths]:
        LOGGER.warning("not read: the name is not UTF-8: %s; rename it, and it is read", named(names))


def warn_of_folders(gone: Iterable[str], back: Iterable[str]) -> None:
    """Log the folders of streams that are gone, so that no rows arrive, and those that returned."""
    for folder in gone:
        LOGGER.warning("%s is gone: no rows come from there until it is back; its disk may not be mounted", folder)
    for folder in back:
        LOGGER.warning("%s is there again", folder)


def warn_of_gone(batch: int, files: Sequence[str]) -> None:
    """Log the files of a micro-batch that were gone before it could read them."""
    if files:
        LOGGER.warning("batch %s: not read: found, and gone before it was read: %s", batch, named(files))


def warn_of_headers(files: Iterable[MisplacedHeader]) -> None:
    """Log the CSV files with declared columns in other positions, so that values are in the wrong columns."""
    for file in files:
        LOGGER.warning(
            "%s: its header names the columns %s, and they are read as %s: CSV is read by place; declare them in that "
            "order, or set the option enforceSchema 'false', which refuses such files",
            file.path,
            ", ".join(file.names),
            ", ".join(file.declared),
        )
