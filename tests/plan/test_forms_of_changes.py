"""A random SELECT over tables that change is planned alike, or refused alike, as subquery, CTE and view."""

import pytest
from chance import draws, examples
from plan.selects import TABLES, Writer

import cepsql
from cepsql.analysis.sql.canonical import canonical_json
from cepsql.errors import Error
from cepsql.plan.identity import describe_plan


@pytest.fixture(scope="module")
def engine():
    with cepsql.connect(catalog="") as engine:
        for name, columns in TABLES.items():
            named = ", ".join(f"{column} INT" for column in columns)
            engine.sql(f"CREATE STREAM {name} ({named}, gone BOOLEAN, PRIMARY KEY (id) DELETE WHEN gone) USING csv")
        yield engine


def test_every_form_of_a_select_is_planned_alike(engine):
    writer, planned = Writer(draws("forms of changes")), 0
    for _ in range(examples(3)):
        text = writer.select()
        forms = {
            f"SELECT * FROM ({text}) AS s EMIT CHANGES": None,
            f"WITH s AS ({text}) SELECT * FROM s EMIT CHANGES": None,
            "SELECT * FROM s EMIT CHANGES": text,
        }
        plans = {_planned(engine, form, view) for form, view in forms.items()}
        assert len(plans) == 1, text
        planned += plans.pop().startswith("{")
    assert planned > 0


def _planned(engine, text: str, view: str | None) -> str:
    """Return the identity of a query, or that it was refused."""
    try:
        if view is not None:
            engine.sql(f"CREATE OR REPLACE VIEW s AS {view}")
        return canonical_json(describe_plan(engine.query(text).plan, {}, str))
    except Error as error:
        return type(error).__name__
