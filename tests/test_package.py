"""The wheel works on its own, and imports and help stay light."""

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import trove_classifiers
import yaml

from cepsql.frontends.server.serve_options import parser as server_parser

ROOT = Path(__file__).parents[1]
HEAVY = ("pyspark", "pandas", "numpy", "pyarrow", "sqlglot", "lark")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel with what is installed; nothing is downloaded where hatchling is there already."""
    folder = tmp_path_factory.mktemp("wheel")
    _run("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel in it; it borrows the dependencies of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    _run("-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-deps", wheel)
    # Only the path is borrowed, not its .pth files, so an editable install of cepsql stays out.
    borrowed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "borrowed.pth").write_text("\n".join(borrowed))
    return folder


def test_wheel_holds_grammar_and_demo(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "grammar/cepsql.lark",
        "grammar/pattern.lark",
        "py.typed",
        "frontends/demo/flights_v_shape.sql",
        "frontends/demo/ORIGIN.md",
    ):
        assert f"cepsql/{name}" in names
    assert [name for name in names if name.startswith("cepsql/frontends/demo/flights/")]


def test_the_source_archive_makes_the_same_wheel(wheel, tmp_path):
    """As `python -m build` does: the archive first, the wheel from it."""
    _run("-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path / "dist", cwd=ROOT)
    (archive,) = (tmp_path / "dist").iterdir()
    with tarfile.open(archive) as source:
        source.extractall(tmp_path, filter="data")
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    for name in ("CITATION.cff", "Dockerfile", "compose.yaml", "mkdocs.yml"):
        assert (unpacked / name).exists()
    _run("-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=unpacked)
    (again,) = (tmp_path / "again").iterdir()
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


def test_what_a_registry_shows_is_right(wheel):
    """Classifiers that the registry knows, the licence, and the same version wherever one stands."""
    (name,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA")]
    shown = email.message_from_bytes(zipfile.ZipFile(wheel).read(name))
    classifiers = shown.get_all("Classifier", [])
    assert classifiers and set(classifiers) <= trove_classifiers.classifiers
    # A licence expression excludes classifiers of licences.
    assert shown["License-Expression"] == "Apache-2.0" and not [c for c in classifiers if c.startswith("License")]
    assert shown["Description-Content-Type"] == "text/markdown"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == shown["Version"] and citation["license"] == "Apache-2.0"
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_the_image_is_made_of_what_is_there():
    """As far as it can be told without a builder: paths, extras and options exist, and nothing copied is ignored."""
    steps = (ROOT / "Dockerfile").read_text("utf-8")
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = {path for line in re.findall(r"^COPY (?!--from)(.*) \S+$", steps, re.MULTILINE) for path in line.split()}
    assert copied == let_in and all((ROOT / path).exists() for path in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    included = {*project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"], "cepsql"}
    assert copied == needed | included
    (extras,) = re.findall(r"\*\.whl\)\[([\w,]+)\]", steps)
    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert set(services) == {"kafka", "postgres", "server"}
    command = services["server"]["command"]
    arguments = server_parser().parse_args(command[1:])
    # Nothing else makes the catalog before the server starts.
    assert command[0] == "serve" and arguments.metrics_port == 9464 and arguments.create_catalog
    assert "EXPOSE 9464" in steps and services["server"]["ports"] == ["127.0.0.1:9464:9464"]


def test_installed_command_runs_a_query(environment, tmp_path):
    query = """
        SELECT * FROM (VALUES (1, 5), (2, 3), (3, 4)) AS t (position, price)
        MATCH_RECOGNIZE (
          ORDER BY position MEASURES LAST(DOWN.price) AS low PATTERN (TOP DOWN) DEFINE DOWN AS price < PREV(price)
        ) AS m"""
    command = environment / "bin" / "cepsql"
    assert _run("-c", query, "--format", "csv", program=command, cwd=tmp_path) == "low\n3\n"
    home = _run("-c", "import cepsql; print(cepsql.__file__)", program=environment / "bin" / "python", cwd=tmp_path)
    assert Path(home).is_relative_to(environment)


def test_import_is_light(tmp_path):
    loaded = _run("-c", "import cepsql, sys; print(*sys.modules)", cwd=tmp_path).split()
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_command_answers_without_spark(option, tmp_path):
    code = f"import sys; from cepsql.cli import main; code = main(['{option}']); print(code, *sys.modules)"
    answer = _run("-c", code, cwd=tmp_path).splitlines()
    code, *loaded = answer[-1].split()
    assert code == "0" and len(answer) > 1
    assert not set(HEAVY) & set(loaded)


def _run(*arguments, program: Path | str = sys.executable, cwd: Path | None = None) -> str:
    unset = ("PYTHONPATH", "VIRTUAL_ENV", "SPARK_SUBMIT_OPTS")
    done = subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in unset},
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
