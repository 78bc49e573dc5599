"""Break cepsql in one place at a time and see whether the tests without Spark notice.

    python tests/pattern/mutate.py [--count 60] [--seed 1] [--examples 60] [--rooms scan plan] [--files search.py]

Each mutation changes one spot of a package among ROOMS: `<` becomes `<=`, `and` becomes `or`, `+ 1` is dropped, `min`
becomes `max`, `not` goes, `True` becomes `False`, a condition is turned round. It is made in a copy of the package in
a temporary folder, and the tests of its room run there until the first one fails. One line a
mutation says which test that was; a mutation that survives is either equivalent to the original or shows that a test
is missing. Exits with 1 if any survives. Spots are drawn with the seed, as many from a file as it has lines for.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What every run of the tests needs is loaded once: runs are forks of this process.
import hypothesis
import lark  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow.compute  # noqa: F401
import pytest
import re2  # noqa: F401
import sqlglot.optimizer  # noqa: F401

sys.dont_write_bytecode = True
ROOT = Path(__file__).parents[2]
CLAUSES = ("pattern/test_rules.py", "pattern/test_clauses.py")
"""The slowest tests, of whole clauses: they come last."""
ROOMS = {
    "analysis": ("analysis/*", "errors/*", *CLAUSES),
    "operators": ("operators/*", "matching/*", *CLAUSES),
    "ordered": ("ordered/*", *CLAUSES),
    "pattern": ("pattern/*", *CLAUSES),
    "plan": ("plan/*", "analysis/*", "errors/*", *CLAUSES),
    "scalar": ("scalar/*", "pattern/test_vector.py", "pattern/test_backtrack.py", *CLAUSES),
    "readers": ("scan/*", "kafka/*"),
}
"""The packages that are mutated, and the tests that are about them."""
SECONDS = 600
"""How long the tests may take; an endless loop is noticed, too."""

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
CALLED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
    "bisect_left": "bisect_right", "less": "less_equal", "less_equal": "less", "greater": "greater_equal",
}  # fmt: skip
JOINED = {ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}


@dataclass(frozen=True)
class Mutation:
    """A spot of a file, by its number among the file's spots."""

    path: Path
    number: int
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before} -> {self.after}"


def main() -> int:
    """Mutate and test as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="*", choices=ROOMS, default=[*ROOMS], help="only these packages")
    parser.add_argument("--files", nargs="*", help="only files of these names")
    parser.add_argument("--examples", type=int, default=60, help="how many examples a property is tried with at most")
    options = parser.parse_args()
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cepsql", "grammar", "tests", "pyproject.toml"):
            source, target = ROOT / name, Path(folder) / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for mutation in chosen(options.count, options.seed, options.rooms, options.files):
            verdict = tried(mutation, Path(folder), options.examples)
            survived += verdict == "SURVIVED"
            print(f"{mutation}\n    {verdict}", flush=True)
    print(f"{survived} of {options.count} survived")
    return int(survived > 0)


def chosen(count: int, seed: int, rooms: list[str], files: list[str] | None) -> list[Mutation]:
    """Draw mutations of all files."""
    sources = [path for room in rooms for path in sorted((ROOT / "cepsql" / room).rglob("*.py"))]
    all_mutations = [mutation for path in sources if not files or path.name in files for mutation in mutations(path)]
    return random.Random(seed).sample(all_mutations, min(count, len(all_mutations)))


def mutations(path: Path) -> list[Mutation]:
    """Return all mutations of a file."""
    source = path.read_text("utf-8")
    mutants = []
    for number, (node, mutated) in enumerate(_spots(ast.parse(source))):
        before = ast.get_source_segment(source, node)
        mutants.append(Mutation(path, number, node.lineno, " ".join(before.split()), ast.unparse(mutated)))
    return mutants


def tried(mutation: Mutation, folder: Path, examples: int) -> str:
    """Make a mutation in the copy, run the tests there, and undo it; return what came of it."""
    target, source = folder / mutation.path.relative_to(ROOT), mutation.path.read_text("utf-8")
    tree = ast.parse(source)
    for number, (node, mutated) in enumerate(_spots(tree)):
        if number == mutation.number:
            tree = _Replace(node, mutated).visit(tree)
            break
    target.write_text(ast.unparse(ast.fix_missing_locations(tree)), "utf-8")
    log = folder / "log.txt"
    try:
        code = _run_tests(folder, tests_of(mutation.path), examples, log)
    finally:
        target.write_text(source, "utf-8")
    if code is None:
        return "caught: the tests did not end"
    if code == 0:
        return "SURVIVED"
    said = log.read_text("utf-8", "replace")
    named = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", said, re.M)
    return f"caught by {named[1] if named else said[-200:]}"


def tests_of(path: Path) -> list[str]:
    """Return the tests of a file's room: quick ones, those that import it, others, those of whole clauses."""
    room, *_ = path.relative_to(ROOT / "cepsql").parts
    test_files = {
        test for tests in ROOMS[room] for test in ROOT.glob(f"tests/{tests}") if test.name.startswith("test_")
    }

    def place(test: Path) -> tuple[bool, bool, bool, Path]:
        importing = f"{path.parent.name}.{path.stem} import" in test.read_text("utf-8")
        last = str(test.relative_to(ROOT / "tests")) in CLAUSES
        return last, test.stem != "test_backtrack_examples", not importing, test

    return [str(test.relative_to(ROOT)) for test in sorted(test_files, key=place)]


