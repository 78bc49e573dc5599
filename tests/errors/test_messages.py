"""Statements that are refused, each with the message that the user sees."""

import re
from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.errors import Error, InternalError

CASES = params(Path(__file__).parent, "*.txt")
JARGON = re.compile(
    r"<class|\bCondition\b|Expecting|Required keyword|sqlglot|[Ll]ark|island|__[a-zA-Z]|\$END|\bNone\b|\b[A-Z]+PAR\b"
)


@pytest.mark.parametrize("case", CASES)
def test_message(case, update):
    fresh = engine()
    with pytest.raises(Error) as raised:
        fresh.sql(case.text)
    assert not isinstance(raised.value, InternalError)
    check(case, str(raised.value), update)


def test_words_are_the_users():
    for case in (param.values[0] for param in CASES):
        for line in case.expected.splitlines():
            assert line.startswith("  line ") or not JARGON.search(line), f"for\n{case.text}"
