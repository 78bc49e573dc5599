"""Which disk is full, where Spark says only that one is."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from cepsql.catalog import Sink
from cepsql.catalog.locations import is_local, local_path
from cepsql.errors import Error, OperationalError
from cepsql.spark.jvm.lent_settings import local_folders

_FULL, _ROOM_BYTES = "No space left on device", 2**20
_AGAIN = "make room and run it again"


@dataclass(frozen=True)
class Place:
    """A file or folder of this machine that is written, and what messages call it."""

    what: str
    path: Path


def written_places(spark: SparkSession, sink: Sink | None, late: Iterable[str] = ()) -> tuple[Place, ...]:
    """Return where a query writes besides its checkpoint; `late`: the folders of its late rows."""
    places = [Place("the folder of late rows", Path(folder)) for folder in late]
    path = None if sink is None else next((value for name, value in sink.options if name.lower() == "path"), None)
    if sink is not None and path and is_local(path):
        places.insert(0, Place(f"sink {sink.name} at", Path(local_path(path))))
    return *places, *(Place("Spark's temporary folder", Path(folder)) for folder in local_folders(spark))


def explain_full(error: Error, places: Iterable[Place], then: str) -> Error:
    """Return an error with the place that has no room, if that is what failed; else with those that it may be.

    then: what to do once there is room.
    """
    places = tuple(places)
    if _FULL not in error.message or not places:
        return error
    if any(str(place.path) in error.message for place in places):
        return error if error.hint else OperationalError(error.message, hint=then, detail=error.detail)
    full = next((place for place in places if _is_full(place.path)), None)
    if full is not None:
        return OperationalError(f"{full.what} {full.path} cannot be written: {_FULL}", hint=then, detail=error.detail)
    # What has filled it may have been removed since.
    where = ", ".join(f"{place.what} {place.path}" for place in places)
    return OperationalError(_FULL, hint=f"one of these had no room: {where}; {then}", detail=error.detail)


@contextlib.contextmanager
def full_disks_named(spark: SparkSession, sink: Sink | None = None) -> Iterator[None]:
    """Let an error raised within the block, in which a bounded query runs, name the disk that is full, if one is."""
    try:
        yield
    except Error as error:
        explained = explain_full(error, written_places(spark, sink), _AGAIN) if _FULL in error.message else error
        if explained is error:
            raise
        raise explained from error


def _is_full(path: Path) -> bool:
    """Tell whether nothing, or next to nothing, can be written below a path or what will hold it."""
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    with contextlib.suppress(OSError):
        status = os.statvfs(there)
        return status.f_bavail * status.f_frsize < _ROOM_BYTES or (status.f_files > 0 and status.f_favail == 0)
    return False
