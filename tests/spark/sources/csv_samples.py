"""Lines of CSV made of texts that readers disagree about."""

import re

from chance import draws
from type_edges import TEXTS

_BLANK = "".join(map(chr, range(33)))


def csv_lines(types: list[str], count: int, odd: float, separator: str, seed: int) -> list[str]:
    """Return lines of CSV, some with too few or too many values; `odd` is the share of values of other types.

    Blank lines, and quotes before backslashes, are left out.
    """
    draw = draws(seed)
    lines = []
    while len(lines) < count:
        values = [draw.choice(TEXTS[draw.choice(list(TEXTS)) if draw.random() < odd else type]) for type in types]
        if draw.random() < 0.04:
            values.pop()
        if draw.random() < 0.04:
            values.append(draw.choice(["", "x"]))
        line = separator.join(values)
        if line.strip(_BLANK) and not re.search(r'"\\', line):
            lines.append(line)
    return lines
