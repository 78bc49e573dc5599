"""Which file it is that Spark could not read: the cause alone, of Java's or of a codec, does not name it."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import unquote

from cepsql.readers.scan.damaged import OTHER_CODEC, WHOLE_FILE

_FILE = re.compile(r"\[FAILED_READ_FILE[\w.]*\] [^\n]*? reading file (\S+)\.(?:\s|$)")
_TYPES = re.compile(r"Parquet column \[(.+?)\]\. Expected Spark type (.+?), actual Parquet type (.+?)\.(?:\s|$)")
_AGAIN = "a query that is started with the file in place casts its values if that is exact"
_OTHER_DICTIONARY = re.compile(r"UnsupportedOperationException: org\.apache\.parquet\.column\.values\.dictionary\.")
"""What Parquet says, without the file, of values that it cannot decode as the declared type: of unsigned integers."""
_DAMAGE = re.compile(
    r"end of (?:input )?stream|\bgzip|\bbzip2|\bzstd|\bCRC\b|incorrect|corrupt|not a Parquet|\btail\b", re.IGNORECASE
)

_CODEC = re.compile(r"Class \S+Codec was not found")


def explain_unread(texts: Iterable[str], cause: str) -> tuple[str, str | None]:
    """Return what to say of a failure, and what helps: if a file could not be read, with its name.

    texts: what each exception says; cause: the innermost of it.

    >>> explain_unread(["[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///x%20y.gz.  "], "Odd.")
    ('/x y.gz cannot be read: Odd.', None)
    >>> explain_unread(["[FAILED_READ_FILE] Error while reading file /a. "], "Class x.LzoCodec was not found")[1][:18]
    'Spark reads snappy'
    """
    if any(map(_OTHER_DICTIONARY.search, texts := list(texts))):
        hint = "declare columns with the types of the file: UINT_32 is BIGINT, UINT_64 is DECIMAL(20, 0)"
        return "a Parquet file cannot be read: a column of it has another type than is declared", hint
    for text in texts:
        if (match := _FILE.search(text)) is None:
            continue
        path = unquote(re.sub(r"^file:/+", "/", match[1]))
        if (types := _TYPES.search(text)) is not None:
            column, declared, held = types.groups()
            message = f"{path} cannot be read: its column {column} is of type {held}, declared as {declared.upper()}"
            return message, "declare the column with the type that it has in the file; " + _AGAIN
        message = cause if PurePosixPath(path).name in cause else f"{path} cannot be read: {cause}"
        if _CODEC.search(cause):
            return message, OTHER_CODEC
        return message, WHOLE_FILE if _DAMAGE.search(cause) else None
    return cause, None
