"""Files in FROM, as tables whose columns are inferred from them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cepsql.base.loading import load_spark
from cepsql.catalog import Source
from cepsql.catalog.locations import located
from cepsql.language.rewriting.file_tables import FileTable, ending_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_INFERRED = 100
"""Of so many files in FROM the columns are remembered."""


class InferredFiles:
    """The columns of files that queries have named, until these change."""

    def __init__(self, spark: "Callable[[], SparkSession]"):
        self._spark = spark
        self._known: dict[tuple | None, Source] = {}

    def with_columns(self, source: Source) -> Source:
        """Return files as a table with its columns, and its format where it has none yet; raises Error."""
        load_spark()
        from cepsql.spark.jvm.messages.failures import translated_failures
        from cepsql.spark.sources.inferred_columns import check_there, files_format, files_mark, inferred

        check_there(source)
        with translated_failures():
            if not source.format:
                source = replace(source, format=files_format(source))
            mark = files_mark(source)
            if mark not in self._known or mark is None:
                if len(self._known) >= _MOST_INFERRED:
                    self._known.clear()
                found = inferred(self._spark(), source)
                self._known[mark] = replace(source, columns=found.columns, options=(*source.options, *found.options))
            return self._known[mark]


def file_source(file: FileTable) -> Source:
    """Return the files that a query names as a table without columns; its format is "" where only the files tell."""
    source = located(Source(file.written, (), file_format(file) or "text", (("path", file.path), *file.options), False))
    assert isinstance(source, Source)
    return source


def file_format(file: FileTable) -> str | None:
    """Return the format that a query gives for its files, or that their names end with."""
    return file.format or ending_format(file.path)
