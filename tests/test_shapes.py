"""What holds of the shape of all code."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "cepsql"
MOST_PARAMETERS = 7


def test_functions_have_few_parameters():
    """More of them are a value object; `Query.start` has those that users give by name."""
    long = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if sum(argument.arg not in ("self", "cls") for argument in every) > MOST_PARAMETERS:
                    long.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert long == ["query/lazy_query.py: start"]
