"""Calls of Bloom filters: BLOOM_FILTER_AGG(x, expected, error), MIGHT_CONTAIN(filter, x), MIGHT_HAVE_SEEN(x) OVER."""

import math

from sqlglot import exp

from cepsql.errors import ProgrammingError, Span

AGGREGATE, ASKED, SEEN = "BLOOM_FILTER_AGG", "MIGHT_CONTAIN", "MIGHT_HAVE_SEEN"
MEMBER = "cepsql_might_contain"
"""The function that asks a filter for the hash of a value."""

EXPECTED, ERROR = 100_000, 0.01
"""How many values a filter is made for, and how often it may be wrong about one that it never had, by default."""

_MOST = 4_000_000
"""Of what Spark makes a filter at most."""

_FORMS = {
    AGGREGATE: "BLOOM_FILTER_AGG(value, expected number of values, error rate): BLOOM_FILTER_AGG(id, 100000, 0.01)",
    ASKED: "MIGHT_CONTAIN(filter, value)",
    SEEN: "MIGHT_HAVE_SEEN(value, values to remember, error rate) OVER (... ORDER BY time): "
    "MIGHT_HAVE_SEEN(id, 100000, 0.01)",
}


def bits_of(expected: int, error: float) -> int:
    """Return how many bits a filter of so many values needs for an error rate, a multiple of 64.

    >>> bits_of(1000, 0.01)
    9600
    """
    return max(64, math.ceil(-expected * math.log(error) / math.log(2) ** 2 / 64) * 64)


def is_seen(call: exp.Expr) -> bool:
    """Tell whether a call is MIGHT_HAVE_SEEN(...)."""
    return isinstance(call, exp.Anonymous) and call.name.upper() == SEEN


def bloom_call(call: exp.Anonymous, sql: str) -> exp.Expr | None:
    """Return what stands for a call about a filter: filters hold hashes of the values' text, so that whole numbers of
    all types are alike. None for other calls.

    Raises ProgrammingError for wrong arguments.
    """
    name, arguments = call.name.upper(), call.expressions
    if name == AGGREGATE and not call.meta_get(AGGREGATE):
        expected, error = _sizes(call, name, sql)
        sizes = [exp.cast(exp.Literal.number(n), "bigint") for n in (expected, bits_of(expected, error))]
        made = exp.Anonymous(this=call.this, expressions=[hashed(arguments[0]), *sizes])
        made.meta.update(call.meta, **{AGGREGATE: True})
        return made
    if name == ASKED:
        if len(arguments) != 2:
            raise ProgrammingError(f"{ASKED} takes a filter and a value", call_place(call), _FORMS[ASKED], sql)
        made = exp.Anonymous(this=MEMBER, expressions=[arguments[0].copy(), hashed(arguments[1])])
        made.meta.update(call.meta)
        return made
    if name == SEEN:
        _sizes(call, name, sql)
    return None


def hashed(value: exp.Expr) -> exp.Case:
    """Return the hash of a value's text, NULL of NULL."""
    text = exp.cast(value.copy(), "string", dialect="spark")
    return exp.case().when(value.copy().is_(exp.null()).not_(), exp.Anonymous(this="xxhash64", expressions=[text]))


def seen_sizes(call: exp.Expr) -> tuple[int, float]:
    """Return how many values MIGHT_HAVE_SEEN(...) remembers, and how often it may be wrong."""
    return _sizes(call, SEEN, None)


def call_place(call: exp.Expr) -> Span | None:
    """Return where a call was written, None for one that the text does not have."""
    return Span(call.meta["start"], call.meta["end"] + 1) if call.meta_get("start") is not None else None


def _sizes(call: exp.Expr, name: str, sql: str | None) -> tuple[int, float]:
    value, *sizes = call.expressions or [None]
    if value is None or len(sizes) > 2 or isinstance(value, exp.Star | exp.Distinct):
        said = f"{name} takes a value, a number of values and an error rate"
        raise ProgrammingError(said, call_place(call), _FORMS[name], sql)
    try:
        expected = int(sizes[0].name) if sizes else EXPECTED
        error = float(sizes[1].name) if len(sizes) > 1 else ERROR
        literal = all(isinstance(size, exp.Literal) for size in sizes)
    except ValueError:
        literal = False
    if not literal or not 1 <= expected <= _MOST or not 1e-9 <= error < 1:
        raise ProgrammingError(
            f"a filter needs a constant number of values, at most {_MOST:,}, and an error rate between 0 and 1",
            call_place(call),
            _FORMS[name],
            sql,
        )
    return expected, error
