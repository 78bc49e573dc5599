"""Names that clash mean what they mean to Spark, over tables, streams and changes, as subquery, CTE and view."""

import datetime
import re
from collections import Counter
from pathlib import Path

import pytest
from chance import everyday, is_night
from golden import params

import cepsql
from cepsql.analysis.sql.canonical import canonical_json
from cepsql.errors import Error, InternalError, NotSupportedError
from cepsql.plan.identity import describe_plan
from cepsql.testing import play

CASES = params(Path(__file__).parent, "names_of_spark.txt")
TABLES = {"t": "id INT, k STRING, v INT, n INT, at TIMESTAMP", "u": "id INT, k STRING, w INT, v INT, at TIMESTAMP"}
DAY = "2026-01-01 00:00:0"
ROWS = {
    "t": [(1, "a", 5, 9, f"{DAY}1"), (2, "a", 6, 9, f"{DAY}2"), (3, "b", 1, 9, f"{DAY}3")],
    "u": [(1, "a", 50, 5, f"{DAY}1"), (2, "b", 60, 1, f"{DAY}4"), (4, "a", 7, 6, f"{DAY}5")],
}
KEYS = {"stream": "", "changes": ", PRIMARY KEY (id)"}
UNTIMED = re.compile(r"a join with a stream needs the event time|ORDER BY over a stream begins with the event time")
"""What a stream lacks that a table has: no name is told of."""


def definitions(kind: str) -> list[str]:
    return [
        f"CREATE STREAM {name} ({columns}, WATERMARK FOR at AS at{KEYS[kind]}) USING csv OPTIONS (path '/none')"
        for name, columns in TABLES.items()
    ]


def is_endless(text: str) -> bool:
    """Tell whether a SELECT has groups or different rows without a window, which Spark refuses over a stream."""
    whole = re.search(r"GROUP BY|COUNT\(|SUM\(|MAX\(|MIN\(|DISTINCT", text) is not None
    return whole and "OVER " not in text and "window(" not in text.split("GROUP BY")[-1]


@pytest.fixture(scope="module")
def engines():
    by_kind = {kind: cepsql.connect(catalog="") for kind in KEYS}
    for kind, engine in by_kind.items():
        for definition in definitions(kind):
            engine.sql(definition)
    yield by_kind
    for engine in by_kind.values():
        engine.close()


def planned(engine, text: str, view: str | None = None) -> str | Error:
    """Return the identity of a query, or why it is refused."""
    try:
        if view is not None:
            engine.sql(f"CREATE OR REPLACE VIEW z AS {view}")
        return canonical_json(describe_plan(engine.query(text).plan, {}, str))
    except Error as error:
        assert not isinstance(error, InternalError), text
        return error


@pytest.mark.parametrize("case", everyday(CASES, 6))
def test_a_name_is_understood_or_refused_in_all_forms(case, engines):
    for kind, engine in engines.items():
        if kind == "stream" and is_endless(case.text):
            continue
        emit = " EMIT CHANGES" if kind == "changes" else ""
        alone = planned(engine, case.text + emit)
        refused = isinstance(alone, Error)
        if case.expected == "refused":
            assert refused, (kind, alone)
        elif refused:
            assert isinstance(alone, NotSupportedError) or UNTIMED.search(str(alone)), (kind, alone)
        if " LIMIT " in case.text or _has_name_twice(alone, engine, case.text + emit):
            # They are only there at the end of a query.
            continue
        forms = {
            "subquery": planned(engine, f"SELECT * FROM ({case.text}) AS z{emit}"),
            "cte": planned(engine, f"WITH z AS ({case.text}) SELECT * FROM z{emit}"),
            "view": planned(engine, f"SELECT * FROM z{emit}", case.text),
            "cte of that name": planned(engine, f"WITH t AS ({case.text}) SELECT * FROM t AS z{emit}"),
        }
        outcomes = {"refused" if isinstance(one, Error) else one for one in forms.values()}
        assert len(outcomes) == 1, (kind, forms)
        assert refused == (outcomes == {"refused"}), (kind, alone, forms)


def _has_name_twice(plan: str | Error, engine, text: str) -> bool:
    """Tell whether a query gives two columns of one name, for which no star can stand."""
    names = [] if isinstance(plan, Error) else [column.name.lower() for column in engine.query(text).plan.columns]
    return len(set(names)) < len(names)


def shown(values) -> str:
    if isinstance(values, tuple):
        return "|".join(map(shown_value, values))
    return shown_value(values)


def shown_value(value) -> str:
    match value:
        case tuple():
            return f"({','.join(map(shown_value, value))})"
        case list():
            return f"[{','.join(map(shown_value, value))}]"
    return str(value)


def streamed(text: str, kind: str, plan, spark) -> list[str]:
    """Return the rows of a query in the end."""
    names = {relation.name for relation in plan.origins}
    batches = [{name: ROWS[name][part] for name in names} for part in (slice(1), slice(1, None))]
    changes = kind == "changes"
    left: Counter[str] = Counter()
    sql = ";".join([*definitions(kind), text + (" EMIT CHANGES" if changes else "")])
    for row in (tuple(row) for batch in play(sql, batches, spark=spark) for row in batch):
        left[shown(row[:-1] if changes else row)] += -1 if changes and row[-1].startswith("-") else 1
    return sorted(left.elements())


@pytest.mark.parametrize("case", CASES if is_night() else everyday(CASES, 90))
def test_the_rows_are_those_of_spark(case, engines, spark):
    expected = [] if case.expected == "nothing" else case.expected.splitlines()
    engine = cepsql.connect(spark, catalog="")
    for name, columns in TABLES.items():
        rows = [(*row[:-1], datetime.datetime.fromisoformat(row[-1])) for row in ROWS[name]]
        frame = spark.createDataFrame(rows, columns)
        frame.createOrReplaceTempView(name)
        engine.register(name, frame)
    if expected == ["refused"]:
        with pytest.raises(Error):
            engine.sql(case.text).collect()
        return
    assert sorted(shown(tuple(row)) for row in spark.sql(case.text).collect()) == expected
    assert sorted(shown(tuple(row)) for row in engine.sql(case.text).collect()) == expected
    for kind in KEYS:
        if kind == "stream" and is_endless(case.text):
            continue
        try:
            plan = engines[kind].query(case.text + (" EMIT CHANGES" if kind == "changes" else "")).plan
        except Error:
            # Whether it may be refused is the other test's matter.
            continue
        assert streamed(case.text, kind, plan, spark) == expected, kind
