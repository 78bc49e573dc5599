"""Texts at the ends of each type and beyond, in odd spellings, and what files of them mean (type_edges.txt).

A line of the file has a type, a text as a JSON string, and what a row has where the text stands in a CSV file, in a
JSON file as a string, and in a JSON file as it is: a value, `malformed`, or `-` where it was not tried.
Times and dates are numbers: microseconds and days since 1970.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")
ZONE_HOURS = -5
"""The time zone that clocks without one are in."""

_TOKEN = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class Edge:
    """A text of a type, and what it means in each kind of file."""

    type: str
    text: str
    csv: str
    string: str
    token: str

    def lines(self, name: str) -> dict[str, str]:
        """Return the line of each kind of file with the text in the column `name`, but for the other columns."""
        texts = {"csv": self.text, "string": f'"{name}":{json.dumps(self.text)}'}
        if self.type != "string" and _TOKEN.fullmatch(self.text):
            texts["token"] = f'"{name}":{self.text}'
        return texts


def edges() -> list[Edge]:
    """Return the lines of the file."""
    all_edges = []
    for line in FILE.read_text("ascii").splitlines():
        if not line.startswith("#"):
            kind, text, *meant = line.split(" | ")
            all_edges.append(Edge(kind, json.loads(text), *meant))
    return all_edges


def write(all_edges: list[Edge]) -> None:
    """Write the lines of the file anew."""
    head = [line for line in FILE.read_text("ascii").splitlines() if line.startswith("#")]
    lines = [" | ".join([edge.type, json.dumps(edge.text), edge.csv, edge.string, edge.token]) for edge in all_edges]
    FILE.write_text("\n".join([*head, *lines, ""]), "ascii")


def shown(value: object) -> str:
    """Write a value as `tests/spark/values.py` makes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    return json.dumps(value) if isinstance(value, str) and value != "NaN" else str(value)


TEXTS: dict[str, list[str]] = {}
"""The texts of each type."""
for _edge in edges():
    TEXTS.setdefault(_edge.type, []).append(_edge.text)
