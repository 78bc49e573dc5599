"""A folder has few entries, and says what belongs there; a name of a module or of a class stands for one thing."""

import ast
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "cepsql"
MOST_ENTRIES = 25
UNCOUNTED = {"__init__.py", "py.typed", "__pycache__"}
PACKAGES = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
LAYERS = ("plan/operators", "operators", "spark/stages")
"""An operator has a file in each of these: what it is in a plan, how it runs, how Spark runs it."""


OF_SEVERAL_ROOMS = {
    "bench": "what costs time and memory",
    "cluster": "Spark on several machines",
    "errors": "what is refused, in which words",
    "faults": "kills, disks, damage",
    "foreign": "cases of other engines",
    "kafka": "a real broker",
    "nexmark": "a workload",
    "remote": "HDFS and S3",
    "servers": "how servers are started",
    "streams": "scripts from statement to rows",
    "tpch": "a workload",
}
"""Folders of tests that are of no package."""


def has_files(path: Path) -> bool:
    """Tell whether it is more than an empty folder, such as one that a checkout of before has left."""
    return path.is_file() or any(file.is_file() and file.suffix != ".pyc" for file in path.rglob("*"))


def sentence(package: Path) -> str:
    """Return the first sentence of a package."""
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    return said.partition("\n\n")[0].replace("\n", " ")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_has_few_entries_and_says_what_belongs_there(package):
    assert len([path for path in package.iterdir() if path.name not in UNCOUNTED and has_files(path)]) <= MOST_ENTRIES
    assert sentence(package).endswith((".", ":"))


def test_architecture_has_the_sentence_of_each_folder():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {path for path in PACKAGES if len(path.relative_to(PACKAGE).parts) > 1 and path.name != "rules"}
    lines = [f"| `{'.'.join(path.relative_to(ROOT).parts)}` | {sentence(path)} |" for path in sorted(rooms)]
    assert [line for line in lines if line not in text] == []


def test_tests_are_in_the_folder_of_their_package():
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    packages = {path.relative_to(PACKAGE) for path in PACKAGES}
    assert [str(path) for path in folders if path not in packages and str(path) not in OF_SEVERAL_ROOMS] == []
    assert [name for name in OF_SEVERAL_ROOMS if not (ROOT / "tests" / name).is_dir()] == []


@pytest.mark.parametrize("folder", sorted({path.parent for path in (ROOT / "tests").rglob("test_*.py")}), ids=str)
def test_a_folder_of_tests_has_few_files(folder):
    assert len(list(folder.glob("test_*.py"))) <= MOST_ENTRIES


def test_no_folder_of_code_is_ignored():
    """What .gitignore leaves out, such as a folder `build`, would be missing in every checkout but one's own."""
    asked = [str(path.relative_to(ROOT)) for path in PACKAGES]
    done = subprocess.run(["git", "check-ignore", *asked], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""


def test_a_name_stands_for_one_module():
    """But for the files of one operator; and a package may have its main module under its own name."""
    places = defaultdict(list)
    rooms = [path for path in PACKAGES if path.relative_to(PACKAGE).as_posix() not in LAYERS]
    for path in [*rooms, *(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")]:
        place = path.relative_to(PACKAGE).parent.as_posix()
        if not place.endswith(path.stem):
            places[path.stem].append(next((layer for layer in LAYERS if f"{place}/".startswith(f"{layer}/")), place))
    twice = {name: rooms_of_name for name, rooms_of_name in places.items() if len(rooms_of_name) > 1}
    assert {
        name: rooms_of_name
        for name, rooms_of_name in twice.items()
        if not set(rooms_of_name) <= set(LAYERS) or len(set(rooms_of_name)) < len(rooms_of_name)
    } == {}


def test_a_name_stands_for_one_class():
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: rooms_of_name for name, rooms_of_name in places.items() if len(rooms_of_name) > 1} == {}
