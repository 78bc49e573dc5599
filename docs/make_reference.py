"""Write the references of the documentation from the code: `python docs/make_reference.py`."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from function_reference import INTRODUCTION, OF_THE_MATCHER, OWN_EXAMPLE, PATTERN_EXAMPLE, PATTERN_FORMS
from monitoring import ALERTS, NO_ALERT, alert_rules, dashboard
from option_meanings import SINK_MEANINGS, SOURCE_MEANINGS

import cepsql
import cepsql.errors
import cepsql.pytest_plugin
import cepsql.testing
from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.catalog import Sink
from cepsql.configuration import SETTINGS as USER_SETTINGS
from cepsql.engine import SETTINGS
from cepsql.errors import ExitCode
from cepsql.language.accepted_calls import accepted_names
from cepsql.language.foreign_functions import INSTEAD
from cepsql.language.statements import Statement
from cepsql.scalar.registry import REGISTRY
from cepsql.server.metrics import LEADS, QUERY_METRICS, STATE
from cepsql.shell.suggested_options import QUERY_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS
from cepsql.spark.checkpoint.progress import Progress
from cepsql.spark.jvm.explanations import PATTERN_FUNCTIONS
from cepsql.spark.jvm.own_functions import OWN_FUNCTIONS
from cepsql.standing.definitions import OPTIONS as QUERIES
from cepsql.standing.queries import NamedQuery
from cepsql.usual_errors import USUAL_ERRORS

DOCS = Path(__file__).parent

MADE_BY_USERS = (cepsql.testing.Heartbeat, Sink, Restrictions)
"""Classes that users call."""

BESIDE = (cepsql.testing.play, cepsql.testing.Played, *MADE_BY_USERS, NamedQuery, Progress)
"""What is public beside the names of the package."""

ENVIRONMENT = {
    "CEPSQL_CONFIG": "the file of the settings above",
    "CEPSQL_PAGER": "the pager of the shell, in place of `PAGER`",
}
"""Environment variables beside those of settings."""


def written() -> dict[str, str]:
    """Return the text of each page by its name."""
    pages = {
        "functions.md": _functions(),
        "settings.md": _settings(),
        "errors.md": _errors(),
        "metrics.md": _metrics(),
        "api.md": _api(),
    }
    texts = {name: "\n".join(lines).rstrip() + "\n" for name, lines in pages.items()}
    return texts | {"alerts.yml": alert_rules(), "grafana.json": dashboard()}


def _table(head: str, rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> list[str]:
    columns = head.count("|") + 1
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [f"| {head} |", "|---" * columns + "|", *lines, ""]


def _functions() -> list[str]:
    missing = set(PATTERN_FUNCTIONS) - set(PATTERN_FORMS)
    assert not missing, f"PATTERN_FORMS lacks {missing}"
    return [
        "# Functions",
        "",
        *INTRODUCTION.splitlines(),
        "",
        *_table(
            "function | gives | NULL", [(f"`{form}`", gives, null) for form, gives, null in PATTERN_FORMS.values()]
        ),
        *PATTERN_EXAMPLE.splitlines(),
        "",
        "## In conditions on several rows",
        "",
        "A condition in `DEFINE` on one row may call any function. A condition on several rows, or on aggregates, may",
        "call these, with Spark's meaning; others are refused. [Patterns](patterns.md#functions-in-conditions) has",
        "operators and details.",
        "",
        _names(tuple(sorted(set(REGISTRY) - OF_THE_MATCHER))) + ",",
        "`timestampdiff`, `CASE`, `if`, `nvl`, `nvl2`, `nullif`, `instr`, `to_date`, `CAST` and `TRY_CAST`.",
        "",
        "`MEASURES` take every aggregate function of Spark, `DEFINE` takes [some](patterns.md#aggregates).",
        "",
        "## Everywhere",
        "",
        *_table("function | gives | NULL", [_own(name) for name in OWN_FUNCTIONS]),
        *OWN_EXAMPLE.splitlines(),
        "",
        "## Functions of other engines",
        "",
        "These are read as Spark's expressions of the same meaning, unless your session has a function of that name.",
        "A view or a query under a name keeps what a call meant when it was created.",
        _names(tuple(sorted(accepted_names() - {"CAST", "MAX", "MIN"}))) + ".",
        "",
        "Some need constants, such as patterns of times. Others are unknown to Spark; the error names a",
        "replacement:",
        "",
        *_table("function | write", _instead()),
    ]


def _instead() -> list[tuple[str, str]]:
    """Return the functions of other engines, those together in whose place the same is written."""
    names: dict[str, list[str]] = {}
    for name, instead in sorted(INSTEAD.items()):
        names.setdefault(instead, []).append(name)
    return [(_names(tuple(together)), _coded(instead)) for instead, together in names.items()]


def _own(name: str) -> tuple[str, str, str]:
    arguments, _, meaning = OWN_FUNCTIONS[name]
    form, _, gives = meaning.partition(" - ")
    return f"`{form}`", gives.removeprefix("Returns "), "never" if arguments == "()" else "if an argument is NULL"


def _coded(text: str) -> str:
    """Put what is SQL in a hint into code: a call, with what belongs to it."""
    return re.sub(r"\w+\((?:[^()]|\([^()]*\))*\)", lambda call: f"`{call[0]}`", text)


def _settings() -> list[str]:
    user = [
        (f"`{s.name}`", f"`{s.variable}`", _default(s.default), s.help.replace("local[*]", "`local[*]`"))
        for s in USER_SETTINGS
    ]
    return [
        "# Settings and options",
        "",
        "A script makes this page from the code.",
        "",
        "## SET",
        "",
        "`SET name = value` changes a setting for the statements of a session. All settings of Spark work, too. A",
        "named query keeps the settings of the session that created it.",
        "",
        *_table("setting | meaning", [(f"`{name}`", meaning) for name, meaning in SETTINGS.items()]),
        "## Settings of the command line and the shell",
        "",
        "An option on the command line has priority over the environment variable, and that over",
        "`~/.config/cepsql/config.toml`. `cepsql config` shows each value and where it comes from.",
        "",
        *_table("in the file | in the environment | default | meaning", user),
        *_table("also in the environment | meaning", [(f"`{name}`", text) for name, text in ENVIRONMENT.items()]),
        "The options of the commands are on the page of the [command line](cli.md#options), and those of the server on",
        "[Operating](operating.md).",
        "",
        "## Options of sources",
        "",
        "Options of `CREATE STREAM` and `CREATE TABLE` that the shell completes. Others are passed to Spark.",
        "[Sources](sources.md) and [Streams](streams.md) explain them.",
        "",
        *_options(SOURCE_OPTIONS, SOURCE_MEANINGS),
        "## Options of sinks",
        "",
        "Options of `CREATE SINK`. [Sinks](sinks.md) explains them.",
        "",
        *_options(SINK_OPTIONS, SINK_MEANINGS),
        "## Options of queries",
        "",
        "Options of `CREATE QUERY ... OPTIONS (...)` and `ALTER QUERY ... SET (...)`. [Standing queries](standing.md)",
        "explains them.",
        "",
        *_table("option | meaning", [(f"`{name}`", (QUERIES | SETTINGS)[name]) for name in QUERY_OPTIONS]),
    ]


def _options(by_format: dict[str, tuple[str, ...]], meanings: dict[str, str]) -> list[str]:
    """Return a table of options, each with the formats that have it; Spark has those without a meaning here."""
    formats: dict[str, list[str]] = {}
    for name, options in by_format.items():
        for option in options:
            formats.setdefault(option, []).append(name)
    rows = [(f"`{option}`", _names(tuple(of)), meanings.get(option, "as in Spark")) for option, of in formats.items()]
    return _table("option | of | meaning", rows)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _default(value: object) -> str:
    return "none" if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _errors() -> list[str]:
    kinds = [found for _, found in inspect.getmembers(cepsql.errors, inspect.isclass) if issubclass(found, Exception)]
    kinds.sort(key=lambda kind: (len(kind.__mro__), kind.__name__))
    lines = [
        "# Errors",
        "",
        "Every error says what is wrong, where, and what to do. A script makes this page from the code.",
        "",
        "```python",
        "import cepsql",
        "",
        "try:",
        "    cepsql.connect().query(\"SELECT wrod FROM VALUES (1, 'one') AS numbers (n, word)\").collect()",
        "except cepsql.Error as error:",
        "    print(type(error).__name__, error.line, error.column)",
        "    print(error)",
        "```",
        "",
        *_SHOWN.splitlines(),
        "",
        "The shell shows the same. `\\errverbose`, and the option `--errverbose` of the command, add the cause, what",
        "to do, and the place on this page, which is `error.anchor` in Python.",
        "",
        "## Exit codes",
        "",
        *_table("code | name | when", [(str(code.value), code.name, _EXITS[code]) for code in ExitCode]),
    ]
    for kind in kinds:
        parent = kind.__mro__[1]
        below = "" if parent is Exception else f" It is a kind of [{parent.__name__}](#{parent.__name__.lower()})."
        at = f"`cepsql.{kind.__name__}`" if kind.__name__ in cepsql.__all__ else f"`cepsql.errors.{kind.__name__}`"
        first = inspect.cleandoc(kind.__doc__ or "").splitlines()[0]
        lines += [f"## {kind.__name__}", "", f"{at}: {first}{below}", "", *_EXAMPLES.get(kind.__name__, [])]
        if usual := USUAL_ERRORS.get(kind.__name__):
            lines += _table(
                "the message says | cause | what to do",
                [(f'<a id="{error.anchor}"></a>*{error.said}*', error.cause, error.cure) for error in usual],
            )
    return lines


_SHOWN = """```text
ProgrammingError 1 8
A column, variable, or function parameter with name `wrod` cannot be resolved. Did you mean one of the following? \
[`n`, `word`]
  line 1: SELECT wrod FROM VALUES (1, 'one') AS numbers (n, word)
                 ^^^^
```"""

_EXITS = {
    ExitCode.OK: "all went well",
    ExitCode.QUERY: "a statement failed",
    ExitCode.USAGE: "the command line is wrong, or the catalog cannot be used",
    ExitCode.SESSION: "Spark cannot start",
    ExitCode.INTERRUPT: "Ctrl-C ended it",
}

_EXAMPLES = {
    "Error": [
        "| attribute | |",
        "|---|---|",
        "| `message` | what is wrong, in a sentence |",
        "| `hint` | what to do about it, or None |",
        "| `line`, `column` | the place in the statement, from 1; None where there is none |",
        "| `text`, `span` | the statement, and the characters in it that the error is about |",
        "| `anchor` | its place on this page |",
        "| `detail` | technical details, such as Java's stack trace, or None |",
        "",
    ],
    "ProgrammingError": ["Change the statement: the caret shows where, and the hint how.", ""],
    "NotSupportedError": ["The hint names another way.", ""],
    "OperationalError": ["The statement may be right. Repair the cause, and try again.", ""],
    "DataError": ["Read the value with another type, or as text.", ""],
    "InterfaceError": ["Change the call in the program, or the command line.", ""],
    "InternalError": ["Please report it, with what `\\errverbose` or `detail` says.", ""],
}


def _metrics() -> list[str]:
    rows = [(LEADS[0], "gauge", LEADS[1]), (STATE[0], "gauge", f"{STATE[1]}, in the label `state`")]
    rows += [(m.full_name, "counter" if m.counts else "gauge", m.meaning) for m in QUERY_METRICS]
    measured = [(f"`{name}`", kind, text, _alert(name)) for name, kind, text in rows]
    alerts = [(f"`{alert.name}`", f"`{alert.expression}`", alert.lasts, alert.summary) for alert in ALERTS]
    return [
        *_METRICS.splitlines(),
        "",
        *_table("metric | kind | meaning | alert", measured),
        "A query without event time has no lag, one without Kafka no records behind. The lag grows while a query",
        "fails, waits, or gets no rows.",
        "",
        "## Alerts",
        "",
        *_table("alert | condition | for | what to do", alerts),
        "[Troubleshooting](troubleshooting.md) has the statements that show the cause.",
    ]


_METRICS = """# Metrics

