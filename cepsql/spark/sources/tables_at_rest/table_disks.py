"""Tables at rest on a disk that is not mounted: they would seem to be empty, and what is joined with them be lost."""

import glob
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from cepsql.catalog import Registered, Source
from cepsql.catalog.mounts import check_mounted, check_still_mounted
from cepsql.spark.checkpoint.checkpoint import Checkpoint, keep_records
from cepsql.spark.checkpoint.checkpoint_files import last_committed
from cepsql.spark.sources.tables_at_rest.table_files import local_files, table_path


def check_tables(origins: Iterable[Source | Registered], checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint that knows on which disks the tables of a query are.

    Raises OperationalError if one is not there; a table with REFRESH EVERY is checked whenever it is read.
    """
    paths: dict[str, Path | None] = {}
    for table in _tables(origins, last_committed(checkpoint.spark_folder) is None):
        place, path, files = table_place(table), _path(table), local_files(table)
        if table.refresh is None:
            check_table(table, checkpoint.mounts.get(place), files)
        if path is not None and files:
            paths[place] = path
    return keep_records(checkpoint, {}, paths)


def check_table(table: Source, mount: str | None, files: Collection[str]) -> None:
    """Raise OperationalError if the disk of a table is not there. Who has files there without it has moved them.

    mount: where it was mounted, None: not known.
    files: of the table, on this machine.
    """
    path = _path(table)
    if path is not None and not files:
        check_mounted(path, f"the table {table.name}")
        check_still_mounted(mount, path, f"the table {table.name} in")


def table_place(table: Source) -> str:
    """Return the name of the place of a table in a checkpoint."""
    return f"table {_path(table)}"


def _tables(origins: Iterable[Source | Registered], begins: bool) -> Iterator[Source]:
    """Yield the tables that a query reads; `begins`: no batch was committed, so that it reads a history, too."""
    for origin in origins:
        if isinstance(origin, Source) and not origin.streaming:
            yield origin
        elif isinstance(origin, Source) and origin.backfill is not None and begins:
            yield origin.backfill.history


def _path(table: Source) -> Path | None:
    """Return what is above all files of a table, None if they are not on this machine."""
    place = table_path(table)
    if place is None:
        return None
    while glob.has_magic(place):
        place = os.path.dirname(place)
    return Path(place)
