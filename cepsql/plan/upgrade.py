"""Whether a query whose text has changed can go on from the checkpoint of the text before."""

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from cepsql.language.tokens import DIALECT
from cepsql.plan.identity import spoken_differences
from cepsql.plan.names.one_form import in_one_form

SAME, COMPATIBLE, REPLAYABLE, INCOMPATIBLE = "the same", "compatible", "replayable", "incompatible"

_WITH_MEMORY = (
    exp.AggFunc, exp.Distinct, exp.Group, exp.Having, exp.Join, exp.Lateral, exp.Limit, exp.Offset, exp.Order,
    exp.SetOperation, exp.Subquery, exp.Window, exp.With,
)  # fmt: skip
"""What in a SELECT reads more than one row, or more than one relation."""


_KEPT = ("csv", "json", "parquet", "orc", "xml", "text", "avro", "kafka")
"""Formats of sources that keep what was read, so that it can be read again."""

_OPERATOR = re.compile(r"match|deduplicate|over|windows|(\w+ )?join")
"""What the descriptions of our operators are known by."""


@dataclass(frozen=True)
class Upgrade:
    """What a new text means for the checkpoint of the one before; `differences` says where they differ, '' nowhere."""

    kind: str
    differences: str


def upgrade(before: dict, after: dict) -> Upgrade:
    """Compare the descriptions of two plans, as `cepsql.plan.identity.describe_plan` makes them.

    Compatible are plans that differ only in what is done, row by row, above all that remembers rows: the state and the
    place in the input mean the same to both. Replayable are those whose operators read the same files or records in the
    same arrangement, so that the place means the same, and the state can be made anew by reading them again. Operators
    of Spark's are not among them: they give out what is decided only with a later batch.
    """
    differences = spoken_differences(before, after)
    if differences:
        before, after = _in_one_form(before), _in_one_form(after)
    if not differences or before == after:
        return Upgrade(SAME, "")
    around = {key: value for key, value in before.items() if key != "query"}
    same_around = around == {key: value for key, value in after.items() if key != "query"}
    if same_around and _remembering(before["query"]) == _remembering(after["query"]):
        return Upgrade(COMPATIBLE, differences)
    arrangement = _arrangement(before["query"])
    if arrangement is not None and arrangement == _arrangement(after["query"]):
        return Upgrade(REPLAYABLE, differences)
    return Upgrade(INCOMPATIBLE, differences)


def _in_one_form(described: dict) -> dict:
    try:
        return described | {"query": in_one_form(described["query"])}
    except (SqlglotError, ValueError):
        return described


def _remembering(node: dict) -> dict:
    """Return the node below all SQL that works row by row: an operator, a source, or SQL that remembers rows."""
    while "sql" in node and len(node["inputs"]) == 1 and _is_row_by_row(node["sql"]):
        (node,) = node["inputs"].values()
    return node


def _arrangement(node: dict) -> object | None:
    """Return which operator reads what, without what they are asked; None where rows cannot be read again, or where
    Spark remembers some.

    Of a source it is left out which columns are read of its rows.
    """
    if "format" in node:
        if not node["streaming"]:
            return "a table"
        arranged = {name: value for name, value in node.items() if name not in ("columns", "watermark")}
        # What the clock showed in between is not kept.
        clocks = ("heartbeat", "ahead", "idle")
        if "backfill" in node:
            return None
        timed = any(str(part).startswith(clocks) for part in (node["watermark"] or [])[1:])
        return arranged if node["format"] in _KEPT and not timed else None
    if "frame" in node:
        return None
    below = node["inputs"].values() if "sql" in node else node["inputs"]
    inputs = [_arrangement(one) for one in below]
    if any(one is None for one in inputs):
        return None
    if "sql" not in node:
        # When rows come out that the clock asks for, or before they are final, is not kept.
        operator = next((name for name in node if _OPERATOR.fullmatch(name)), None)
        return None if operator is None or "emit" in node else [operator, *inputs]
    if not _is_without_memory(node["sql"], len(inputs) > 1):
        return None
    return inputs[0] if len(inputs) == 1 else ["union", *inputs]


def _is_row_by_row(sql: str) -> bool:
    parsed = _parsed(sql)
    if not isinstance(parsed, exp.Select):
        return False
    remembering = (part for part in parsed.find_all(*_WITH_MEMORY) if not isinstance(part.parent, exp.From))
    return next(remembering, None) is None


def _is_without_memory(sql: str, united: bool) -> bool:
    """Tell whether SQL works row by row, in one SELECT or in nested ones; if `united`, in several beside each other."""
    parsed = _parsed(sql)
    if parsed is None:
        return False
    memory = [kind for kind in _WITH_MEMORY if kind not in (exp.SetOperation, exp.Subquery)]
    unions = list(parsed.find_all(exp.SetOperation))
    of_all = all(isinstance(union, exp.Union) and not union.args.get("distinct") for union in unions)
    return parsed.find(*memory) is None and bool(unions) == united and of_all


def _parsed(sql: str) -> exp.Expr | None:
    try:
        (parsed,) = DIALECT.parse(sql)
    except (SqlglotError, ValueError):
        return None
    return parsed