def _run_tests(folder: Path, tests: list[str], examples: int, log: Path) -> int | None:
    """Run the tests of a copy in a process of its own; return its exit code, None if it was out of time."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None
    signal.alarm(SECONDS)
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(folder)
    plain = hypothesis.settings.__init__

    def capped(self, *arguments, **chosen):
        if "max_examples" in chosen:
            chosen["max_examples"] = min(chosen["max_examples"], examples)
        plain(self, *arguments, **chosen)

    hypothesis.settings.__init__ = capped
    sys.path[:] = [str(folder), *(path for path in sys.path if path != str(Path(__file__).parent))]
    os._exit(pytest.main(["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-k", "not spark", *tests]))


def _spots(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each expression that can be mutated, and what it becomes."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left, [operator], rest) if type(operator) in COMPARED:
                yield node, ast.Compare(left, [COMPARED[type(operator)]()], rest)
            case ast.BoolOp(operator, values):
                yield node, ast.BoolOp(JOINED[type(operator)](), values)
            case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as operator, right) if not _is_type(node):
                yield node, ast.BinOp(left, JOINED[type(operator)](), right)
            case ast.BinOp(left, ast.Add() | ast.Sub(), ast.Constant(int())):
                yield node, left
            case ast.UnaryOp(ast.Not() | ast.Invert(), operand):
                yield node, operand
            case ast.Call(ast.Name(name), arguments, keywords) if name in CALLED:
                yield node, ast.Call(ast.Name(CALLED[name]), arguments, keywords)
            case ast.Call(ast.Attribute(value, name), arguments, keywords) if name in CALLED:
                yield node, ast.Call(ast.Attribute(value, CALLED[name]), arguments, keywords)
            case ast.Constant(bool() as constant):
                yield node, ast.Constant(not constant)
            case ast.IfExp(test, one, other):
                yield node, ast.IfExp(test, other, one)


def _is_type(node: ast.BinOp) -> bool:
    """Tell a union of types from an operation on sets or bits."""
    return bool(re.search(r"\b(None|str|int|bool|[A-Z]\w+)\b", ast.unparse(node)))


class _Replace(ast.NodeTransformer):
    """Puts one expression in the place of another."""

    def __init__(self, old: ast.expr, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


if __name__ == "__main__":
    sys.exit(main())
