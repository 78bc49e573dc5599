"""The wheel works on its own, and imports and help stay light."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

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
        "demo/flights_v_shape.sql",
        "demo/ORIGIN.md",
    ):
        assert f"cepsql/{name}" in names
    assert [name for name in names if name.startswith("cepsql/demo/flights/")]


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
