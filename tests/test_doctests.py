"""The examples in docstrings give what they say."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import cepsql

MODULES = [module.name for module in pkgutil.walk_packages(cepsql.__path__, "cepsql.") if "__main__" not in module.name]


def has_examples(name: str) -> bool:
    lines = Path(importlib.util.find_spec(name).origin).read_text("utf-8").splitlines()
    return any(line.lstrip().startswith(">>> ") for line in lines)


@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name)])
def test_examples(name):
    done = doctest.testmod(importlib.import_module(name))
    assert done.failed == 0
