"""Messages in lines that fit the screen."""

import re
import textwrap

from cepsql.render.table import cell_width

_DRAWN = re.compile("[\u2500-\u259f]")
"""Lines of a picture, which would not be one any more."""


def wrapped(text: str, width: int | None) -> str:
    """Break the lines of a text that are longer than the screen, at blanks; what follows is indented as its line is.

    width: cells of the screen, None if the text is not shown on one.

    >>> print(wrapped("  hint: did you mean door?", 16))
      hint: did you
        mean door?
    """
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def fitting(line: str, width: int) -> str:
    """Cut a line to so many cells."""
    shown = line[: max(width, 0)]
    while cell_width(shown) > width:
        shown = shown[:-1]
    return shown


def _broken(line: str, width: int) -> list[str]:
    indent = len(line) - len(line.lstrip())
    if len(line) <= width or indent > width // 2 or _DRAWN.search(line):
        return [line]
    below = " " * (indent + 2 if indent else 0)
    return textwrap.wrap(
        line, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
