"""What is known of a query of columns of one relation at a glance is what sqlglot says of it."""

import pytest
from sqlglot import exp

from cepsql.analysis.sql import resolve
from cepsql.analysis.sql.projections import projected
from cepsql.analysis.sql.properties import Properties
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.language.tokens import DIALECT
from cepsql.plan.names.spoken_names import spoken_names

COLUMNS = (
    ColumnDefinition("Id", "bigint"), ColumnDefinition("price", "DECIMAL(15,2)"), ColumnDefinition("ts", "timestamp"),
    ColumnDefinition("other", "timestamp"), ColumnDefinition("odd name", "struct<a:int,b:array<string>>"),
    ColumnDefinition("gone", "void"),
)  # fmt: skip
TRADES = Properties(
    "trades", COLUMNS, True, Watermark("ts", 5), ordered=True, others=(Watermark("other", 7), Watermark("TS", 9))
)
NAMES = {"trades": {"id": "Id", "odd name": "Odd Name"}}

PROJECTIONS = [
    "SELECT * FROM trades",
    "SELECT * FROM trades AS T",
    "SELECT id, Price FROM trades",
    "SELECT t.ts AS At, t.TS, t.`odd name` AS o FROM trades AS t WHERE t.price > 5 AND NOT t.id IS NULL",
    "SELECT `ts`, other AS at FROM trades WHERE price BETWEEN 1 AND id OR id IN (1, 2)",
    "SELECT ID AS id, gone FROM trades",
    "SELECT * FROM (SELECT Ts AS at, price FROM trades WHERE price = 2) AS s",
    "SELECT s.At AS b, s.price FROM (SELECT * FROM (SELECT ts AS at, other, price FROM trades) AS r) AS s",
    "SELECT `Odd Name` FROM (SELECT * FROM trades) AS r",
]
OTHERS = [
    "SELECT DISTINCT id FROM trades", "SELECT id + 1 FROM trades", "SELECT id FROM trades AS t (a, b, c, d, e, f)",
    "SELECT id FROM trades LIMIT 3", "SELECT COUNT(*) FROM trades", "SELECT trades.id AS ts, ts FROM trades",
    "SELECT missing FROM trades", "SELECT x.id FROM trades AS t", "SELECT id, * FROM trades",
    "SELECT * EXCEPT (id) FROM trades", "SELECT id FROM trades WHERE price > (SELECT 1)",
    "SELECT a.id FROM trades AS a JOIN trades AS b ON a.id = b.id", "SELECT id FROM trades WHERE upper(id) = 'A'",
    "SELECT id FROM (SELECT id, ts AS id FROM trades) AS t", "SELECT id FROM trades UNION ALL SELECT id FROM trades",
    "SELECT other AS id FROM trades WHERE id > 1", "SELECT window.start FROM trades AS window",
    "SELECT `odd name`.a FROM trades",
]  # fmt: skip


def parsed(text: str) -> exp.Query:
    (query,) = DIALECT.parse(text)
    assert isinstance(query, exp.Query)
    return query


@pytest.mark.parametrize("text", PROJECTIONS)
def test_a_projection_is_what_sqlglot_says(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_glance = resolve.resolve(parsed(text), lambda table: TRADES)
    assert at_a_glance.projection is not None
    monkeypatch.setattr(resolve, "projected", lambda query, relations: None)
    by_sqlglot = resolve.resolve(parsed(text), lambda table: TRADES)
    assert by_sqlglot.projection is None
    for projection in (at_a_glance, by_sqlglot):
        assert projection.qualified.sql(DIALECT) == by_sqlglot.qualified.sql(DIALECT)
        assert projection.columns == by_sqlglot.columns
        assert (projection.watermark, projection.merged, projection.others) == (
            by_sqlglot.watermark,
            False,
            by_sqlglot.others,
        )
        assert spoken_names(projection, NAMES) == spoken_names(by_sqlglot, NAMES)


@pytest.mark.parametrize("text", OTHERS)
def test_other_queries_are_left_to_sqlglot(text: str) -> None:
    assert projected(parsed(text), [COLUMNS]) is None
