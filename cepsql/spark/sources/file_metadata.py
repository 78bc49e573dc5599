"""METADATA columns of files: what Spark knows of the file that a row is in, and the row's place there."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from cepsql.analysis.ddl.metadata_columns import FILE_NAME, FILE_PATH, POSITION, file_metadata, known_file_metadata
from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import NotSupportedError
from cepsql.spark.jvm.row_origins import row_numbers


def file_columns(source: Source) -> tuple[ColumnDefinition, ...]:
    """Return the METADATA columns of a source that tell of its files."""
    if source.value is not None or not known_file_metadata(source.format.lower()):
        return ()
    return tuple(column for column in source.columns if column.metadata is not None)


def without_file_metadata(source: Source) -> Source:
    """Return a source with the columns that are in its files, and computed ones."""
    of_files = file_columns(source)
    return replace(source, columns=tuple(column for column in source.columns if column not in of_files))


def metadata_column(spark: SparkSession, source: Source, column: ColumnDefinition) -> Column:
    """Return a METADATA column over the files of a source.

    Raises NotSupportedError if Java, which counts the rows of a file, cannot be told.
    """
    assert column.metadata is not None
    kind = file_metadata(column.metadata)
    if kind != POSITION:
        found: Column | None = F.expr(_file_sql(kind))
    elif source.format.lower() == "parquet":
        found = F.expr("_metadata.row_index")
    else:
        found = row_numbers(spark, "_metadata.file_block_start", "_metadata.file_path")
    if found is None:
        raise NotSupportedError(f"METADATA FROM 'position' of {source.name} needs Spark's Java beside this process")
    return found.alias(column.name)


def listed_metadata(source: Source) -> Mapping[str, str]:
    """Return the SQL of the METADATA columns of files over a list of the files, by name: all but rows' places."""
    kinds = {column.name: file_metadata(column.metadata or "") for column in file_columns(source)}
    return {name: _file_sql(kind) for name, kind in kinds.items() if kind != POSITION}


def position_column(source: Source) -> str | None:
    """Return the METADATA column of files that has the places of rows, None if there is none."""
    return next((c.name for c in file_columns(source) if file_metadata(c.metadata or "") == POSITION), None)


def plain_name(url: str) -> str:
    """Return the SQL of the name of a file that Spark writes as a URL."""
    return f"if(instr({url}, '%') > 0, coalesce(try_url_decode(replace({url}, '+', '%2B')), {url}), {url})"


def _file_sql(kind: str) -> str:
    field = f"_metadata.{kind}"
    return plain_name(field) if kind in (FILE_NAME, FILE_PATH) else field
