"""Whether a query whose text has changed can go on from the checkpoint of the text before."""

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from cepsql.language.tokens import DIALECT
from cepsql.plan.identity import spoken_differences

SAME, COMPATIBLE, INCOMPATIBLE = "the same", "compatible", "incompatible"

_WITH_MEMORY = (
    exp.AggFunc, exp.Distinct, exp.Group, exp.Having, exp.Join, exp.Lateral, exp.Limit, exp.Offset, exp.Order,
    exp.SetOperation, exp.Subquery, exp.Window, exp.With,
)  # fmt: skip
"""What in a SELECT reads more than one row, or more than one relation."""


@dataclass(frozen=True)
class Upgrade:
    """What a new text means for the checkpoint of the one before; `differences` says where they differ, '' nowhere."""

    kind: str
    differences: str


def upgrade(before: dict, after: dict) -> Upgrade:
    """Compare the descriptions of two plans, as `cepsql.plan.identity.describe_plan` makes them.

    Compatible are plans that differ only in what is done, row by row, above all that remembers rows: the state and the
    place in the input mean the same to both.
    """
    differences = spoken_differences(before, after)
    if not differences:
        return Upgrade(SAME, "")
    around = {key: value for key, value in before.items() if key != "query"}
    same_around = around == {key: value for key, value in after.items() if key != "query"}
    if same_around and _remembering(before["query"]) == _remembering(after["query"]):
        return Upgrade(COMPATIBLE, differences)
    return Upgrade(INCOMPATIBLE, differences)


def _remembering(node: dict) -> dict:
    """Return the node below all SQL that works row by row: an operator, a source, or SQL that remembers rows."""
    while "sql" in node and len(node["inputs"]) == 1 and _is_row_by_row(node["sql"]):
        (node,) = node["inputs"].values()
    return node


def _is_row_by_row(sql: str) -> bool:
    try:
        (parsed,) = DIALECT.parse(sql)
    except (SqlglotError, ValueError):
        return False
    return isinstance(parsed, exp.Select) and parsed.find(*_WITH_MEMORY) is None
