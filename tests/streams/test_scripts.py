"""Run the stream scripts of this folder, with a restart after every other batch or so.

A script is SQL whose last statement is a query over streams, then batches:

    batch [stream]          rows, comma-separated as in CSV; an empty field is NULL
    a, 00:00:01, 10         a time of day alone is on 2026-01-01
    ----
    a|10                    the rows that come out, sorted; nothing if none
    end                     the input ends
    ----
    late                    last, if wanted: the rows of the tables of late rows, but for their query and batch
    ----

Two batches of different streams that belong to one micro-batch stand without ---- between them.
`--update` writes the rows that really come out.
"""

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from chance import draws

from cepsql.testing import play

SCRIPTS = sorted(Path(__file__).parent.glob("*.test"))


@dataclass
class Step:
    """A micro-batch or the end of input, as lines, and what must come out."""

    lines: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script, spark, update):
    sql, steps = _read(script.read_text())
    batches = [_batch(step.lines) for step in steps if step.lines[0] not in ("end", "late")]
    restarts = draws(script.stem).sample(range(len(batches)), (len(batches) + 1) // 2)
    played = play(sql, batches, restart=restarts, spark=spark)
    seen = [_shown(rows) for rows in played]
    if steps[-1].lines[0] == "late":
        seen.append(_shown([*row[:3], *row[5:]] for rows in played.late.values() for row in rows))
    if update:
        script.write_text(_write(sql, steps, seen))
        return
    assert seen == [step.expected for step in steps], f"with restarts after the batches {sorted(restarts)} from 0"


def _read(text: str) -> tuple[str, list[Step]]:
    head = re.search(r"^(batch\b.*|end)$", text, re.M).start()
    steps, expecting = [], False
    for line in text[head:].splitlines():
        if line == "----":
            expecting = True
        elif re.match(r"(batch\b.*|end|late)$", line):
            if expecting or not steps:
                steps.append(Step())
            steps[-1].lines.append(line)
            expecting = False
        elif line.strip():
            (steps[-1].expected if expecting else steps[-1].lines).append(line)
    return text[:head], steps


def _write(sql: str, steps: list[Step], seen: list[list[str]]) -> str:
    blocks = ["\n".join([*step.lines, "----", *rows]) for step, rows in zip(steps, seen, strict=True)]
    return sql + "\n\n".join(blocks) + "\n"


def _batch(lines: list[str]):
    found: dict[str | None, list] = {}
    stream = None
    for line in lines:
        if line.startswith("batch"):
            stream = line.removeprefix("batch").strip() or None
            found[stream] = []
        else:
            (row,) = csv.reader([line], skipinitialspace=True)
            found[stream].append([_value(text.strip()) for text in row])
    return found.get(None, found)


def _value(text: str) -> str | None:
    if re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?", text):
        return f"2026-01-01 {text}"
    return text or None


def _shown(rows) -> list[str]:
    return sorted("|".join(_cell(value) for value in row) for row in rows)


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value).removeprefix("2026-01-01 ")
