"""Each operator means one thing, whether it stands in a view, a CTE or a subquery."""

from pathlib import Path

from chance import draws, is_night

import cepsql
from cepsql.analysis.sql.canonical import canonical_json
from cepsql.plan.identity import describe_plan

OPERATORS = (Path(__file__).parent / "operators.txt").read_text("utf-8").splitlines()
STREAMS = {
    "s": "(k STRING, x INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '2' SECONDS)",
    "p": "(k STRING, y INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECONDS)",
}
READER = "SELECT *, 1 AS one FROM {} AS q"


def in_forms(text: str) -> dict[str, tuple[str | None, str]]:
    """Return a query over an operator in each form, behind the query of the view that it reads, None without one."""
    return {
        "view": (text, READER.format("v")),
        "cte": (None, f"WITH v AS ({text}) {READER.format('v')}"),
        "subquery": (None, READER.format(f"({text})")),
    }


def test_every_form_of_an_operator_is_planned_alike():
    chance = draws("operator forms")
    with cepsql.connect(catalog="") as engine:
        for name, columns in STREAMS.items():
            engine.sql(f"CREATE STREAM {name} {columns} USING csv OPTIONS (path '.')")
        for text in OPERATORS if is_night() else chance.sample(OPERATORS, 6):
            plans = {}
            for form, (view, query) in in_forms(text).items():
                if view is not None:
                    engine.sql(f"CREATE OR REPLACE VIEW v AS {view}")
                plans[form] = engine.query(query).plan
            assert len({canonical_json(describe_plan(plan, {}, str)) for plan in plans.values()}) == 1, text
            columns = [(column.name, column.type) for column in engine.query(text).plan.columns]
            assert [(column.name, column.type) for column in plans["view"].columns[:-1]] == columns, text
