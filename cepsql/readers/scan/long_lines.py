"""The longest line that a source of text files reads; a longer one is a malformed row, of which only a mark remains."""

from collections.abc import Iterable

from cepsql.errors import ProgrammingError

OPTION = "maxLineBytes"
"""The option of a source that says how long a line may be."""

DEFAULT_LINE_BYTES = 16 * 2**20
_LEAST = 64

LONG_LINE = f"(a line longer than {OPTION})"
"""What stands in place of a line that is too long: no line of JSON, and none of CSV with several columns."""


def max_line_bytes(options: Iterable[tuple[str, str]]) -> int:
    """Return how many bytes a line may have, without its end; raises ProgrammingError if the option is no such number.

    >>> max_line_bytes([("path", "rows"), ("MAXLINEBYTES", "1000")])
    1000
    """
    given = next((value for name, value in options if name.lower() == OPTION.lower()), None)
    if given is None:
        return DEFAULT_LINE_BYTES
    if not (given.isascii() and given.isdigit() and _LEAST <= int(given) < 2**31 - 2**20):
        raise ProgrammingError(
            f"{OPTION} is '{given}', which is not a number of bytes from {_LEAST} to 2146435071",
            hint=f"without it a line may have {DEFAULT_LINE_BYTES} bytes",
        )
    return int(given)
