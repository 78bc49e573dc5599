"""Statements that must parse, each with what is read from it."""

from pathlib import Path

import pytest
from dump import dump
from golden import check, params

from cepsql.language.translate import statements

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "case",
    [case for name in ("matches", "pattern_windows", "statements", "standing") for case in params(HERE, f"{name}.sql")],
)
def test_statement(case, update):
    check(case, "\n".join(map(dump, statements(case.text))), update)
