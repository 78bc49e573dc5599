"""Calls of every function with any number of arguments, as expressions or as errors of ours."""

from contextlib import suppress

import pytest
from sqlglot import ParseError, parse_one

from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.guard import guarded
from cepsql.scalar.from_sql import expression
from cepsql.scalar.registry import REGISTRY

FURTHER = """
nvl2 if nvl ifnull isnull isnotnull equal_null zeroifnull nullifzero nullif to_date charindex char_length ucase lcase
pow signum ceiling dayofmonth regexp_like cardinality timestampdiff substr
"""
NAMES = sorted({name for name in REGISTRY if name.isidentifier()} - {"case", "not", "or", "and"} | {*FURTHER.split()})


def operands(call: str) -> list:
    """Return the arguments of a call of ours."""
    with guarded():
        tree = parse_one(call, read="spark")
    return list(expression(tree, lambda column: column.name).arguments)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_that_are_missing_are_no_python_error(name):
    for count in range(6):
        with suppress(NotSupportedError, ProgrammingError, ParseError):
            assert None not in operands(f"{name}({', '.join('abcdef'[:count])})")


@pytest.mark.parametrize(
    "call", ["levenshtein(a, b, c)", "size(a, b)", "last_day(a, b)", "atan(a, b)", "char_length(a, b)", "nvl2(a, b)"]
)
def test_arguments_that_are_not_known_are_refused(call):
    with pytest.raises(NotSupportedError):
        operands(call)


def test_nothing_is_logged_of_what_is_refused(caplog):
    with pytest.raises(NotSupportedError):
        operands("to_char(a, 'yyyy-MM-dd')")
    assert not caplog.records
