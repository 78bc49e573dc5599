r"""Tests of streams as text: SQL whose last statement is a query over streams, then rows in and rows expected.

    \i streams.sql          the text of another file
    batch [stream]          rows, comma-separated as in CSV; an empty field is NULL
    a, 00:00:01, 10         a time of day alone is on 2026-01-01
    ----
    a|10                    the rows that come out, sorted unless the query has an ORDER BY; nothing if none
    heartbeat 00:05:00      no row comes, and the clock shows this time (WATERMARK ... WITH HEARTBEAT)
    ----
    end                     the input ends
    ----
    late                    last, if wanted: the rows of the tables of late rows, but for their query and batch
    ----

Two batches of different streams that belong to one micro-batch stand without ---- between them.
"""

import csv
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.errors import InterfaceError
from cepsql.testing import Batch, Heartbeat, play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ALONE = r"heartbeat\b.*|(?:end|late)$"
_ORDER = "rows in stand below batch, then ----, then the rows expected"


@dataclass(frozen=True)
class ScriptStep:
    """A micro-batch, a heartbeat or the end of the input, as lines, and the expected rows."""

    lines: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its kind: batch, heartbeat, end or late."""
        return self.lines[0].split()[0]


@dataclass(frozen=True)
class StreamScript:
    """A test: its head as it is written, the SQL of the head, and its steps."""

    head: str
    sql: str
    steps: tuple[ScriptStep, ...]

    def run(self, restart: bool | Collection[int] = False, spark: "SparkSession | None" = None) -> list[list[str]]:
        """Return the rows that come out of each step.

        restart: stop the query after every batch, or those with these numbers from 0 on, and start it again from its
                 checkpoint.
        Raises the errors of the statements.
        """
        batches = [_batch(step.lines) for step in self.steps if step.name in ("batch", "heartbeat")]
        played = play(self.sql, batches, restart=restart, spark=spark)
        seen = [_texts(rows) if played.ordered else _shown(rows) for rows in played]
        if self.steps[-1].name == "late":
            seen.append(_shown([*row[:3], *row[5:]] for rows in played.late.values() for row in rows))
        return seen

    def with_expected(self, seen: list[list[str]]) -> str:
        """Return the text of the test with other rows expected."""
        blocks = ["\n".join([*step.lines, "----", *rows]) for step, rows in zip(self.steps, seen, strict=True)]
        return self.head + "\n\n".join(blocks) + "\n"


def read_stream_script(path: Path) -> StreamScript:
    """Read a test from a file.

    Raises InterfaceError for a file that is not a test.
    """
    text = path.read_text("utf-8")
    begin = re.search(r"^(batch\b.*|heartbeat\b.*|end)$", text, re.MULTILINE)
    if begin is None:
        raise InterfaceError(f"{path} has neither a line batch nor a line end", hint="rows in stand below batch")
    head, steps = text[: begin.start()], list(_steps(text[begin.start() :]))
    joined = next((line for step in steps for line in step.lines[1:] if re.match(_ALONE, line)), None)
    if joined is not None:
        raise InterfaceError(f"---- is missing before the line {joined} of {path}", hint=_ORDER)
    if not any(step.name == "end" for step in steps):
        raise InterfaceError(f"{path} has no line end", hint="end, ---- and what the end decides stand last")
    if [step.name for step in steps if step.name not in ("batch", "heartbeat")] not in (["end"], ["end", "late"]):
        raise InterfaceError(f"{path} must have its batches and heartbeats, then end, and late at most once after it")
    return StreamScript(head, _included(head, path.parent), tuple(steps))


def _included(head: str, folder: Path) -> str:
    """Return SQL with each line that names a file replaced with the text of the file."""

    def text(match: re.Match) -> str:
        path = folder / match[1].strip()
        try:
            return path.read_text("utf-8")
        except OSError as error:
            raise InterfaceError(f"{path} cannot be read: {error.strerror}") from error

    return re.sub(r"^\\i\s+(.+)$", text, head, flags=re.MULTILINE)


def _steps(text: str) -> Iterable[ScriptStep]:
    step, expecting = None, False
    for line in text.splitlines():
        if line == "----":
            expecting = True
        elif re.match(rf"batch\b.*|{_ALONE}", line):
            if step is None or expecting:
                if step is not None:
                    yield step
                step = ScriptStep()
            step.lines.append(line)
            expecting = False
        elif line.strip() and step is not None:
            (step.expected if expecting else step.lines).append(line)
    if step is not None:
        yield step


def _batch(lines: list[str]) -> "Batch | dict[str, Batch] | Heartbeat":
    if lines[0].startswith("heartbeat"):
        return Heartbeat(str(_value(lines[0].removeprefix("heartbeat").strip())))
    rows_by_stream: dict[str | None, list] = {}
    stream = None
    for line in lines:
        if line.startswith("batch"):
            stream = line.removeprefix("batch").strip() or None
            rows_by_stream[stream] = []
        else:
            (row,) = csv.reader([line], skipinitialspace=True)
            rows_by_stream[stream].append([_value(text.strip()) for text in row])
    return (
        rows_by_stream[None]
        if None in rows_by_stream
        else {name: rows for name, rows in rows_by_stream.items() if name is not None}
    )


def _value(text: str) -> str | None:
    if re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?", text):
        return f"2026-01-01 {text}"
    return text or None


def _shown(rows: Iterable[Iterable[object]]) -> list[str]:
    return sorted(_texts(rows))


def _texts(rows: Iterable[Iterable[object]]) -> list[str]:
    return ["|".join(_cell(value) for value in row) for row in rows]


def _cell(value: object) -> str:
    return "NULL" if value is None else str(value).removeprefix("2026-01-01 ")
