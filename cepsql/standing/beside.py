"""Folders beside the file of a catalog."""

import re
from pathlib import Path


def beside(file: Path, kind: str, name: str) -> Path:
    """Return the folder of that name among those of a kind, whatever characters the name has.

    >>> str(beside(Path("/a/queries.db"), "rows", "../b c-1"))
    '/a/queries.db.rows/.._b_c-1'
    """
    return file.with_name(f"{file.name}.{kind}") / re.sub(r"[^\w.-]", "_", name)
