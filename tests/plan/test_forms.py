"""One program means one thing, whether its parts are subqueries, CTEs or views, its windows clauses or functions."""

import pytest
from chance import draws, is_night
from plan.programs import CLASHING, definitions, random_program

import cepsql
from cepsql.analysis.sql.canonical import canonical_json
from cepsql.errors import Error
from cepsql.plan.identity import describe_plan


@pytest.fixture(scope="module")
def engine():
    with cepsql.connect(catalog="") as engine:
        for definition in definitions(".", "."):
            engine.sql(definition)
        yield engine


def test_every_form_of_a_program_is_planned_alike(engine):
    chance = draws("forms")
    planned = 0
    for _ in range(20_000 if is_night() else 12):
        program = random_program(chance, chance.randint(1, 4), further=True)
        others = ["subqueries", "ctes", CLASHING]
        forms = ["views", *(others if is_night() else chance.sample(others, 2))]
        plans = {form: _planned(engine, *program.written(form)) for form in forms}
        assert len(set(plans.values())) == 1, program.written("views")
        planned += plans["views"].startswith("{")
        _, clauses = program.written("subqueries")
        _, functions = program.by_functions().written("subqueries")
        if functions != clauses:
            assert _columns(engine, functions) == _columns(engine, clauses), functions
    assert planned > 0


def _planned(engine, views, text) -> str:
    """Return the identity of a query over views, or that it was refused; of a view that alone is, its readers are."""
    try:
        for name, body in views:
            engine.sql(f"CREATE OR REPLACE VIEW {name} AS {body}")
        return canonical_json(describe_plan(engine.query(text).plan, {}, str))
    except Error as error:
        return type(error).__name__


def _columns(engine, text) -> list[tuple[str, str]] | str:
    """Return the columns of a query, or that it was refused."""
    try:
        return [(column.name, column.type) for column in engine.query(text).plan.columns]
    except Error as error:
        return type(error).__name__
