"""What other engines write otherwise than Spark, as expressions of Spark's."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import NotSupportedError
from cepsql.language.foreign.group_windows import WINDOW_FUNCTIONS
from cepsql.language.rewriting.bloom_filters import AGGREGATE, ASKED, SEEN, call_place
from cepsql.language.tree_nodes import TreeNodes

_EPOCH = {"0": "timestamp_seconds", "3": "timestamp_millis"}
"""What makes a time of a number since the epoch, by the digits of its seconds after the point."""

_NodeT = TypeVar("_NodeT", bound=exp.Expr)

_CALLED = frozenset({"UNNEST", "TRY", "TO_TIMESTAMP_LTZ", AGGREGATE, ASKED, SEEN}) | WINDOW_FUNCTIONS
"""Functions that Spark does not have, and that the tree has others for."""

_ROW_TIME = "ROWTIME"
"""A column of ksqlDB, see `cepsql.plan.names.row_times`."""

_BEFORE_LISTS = ("SELECT", "(", ",", "=", "THEN", "ELSE", "IN")
"""Behind what a square bracket opens a list."""

KEPT = "__KEPT_"
"""What stands before the names of functions that sqlglot is not to read, until it has read the rest."""

DISTINCT_CALL = "distinct_call"
"""What `meta` of a call says of the aggregate of DISTINCT values that it stands for."""

_KEEPING: dict[type, str] = {
    exp.Explode: "EXPLODE_OUTER",
    exp.Posexplode: "POSEXPLODE_OUTER",
    exp.Inline: "INLINE_OUTER",
}
"""Functions that give a row for each element, and those that give one with NULL where there is none."""


def replaced(tree: exp.Expr, kind: type[_NodeT], make: Callable[[_NodeT], exp.Expr | None]) -> exp.Expr:
    """Return the tree with what `make` gives in place of nodes of a kind; None: the node stays.

    Inner ones come first: what is made of an outer one may copy them.
    """
    for node in reversed(list(tree.find_all(kind))):
        made = make(node)
        if made is not None:
            node.replace(made)
            tree = made if node is tree else tree
    return tree


def spread_symmetric(tree: exp.Expr) -> exp.Expr:
    """Return the tree with BETWEEN SYMMETRIC as two BETWEENs, either of which may hold."""
    return replaced(tree, exp.Between, lambda node: _spread(node) if node.args.get("symmetric") else None)


def limit_fetched(nodes: TreeNodes) -> None:
    """Turn FETCH FIRST n ROWS ONLY into LIMIT n."""
    for fetch in nodes.of(exp.Fetch):
        fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))


def lateral_unnested(nodes: TreeNodes) -> None:
    """Turn UNNEST(x) beside a relation into LATERAL explode(x), LATERAL TABLE(f(x)) into LATERAL f(x), and LEFT JOIN
    LATERAL of explode ON TRUE, for which Spark aggregates, into a join with what keeps rows without elements."""
    for unnest in nodes.of(exp.Unnest):
        if isinstance(unnest.parent, exp.Join):
            call = exp.Explode(this=unnest.expressions[0])
            alias = unnest.args.get("alias")
            if alias is not None and alias.this is not None and not alias.args.get("columns"):
                # BigQuery names the element so.
                alias.set("columns", [alias.this.copy()])
            unnest.replace(exp.Lateral(this=call, view=False, outer=False, alias=alias))
    for lateral in nodes.of(exp.Lateral):
        called = lateral.this
        if isinstance(called, exp.Anonymous) and called.name.upper() == "TABLE" and len(called.expressions) == 1:
            lateral.set("this", called.expressions[0])
    for join in nodes.of(exp.Join):
        lateral = join.this
        keeping = _KEEPING.get(type(lateral.this)) if isinstance(lateral, exp.Lateral) else None
        if keeping is not None and join.side == "LEFT" and join.args.get("on") == exp.true():
            lateral.set("this", exp.func(keeping, lateral.this.this, dialect="spark"))
            join.set("side", None)
            join.set("kind", "CROSS")
            join.set("on", None)


def exclusions_left_out(nodes: TreeNodes) -> None:
    """Leave EXCLUDE NO OTHERS out, which says nothing."""
    for spec in nodes.of(exp.WindowSpec):
        if excluded_rows(spec) == "NO OTHERS":
            spec.set("exclude", None)


def materialized_left_out(nodes: TreeNodes) -> bool:
    """Leave AS [NOT] MATERIALIZED of a CTE out, which changes no row; tell whether there was any."""
    ctes = [cte for cte in nodes.of(exp.CTE) if cte.args.get("materialized") is not None]
    for cte in ctes:
        cte.set("materialized", None)
    return bool(ctes)


def excluded_rows(spec: exp.WindowSpec) -> str | None:
    """Return what EXCLUDE in a frame says, in capital letters, None without it."""
    said = spec.args.get("exclude")
    return None if said is None else str(said if isinstance(said, str) else said.name).upper()


def distinct_collected(windows: Iterable[exp.Window]) -> bool:
    """Turn COUNT, MIN, MAX and ARRAY_AGG of DISTINCT values in window frames, which Spark does not compute, into what
    it does; tell whether there were any."""
    of_distinct = [window for window in windows if _distinct(window) is not None]
    for window in of_distinct:
        call = _distinct(window)
        assert call is not None
        values = call.this.expressions
        value = values[0] if len(values) == 1 else _all_there(values)
        if isinstance(call, exp.Min | exp.Max):
            call.set("this", value)
            continue
        collected = exp.ArrayUniqueAgg(this=value)
        collected.meta[DISTINCT_CALL] = "COUNT" if isinstance(call, exp.Count) else "ARRAY_AGG"
        call.replace(collected)
        if not isinstance(call, exp.Count):
            continue
        over = window.copy()
        counted = exp.cast(exp.func("SIZE", over, dialect="spark"), "bigint")
        window.replace(counted)
    return bool(of_distinct)


def refuse_distinct(windows: Iterable[exp.Window], sql: str) -> None:
    """Raise NotSupportedError for further aggregates of DISTINCT values in frames, which Spark does not compute."""
    for window in windows:
        call = window.this.this if isinstance(window.this, exp.Filter) else window.this
        if window.args.get("order") is None or not isinstance(call, exp.AggFunc):
            continue
        if isinstance(call.this, exp.Distinct):
            hint = "aggregate(collect_set(x) OVER (...), 0L, (total, v) -> total + v) adds different values"
            raise NotSupportedError(
                f"{call.sql_name()}(DISTINCT ...) over a frame is not supported", call_place(call), hint, sql
            )


def epoch_time(call: exp.Anonymous) -> exp.Expr | None:
    """Return Spark's function for Flink's TO_TIMESTAMP_LTZ(number, 0 or 3), None for another call."""
    arguments = call.expressions
    if call.name.upper() != "TO_TIMESTAMP_LTZ" or len(arguments) != 2 or arguments[1].name not in _EPOCH:
        return None
    return exp.Anonymous(this=_EPOCH[arguments[1].name], expressions=[arguments[0].copy()])


def _distinct(window: exp.Window) -> exp.Expr | None:
    """Return the call of a window that is asked for distinct values, and that Spark computes in another form."""
    call = window.this.this if isinstance(window.this, exp.Filter) else window.this
    plain = isinstance(call, exp.Count | exp.Min | exp.Max | exp.ArrayAgg) and isinstance(call.this, exp.Distinct)
    return call if plain and call.this.expressions else None


def _all_there(values: list[exp.Expr]) -> exp.Expr:
    """Return several values as one, NULL if one of them is."""
    there = exp.and_(*(value.copy().is_(exp.null()).not_() for value in values))
    return exp.case().when(there, exp.func("STRUCT", *(value.copy() for value in values), dialect="spark"))


def respelt(tokens: list[Token]) -> Iterator[Token]:
    """Yield the words of a text that Spark does not read, or should not, where the tree says the same in others."""
    words = ["", "", "", *(token.text.upper().removeprefix(KEPT) for token in tokens), ""]
    for token, i in zip(tokens, count(3), strict=False):
        before, word, after = words[i - 1], words[i], words[i + 1]
        if (
            token.token_type == TokenType.FETCH
            or (word in ("SYMMETRIC", "ASYMMETRIC") and before == "BETWEEN")
            or (word in _CALLED and after == "(")
            or word == _ROW_TIME
            or (word == "TIMESTAMP" and (before, after) == ("AS", "("))
            or (word == "[" and before in _BEFORE_LISTS)
            or (word in ("VARCHAR", "TEXT") and after != "(")
            or (word == "NAME" and before == "BY" and words[i - 2] in ("UNION", "ALL"))
            or (word == "LIMIT" and _follows_offset(words, i))
            or (word == "ARRAY" and after == "[")
            or (word == "EXCLUDE" and (before == "*" or after in ("CURRENT", "CURRENT ROW", "GROUP", "TIES", "NO")))
            or (word in ("ROW", "ROWS") and words[i - 2] == "OFFSET")
            or (word == "LATERAL" and (after == "TABLE" or (before == "JOIN" and words[i - 2] in ("LEFT", "OUTER"))))
        ):
            yield token


def _follows_offset(words: list[str], i: int) -> bool:
    """Tell whether a LIMIT stands behind OFFSET, before which Spark has it."""
    return "OFFSET" in words[max(0, i - 3) : i]


def _spread(node: exp.Between) -> exp.Paren:
    low, high = node.args["low"], node.args["high"]
    one = exp.Between(this=node.this, low=low, high=high)
    other = exp.Between(this=node.this.copy(), low=high.copy(), high=low.copy())
    return exp.paren(exp.or_(one, other, wrap=False), copy=False)
