"""A recording of a terminal as an SVG that plays it, without a script or a font of its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from wcwidth import wcwidth

_CELL, _LINE, _SIZE, _PAD, _BAR = 8.4, 19, 14, 16, 30
"""Pixels: a cell's width, a line's height, the size of the font, the border, the bar above."""

_COLOURS = ("#30363d", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#c9d1d9")
_BRIGHT = ("#8b949e", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff")
_PLAIN, _BACK = "#c9d1d9", "#0d1117"
_SGR = re.compile(r"\x1b\[([\d;]*)m")


@dataclass(frozen=True)
class Frame:
    """What a terminal shows for some seconds: its lines with SGR sequences, and where the cursor is, None for none.

    still: whether it may stand for the whole recording.
    """

    lines: tuple[str, ...]
    cursor: tuple[int, int] | None
    seconds: float
    still: bool = False


@dataclass(frozen=True)
class _Style:
    colour: str = _PLAIN
    back: str | None = None
    bold: bool = False
    italic: bool = False
    reverse: bool = False


def plain(line: str) -> str:
    """Return a line without its colours.

    >>> plain("\\x1b[1;34mSELECT\\x1b[0m 1 ")
    'SELECT 1'
    """
    return _SGR.sub("", line).rstrip()


def recording(frames: Sequence[Frame], columns: int, rows: int, title: str, text: str) -> str:
    """Write frames as an SVG that shows one after the other, and for ever again.

    It begins with the first one that is `still`, else the last one, and where nothing moves it shows that alone.
    text: what stands in it for those who cannot see it.
    """
    width, height = round(columns * _CELL) + 2 * _PAD, rows * _LINE + _BAR + 2 * _PAD
    shown: dict[str, int] = {}
    body = []
    for number, frame in enumerate(frames):
        body.append(f'<g transform="translate(0 {number * height})">')
        for row, line in enumerate(frame.lines):
            if plain(line) or "48;" in line:
                name = shown.setdefault(line, len(shown))
                body.append(f'<use href="#l{name}" y="{row * _LINE}"/>')
        if frame.cursor is not None:
            x, y = frame.cursor
            body.append(
                f'<rect class="c" x="{x * _CELL:.1f}" y="{y * _LINE + 2}" width="{_CELL}" height="{_LINE - 2}"/>'
            )
        body.append("</g>")
    lines = [f'<g id="l{name}">{_line(line)}</g>' for line, name in shown.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(text)}</desc>",
            f"<style>{_style(frames, height)}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{_BACK}"/>',
            *(f'<circle cx="{20 + 20 * i}" cy="20" r="6" fill="{fill}"/>' for i, fill in enumerate(_BUTTONS)),
            f'<text x="{width / 2}" y="25" text-anchor="middle" fill="#8b949e">{escape(title)}</text>',
            f'<clipPath id="screen"><rect width="{width}" height="{height}"/></clipPath>',
            f"<defs>{''.join(lines)}</defs>",
            f'<g clip-path="url(#screen)"><g transform="translate({_PAD} {_PAD + _BAR})"><g class="film">',
            *body,
            "</g></g></g>",
            "</svg>\n",
        ]
    )


_BUTTONS = ("#ff5f57", "#febc2e", "#28c840")


def _style(frames: Sequence[Frame], height: int) -> str:
    whole = sum(frame.seconds for frame in frames)
    steps, begin = [], 0.0
    for number, frame in enumerate(frames):
        steps.append(f"{100 * begin / whole:.3f}%{{transform:translateY({-number * height}px)}}")
        begin += frame.seconds
    last = len(frames) - 1
    still = next((number for number, frame in enumerate(frames) if frame.still), last)
    steps.append(f"100%{{transform:translateY({-last * height}px)}}")
    before = sum(frame.seconds for frame in frames[:still])
    font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    return (
        f"text{{font:{_SIZE}px {font};white-space:pre;fill:{_PLAIN}}}"
        ".b{font-weight:700}.i{font-style:italic}.c{fill:#c9d1d9;opacity:.55}"
        f".film{{transform:translateY({-still * height}px);"
        f"animation:film {whole:.2f}s steps(1,end) {-before:.2f}s infinite}}"
        f"@keyframes film{{{''.join(steps)}}}"
        "@media (prefers-reduced-motion:reduce){.film{animation:none}}"
    )


def _line(line: str) -> str:
    """Write a line: each stretch of one style at its place, stretched to its cells whatever font there is."""
    parts, cell, style = [], 0, _Style()
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        if code := _SGR.fullmatch(piece):
            style = _after(style, code[1])
            continue
        # Words apart, so that a font whose cells are a little wider moves none of them.
        for found in re.finditer(r"\S+(?: \S+)*", piece):
            begin = cell + _cells(piece[: found.start()])
            parts.append(_text(found[0], begin, style))
        if style.back and piece:
            x, w = cell * _CELL, _cells(piece) * _CELL
            parts.insert(0, f'<rect x="{x:.1f}" y="0" width="{w:.1f}" height="{_LINE}" fill="{style.back}"/>')
        cell += _cells(piece)
    return "".join(parts)


def _text(text: str, cell: int, style: _Style) -> str:
    kinds = " ".join(name for name, on in (("b", style.bold), ("i", style.italic)) if on)
    named = f' class="{kinds}"' if kinds else ""
    fill = "" if style.colour == _PLAIN else f' style="fill:{style.colour}"'
    length = f' textLength="{_cells(text) * _CELL:.1f}"'
    return f'<text x="{cell * _CELL:.1f}" y="14"{length}{named}{fill}>{escape(text)}</text>'


def _cells(text: str) -> int:
    return sum(max(0, wcwidth(letter)) for letter in text)


def _after(style: _Style, codes: str) -> _Style:
    """Return the style after an SGR sequence."""
    found = style
    numbers = [int(code or 0) for code in codes.split(";")]
    while numbers:
        match numbers.pop(0):
            case 0:
                found = _Style()
            case 1:
                found = replace(found, bold=True)
            case 3:
                found = replace(found, italic=True)
            case 7:
                found = replace(found, colour=_BACK, back=found.colour, reverse=True)
            case 22:
                found = replace(found, bold=False)
            case 23:
                found = replace(found, italic=False)
            case 38 if numbers[:1] == [5] and len(numbers) > 1:
                found = replace(found, colour=_of_palette(numbers[1]))
                numbers = numbers[2:]
            case 38 if numbers[:1] == [2] and len(numbers) > 3:
                found = replace(found, colour="#{:02x}{:02x}{:02x}".format(*numbers[1:4]))
                numbers = numbers[4:]
            case 39:
                found = replace(found, colour=_PLAIN)
            case 49:
                found = replace(found, back=None)
            case number if 30 <= number <= 37:
                found = replace(found, colour=_COLOURS[number - 30])
            case number if 90 <= number <= 97:
                found = replace(found, colour=_BRIGHT[number - 90])
            case number if 40 <= number <= 47:
                found = replace(found, back=_COLOURS[number - 40])
    return found


def _of_palette(number: int) -> str:
    """Return a colour of the 256 that terminals number.

    >>> _of_palette(32), _of_palette(244), _of_palette(1)
    ('#0087d7', '#808080', '#ff7b72')
    """
    if number < 16:
        return (_COLOURS + _BRIGHT)[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{steps[(number - 16) // unit % 6]:02x}" for unit in (36, 6, 1))
