"""Files of the input that cannot be read: what is said of them, and what helps where one is not whole."""

from cepsql.errors import OperationalError

WHOLE_FILE = "put a whole file in its place and start again; move files into the folder when they are written"


def unread(path: str, error: Exception) -> OperationalError:
    """Return the error of a file that could not be read, with what helps if what is in it is to blame."""
    # What the system refuses has a number.
    hint = WHOLE_FILE if getattr(error, "errno", None) is None else None
    return OperationalError(f"{path} cannot be read: {error}", hint=hint)
