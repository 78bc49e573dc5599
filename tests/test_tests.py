"""Every test can fail: it asserts something, and does not return before. Tests are found by their feature."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from features import features

TESTS = Path(__file__).parent
CHECKS = ("assert", "check", "raises", "refused", "verify", "compare", "expect", "same", "agree")
"""What is in the names of calls that assert."""


def functions_of(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def own_nodes(function: ast.AST, rewrites: bool = False) -> Iterator[ast.AST]:
    """Yield what a function itself does, in order, but for returns after expectations were rewritten."""
    for child in ast.iter_child_nodes(function):
        within = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        if isinstance(child, within) or (rewrites and isinstance(child, ast.Return)):
            continue
        yield child
        yield from own_nodes(child, rewrites or (isinstance(child, ast.If) and "update" in ast.unparse(child.test)))


def asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Raise):
        return True
    return isinstance(node, ast.Call) and any(word in ast.unparse(node.func).lower() for word in CHECKS)


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_each_asserts_before_it_returns(path):
    wrong = []
    for function in functions_of(path):
        nodes = list(own_nodes(function))
        first = next((i for i, node in enumerate(nodes) if asserts(node)), None)
        early = [node for node in nodes[:first] if isinstance(node, ast.Return)]
        if first is None or early:
            wrong.append(function.name)
    assert wrong == []


def test_features_are_those_of_the_file_and_the_name():
    assert features("tests/streams/test_joins.py::test_late_rows") == ["joins", "time"]
    assert features("tests/streams/test_scripts.py::test_script[sessions.test]") == ["windows"]


def test_no_two_files_have_one_name():
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_make_checks_what_the_checkout_is_checked_for():
    wanted = (TESTS.parent / ".ci" / "run").read_text().split("checks() {")[1].split("}")[0]
    targets = (TESTS.parent / "Makefile").read_text().split("check:\n\t")[1].split("\n\n")[0]
    assert [part.strip() for part in wanted.replace("step ", "").split("&&")][:-1] == targets.split("\n\t")
