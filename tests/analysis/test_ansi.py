"""What a user at a terminal is told of values that fail."""

import pytest

from cepsql.engine import connect


@pytest.mark.parametrize("sql", ["SELECT 1 / 0", "SELECT CAST('a' AS INT)", "SELECT 5 DIV 0 FROM VALUES (1) AS t (a)"])
def test_null_in_place_of_an_error_is_told_once(sql):
    engine = connect()
    (notice,) = engine.notices(engine.query(sql))
    assert "give NULL" in notice
    assert engine.notices(engine.query(sql)) == ()


@pytest.mark.parametrize("options", [{"ansi": True}, {"ansi": False}, {"conf": {"spark.sql.ansi.enabled": "true"}}])
def test_who_has_chosen_is_not_told(options):
    engine = connect(**options)
    assert engine.notices(engine.query("SELECT 1 / 0")) == ()


def test_nothing_is_told_where_nothing_can_fail():
    engine = connect()
    assert engine.notices(engine.query("SELECT 1 + 1")) == ()
