"""Every block of the README and of docs/ runs, and prints what the text block after it says.

A page's blocks share one engine, one namespace and one folder, from top to bottom. `sql` blocks are executed (streams
are drained), `python` blocks run, `console` blocks are typed line by line: `cepsql` in this process, the rest by bash.
A `console` block with the shell's prompt in it is a session as the screen shows it, and typed again (`typed_shell`);
all of a page have one engine, until a block begins with `$ cepsql`. A block after the line `<!-- not run: reason -->`
is left out. `pytest --update` writes the text blocks and sessions anew.
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import mypy.api
import pyarrow as pa
import pytest
from typed_shell import alike, typed_again

import cepsql
import cepsql.engine
from cepsql import cli
from cepsql.engine import connect
from cepsql.frontends.command_options import parser
from cepsql.frontends.shell.prompt import PROMPT
from cepsql.render import renderer
from cepsql.render.answer import Answer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^\n]+ -->\n)?^```(?P<kind>sql|python|console)\n(?P<code>.*?)^```\n"
    r"(?P<shown>\n```text\n(?P<expected>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture
def in_a_copy(tmp_path, monkeypatch, spark):
    """A folder that looks like the checkout, and engines that share the tests' Spark session."""
    for name in ("queries", "cepsql"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def connected(*_, catalog=None, **__):
        return connect(spark, catalog=catalog)

    for module in (cepsql, cepsql.engine):
        monkeypatch.setattr(module, "connect", connected, raising=False)
    # The command line in this process must leave pytest's signal handlers alone.
    monkeypatch.setattr(cli, "signal", SimpleNamespace(signal=lambda *_: None, SIGTERM=signal.SIGTERM))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, in_a_copy, spark, update):
    text = page.read_text("utf-8")
    parts, end = [], 0
    with _Shell(spark) as shell:
        run = {"sql": _sql(connect(spark)), "python": _python({}), "console": _console, "shell": shell.type}
        for block in BLOCK.finditer(text):
            if block["skip"]:
                continue
            session = block["kind"] == "console" and PROMPT in block["code"]
            printed = run["shell" if session else block["kind"]](block["code"])
            shown = "code" if session else "expected"
            if not (session or block["shown"]):
                continue
            # Without ORDER BY, rows have no order.
            typed = block["kind"] == "console"
            same = alike(printed) == alike(block[shown]) if typed else printed == block[shown]
            assert same or update, f"{page.name}: the output of\n{block['code']}\nis\n{printed}"
            parts += [text[end : block.start(shown)], block[shown] if same else printed]
            end = block.end(shown)
    if update:
        page.write_text("".join([*parts, text[end:]]), "utf-8")


def test_what_is_said_to_show_an_expectation_is_there():
    page = (ROOT / "tests" / "frontends" / "expectations.md").read_text("utf-8")
    named = re.findall(r"`((?:tests|cepsql)/[\w/.]+)(?:::(\w+))?`", page)
    assert len(named) > 50
    missing = [
        (file, test) for file, test in named
        if not (ROOT / file).exists() or (test and f"def {test}(" not in (ROOT / file).read_text("utf-8"))
    ]  # fmt: skip
    assert missing == []


def test_the_figures_of_the_readme_are_those_of_the_benchmark():
    readme = (ROOT / "README.md").read_text("utf-8")
    measured = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
    table = re.search(r"\| measured on two cores .*\n(?:\|.*\n)+", readme)
    assert table is not None
    lines = table[0].splitlines()[2:]
    figures = [figure for line in lines for figure in re.findall(r"\d+,\d{3}(?:,\d{3})?|\d+\.\d+", line)]
    assert len(figures) >= 9
    assert [figure for figure in figures if figure not in measured] == []
    assert [script for line in lines for script in re.findall(r"`(.*?)`", line) if not (ROOT / script).exists()] == []


