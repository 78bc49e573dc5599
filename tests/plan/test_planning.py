"""The passes of planning: what each changes, as EXPLAIN PLANNING prints it, and that the documentation names them."""

from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.plan.passes import BIND, CHECK, EXPAND, LIFT, PASSES, recorded_steps

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "architecture.md"


@pytest.mark.parametrize("case", params(HERE, "planning.txt"))
def test_explain_planning(case, update):
    rows = engine().sql(f"EXPLAIN PLANNING {case.text}").rows
    check(case, "\n".join(line for (line,) in rows), update)


@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.name)
def test_a_pass_says_what_holds_after_it(one):
    assert one.sentence.endswith(".") and "Return" not in one.sentence
    assert one.of_query or one.of_inputs


def test_the_documentation_has_the_passes_in_their_order():
    named = [line.split("|")[1].strip() for line in DOCS.read_text("utf-8").splitlines() if line.count("|") == 4]
    assert (*EXPAND, *BIND, *LIFT, *CHECK) == PASSES
    wanted = [one.name for one in PASSES]
    assert [name for name in named if name in wanted] == wanted


def test_steps_are_kept_only_for_explain_planning():
    with recorded_steps(False) as steps:
        engine().sql("SELECT sym FROM ticks")
    assert not steps
