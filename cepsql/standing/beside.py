"""Folders beside the file of a catalog."""

import re
from pathlib import Path


def beside(file: Path, kind: str, name: str) -> Path:
    """Return the folder with a name among those of a kind; the name may have any characters.

    >>> str(beside(Path("/a/queries.db"), "rows", "../b c-1"))
    '/a/queries.db.rows/.._b_c-1'
    """
    return file.with_name(f"{file.name}.{kind}") / re.sub(r"[^\w.-]", "_", name)
