"""A refusal is a value in planning: who asks otherwise after one calls `cepsql.errors.answer`, and catches nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepsql
from cepsql import errors

PACKAGE = Path(cepsql.__file__).parent
OURS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.Error)}
OURS |= {"Unlike", "Exception", "BaseException"}
ASKS_SQLGLOT = PACKAGE / "analysis/sql/plain_sql.py"
"""Its errors are sqlglot's, which become ours there."""


def caught(path: Path) -> Iterator[tuple[int, str]]:
    """Yield where errors of ours are caught, and which."""
    for node in ast.walk(ast.parse(path.read_text())):
        kinds: list[ast.AST | None] = []
        if isinstance(node, ast.ExceptHandler):
            kinds = [node.type]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            kinds = list(node.args)
        for kind in kinds:
            names = {"Exception"} if kind is None else {n.id for n in ast.walk(kind) if isinstance(n, ast.Name)}
            for name in sorted(names & OURS):
                yield kind.lineno if kind is not None else node.lineno, name


@pytest.mark.parametrize("room", ["plan", "analysis"])
def test_no_error_of_ours_is_caught(room):
    files = set((PACKAGE / room).rglob("*.py")) - {ASKS_SQLGLOT}
    assert {str(path.relative_to(PACKAGE)): catches for path in files if (catches := list(caught(path)))} == {}


def test_catches_are_seen():
    assert [name for _, name in caught(ASKS_SQLGLOT)][:1] == ["Error"]
