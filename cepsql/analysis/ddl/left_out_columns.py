"""Definitions of streams and tables that leave out columns, which are inferred from what is read."""

from collections.abc import Sequence
from dataclasses import replace

from cepsql.catalog import ColumnDefinition
from cepsql.errors import ProgrammingError, suggestion
from cepsql.language.statements import CreateSource


def leaves_out_columns(create: CreateSource) -> bool:
    """Tell whether a definition names no column that is read: none at all, or only computed ones."""
    return bool(create.format) and all(column.expression is not None for column in create.columns)


def with_columns(
    create: CreateSource, columns: Sequence[ColumnDefinition], options: Sequence[tuple[str, str]] = ()
) -> CreateSource:
    """Return a definition with the columns that were inferred, and options that were found with them.

    The columns that it computes follow, and take the place of inferred ones of the same name.
    Raises ProgrammingError if its PRIMARY KEY has a column that is not among them.
    """
    computed = {column.name.lower() for column in create.columns}
    read = [column for column in columns if column.name.lower() not in computed]
    if create.watermark is not None:
        # Its times without zone are taken as UTC, as those of any TIMESTAMP in such files.
        time = create.watermark.column.text.lower()
        read = [
            replace(column, type="TIMESTAMP")
            if column.name.lower() == time and column.type == "TIMESTAMP_NTZ"
            else column
            for column in read
        ]
    all_columns = (*read, *create.columns)
    names = [column.name for column in all_columns]
    for name in create.key.names if create.key is not None else ():
        if name.text.lower() not in map(str.lower, names):
            raise ProgrammingError(
                f"the stream has no column {name.text}", name.span, suggestion(name.text, names, "columns")
            )
    spans = {column.name.lower(): create.name.span for column in read} | dict(create.spans)
    return replace(create, columns=all_columns, spans=spans, options=(*create.options, *options))
