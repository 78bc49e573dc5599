"""A folder has few entries, and says what belongs there; a name of a module or of a class stands for one thing."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "cepsql"
MOST_ENTRIES = 25
UNCOUNTED = {"__init__.py", "py.typed", "__pycache__"}
PACKAGES = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
LAYERS = ("plan/operators", "operators", "spark/stages")
"""An operator has a file in each of these: what it is in a plan, how it runs, how Spark runs it."""


def sentence(package: Path) -> str:
    """Return the first sentence of a package."""
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    return said.partition("\n\n")[0].replace("\n", " ")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_has_few_entries_and_says_what_belongs_there(package):
    assert len({path.name for path in package.iterdir()} - UNCOUNTED) <= MOST_ENTRIES
    assert sentence(package).endswith((".", ":"))


def test_architecture_has_the_sentence_of_each_folder():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {path for path in PACKAGES if len(path.relative_to(PACKAGE).parts) > 1 and path.name != "rules"}
    named = {path: f"| `{'.'.join(path.relative_to(ROOT).parts)}` | {sentence(path)} |" for path in rooms}
    depth = {path: len(path.relative_to(PACKAGE).parts) for path in rooms}
    assert [line for path, line in sorted(named.items()) if line not in text and depth[path] == 2] == []


def test_no_folder_of_code_is_ignored():
    """What .gitignore leaves out, such as a folder `build`, would be missing in every checkout but one's own."""
    asked = [str(path.relative_to(ROOT)) for path in PACKAGES]
    done = subprocess.run(["git", "check-ignore", *asked], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""
