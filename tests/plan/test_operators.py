"""A plan operator is one file, and nothing else asks which of them a node is."""

import ast
import importlib
import pkgutil
from pathlib import Path

import cepsql
from cepsql.plan import operators
from cepsql.plan.operators.stream_join import StreamJoin
from cepsql.plan.tree.nodes import ChangeOperator, Ordered
from cepsql.spark.stages.stage_registry import OPERATORS

PACKAGE = Path(cepsql.__file__).parent
FAMILIES = {Ordered, ChangeOperator, StreamJoin}


def operators_of(module: str) -> list[type[Ordered]]:
    members = vars(importlib.import_module(f"cepsql.plan.operators.{module}")).values()
    return [
        one for one in members if isinstance(one, type) and issubclass(one, Ordered) and one.__module__.endswith(module)
    ]


def test_each_is_a_file_and_runs():
    files = {module.name: operators_of(module.name) for module in pkgutil.iter_modules(operators.__path__)}
    assert {file: len(classes) for file, classes in files.items()} == dict.fromkeys(files, 1)
    assert {classes[0] for classes in files.values()} - FAMILIES == set(OPERATORS)


def test_each_says_what_it_is():
    for operator in OPERATORS:
        for asked in ("describe", "lines", "properties"):
            assert getattr(operator, asked) is not getattr(Ordered, asked), (operator, asked)


def classes_asked_for(tree):
    """Yield the names of classes that a module asks for by `case` or `isinstance`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            yield node.cls.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield from (part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name))


def test_none_is_told_by_its_class_elsewhere():
    names = {operator.__name__ for operator in OPERATORS}
    mentions = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in classes_asked_for(ast.parse(path.read_text()))
        if name in names
    ]
    assert mentions == []


def test_run_time_has_other_names():
    running = {
        node.name
        for room in ("operators", "ordered")
        for path in (PACKAGE / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    assert running & {operator.__name__ for operator in OPERATORS} == set()