`cepsql serve --metrics-port 9464` serves these numbers in the format of Prometheus on `/metrics`. A script makes
this page from the code.

```yaml
scrape_configs:
  - job_name: cepsql
    static_configs: [{targets: ['localhost:9464']}]
rule_files: [alerts.yml]
```

[alerts.yml](alerts.yml) has the alerts below as rules of Prometheus. [grafana.json](grafana.json) is a dashboard:
import it in Grafana, and choose your Prometheus. The thresholds are a start; set them to what is usual for your
queries.

Metrics that begin with `cepsql_query_` have the label `query`. Counters continue over restarts of the query. Each
server of a catalog reports all queries: `max by (query) (...)` shows each once."""


def _alert(metric: str) -> str:
    found = [f"`{alert.name}`" for alert in ALERTS if re.search(rf"{metric}\b", alert.expression)]
    return ", ".join(found) if found else NO_ALERT[metric]


def _api() -> list[str]:
    lines = [
        "# Python reference",
        "",
        "A script makes this page from the code; [Python](python.md) explains the use. What begins with an underscore,",
        "and every module that is not named here, may change without notice.",
        "",
    ]
    public = [(f"cepsql.{name}", getattr(cepsql, name)) for name in cepsql.__all__ if name != "__version__"]
    public += [(f"{found.__module__}.{found.__qualname__}", found) for found in BESIDE]
    functions = [(name, found) for name, found in public if inspect.isfunction(found)]
    kinds = [(name, found) for name, found in public if inspect.isclass(found) and not issubclass(found, Exception)]
    for name, found in functions:
        lines += [f"## {name}", "", *_documented(f"{name}{_signature(found)}", found)]
    for name, found in kinds:
        made = f"{found.__name__}{_signature(found)}" if found in MADE_BY_USERS else None
        lines += [f"## {name}", "", *_documented(made, found)]
        for member, value in _members(found):
            lines += [f"### {name.rsplit('.', 1)[1]}.{member}", "", *_documented(_called(member, value), value)]
    lines += ["## Fixtures of pytest", "", "[Tests of queries](testing.md#with-pytest) shows their use.", ""]
    for name, found in _fixtures():
        lines += [f"### {name}", "", *_documented(None, found)]
    lines += ["## Errors", "", "They have a [page of their own](errors.md)."]
    return lines


def _fixtures() -> list[tuple[str, object]]:
    """Return the fixtures that cepsql gives to pytest."""
    return [(name, value) for name, value in vars(cepsql.pytest_plugin).items() if name.startswith("cepsql_")]


def _members(kind: type) -> list[tuple[str, object]]:
    """Return the public methods and properties of a class, in the order of its text, with those that have a meaning."""
    return [
        (name, value)
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and (isinstance(value, property) or inspect.isfunction(value))
        and inspect.getdoc(value)
    ]


def _called(name: str, value: object) -> str | None:
    return f"{name}{_signature(value)}" if inspect.isfunction(value) else None


def _signature(function) -> str:
    text = str(inspect.signature(function))
    # Types are in the code; names and defaults are what callers need.
    parameters = inspect.signature(function).parameters.values()
    shown = [_parameter(parameter) for parameter in parameters if parameter.name != "self"]
    star = next((i for i, p in enumerate(p for p in parameters if p.name != "self") if p.kind is p.KEYWORD_ONLY), None)
    if star is not None:
        shown.insert(star, "*")
    result = re.search(r" -> (.*)$", text)
    returned = f" -> {_plain(result[1].strip(chr(39)))}" if result else ""
    return f"({', '.join(shown)}){returned}"


def _plain(annotation: str) -> str:
    """Write a type without the modules of its names, and the union of all statements as one word."""
    names, every = (re.sub(r"\b(?:cepsql|collections)\.(?:\w+\.)+", "", text) for text in (annotation, str(Statement)))
    return names.replace(every, "Statement").replace("pyarrow.lib.", "pa.")


def _parameter(parameter: inspect.Parameter) -> str:
    if inspect.isfunction(parameter.default):
        return f"{parameter.name}=..."
    return str(parameter.replace(annotation=parameter.empty))


def _documented(call: str | None, found: object) -> list[str]:
    first, _, more = (inspect.getdoc(found) or "").partition("\n")
    shown = ["```text", call, "```", ""] if call else []
    body = ["", "```text", more.strip("\n"), "```"] if more.strip() else []
    return [*shown, re.sub(r"(?<!`)\*\*(?!`)", "", first), *body, ""]


if __name__ == "__main__":
    for page, text in written().items():
        (DOCS / page).write_text(text, "utf-8")
    sys.exit()
