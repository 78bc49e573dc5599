"""Rows of a query as other libraries hold them."""

from typing import TYPE_CHECKING

from cepsql.errors import DataError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd
    import polars as pl
    import pyarrow as pa


def no_python_type(failure: Exception) -> DataError:
    """Return what is raised where a row cannot be given as Python's own values."""
    hint = "arrow() gives the rows as they are; CAST(... AS STRING) gives the value as text"
    return DataError(f"a value has no type in Python: {failure}", hint=hint)


def pandas_rows(rows: "pa.Table") -> "pd.DataFrame":
    """Return rows as a pandas DataFrame; raises DataError for a value that it cannot hold."""
    from cepsql.spark.frames.arrow_rows import to_pandas

    try:
        return to_pandas(rows)
    except ValueError as failure:
        raise no_python_type(failure) from failure


def polars_rows(columns: "Callable[[], list[str]]", rows: "Callable[[], pa.Table]") -> "pl.DataFrame":
    """Return rows as a Polars DataFrame; names of columns and rows are asked for in this order, if Polars is there.

    Raises InterfaceError where Polars is not installed, and for two columns of one name.
    """
    try:
        import polars
    except ImportError as error:
        raise InterfaceError("Polars is not installed", hint="pip install polars") from error
    names = columns()
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InterfaceError(
            f"two columns are called {twice}, and in a DataFrame of Polars each has a name of its own",
            hint="AS gives a column another name",
        )
    frame = polars.from_arrow(rows())
    assert isinstance(frame, polars.DataFrame)
    return frame


def first_rows(pieces: "Iterable[pa.Table]", wanted: int) -> "list[pa.Table]":
    """Return tables with the first rows, so many of them if there are; no more are taken."""
    tables, count = [], 0
    for piece in pieces:
        tables.append(piece.slice(0, wanted - count))
        count += tables[-1].num_rows
        if count == wanted:
            break
    return tables
