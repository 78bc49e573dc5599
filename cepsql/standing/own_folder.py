"""Streams without USING: INSERT adds their rows, as files in a folder beside the catalog."""

import uuid
from dataclasses import replace
from pathlib import Path

from cepsql.base.temporary import temporary_folder
from cepsql.catalog.catalog import Catalog
from cepsql.errors import NotSupportedError
from cepsql.language.statements import CreateSource
from cepsql.standing.beside import beside

_FORMAT = "parquet"
"""It stores values of every type without loss."""


def with_own_folder(catalog: Catalog, create: CreateSource) -> CreateSource:
    """Return a definition without USING as one over a new folder, which is created later.

    For a catalog in memory, the folder is temporary, and ends with the process.
    Raises NotSupportedError if there is no place for the folder, and for clauses that need a source.
    """
    name, span = create.name.text, create.name.span
    example = f"CREATE STREAM {name} (...) USING json OPTIONS (path '/folder')"
    if create.value is not None or create.start is not None:
        raise NotSupportedError(f"FORMAT and FROM describe a source, and {name} has none", span, example)
    if all(column.expression is not None for column in create.columns):
        raise NotSupportedError(f"{name} has no columns, and no source to infer them from", span, example)
    store = catalog.store
    file = Path(temporary_folder("cepsql-streams-")) / "catalog" if store is None else store.database.file
    if file is None:
        raise NotSupportedError("beside a catalog in PostgreSQL there is no folder for rows", span, example)
    folder = beside(file, "streams", f"{name.lower()}-{uuid.uuid4().hex[:8]}")
    return replace(create, format=_FORMAT, options=(("path", str(folder)),))
