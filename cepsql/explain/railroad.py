"""A row pattern as a drawing of characters: tracks from left to right, as in railroad diagrams."""

from dataclasses import dataclass

from cepsql.pattern.ir import (
    Alternate,
    Anchor,
    Concat,
    Empty,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Variable,
    dump,
    quantifier,
)

WIDTH = 78
"""Columns after which the parts of a pattern go on in the next line."""


@dataclass(frozen=True)
class _Block:
    """Lines of the same width; the track enters and leaves in line `base`."""

    lines: tuple[str, ...]
    base: int = 0

    @property
    def width(self) -> int:
        return len(self.lines[0])


@dataclass(frozen=True)
class _Tracks:
    """The characters that join several tracks: for the first, those between, and the last, left and right."""

    line: str
    first: tuple[str, str]
    middle: tuple[str, str]
    last: tuple[str, str]
    side: str


_SINGLE = _Tracks("─", ("┬", "┬"), ("├", "┤"), ("╰", "╯"), "│")
_DOUBLE = _Tracks("═", ("╦", "╦"), ("╠", "╣"), ("╠", "╣"), "║")


def draw(pattern: Pattern, width: int = WIDTH) -> list[str]:
    """Draw a pattern, one line of text a line; parts that do not fit `width` columns go on below.

    Numbers give the order in which alternatives are tried. A track that leads back (◄) carries the quantifier.

    >>> print("\\n".join(draw(Concat((Variable("A"), Repeat(Variable("B"), 1, None))))))
    ○──[A]──┬─[B]─┬──◉
            ╰─◄+──╯
    """
    blocks = [_draw(part) for part in (pattern.parts if isinstance(pattern, Concat) else (pattern,))]
    rows: list[list[_Block]] = [[]]
    for block in blocks:
        if rows[-1] and sum(b.width + 2 for b in rows[-1]) + block.width + 6 > width:
            rows.append([])
        rows[-1].append(block)
    lines = []
    for number, row in enumerate(rows):
        begin = _text("┄──" if number else "○──")
        end = _text("──◉" if number == len(rows) - 1 else "──┄")
        lines += [line.rstrip() for line in _beside([begin, _in_sequence(row), end]).lines]
    return lines


def legend(lines: list[str]) -> list[str]:
    """Say what the signs of a drawing mean, those that it has."""
    text = "".join(lines)
    said = []
    if any(sign in text for sign in ("─1─", "═1═")):
        said.append("numbers: the order in which ways are tried")
    if "◄" in text:
        said.append("◄: again, as often as possible, or with ? as seldom as possible")
    if "╦" in text:
        said.append("═: all of these, in any order")
    if "{-" in text:
        said.append("{- -}: left out of ALL ROWS PER MATCH")
    return said


def _draw(pattern: Pattern) -> _Block:
    match pattern:
        case Variable():
            return _text(f"[{dump(pattern)}]")
        case Empty():
            return _text("──")
        case Anchor(end):
            return _text("($)" if end else "(^)")
        case Concat(parts):
            return _in_sequence([_draw(part) for part in parts])
        case Alternate(parts):
            return _parallel([_draw(part) for part in parts], _SINGLE)
        case Permute(parts):
            return _parallel([_draw(part) for part in parts], _DOUBLE)
        case Exclude(part):
            return _beside([_text("{-"), _draw(part), _text("-}")])
        case Repeat(part, low, high, greedy):
            return _repeated(_draw(part), low, high, greedy)


def _repeated(part: _Block, low: int, high: int | None, greedy: bool) -> _Block:
    """Draw a loop, with a way around it if there may be no iteration."""
    if high != 1:
        sign = quantifier(low, high) if low or high is None else quantifier(1, high)
        part = _loop(part, f"◄{sign}{'' if greedy or low == high else '?'}")
    if low:
        return part
    ways = [part, _text("──")]
    return _parallel(ways if greedy else ways[::-1], _SINGLE)


def _text(text: str) -> _Block:
    return _Block((text,))


def _in_sequence(blocks: list[_Block]) -> _Block:
    if not blocks:
        return _text("──")
    joined = [blocks[0]]
    for block in blocks[1:]:
        joined += [_text("──"), block]
    return _beside(joined)


def _beside(blocks: list[_Block]) -> _Block:
    """Lay blocks side by side on one track."""
    above = max(block.base for block in blocks)
    below = max(len(block.lines) - block.base for block in blocks)
    lines = [""] * (above + below)
    for block in blocks:
        for i in range(above + below):
            inner = i - above + block.base
            lines[i] += block.lines[inner] if 0 <= inner < len(block.lines) else " " * block.width
    return _Block(tuple(lines), above)


def _parallel(ways: list[_Block], tracks: _Tracks) -> _Block:
    """Lay numbered ways one below another; the track goes through the first."""
    digits, width = len(str(len(ways))), max(way.width for way in ways)
    lines, base = [], ways[0].base
    for number, way in enumerate(ways, 1):
        left, right = tracks.first if number == 1 else tracks.last if number == len(ways) else tracks.middle
        for i, line in enumerate(way.lines):
            if i == way.base:
                label = f"{left}{tracks.line}{number:{tracks.line}<{digits}}{tracks.line}"
                lines.append(f"{label}{line:{tracks.line}<{width}}{tracks.line}{right}")
                continue
            between = (number > 1 or i > way.base) and (number < len(ways) or i < way.base or tracks is _DOUBLE)
            side = tracks.side if between else " "
            lines.append(f"{side}{' ' * (digits + 2)}{line:<{width}} {side}")
    if tracks is _DOUBLE:
        lines.append(f"╚{'═' * (width + digits + 3)}╝")
    return _Block(tuple(lines), base)


def _loop(part: _Block, label: str) -> _Block:
    """Lay a track below a block that leads back to its begin."""
    width = max(part.width, len(label) + 1)
    lines = []
    for i, line in enumerate(part.lines):
        if i == part.base:
            lines.append(f"┬─{line:─<{width}}─┬")
        else:
            side = "│" if i > part.base else " "
            lines.append(f"{side} {line:<{width}} {side}")
    lines.append(f"╰─{label:─<{width}}─╯")
    return _Block(tuple(lines), part.base)
