"""The backtracking engine and the oracle against matches written down by hand."""

from pathlib import Path

import pytest
from notation import letters, matches, pattern, program, whole
from oracle import answers

from cepsql.pattern import ir
from cepsql.pattern.backtracking.backtrack import find_backtracking
from cepsql.pattern.program import Bit

LINES = [
    line.split(";")
    for line in (Path(__file__).parent / "matches.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("text", "words", "expected"), LINES, ids=[" ; ".join(map(str.strip, line)) for line in LINES])
def test_matches(text: str, words: str, expected: str) -> None:
    parsed = pattern(text)
    names = ir.variables(parsed)
    tests = letters(words, names)
    bits = [sum(1 << v for v in range(len(names)) if tests.holds[v, row]) for row in range(tests.holds.shape[1])]
    rows = [{"t": row, "m": bits} for row, bits in enumerate(bits or [0] * len(words.split()))]
    asked = program(parsed, [Bit(v) for v in range(len(names))], names or ("A",))
    search = find_backtracking(asked, whole(rows), tests)
    assert _words([labels for _, _, labels, _ in matches(search)], names) == expected.split()
    assert _words([answer.labels for answer in answers(asked, rows)], names) == expected.split()


def _words(labels_of_matches: list[tuple[int, ...]], names: tuple[str, ...]) -> list[str]:
    return ["".join(names[label] for label in labels) or "()" for labels in labels_of_matches]
