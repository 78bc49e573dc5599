"""The longest line that a source of text files reads; a longer line is a malformed row, and only a mark remains."""

from collections.abc import Iterable

from cepsql.errors import ProgrammingError

OPTION = "maxLineBytes"
"""The option of a source for the maximum length of a line."""

DEFAULT_LINE_BYTES = 16 * 2**20
_LEAST = 64

LONG_LINE = f"(a line longer than {OPTION})"
"""The replacement of a line that is too long; it is malformed as JSON, and as CSV with several columns."""


def max_line_bytes(options: Iterable[tuple[str, str]]) -> int:
    """Return how many bytes a line may have, without its end; raises ProgrammingError if the option is invalid.

    >>> max_line_bytes([("path", "rows"), ("MAXLINEBYTES", "1000")])
    1000
    """
    text = next((value for name, value in options if name.lower() == OPTION.lower()), None)
    if text is None:
        return DEFAULT_LINE_BYTES
    if not (text.isascii() and text.isdigit() and _LEAST <= int(text) < 2**31 - 2**20):
        raise ProgrammingError(
            f"{OPTION} is '{text}', which is not a number of bytes from {_LEAST} to 2146435071",
            hint=f"without it a line may have {DEFAULT_LINE_BYTES} bytes",
        )
    return int(text)
