"""What other engines write behind EXPLAIN: (TYPE LOGICAL), PLAN FOR, ESTIMATED_COST."""

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import Text

_PARTS = {"LOGICAL": "logical", "DISTRIBUTED": "physical", "PHYSICAL": "physical", "VALIDATE": "logical"}
"""What the types of Trino show, as parts of an explanation here."""

_HINT = "EXPLAIN LOGICAL SELECT ... and EXPLAIN PHYSICAL SELECT ... are, as text"


def explained_part(text: Text, begin: int, end: int) -> str | None:
    """Return which part of an explanation is asked for, None for all of it.

    begin, end: the tokens behind EXPLAIN.
    Raises NotSupportedError for what is not explained.
    """
    if text.raw(begin) != "(":
        return None
    part: str | None = None
    for i in range(begin + 1, end - 1):
        word, value = text.word(i), text.word(i + 1)
        if word == "TYPE":
            if value not in _PARTS:
                raise NotSupportedError(
                    f"EXPLAIN (TYPE {value}) is not supported", text.span(i, i + 2), _HINT, text.sql
                )
            part = _PARTS[value]
        elif word == "FORMAT" and value != "TEXT":
            raise NotSupportedError(f"EXPLAIN (FORMAT {value}) is not supported", text.span(i, i + 2), _HINT, text.sql)
    return part
