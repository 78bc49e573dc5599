"""Statements that users of other engines paste: what each gives, or the sentence that says what to write instead."""

import re
from collections import Counter
from pathlib import Path

import pytest
from golden import check, params

from cepsql.engine import Engine, connect, dispatch
from cepsql.errors import Error, InternalError
from cepsql.explain.text import explain_logical
from cepsql.language import statements as st
from cepsql.query import Query

FOLDER = Path(__file__).parent
CASES = params(FOLDER, "*.txt")
AT_LEAST = {"flink": 30, "ksqldb": 30, "trino": 30, "esper": 30}
LEFT_TO_SPARK = (
    st.Insert, st.CreateAs, st.ShowFunctions, st.SetOption, st.ResetOption, st.ControlQuery, st.Print,
    st.Summarize, st.Subscribe, st.CreateMaterializedView,
)  # fmt: skip
"""What is only checked here, since executing it starts Spark."""


OPERATORS = (
    "WindowAggregate", "ChangingGroups", "Match", "Over", "Deduplicate", "IntervalJoin", "AsOfJoin", "RankedRows",
    "TableJoin", "RetractingGroups", "Upserts", "LabelledChanges",
)  # fmt: skip
PATHS = "/data"
"""Where the definitions say that rows are; the test has empty folders elsewhere."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def definitions(folder) -> tuple:
    text = (FOLDER / "catalog.sql").read_text("utf-8")
    for name in re.findall(f"'{PATHS}/(\\w+)'", text):
        (folder / name).mkdir()
    engine = connect()
    list(engine.execute(text.replace(f"'{PATHS}/", f"'{folder}/")))
    return tuple(engine.catalog.names)


@pytest.fixture
def engine(spark, definitions):
    with connect(spark, catalog="") as made:
        for definition in definitions:
            made.catalog.add(definition)
        yield made


def plan_lines(query: Query) -> list[str]:
    """Return the columns of a query and its operators, a line each."""
    whole, *lines = explain_logical(query.plan).splitlines()
    nodes = [f"  {line.split()[0]}" for line in lines if line.split()[0] in OPERATORS]
    return [whole, *nodes]


def outcome(engine: Engine, text: str) -> str:
    """Return what a text gives: runs, and the answers and plans, or told, and the message.

    Spark analyzes each query, as it does before it runs one: a function that it does not know is told.
    """
    said = []
    try:
        for statement in engine._context.parsed(text):
            if isinstance(statement, LEFT_TO_SPARK) or (isinstance(statement, st.Explain) and statement.part is None):
                dispatch.check(engine._context, statement)
                query = getattr(statement, "query", None)
                if isinstance(query, st.ParsedQuery):
                    Query(engine._context, engine._context.plan(query)).df  # noqa: B018
                continue
            item = dispatch.execute(engine._context, statement)
            if isinstance(item, Query):
                said += plan_lines(item)
                item.df  # noqa: B018
            else:
                rows = [" | ".join("" if cell is None else str(cell) for cell in row) for row in item.rows]
                said += [*rows, *([item.message] if item.message else [])]
    except Error as error:
        assert not isinstance(error, InternalError)
        return f"told\n{error}"
    return "\n".join(["runs", *said])


@pytest.mark.parametrize("case", CASES)
def test_statement(case, engine, folder, update):
    check(case, outcome(engine, case.text).replace(str(folder), PATHS), update)


def test_an_unknown_function_does_not_run(engine):
    for text in ("SELECT no_such_function(price) FROM orders", "SELECT no_such_function(amount) FROM sales"):
        assert outcome(engine, text).startswith("told\nthere is no function no_such_function")


def test_each_refusal_says_what_to_write():
    refused = [case for case in (param.values[0] for param in CASES) if case.expected.startswith("told")]
    neither = [case.text for case in refused if "\n  hint: " not in case.expected]
    assert neither == []
    # What the grammar expects is no direction, nor is the list of all statements.
    vague = ("\n  hint: expected ", "\n  hint: a statement begins with ", "\n  hint: settings: ")
    assert [case.text for case in refused if any(word in case.expected for word in vague)] == []


def test_there_are_enough_of_each():
    counts = Counter(param.values[0].path.stem for param in CASES)
    assert all(counts[name] >= least for name, least in AT_LEAST.items())
    assert {param.values[0].expected.splitlines()[0] for param in CASES} == {"runs", "told"}
