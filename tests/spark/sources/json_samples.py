"""Lines of JSON that readers disagree about: those of json_lines.txt, long ones, and drawn ones."""

import random
import re
from pathlib import Path

from chance import draws
from type_edges import TEXTS

TYPES = {
    "y": "tinyint", "h": "smallint", "i": "int", "l": "bigint", "f": "float", "d": "double", "b": "boolean",
    "e": "date", "t": "timestamp", "c": "decimal(8,2)", "s": "string", "z": "string",
}  # fmt: skip
_VALUES = {
    **{n: ["0", "-0", "7", "-128", "127", "128", "300", "40000", "3000000000", "1.0"] for n in "yhil"},
    **{n: ["0", "-0", "-0.0", "1.5", "1e5", "1E-5", "16777217", "1e400", "NaN", '"NaN"', '"1"'] for n in "fd"},
    "b": ["true", "false", '"true"', "1"],
    "c": ["1", "1.5", "-1.555", "1.005", "999999.99", "9999999", "1e3", "1e-3", '"1,000.5"', '" 1"', '".5"', '"5."'],
    "s": ['"a"', '""', '"\\u00e9\\n"', '"日本"', "5", "1.10", "true", '{"a" : [1, 2]}', "[ ]", '"a\tb"', '"<"'],
    "z": ["'a'", '"\\ud83d\\ude00"', '"\\ud83d"', "null", '"x"', '"NaN"'],
    "x": ["1", "[[{}]]", '{"i": "x"}', '"-0,"', "01", "[1,]", "-Inf"],
}


def fixed_lines() -> list[bytes]:
    """Return lines of every kind; in the file, `<` and two hexadecimal digits and `>` stand for a byte."""
    text = Path(__file__).with_name("json_lines.txt").read_text(encoding="ascii")
    return [*(_bytes(line) for line in text.splitlines()), *_long_lines()]


def drawn_lines(count: int, odd: float, seed: int) -> list[bytes]:
    """Return lines of objects; `odd` is the share of values that may be none of their column's type."""
    draw = draws(seed)
    return [_drawn(draw, odd) for _ in range(count)]


def _bytes(line: str) -> bytes:
    return re.sub(rb"<([0-9a-f]{2})>", lambda match: bytes.fromhex(match[1].decode()), line.encode())


def _long_lines() -> list[bytes]:
    numbers = ["1" * 1000, "1" * 1001, "1." + "0" * 999, "1." + "0" * 1000, "1." + "0" * 998 + "e+1", "-1" + "0" * 999]
    lines = [f'{{"{name}":{number},"i":1}}' for number in numbers for name in ("d", "x", "s")]
    lines += [f'{{"x":{"[" * depth}{"]" * depth},"i":1}}' for depth in (999, 1000)]
    lines += [f'{{"x":{{"{"n" * size}":1}},"i":1}}' for size in (50_000, 50_001)]
    return [line.encode() for line in lines]


def _drawn(draw: random.Random, odd: float) -> bytes:
    members = []
    for name in draw.sample([*TYPES, "x", "I"], draw.randint(3, 9)):
        if name in "et":
            members.append((name, _quoted(draw.choice(TEXTS[TYPES[name]]))))
        elif name in _VALUES:
            values = _VALUES[name] if draw.random() < odd else _VALUES[name][:2]
            members.append((name, draw.choice(values)))
    if draw.random() < odd:
        members.append((draw.choice(list(_VALUES)), draw.choice(_VALUES[draw.choice(list(_VALUES))])))
    space = draw.choice(["", " "])
    line = f"{{{space}{(',' + space).join(f'{_quoted(name)}:{space}{value}' for name, value in members)}}}"
    if draw.random() < odd / 3:
        line = line[: draw.randint(0, len(line))] + draw.choice(["", "}", ",", '"', "x"])
    return line.encode()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\0", "\\u0000") + '"'
