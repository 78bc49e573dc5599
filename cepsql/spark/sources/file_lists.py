"""Streams of the files in folders: Spark lists and checkpoints the paths, and tasks read the files.

Each source of Spark takes time before the first micro-batch, and in every one. `list_together` makes one source of
several folders. That is right only for a query that reads what is there, ends, and never resumes: of one source, Spark
ignores files that are much older than the newest one, and among the files of other tables those of a table that seldom
changes would be.
"""

import os
import re
from collections.abc import Collection, Container
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from cepsql.catalog import Source
from cepsql.catalog.locations import is_hidden, is_local, local_path
from cepsql.readers.scan.layout import LISTING_OPTIONS
from cepsql.spark.checkpoint.planned_files import PATTERN
from cepsql.spark.jvm.lent_settings import setting
from cepsql.spark.sources.source import located_options

_PATHS = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
"""The schema of Spark's `binaryFile` source; it reads the content of files only if `content` is selected."""

_FILE = ("path", "unix_micros(modificationTime) AS modified")

_PLAIN = re.compile(r"/[\w/.@~+-]+", re.ASCII)
"""Paths that mean the same to Spark on their own and within a pattern."""

_ANY_AGE = {"maxFileAge": "36500d"}


def file_paths(spark: SparkSession, source: Source, *more: str) -> DataFrame:
    """Return a stream of the files of a source: `path`, `modified` in microseconds, and more columns as SQL."""
    listing = {name: value for name, value in located_options(source).items() if name.lower() in LISTING_OPTIONS}
    return _listed(spark, listing, *_FILE, *more)


def control_paths(spark: SparkSession, control: str, prefix: str) -> DataFrame:
    """Return a stream of the files of a control folder, as `file_paths` does, with a prefix before each path."""
    return _listed(spark, {"path": control}, f"concat('{prefix}', path) AS path", "0L AS modified")


def list_together(spark: SparkSession, places: Collection[str], *more: str) -> DataFrame:
    """Return a stream of the files of several folders, and of several files, as `file_paths` does; none is too old.

    places: paths for which `is_plain` holds.
    """
    # A file whose folder is listed would come twice.
    listed = [place for place in places if os.path.isdir(place) or os.path.dirname(place) not in places]
    pattern = ",".join(place.lstrip("/") for place in listed)
    return _listed(spark, {"path": f"/{{{pattern}}}", **_ANY_AGE}, *_FILE, *more)


@dataclass(frozen=True)
class CommonPlace:
    """A folder or a file that `list_together` lists as `file_paths` does, and how many files it has."""

    path: str
    files: int


def most_files(spark: SparkSession) -> int:
    """Return how many files of streams can be listed together with the one that ends the input: so many as Spark lists
    without a job, which would have a task for each."""
    return int(setting(spark, "spark.sql.sources.parallelPartitionDiscovery.threshold")) - 1


def common_place(source: Source, most: int) -> CommonPlace | None:
    """Return where the files of a source are, None if they can't be listed together with others.

    most: so many files are listed at most.
    """
    options = {name.lower(): value for name, value in source.options if name.lower() in LISTING_OPTIONS}
    if options.keys() != {"path"} or not is_local(options["path"]):
        return None
    place = local_path(options["path"])
    if not is_plain(place):
        return None
    if os.path.isfile(place):
        return CommonPlace(place, 1) if most > 0 and not is_hidden(os.path.basename(place)) else None
    files = _plain_files(place, most)
    return None if files is None else CommonPlace(place, files)


def is_plain(path: str) -> bool:
    """Tell whether Spark takes a local path as it is, alone and within a pattern."""
    return _PLAIN.fullmatch(path) is not None


def places_of(path: str, places: Container[str]) -> list[str]:
    """Return which of the places that are listed together have a file, by its path as Spark shows it."""
    file = local_path(path)
    return [place for place in (file, os.path.dirname(file)) if place in places]


def _plain_files(folder: str, most: int) -> int | None:
    """Return how many files a folder has; None if it can't be read, or has more than `most`, a folder, or a file whose
    name Spark takes for a pattern.

    Folders below, at any depth, that are named like key=value make columns, which all that is listed together must
    have; what a stream of Spark has written is listed in a log, in the folder _spark_metadata.
    """
    number = 0
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries, 1):
                if number > most or PATTERN.search(entry.name) or entry.is_dir():
                    return None
    except OSError:
        return None
    return number


def _listed(spark: SparkSession, options: dict[str, str], *columns: str) -> DataFrame:
    return spark.readStream.format("binaryFile").schema(_PATHS).options(**options).load().selectExpr(*columns)
