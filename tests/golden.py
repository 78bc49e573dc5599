"""Data files of cases: a text, a line ----, what must come out; cases are separated by a line ====.

A file may begin with lines of `#`, which say what it is about. With --update the expectations are rewritten.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Case:
    """One case of a file: its number there, the text, and the expectation."""

    path: Path
    number: int
    text: str
    expected: str


def params(folder: Path, pattern: str) -> list:
    """Return the cases of all files of a folder for pytest.mark.parametrize, named file:line."""
    case_params = []
    for path in sorted(folder.glob(pattern)):
        _, cases = _read(path)
        for number, (line, text, expected) in enumerate(cases):
            case_params.append(pytest.param(Case(path, number, text, expected), id=f"{path.stem}:{line}"))
    return case_params


def check(case: Case, actual: str, update: bool) -> None:
    """Compare with the expectation, or rewrite it in the file."""
    actual = "\n".join(line.rstrip() for line in actual.splitlines())
    if not update:
        assert actual == case.expected, f"for\n{case.text}"
        return
    head, cases = _read(case.path)
    cases[case.number] = (0, case.text, actual)
    body = "\n====\n".join(f"{text}\n----\n{expected}" for _, text, expected in cases)
    case.path.write_text(f"{head}{body}\n", "utf-8")


def _read(path: Path) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the head of a file and its cases: line, text, expectation."""
    lines = path.read_text("utf-8").splitlines()
    begin = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    head = "".join(f"{line}\n" for line in lines[:begin])
    cases = []
    while begin < len(lines):
        end = next((i for i in range(begin, len(lines)) if lines[i] == "===="), len(lines))
        middle = next((i for i in range(begin, end) if lines[i] == "----"), end)
        cases.append((begin + 1, "\n".join(lines[begin:middle]), "\n".join(lines[middle + 1 : end])))
        begin = end + 1
    return head, cases
