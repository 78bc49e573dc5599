"""What pages say of the checkout is there: files and folders by their path, modules by their name."""

import re
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["CONTRIBUTING.md", "README.md", *(f"docs/{page}.md" for page in ("architecture", "extending", "testing"))]
PATHS = re.compile(r"(?<![\w/.-])(?:cepsql|tests|docs|grammar|queries|\.ci)/[\w./-]+")
MODULES = re.compile(r"(?<![\w/.])cepsql(?:\.[a-z_]+)+(?!\w|/)")


def is_there(name: str) -> bool:
    """Tell whether a module, or what a module has, is there."""
    package, _, last = name.rpartition(".")
    with suppress(ModuleNotFoundError):
        return find_spec(name) is not None or hasattr(import_module(package), last)
    return find_spec(package) is not None and hasattr(import_module(package), last)


@pytest.mark.parametrize("page", PAGES)
def test_named_files_and_modules_are_there(page):
    text = (ROOT / page).read_text("utf-8")
    paths = {path.rstrip(".") for path in PATHS.findall(text)}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    assert [name for name in sorted(set(MODULES.findall(text))) if not is_there(name)] == []


def test_a_name_that_is_not_there():
    assert (
        is_there("cepsql.plan.operators.match.Match")
        and is_there("cepsql.plan")
        and not is_there("cepsql.plan.operators.match.Machine")
    )
