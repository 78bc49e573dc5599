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
"""How many files in FROM have their columns cached."""


class InferredFiles:
    """A cache of the columns of files in queries, until the files change."""

    def __init__(self, spark: "Callable[[], SparkSession]"):
        self._spark = spark
        self._by_mark: dict[tuple | None, Source] = {}

    def with_columns(self, source: Source) -> Source:
        """Return files as a table with its columns, and its format if it is missing; raises Error."""
        load_spark()
        from cepsql.spark.jvm.messages.failures import translated_failures
        from cepsql.spark.sources.inferred_columns import check_there, files_format, files_mark, inferred

        check_there(source)
        with translated_failures():
            if not source.format:
                source = replace(source, format=files_format(source))
            mark = files_mark(source)
            if mark not in self._by_mark or mark is None:
                if len(self._by_mark) >= _MOST_INFERRED:
                    self._by_mark.clear()
                inference = inferred(self._spark(), source)
                options = (*source.options, *inference.options)
                self._by_mark[mark] = replace(source, columns=inference.columns, options=options)
            return self._by_mark[mark]


def file_source(file: FileTable) -> Source:
    """Return the files that a query names as a table without columns; its format is "" if only the files have it."""
    source = located(Source(file.written, (), file_format(file) or "text", (("path", file.path), *file.options), False))
    assert isinstance(source, Source)
    return source


def file_format(file: FileTable) -> str | None:
    """Return the format that a query declares for its files, or the one of their file extension."""
    return file.format or ending_format(file.path)