def test_the_query_of_the_readme_is_that_of_its_file():
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = next(block["code"] for block in BLOCK.finditer(readme) if block["kind"] == "sql")
    file = re.search(r"^\$ cepsql -f (queries/\w+\.sql) --drain$", readme, re.MULTILINE)
    assert file is not None
    assert (ROOT / file[1]).read_text("utf-8").split("\n\n", 1)[1] == shown


def test_every_page_is_listed():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [page.name for page in PAGES if page.stem not in ("README", "index")]
    assert [page for page in pages if f"({page})" not in index or page not in site] == []


def test_the_diagrams_are_those_of_the_grammar(update):
    pytest.importorskip("railroad")
    spec = importlib.util.spec_from_file_location("make_syntax", ROOT / "docs" / "make_syntax.py")
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    written = maker.written()
    if update:
        maker.write(written)
    there = {f"syntax/{path.name}" for path in (ROOT / "docs" / "syntax").iterdir()} | {"syntax.md"}
    assert there == set(written)
    differ = [name for name, text in written.items() if (ROOT / "docs" / name).read_text("utf-8") != text]
    assert differ == [], "python docs/make_syntax.py writes them anew"


def test_what_programs_write_passes_a_type_checker(tmp_path):
    for page in PAGES:
        blocks = [block["code"] for block in BLOCK.finditer(page.read_text("utf-8")) if block["kind"] == "python"]
        if blocks:
            (tmp_path / f"{page.stem.replace('-', '_')}.py").write_text("\n".join(blocks), "utf-8")
    checked = [str(path) for path in sorted(tmp_path.iterdir())]
    said, errors, code = mypy.api.run(["--config-file", str(ROOT / "pyproject.toml"), *checked])
    assert code == 0, said + errors


def _sql(engine):
    zone = engine.spark.conf.get("spark.sql.session.timeZone")

    def run(code: str) -> str:
        lines = []
        for item in engine.execute(code):
            if isinstance(item, Answer):
                lines += ["\t".join(map(str, row)) for row in item.rows] + item.text.splitlines()
                continue
            tables = []
            if item.streaming:
                assert item.start(lambda rows, _: tables.append(rows), drain=True).await_(120)  # noqa: B023
            else:
                tables.append(item.arrow())
            lines += _table(item.columns, tables, zone, item.plan.query.expression.args.get("order") is not None)
        return "".join(f"{line}\n" for line in lines)

    return run


def _table(columns, tables, zone, ordered) -> list[str]:
    """Lay rows out as the shell does, in their order where the query has one, else in that of their text."""
    table = pa.concat_tables(tables) if tables else None
    form = renderer("table", columns, zone, table)
    rows = [] if table is None else list(form.rows(table))
    return [*form.header, *(rows if ordered else sorted(rows))]


def _python(names: dict):
    def run(code: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "block", "exec"), names)
        return printed.getvalue()

    return run


class _Shell:
    """The shell of a page, on the tests' Spark session."""

    def __init__(self, spark):
        self._spark, self._engine = spark, connect(spark)

    def __enter__(self) -> "_Shell":
        return self

    def __exit__(self, *_) -> None:
        self._engine.close()

    def type(self, code: str) -> str:
        """Type a session again; its first two lines may be `$ cepsql ...` and what the shell then says."""
        opened = re.match(r"\$ cepsql\b(.*)\n", code)
        if opened:
            self._engine.close()
            self._engine = connect(self._spark, catalog=parser().parse_args(shlex.split(opened[1])).catalog)
        greeting, screen = typed_again(self._engine, code)
        return f"{opened[0]}{greeting}{screen}" if opened else screen


def _console(code: str) -> str:
    printed = ""
    for command in re.findall(r"^\$ (.*(?:\n(?!\$ ).*)*)\n", code, re.MULTILINE):
        if command.startswith("cepsql "):
            output = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
            with contextlib.redirect_stdout(output), patch.dict(os.environ, {"COLUMNS": "104"}):
                assert cli.main(shlex.split(command)[1:]) == 0, command
            printed += output.buffer.getvalue().decode()
        else:
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            printed += done.stdout
    return printed
