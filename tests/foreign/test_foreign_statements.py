"""Statements that users of other engines paste: what each gives, or the sentence that says what to write instead."""

from collections import Counter
from functools import cache
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


@cache
def definitions() -> tuple:
    engine = connect()
    list(engine.execute((FOLDER / "catalog.sql").read_text("utf-8")))
    return tuple(engine.catalog.names)


def fresh_engine() -> Engine:
    engine = connect()
    for definition in definitions():
        engine.catalog.add(definition)
    return engine


def plan_lines(query: Query) -> list[str]:
    """Return the columns of a query and its operators, a line each."""
    whole, *lines = explain_logical(query.plan).splitlines()
    nodes = [f"  {line.split()[0]}" for line in lines if line.split()[0] in OPERATORS]
    return [whole, *nodes]


def given(text: str) -> str:
    """Return what a text gives: runs, and the answers and plans, or told, and the message."""
    engine, said = fresh_engine(), []
    try:
        for statement in engine._context.parsed(text):
            if isinstance(statement, LEFT_TO_SPARK) or (isinstance(statement, st.Explain) and statement.part is None):
                dispatch.check(engine._context, statement)
                continue
            item = dispatch.execute(engine._context, statement)
            if isinstance(item, Query):
                said += plan_lines(item)
            else:
                rows = [" | ".join("" if cell is None else str(cell) for cell in row) for row in item.rows]
                said += [*rows, *([item.message] if item.message else [])]
    except Error as error:
        assert not isinstance(error, InternalError)
        return f"told\n{error}"
    return "\n".join(["runs", *said])


@pytest.mark.parametrize("case", CASES)
def test_statement(case, update):
    check(case, given(case.text), update)


def test_each_refusal_says_what_to_write():
    told = [case for case in (param.values[0] for param in CASES) if case.expected.startswith("told")]
    neither = [case.text for case in told if "\n  hint: " not in case.expected]
    assert neither == []
    # What the grammar expects is no direction, nor is the list of all statements.
    vague = ("\n  hint: expected ", "\n  hint: a statement begins with ", "\n  hint: settings: ")
    assert [case.text for case in told if any(word in case.expected for word in vague)] == []


def test_there_are_enough_of_each():
    counts = Counter(param.values[0].path.stem for param in CASES)
    assert all(counts[name] >= least for name, least in AT_LEAST.items())
    assert {param.values[0].expected.splitlines()[0] for param in CASES} == {"runs", "told"}
