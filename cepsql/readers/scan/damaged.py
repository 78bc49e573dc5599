"""Files of the input that cannot be read: what is said of them, and what helps where one is not whole."""

from cepsql.errors import OperationalError

OTHER_CODEC = "Spark reads snappy, zstd, gzip, lz4 and no compression: let the writer use one of these"
_OTHER_TYPE = "Arrow does not read a type of it: let the writer make another one, such as DECIMAL of Int128"
WHOLE_FILE = "put a whole file in its place and start again; move files into the folder when they are written"


def unread(path: str, error: Exception) -> OperationalError:
    """Return the error of a file that could not be read, with what helps if what is in it is to blame."""
    # What the system refuses has a number.
    hint = WHOLE_FILE if getattr(error, "errno", None) is None else None
    if isinstance(error, NotImplementedError):
        hint = _OTHER_TYPE
    return OperationalError(f"{path} cannot be read: {error}", hint=hint)
