"""The references of the documentation are those of the code, and every public name stands in its own."""

import ast
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import pytest
import yaml

import cepsql
import cepsql.errors
from cepsql.base.usual_errors import USUAL_ERRORS
from cepsql.engine import SETTINGS
from cepsql.frontends.configuration import SETTINGS as USER_SETTINGS
from cepsql.frontends.server.metrics import LEADS, QUERY_METRICS, STATE
from cepsql.frontends.shell.suggested_options import QUERY_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS
from cepsql.language.foreign.foreign_functions import INSTEAD
from cepsql.scalar.registry import REGISTRY
from cepsql.spark.jvm.messages.explanations import PATTERN_FUNCTIONS
from cepsql.spark.jvm.messages.own_functions import OWN_FUNCTIONS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def maker():
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("make_reference")
    sys.path.remove(str(DOCS))


def test_the_pages_are_those_of_the_code(maker, update):
    written = maker.written()
    if update:
        for name, text in written.items():
            (DOCS / name).write_text(text, "utf-8")
    differ = [name for name, text in written.items() if (DOCS / name).read_text("utf-8") != text]
    assert differ == [], "python docs/make_reference.py writes them anew"


def test_every_public_name_is_in_its_reference():
    api, errors = ((DOCS / name).read_text("utf-8") for name in ("api.md", "errors.md"))
    for name in cepsql.__all__:
        public = getattr(cepsql, name)
        if name == "__version__":
            continue
        if inspect.isclass(public) and issubclass(public, Exception):
            assert f"\n## {name}\n" in errors
            continue
        assert f"\n## cepsql.{name}\n" in api
        members = vars(public) if inspect.isclass(public) else {}
        for member, value in members.items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert f"\n### {name}.{member}\n" in api, f"{name}.{member} has no docstring"


def test_what_programs_of_the_pages_import_is_in_the_reference():
    api = (DOCS / "api.md").read_text("utf-8")
    programs = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    imported = re.findall(r"^from (cepsql[\w.]*) import (\w+)$", programs, re.MULTILINE)
    assert len(imported) > 3
    assert [name for name in imported if f"\n## {'.'.join(name)}\n" not in api] == []


def test_every_function_setting_and_option_is_in_its_reference(maker):
    assert set(REGISTRY) >= maker.OF_THE_MATCHER
    functions, settings = ((DOCS / name).read_text("utf-8") for name in ("functions.md", "settings.md"))
    names = [*PATTERN_FUNCTIONS, *OWN_FUNCTIONS, *INSTEAD, *(set(REGISTRY) - maker.OF_THE_MATCHER)]
    assert [name for name in names if f"`{name}" not in functions] == []
    options = [option for table in (SOURCE_OPTIONS, SINK_OPTIONS) for names in table.values() for option in names]
    names = [*SETTINGS, *(setting.name for setting in USER_SETTINGS), *options, *QUERY_OPTIONS]
    names += [setting.variable for setting in USER_SETTINGS]
    assert [name for name in names if f"`{name}`" not in settings] == []


def test_every_error_has_an_anchor():
    page = (DOCS / "errors.md").read_text("utf-8")
    anchors = {name.lower() for name in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    kinds = [
        member for _, member in inspect.getmembers(cepsql.errors, inspect.isclass) if issubclass(member, Exception)
    ]
    assert len(kinds) > 9
    assert [kind for kind in kinds if kind("odd").anchor not in anchors] == []
    usual = re.findall(r'<a id="([^"]+)"></a>', page)
    assert len(set(usual) - anchors) == len(usual) > 20
    for kind, errors in USUAL_ERRORS.items():
        for error in errors:
            assert getattr(cepsql.errors, kind)(f"x {error.said} y").anchor in usual


def test_every_metric_is_in_its_reference_and_others_are_used_nowhere(maker):
    page = (DOCS / "metrics.md").read_text("utf-8")
    metric_names = {LEADS[0], STATE[0], *(metric.full_name for metric in QUERY_METRICS)}
    assert [name for name in metric_names if f"\n| `{name}` |" not in page] == []
    for text in (page, (DOCS / "alerts.yml").read_text("utf-8"), (DOCS / "grafana.json").read_text("utf-8")):
        assert set(re.findall(r"\bcepsql_(?:query|server)_\w*[a-z]", text)) <= metric_names


def test_the_dashboard_is_one():
    board = json.loads((DOCS / "grafana.json").read_text("utf-8"))
    assert {variable["name"] for variable in board["templating"]["list"]} == {"source", "query"}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) > 10
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    metrics = [selector for text in expressions for selector in re.findall(r"cepsql_query_\w+(.{0,17})", text)]
    assert metrics and set(metrics) == {'{query=~"$query"}'}


def test_the_alerts_are_rules():
    (group,) = yaml.safe_load((DOCS / "alerts.yml").read_text("utf-8"))["groups"]
    assert [rule for rule in group["rules"] if set(rule) != {"alert", "expr", "for", "labels", "annotations"}] == []
    assert [rule for rule in group["rules"] if not re.search(r"cepsql_\w+.* [<>=]+ \S", rule["expr"])] == []


def test_the_usual_errors_are_raised_with_these_words():
    raised = dict.fromkeys(USUAL_ERRORS, "")
    for file in (DOCS.parent / "cepsql").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            texts = "\n".join(part for part in parts if isinstance(part, str))
            for kind in {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & set(raised):
                raised[kind] += texts
    wrong = [(kind, said) for kind, usual in USUAL_ERRORS.items() for said, *_ in usual if said not in raised[kind]]
    assert wrong == []
